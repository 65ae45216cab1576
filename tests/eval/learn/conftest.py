"""A small model, which trains in seconds."""

from pathlib import Path

import pytest

from tests.small_models import small_encoder


@pytest.fixture(scope="session")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_encoder()


@pytest.fixture
def asked(example: Path, base: Path, examples: Path, tmp_path: Path) -> list[object]:
    judged = ["--queries", examples / "queries-en.tsv", "--qrels", examples / "qrels-en.txt"]
    small = [
        "--base",
        base,
        "--epochs",
        "1",
        "--batch",
        "8",
        "--max-tokens",
        "32",
        "--depth",
        "8",
        "--negatives",
        "2",
    ]
    return ["train", "encoder", "--index", example, *judged, "--output", tmp_path / "model", *small]
