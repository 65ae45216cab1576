"""Connections to a listener: answers belong to their questions, and whoever has no key, or no time, gets none."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from time import monotonic

import pytest

from factseek.cluster.connections import Connections, Listener
from factseek.cluster.wire import PackedSettings, packed_hits, settings_of, unpacked_hits
from factseek.retrieval.domain import Hit, Part
from factseek.settings import convert

pytestmark = pytest.mark.inner

PATIENCE = 30.0


class Answers:
    """Answers a question with itself, but ``wait`` only when it is let go."""

    def __init__(self) -> None:
        self.may_go = threading.Event()

    def __call__(self, question: bytes) -> bytes:
        if question == b"wait":
            self.may_go.wait(PATIENCE)
        return question


@pytest.fixture
def answers() -> Answers:
    return Answers()


@pytest.fixture
def listener(answers: Answers) -> Iterator[Listener]:
    with ThreadPoolExecutor(4) as answering, closing(Listener("127.0.0.1", answers, answering)) as listener:
        yield listener
        answers.may_go.set()


def test_each_question_gets_its_own_answer_from_many_threads(listener: Listener) -> None:
    questions = [str(number).encode() * (1 + 5_000 * (number % 3)) for number in range(200)]
    with closing(Connections(listener.address)) as connections, ThreadPoolExecutor(8) as asking:
        assert (
            list(asking.map(lambda question: connections.ask(question, monotonic() + PATIENCE), questions)) == questions
        )


def test_an_answer_that_comes_late_is_not_taken_for_the_next(listener: Listener, answers: Answers) -> None:
    with closing(Connections(listener.address)) as connections:
        with pytest.raises(TimeoutError):
            connections.ask(b"wait", monotonic() + 0.05)
        answers.may_go.set()
        assert connections.ask(b"next", monotonic() + PATIENCE) == b"next"


def test_who_shows_another_key_is_not_answered(listener: Listener) -> None:
    with (
        closing(Connections(listener.address._replace(key=bytes(32)))) as connections,
        pytest.raises((OSError, EOFError)),
    ):
        connections.ask(b"question", monotonic() + PATIENCE)


def test_who_is_connected_is_answered_after_the_listener_closed_and_nobody_else(listener: Listener) -> None:
    with closing(Connections(listener.address)) as connections, closing(Connections(listener.address)) as others:
        assert connections.ask(b"first", monotonic() + PATIENCE) == b"first"
        listener.close()
        assert connections.ask(b"second", monotonic() + PATIENCE) == b"second"
        with pytest.raises(OSError):
            others.ask(b"question", monotonic() + PATIENCE)


def test_hits_and_settings_come_whole() -> None:
    hits = [[Hit("007", 0.1, 3, (Part("bm25", 1, 2.5), Part("dense", 9, 0.25, 0.5)))], [], [Hit("\udcff", -1.0)]]
    assert unpacked_hits(packed_hits(hits)) == hits
    settings, pack = convert({"bm25": {"k1": 1.5}}, "test"), PackedSettings()
    assert pack(settings) is pack(settings)
    assert settings_of(pack(settings)) == settings
    others = [convert({"search": {"k": k}}, "test") for k in range(1, 101)]
    assert [settings_of(pack(other)) for other in others] == others
