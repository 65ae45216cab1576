"""The counts that a torture keeps when it is interrupted, and goes on from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pytest

from benchmarks import torture_kept
from benchmarks.torture import TortureLine, _parts
from benchmarks.torture_kept import TortureRecord, TortureTrial

RUN: list[str] = []


@pytest.fixture(autouse=True)
def _nothing_run() -> None:
    RUN.clear()


def trial(key: str, fails: bool = False) -> TortureTrial:
    def run() -> Mapping[str, int]:
        RUN.append(key)
        if fails:
            raise AssertionError("a document was lost")
        return {"runs": 2, "killed": 1}

    return TortureTrial(key, "kills", run)


def test_goes_on_after_the_trials_that_are_done(tmp_path: Path) -> None:
    path = tmp_path / "build" / "torture.json"
    kept = TortureRecord(path, "5 5")
    assert kept.do(trial("a"))
    with pytest.raises(AssertionError):
        kept.do(trial("b", fails=True))
    again = TortureRecord(path, "5 5")
    assert [again.do(trial(key)) for key in "abc"] == [False, True, True]
    assert RUN == ["a", "b", "b", "c"]
    figure = TortureLine("kills", [], lambda counts: f"{counts['killed']} killed").figure(again)
    assert (figure.runs, figure.result) == (6, "3 killed")
    assert again.tally("others").counts == Counter()
    again.forget()
    assert not path.exists()


def test_does_not_go_on_from_what_was_asked_or_made_otherwise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "torture.json"
    TortureRecord(path, "5 5").do(trial("a"))
    assert TortureRecord(path, "5 6").do(trial("a"))
    TortureRecord(path, "5 5").do(trial("a"))
    monkeypatch.setattr(torture_kept, "sources", lambda: "other sources")
    assert TortureRecord(path, "5 5").do(trial("a"))
    path.write_text("{")
    assert TortureRecord(path, "5 5").do(trial("a"))


def test_parts_are_of_the_whole() -> None:
    assert list(_parts(250, 100)) == [(0, 100), (100, 100), (200, 50)]
    assert list(_parts(0, 100)) == []
