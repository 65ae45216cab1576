"""The opening of what is needed first: while one thing opens, all others can be read and opened."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from factseek.retrieval.dense.encoder import Encoder
from factseek.retrieval.lucene.jvm import java_thread
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.retrieval.store.manifest import EncoderInfo

SECONDS = 60


class Slow:
    """Opens something slowly: it waits until it may go on."""

    def __init__(self) -> None:
        self.begun, self.may_end = threading.Event(), threading.Event()
        self.times = 0

    def __call__(self, make: Callable[[], Any]) -> Any:
        self.times += 1
        self.begun.set()
        assert self.may_end.wait(SECONDS)
        return make()


@contextmanager
def under_way(slow: Slow, call: Callable[[], Any]) -> Iterator[list[Future[Any]]]:
    """Call from two threads what opens something slowly; go on when one of them has begun, and let it end."""
    with ThreadPoolExecutor(2) as pool:
        calls = [pool.submit(call) for _ in range(2)]
        try:
            assert slow.begun.wait(SECONDS)
            yield calls
        finally:
            slow.may_end.set()


def meanwhile(call: Callable[[], Any]) -> Any:
    """Return what a call returns that is made by another thread."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(call).result(SECONDS / 2)


def test_words_are_searched_while_an_encoder_opens(small: Index) -> None:
    slow, encoder = Slow(), small.encoder

    def encoders(_: EncoderInfo, __: Path) -> Encoder:
        return slow(lambda: encoder)

    def search(retriever: str) -> int:
        with java_thread():
            return len(index.search(["measles vaccine"], Search(retriever=retriever, k=3))[0])

    with Index(small.info.place, encoders=encoders) as index, under_way(slow, lambda: search("dense")) as dense:
        assert meanwhile(lambda: search("bm25")) == 3
        assert meanwhile(lambda: len(list(index.documents()))) == small.info.published.documents
        slow.may_end.set()
        assert [call.result(SECONDS) for call in dense] == [3, 3]
        assert slow.times == 1
