"""Work in several threads: results in the order of the items, errors in their place, no more begun than is allowed."""

from __future__ import annotations

import random
import threading
import time
from contextlib import closing

import pytest

from eval.searchers import in_order


@pytest.mark.parametrize("threads", [1, 2, 4])
def test_results_come_in_the_order_of_the_items(threads: int) -> None:
    waits = [random.Random(0).random() / 200 for _ in range(60)]

    def work(at: int) -> int:
        time.sleep(waits[at])
        return at

    assert list(in_order(work, range(60), threads)) == list(range(60))


def test_nothing_to_do_is_done() -> None:
    assert list(in_order(str, [], 4)) == []


def test_an_error_is_raised_in_its_place_and_what_waits_is_dropped() -> None:
    done = []

    def work(at: int) -> int:
        if at == 3:
            raise ValueError(at)
        done.append(at)
        return at

    before = threading.active_count()
    found = in_order(work, range(1_000), 2)
    assert [next(found) for _ in range(3)] == [0, 1, 2]
    with pytest.raises(ValueError, match=r"^3$"):
        next(found)
    assert len(done) < 10
    assert threading.active_count() == before


@pytest.mark.parametrize("threads", [1, 3])
def test_no_more_is_begun_than_one_item_beside_those_at_work(threads: int) -> None:
    taken = []

    def items():
        for at in range(20):
            taken.append(at)
            yield at

    with closing(in_order(str, items(), threads)) as found:
        for count, _ in enumerate(found, 1):
            assert len(taken) <= count + threads
    assert len(taken) == 20


def test_who_stops_taking_leaves_no_thread_behind() -> None:
    before = threading.active_count()
    with closing(in_order(str, range(1_000), 4)) as found:
        assert next(found) == "0"
    assert threading.active_count() == before
