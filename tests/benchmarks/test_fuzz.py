"""Broken inputs, a few of each target: ``make fuzz`` feeds ten thousand. A find of it has a test beside its cause."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.fuzz import Target, TookTooLongError, bounded, feed, finds, input_of, targets
from factseek.eval import tasks
from factseek.indexer.collections import kinds
from factseek.retrieval.errors import SourceError

pytestmark = pytest.mark.inner

TARGETS = {target.name: target for target in targets(None)}


SECONDS = {"index webpages", "index cord19"}
"""Targets that take some: what they read with takes its time to load."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.deep if name in SECONDS else ()) for name in sorted(TARGETS)]
)
def test_a_broken_input_is_answered_in_words(name: str) -> None:
    assert finds(TARGETS[name], 0, 15 if name == "index webpages" else 60) == []


def test_every_reader_and_every_task_is_a_target() -> None:
    assert {f"index {kind}" for kind in kinds()} | {f"task {name}" for name in tasks.names()} <= TARGETS.keys()


def test_an_input_is_the_same_for_its_number() -> None:
    target = TARGETS["index snippets"]
    first, again = ([input_of(target, number)[:2] for number in range(50)] for _ in range(2))
    assert first == again
    assert len(set(first)) > 30


def broken(how: str) -> Target:
    def feed_it(path: Path, _: object) -> None:
        if how == "raise":
            raise KeyError("x")
        if how == "refuse":
            raise SourceError("is bad")
        if how == "leave":
            (path.parent / "left").touch()

    return Target("broken", (".txt",), lambda: (b"a",), feed_it)


def test_what_is_found(tmp_path: Path) -> None:
    assert finds(broken("refuse"), 0, 3) == []
    assert [find["input"] for find in finds(broken("raise"), 5, 2)] == [5, 6]
    with pytest.raises(AssertionError, match=r"left behind: \['left'\]"):
        feed(broken("leave"), 0, tmp_path)


def test_time_is_bounded() -> None:
    with pytest.raises(TookTooLongError, match=r"more than 0\.05 s at "), bounded(0.05):
        while True:
            pass
