"""What the benchmarks measure with."""

import pytest

from benchmarks.fuzz import finds, targets
from benchmarks.measuring import Bounds, in_turns, table


def test_what_is_measured_in_turns_shows_medians_and_the_scatter_of_the_ratios() -> None:
    rows = [
        in_turns("a", "s", [10.0, 30.0, 20.0], [10.0, 10.0, 10.0], Bounds(least=2.0)),
        in_turns("b", "s", [10.0, 30.0, 20.0], [10.0, 10.0, 10.0], Bounds(most=1.5)),
        in_turns("c", "s", [10.0], [5.0]),
    ]
    assert [(row.ours, row.theirs, row.value, row.scatter, row.met) for row in rows] == [
        (20.0, 10.0, 2.0, (1.0, 3.0), True),
        (20.0, 10.0, 2.0, (1.0, 3.0), False),
        (10.0, 5.0, 2.0, None, True),
    ]
    assert table(rows).splitlines()[2:] == [
        "| a | s | 20 | 10 | 2 [1–3] | ratio >= 2.0 | met |",
        "| b | s | 20 | 10 | 2 [1–3] | ratio <= 1.5 | MISSED |",
        "| c | s | 10 | 5 | 2 |  | – |",
    ]


@pytest.mark.inner
@pytest.mark.deep
@pytest.mark.parametrize("name", sorted(targets()))
def test_a_broken_input_is_answered_in_words(name: str) -> None:
    failures, _ = finds(name, 0, 15 if name == "index webpages" else 60)
    assert failures == []
