"""An index that many tests of evaluation search."""

from pathlib import Path

import pytest

from factseek.indexer.build import BuildRequest, build
from factseek.settings import Config


@pytest.fixture(scope="session")
def example(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("example") / "index"
    source = root / "examples" / "snippets-en.tsv"
    build(BuildRequest(kind="snippets", sources=(source,), folder=folder, dense=False), Config())
    return folder
