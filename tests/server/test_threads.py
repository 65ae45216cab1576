"""Many threads at once get what one gets alone."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from factseek.retrieval.search.index import Index
from factseek.server.app import create_app
from factseek.settings import Config

THREADS = 8
ASKED = [
    ("english", {"query": "measles vaccine doses", "retriever": "bm25"}),
    ("english", {"query": "walked on the moon", "retriever": "hybrid"}),
    ("english", {"query": "measles", "retriever": "bm25", "filter": {"topic": "health"}}),
    ("english", {"query": "measles", "retriever": "hybrid", "as_of": "2020"}),
    ("arabic", {"query": "نهر النيل"}),
    ("arabic", {"query": "أطول أنهار العالم", "as_of": "2022"}),
]


@pytest.fixture
def hasty() -> Iterator[None]:
    """Switch threads as often as can be."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-4)
    yield
    sys.setswitchinterval(usual)


@pytest.mark.usefixtures("hasty")
def test_threads_that_start_together_answer_alike(folders: dict[str, Path]) -> None:
    indexes = {name: Index(folder, Config()) for name, folder in folders.items()}
    app = create_app(Config(), indexes)
    together = threading.Barrier(THREADS)

    def hits(number: int) -> Any:
        index, body = ASKED[number % len(ASKED)]
        response = app.test_client().post(f"/v1/{index}/search", json=body)
        return response.status_code, response.json.get("hits")

    def several(first: int) -> list[tuple[int, Any]]:
        together.wait(timeout=60)
        return [(number, hits(number)) for number in range(first, first + 12)]

    with ThreadPoolExecutor(THREADS) as pool:
        answers = [answer for some in pool.map(several, range(THREADS)) for answer in some]
    alone = [hits(number) for number in range(len(ASKED))]
    assert all(status == 200 and found for status, found in alone)
    assert [number for number, answer in answers if answer != alone[number % len(ASKED)]] == []
    for index in indexes.values():
        index.close()
