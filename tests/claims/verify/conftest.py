"""Small indexes of the example for tests of verification."""

from __future__ import annotations

from pathlib import Path

import pytest

from indexer.build import Request, build
from retrieval.config import Config


@pytest.fixture(scope="session")
def pages(examples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example's pages in FEVER's form, each sentence a passage, with vectors."""
    folder = tmp_path_factory.mktemp("verify") / "pages"
    build(Request(kind="fever", sources=(examples / "fever-pages.jsonl",), folder=folder), Config())
    return folder


@pytest.fixture(scope="session")
def arabic(examples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example's Arabic snippets, without vectors."""
    folder = tmp_path_factory.mktemp("verify") / "arabic"
    request = Request(
        kind="snippets", sources=(examples / "snippets-ar.tsv",), folder=folder, language="ar", dense=False
    )
    build(request, Config())
    return folder
