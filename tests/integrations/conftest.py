"""The index of the bundled snippets, in a folder and served: what every integration is tried on."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

import factseek
from factseek import Hit, Search, Searcher
from tests.server.served import serve

# Before the library is imported: it would report to its makers that it is used.
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"

QUERY = "smallpox was eradicated"


@pytest.fixture(scope="session")
def folder(examples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("integrations") / "index"
    factseek.build("snippets", [examples / "snippets-en.tsv"], path, dense=False)
    factseek.build("cord19", [examples / "cord19"], path, verb="append")
    return path


@pytest.fixture(scope="session")
def address(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with serve({}, tmp_path_factory.mktemp("served"), "workers: 1", mine=folder) as served:
        yield f"http://127.0.0.1:{served.port}/v1/mine"


@pytest.fixture(params=["folder", "address"])
def index(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(request.param))


@pytest.fixture(scope="session")
def searcher(folder: Path) -> Iterator[Searcher]:
    with factseek.open_index(folder) as opened:
        yield opened


@pytest.fixture(scope="session")
def hits(searcher: Searcher) -> list[Hit]:
    return searcher.search([QUERY], Search(k=3))[0]
