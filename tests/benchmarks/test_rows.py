"""A row of figures says whether its target is met, if it has one."""

from __future__ import annotations

from benchmarks.rows import below, side_by_side, table


def test_a_row_without_a_target_is_not_met() -> None:
    lines = table(
        [side_by_side("a", "s", 1.0, 2.0), below("b", "s", 1.0, 2.0), below("c", "s", 3.0, 2.0)]
    ).splitlines()[2:]
    assert [line.split("|")[-2].strip() for line in lines] == ["–", "met", "MISSED"]
