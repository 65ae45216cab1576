"""A small index and a small model, which train in seconds."""

from __future__ import annotations

from pathlib import Path

import pytest

from factseek.indexer.build import BuildRequest, build
from factseek.indexer.settings import Config
from factseek.retrieval.encoders.sources import find_model


@pytest.fixture(scope="session")
def index(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("train-models") / "index"
    request = BuildRequest(kind="snippets", sources=(root / "examples/snippets-en.tsv",), folder=folder, dense=False)
    build(request, Config())
    return folder


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The embedded encoder with its first layer alone, so that a training takes seconds."""
    from sentence_transformers import SentenceTransformer

    folder = tmp_path_factory.mktemp("base") / "small"
    model = SentenceTransformer(str(find_model("all-MiniLM-L6-v2").path), device="cpu", local_files_only=True)
    transformer = model[0].auto_model
    transformer.encoder.layer = transformer.encoder.layer[:1]
    transformer.config.num_hidden_layers = 1
    model.save(str(folder), create_model_card=False)
    return folder


@pytest.fixture
def asked(index: Path, base: Path, examples: Path, tmp_path: Path) -> list[object]:
    judged = ["--queries", examples / "queries-en.tsv", "--qrels", examples / "qrels-en.txt"]
    small = ["--base", base, "--epochs", "1", "--batch", "8", "--max-tokens", "32", "--depth", "8", "--negatives", "2"]
    return ["train", "encoder", "--index", index, *judged, "--output", tmp_path / "model", *small]
