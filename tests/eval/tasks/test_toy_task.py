"""A task is one file: beside the others it is run, checked, scored, compared and listed; nothing
else changes.
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from factseek import commands
from factseek.eval import tasks
from factseek.indexer.build import BuildRequest, build
from factseek.settings import Config
from tests.conftest import ROOT

TOY = '''
"""A task whose queries are lines of text, numbered, and whose submission is a run of TREC."""

from ...core.records.qrels import read_qrels
from ..files.answers import TaskDefaults
from ..files.report import only
from ..files.answers import TaskQuery
from ..scoring import ranking
from . import trec

SUMMARY = "toy task: one query a line"
OFFICIAL = "RR"
SUBMITS = "documents"
DEFAULT = False
LANGUAGES = ("en",)
OPTIONS = ("measures",)
DEFAULTS = TaskDefaults(3, most=3, unit="line")
HEADER = ""

read_submission, read_scores, lines = trec.read_submission, trec.read_scores, trec.lines


def read_queries(path):
    lines = path.read_text().splitlines()
    return [TaskQuery(str(number), text) for number, text in enumerate(lines, 1)]


def read_gold(paths, note=None):
    return read_qrels(only(paths, "--gold"), note)


def check(path, input_path=None):
    return trec.check(path)


def score(gold, runs, options):
    measures = options.measures or ["RR"]
    return ranking.score_files(
        gold, runs, read_gold, read_scores, measures, unit="line", official=OFFICIAL
    )
'''


class Answer(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def factseek(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator:
    plugged = tmp_path / "plugged"
    plugged.mkdir()
    (plugged / "toy_2026.py").write_text(TOY)
    monkeypatch.setattr(tasks, "__path__", [*tasks.__path__, str(plugged)])
    monkeypatch.chdir(tmp_path)

    def command(*arguments: object) -> Answer:
        capsys.readouterr()
        code = commands.main(list(map(str, arguments)))
        return Answer(code, *capsys.readouterr())

    yield command
    sys.modules.pop(f"{tasks.__name__}.toy_2026", None)
    vars(tasks).pop("toy_2026", None)


@pytest.fixture
def help_of(factseek, capsys: pytest.CaptureFixture[str]):
    def text(command: str) -> str:
        with pytest.raises(SystemExit):
            factseek(command, "--help")
        return " ".join(capsys.readouterr().out.split())

    return text


def test_the_task_is_listed(help_of) -> None:
    assert "toy-2026 3 hits a line, the task's maximum" in help_of("run")
    assert "toy-2026 toy task: one query a line (official: RR)" in help_of("score")
    assert "toy-2026" in help_of("tune")
    assert "toy-2026" not in help_of("rank")


def test_the_task_is_run_checked_scored_and_compared(factseek, tmp_path: Path) -> None:
    source = ROOT / "examples" / "snippets-en.tsv"
    build(
        BuildRequest(kind="snippets", sources=(source,), folder=tmp_path / "index", dense=False),
        Config(),
    )
    (tmp_path / "lines").write_text("measles vaccine\nmeasles deaths of children\n")
    ran = factseek("run", "toy-2026", "--queries", "lines", "--index", "index", "--output", "run")
    assert (ran.code, ran.err) == (0, "")
    rows = [line.split() for line in (tmp_path / "run").read_text().splitlines()]
    assert [(row[0], row[3]) for row in rows] == [
        (qid, str(rank)) for qid in ("1", "2") for rank in (1, 2, 3)
    ]
    assert factseek("check", "toy-2026", "run", "--input", "lines").code == 0
    (tmp_path / "gold").write_text(f"1 0 {rows[1][2]} 1\n2 0 {rows[3][2]} 1\n")
    scored = factseek("score", "toy-2026", "--gold", "gold", "--run", "run")
    assert "RR (official) 0.7500" in " ".join(scored.out.split())
    assert (
        "P@1"
        in factseek(
            "score", "toy-2026", "--gold", "gold", "--run", "run", "--measures", "P@1,RR"
        ).out
    )
    (tmp_path / "other").write_text((tmp_path / "run").read_text())
    assert factseek("compare", "run", "other", "--qrels", "gold", "--task", "toy-2026").code == 0
    too_many = factseek(
        "run", "toy-2026", "--queries", "lines", "--index", "index", "--output", "x", "-k", 4
    )
    assert too_many.err == "factseek: -k 4: toy-2026 accepts at most 3 hits a query\n"
