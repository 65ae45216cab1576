"""A small index and a small model, which train in seconds."""

from __future__ import annotations

from pathlib import Path

import pytest

from factseek.indexer.build import BuildRequest, build
from factseek.indexer.settings import Config
from tests.small_models import small_encoder


@pytest.fixture(scope="session")
def index(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("train-models") / "index"
    request = BuildRequest(kind="snippets", sources=(root / "examples/snippets-en.tsv",), folder=folder, dense=False)
    build(request, Config())
    return folder


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_encoder()


@pytest.fixture
def asked(index: Path, base: Path, examples: Path, tmp_path: Path) -> list[object]:
    judged = ["--queries", examples / "queries-en.tsv", "--qrels", examples / "qrels-en.txt"]
    small = ["--base", base, "--epochs", "1", "--batch", "8", "--max-tokens", "32", "--depth", "8", "--negatives", "2"]
    return ["train", "encoder", "--index", index, *judged, "--output", tmp_path / "model", *small]
