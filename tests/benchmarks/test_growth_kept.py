"""The measurements that a run of the growth curve keeps when it is interrupted."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.growth_kept import Grown, GrowthRecord

GROWN = [
    Grown(1000, "bm25", 1.25, 1105.5, 0.5, 151.0, 2.75, 40.5, 1.0),
    Grown(1000, "dense, auto", 7.5, 4277.5, 0.25, 168.0, 24.0, 71.5, 0.935),
]


def test_goes_on_after_finished_sizes(tmp_path: Path) -> None:
    path = tmp_path / "bench" / "growth.json"
    GrowthRecord(path).add(1000, GROWN)
    again = GrowthRecord(path)
    assert (again.of(1000), again.of(3000)) == (GROWN, [])
    again.add(3000, GROWN[:1])
    assert (GrowthRecord(path).of(1000), GrowthRecord(path).of(3000)) == (GROWN, GROWN[:1])


def test_forgets_once_all_is_written_down(tmp_path: Path) -> None:
    kept = GrowthRecord(tmp_path / "growth.json")
    kept.forget()
    kept.add(1000, GROWN)
    kept.forget()
    assert GrowthRecord(tmp_path / "growth.json").of(1000) == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("was", "now"),
    [
        ('"machine":"', '"machine":"another '),
        ('"faiss":"', '"faiss":"0.'),
        ('{"machine"', '{"machine'),
        ("1.25", '"x"'),
    ],
    ids=["another machine", "another version", "cut", "another shape"],
)
def test_takes_only_what_was_measured_here(tmp_path: Path, was: str, now: str) -> None:
    path = tmp_path / "growth.json"
    GrowthRecord(path).add(1000, GROWN)
    text = path.read_text("utf-8")
    assert was in text
    path.write_text(text.replace(was, now, 1), "utf-8")
    assert GrowthRecord(path).of(1000) == []
