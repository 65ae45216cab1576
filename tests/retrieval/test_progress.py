"""Progress where there is no terminal: a line every ten seconds."""

from __future__ import annotations

import sys

import pytest

from factseek.retrieval.progress import Lines, bar


def test_a_line_every_ten_seconds() -> None:
    now, lines = [100.0], list[str]()
    progress = Lines("encoding", "passage", 12_000, clock=lambda: now[0], write=lines.append)
    for second in range(1, 26):
        now[0] = 100.0 + second
        progress.update(400)
    progress.close()
    assert lines == [
        "encoding: 4,000 of 12,000 passages in 10 s\n",
        "encoding: 8,000 of 12,000 passages in 20 s\n",
    ]


def test_nothing_is_written_of_what_is_done_soon() -> None:
    now, lines = [0.0], list[str]()
    progress = Lines("reading", "document", clock=lambda: now[0], write=lines.append)
    for now[0] in (1.0, 5.0, 9.99):
        progress.update()
    assert lines == []
    now[0] = 100.0
    progress.update()
    now[0] = 109.0
    progress.update()
    assert lines == ["reading: 4 documents in 100 s\n"]


@pytest.mark.parametrize(
    ("total", "line"), [(None, "tuning: 1 setting in 10 s\n"), (2, "tuning: 1 of 2 settings in 10 s\n")]
)
def test_one_is_counted_as_one(total: int | None, line: str) -> None:
    now, lines = [0.0], list[str]()
    progress = Lines("tuning", "setting", total, clock=lambda: now[0], write=lines.append)
    now[0] = 10.0
    progress.update()
    assert lines == [line]


def test_a_log_gets_lines_and_a_terminal_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(bar("reading", "document", 3), Lines)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    running = bar("reading", "document", 3)
    running.close()
    assert not isinstance(running, Lines)
