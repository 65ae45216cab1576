"""The opening of what is needed first: while one thing opens, all others can be read and opened."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from factseek.retrieval.config import EncoderSettings
from factseek.retrieval.dense.encoder import Encoder
from factseek.retrieval.encoders import runtime
from factseek.retrieval.encoders.runtime import SharedEncoders, open_encoder
from factseek.retrieval.lucene.jvm import java_thread
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.retrieval.stages import StageContext
from factseek.retrieval.store.manifest import EncoderInfo
from factseek.settings import Config

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


def test_an_encoder_is_used_and_another_opened_while_one_opens(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Slow()
    settings = (EncoderSettings(query_prompt=prompt) for prompt in ("", "slow: ", "quick: "))
    made_by, slowly, quickly = (EncoderInfo.of(open_encoder(asked)) for asked in settings)

    def opened(settings: EncoderSettings) -> Encoder:
        return slow(lambda: open_encoder(settings)) if settings.query_prompt == "slow: " else open_encoder(settings)

    monkeypatch.setattr(runtime, "open_encoder", opened)
    here = Path("index")
    with closing(SharedEncoders(EncoderSettings())) as encoders:
        first = encoders(made_by, here)
        with under_way(slow, lambda: encoders(slowly, here)) as calls:
            assert meanwhile(lambda: encoders(made_by, here)) is first
            assert meanwhile(lambda: encoders(quickly, here)) not in (None, first)
            slow.may_end.set()
            one, other = (call.result(SECONDS) for call in calls)
        assert one is other


def test_what_stages_keep_is_used_while_a_model_opens() -> None:
    slow, context = Slow(), StageContext(Config(), None, lambda: None)  # type: ignore[arg-type]
    context.keep("open", lambda: 1)
    with under_way(slow, lambda: context.keep("slow", lambda: slow(object))) as calls:
        assert meanwhile(lambda: context.keep("open", lambda: 2)) == 1
        assert meanwhile(lambda: context.keep("other", lambda: 3)) == 3
        slow.may_end.set()
        one, other = (call.result(SECONDS) for call in calls)
    assert one is other
    context.close()
    assert context.keep("open", lambda: 4) == 4
