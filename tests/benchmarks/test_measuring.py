"""A row of figures says whether its target is met, if it has one."""

from __future__ import annotations

from benchmarks.measuring import Bounds, alone, in_turns, table


def test_a_row_without_a_target_is_not_met() -> None:
    lines = table(
        [in_turns("a", "s", [1.0], [2.0]), *(alone("b", "s", value, Bounds(most=2.0)) for value in (1.0, 3.0))]
    ).splitlines()[2:]
    assert [line.split("|")[-2].strip() for line in lines] == ["–", "met", "MISSED"]


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
