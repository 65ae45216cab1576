"""One file a task format, found by its name: ``ct2021-1a`` is ``ct2021_1a.py``.

A task module has, where it applies::

    SUMMARY: str     one line for ``--help``
    OFFICIAL: str    the name of the official measure
    def read_queries(path) -> list[TaskQuery]            the inputs, in their order
    def read_gold(paths)                                 the judgements
    def read_submission(path)                            a submission, also one of others
    def write(records, path, run_id)                     a submission, in one piece or not at all
    def check(path, input_path=None) -> Report           every fault of a submission
    def score(gold, runs, options) -> Scores             the official figures; checks first

Ranking tasks (``RANKING``) take and give :data:`factseek.retrieval.domain.Run` and
:data:`factseek.retrieval.domain.Qrels`, and have::

    HEADER: str                                          what a submission begins with
    def lines(answers, run_id) -> list[str]              the part of a submission that answers each query
    def read_scores(path) -> RunScores                   a submission as it is scored
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

from ...retrieval import plugins
from ...retrieval.domain import Columns, Run
from ...retrieval.errors import QueryError
from ...retrieval.run_reader import ScoreTable
from ...retrieval.run_writer import best_documents
from ..formats.queries import TaskQuery
from ..formats.report import Report
from ..formats.scores import ScoreOptions, Scores

Answer = tuple[str, Columns]
"""A qid and the documents found for it."""


def answers_of(run: Run) -> list[Answer]:
    """Return the documents of the hits of each query.

    Raises QueryError if a score is not finite.
    """
    return [(qid, best_documents(hits)) for qid, hits in run.items()]


class RunScores(NamedTuple):
    """The scores of a run, and what a reader of its figures should know of the file."""

    table: ScoreTable
    notes: tuple[str, ...] = ()


class Task(Protocol):
    """What a module of this package offers."""

    SUMMARY: str
    OFFICIAL: str
    RANKING: bool

    def read_queries(self, path: Path) -> list[TaskQuery]:
        """Return the inputs in their order."""
        ...

    def read_gold(self, paths: Sequence[Path]) -> Any:
        """Return the judgements."""
        ...

    def read_submission(self, path: Path) -> Any:
        """Return a submission.

        Raises SourceError at its first error.
        """
        ...

    def write(self, records: Any, path: Path, run_id: str) -> None:
        """Write a submission."""
        ...

    def check(self, path: Path, input_path: Path | None = None) -> Report:
        """Report every fault of a submission; with the input, also what is missing or unknown."""
        ...

    def score(self, gold: Sequence[Path], runs: Sequence[Path], options: ScoreOptions) -> Scores:
        """Return the official figures.

        Raises CheckFailed if the submission has errors.
        """
        ...


class RankingTask(Task, Protocol):
    """What a ranking task offers beside."""

    HEADER: str

    def lines(self, answers: Sequence[Answer], run_id: str) -> list[str]:
        """Return the part of a submission that answers each query.

        Raises QueryError if an id cannot stand in the file.
        """
        ...

    def read_scores(self, path: Path) -> RunScores:
        """Return the scores of a submission.

        Raises CheckFailed if it has errors that leave a figure undefined.
        """
        ...


def names() -> list[str]:
    """Name the tasks as the command line does, in alphabetical order."""
    return sorted(name.replace("_", "-") for name in plugins.names(__name__))


def task(name: str) -> Task:
    """Return the task of a name.

    Raises QueryError if there is none of that name.
    """
    if name not in names():
        raise QueryError(f"unknown task {name!r}; the tasks are {', '.join(names())}")
    return cast(Task, plugins.load(__name__, name.replace("-", "_")))


def ranking_task(name: str) -> RankingTask:
    """Return the ranking task of a name.

    Raises QueryError if there is none of that name, or it ranks nothing.
    """
    chosen = task(name)
    if not chosen.RANKING:
        raise QueryError(f"{name}: is not a ranking task: its submissions are not compared")
    return cast(RankingTask, chosen)


def only(paths: Sequence[Path], option: str) -> Path:
    """Return the one path of an option that takes one.

    Raises QueryError if there are more.
    """
    if len(paths) != 1:
        raise QueryError(f"{option}: give one file, not {len(paths)}")
    return paths[0]
