"""What a further hit costs: few calls of the package's own functions."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from benchmarks.calls import calls_by_file
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.server.app import create_app
from factseek.settings import Config

from .conftest import build_index

FURTHER = 20
MOST = 5  # the maximum number of calls for each further hit
QUERY = "a measles vaccine"
DOCUMENTS = [
    {"docid": f"d{number}", "text": f"Measles vaccine number {number} is one of many."}
    for number in range(FURTHER + 5)
]


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    folder: Path = tmp_path_factory.mktemp("calls") / "index"
    with Index(build_index(folder, DOCUMENTS, language="en", dense=True), Config()) as opened:
        yield opened


def further_calls(search: Callable[[int], object]) -> float:
    """Return the number of calls of own functions for each further hit."""
    one, more = (calls_by_file(lambda k=k: search(k)).total() for k in (1, 1 + FURTHER))
    return (more - one) / FURTHER


def test_a_further_hit_costs_few_calls(index: Index) -> None:
    assert further_calls(lambda k: index.search([QUERY], Search(k=k))) <= MOST


@pytest.mark.parametrize(
    ("options", "most"),
    [
        ({"retriever": "bm25"}, MOST),
        ({"retriever": "dense"}, MOST),
        ({"retriever": "hybrid"}, MOST),
        ({"passages": True}, 2 * MOST),
    ],
)
def test_a_further_hit_over_http_costs_few_calls(
    index: Index, options: dict[str, object], most: int
) -> None:
    client = create_app(Config(), {"english": index}).test_client()

    def ask(k: int) -> object:
        return client.post("/v1/english/search", json={"query": QUERY, "k": k, **options})

    assert further_calls(ask) <= most
