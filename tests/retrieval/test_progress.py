"""Progress where there is no terminal: it counts truly."""

from __future__ import annotations

import pytest

from factseek.retrieval.progress import Lines


@pytest.mark.parametrize(
    ("total", "line"), [(None, "tuning: 1 setting in 10 s\n"), (2, "tuning: 1 of 2 settings in 10 s\n")]
)
def test_one_is_counted_as_one(total: int | None, line: str) -> None:
    now, lines = [0.0], list[str]()
    progress = Lines("tuning", "setting", total, clock=lambda: now[0], write=lines.append)
    now[0] = 10.0
    progress.update()
    assert lines == [line]
