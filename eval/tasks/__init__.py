"""Task formats, one module each, loaded by name: ``ct2021-1a`` is ``ct2021_1a.py``.

No other code names a task.

A task module has what :class:`Task` declares and, depending on what it submits, what
:class:`RankingTask`, :class:`StatementTask` or :class:`VerdictTask` declares. A ranking task whose
files are tables needs no code: ``NAME.yaml``, in this folder or at a path that the user gives,
describes it (:mod:`factseek.eval.tasks._described`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Generic, Literal, Protocol, TypeVar, cast

from ...core.domain import Claim, Qrels, Statement
from ...core.errors import QueryError
from ...core.files import sha256
from ...core.plugins import Plugins
from ...core.records.lines import Faults
from ..files.answers import (
    Answer,
    Note,
    RunScores,
    ScoreOptions,
    Scores,
    TaskDefaults,
    TaskQuery,
    ignore,
)
from ..files.report import CheckReport

Submits = Literal["documents", "statements", "verdicts"]


class Task(Protocol):
    """The interface of a module of this package.

    A module may also set ``COMMENTS`` to true: a submission may then begin with comments, lines
    that start with ``#``.
    """

    SUMMARY: str  # one line for ``--help``
    OFFICIAL: str  # the name of the official measure
    # What a submission holds: ranked documents, ranked statements, or verdicts on claims.
    SUBMITS: Submits
    # Whether it is the default of the tasks with its ``SUBMITS``; for verdicts, there is none.
    DEFAULT: bool
    # The languages of its texts, ISO 639-1; empty if any language is possible.
    LANGUAGES: tuple[str, ...]
    # The options of ``score`` that it accepts, as fields of ``ScoreOptions``
    OPTIONS: tuple[str, ...]

    def read_gold(self, paths: Sequence[Path]) -> Any:
        """Return the judgements of one or more files, in the form that the task's ``score``
        uses.
        """

    def read_submission(self, path: Path, faults: Faults) -> Any:
        """Return a submission of any system, and report its errors and warnings to ``faults``."""

    def check(self, path: Path, input_path: Path | None = None) -> CheckReport:
        """Report every fault of a submission; if the input is given, also missing and unknown
        ids.
        """

    def score(self, gold: Sequence[Path], runs: Sequence[Path], options: ScoreOptions) -> Scores:
        """Return the official figures. Raises CheckFailed if the submission has errors."""


class RankingTask(Task, Protocol):
    """The interface of a task that submits documents: a submission is a ``Run``, judgements are
    ``Qrels``.
    """

    DEFAULTS: TaskDefaults  # how to search for the queries
    HEADER: str  # the text before the first query of a submission

    def read_queries(self, path: Path) -> list[TaskQuery]:
        """Return the queries of a file, such as claims or tweets, in their order."""

    def read_gold(self, paths: Sequence[Path], note: Note = ignore) -> Qrels:
        """Return the judgements; ``note`` receives each remark that a reader of the figures
        needs.
        """

    def lines(self, answers: Sequence[Answer], run_id: str) -> list[str]:
        """Return the part of a submission for each query; raise QueryError if an id cannot be
        written.
        """

    def read_scores(self, path: Path) -> RunScores:
        """Return the score of each document of each query; raise CheckFailed if errors leave a
        figure undefined.
        """


class StatementTask(Task, Protocol):
    """The interface of a task that submits statements, ranked by check-worthiness."""

    def read_statements(self, path: Path, *, labelled: bool) -> list[Statement]:
        """Return the statements of a file; raise SourceError if one is empty or, with ``labelled``,
        not 0 or 1.
        """

    def stream_statements(self, lines: Iterable[bytes], source: str) -> Iterator[Statement]:
        """Yield statements as their lines arrive; raise SourceError, naming ``source`` and the
        line, at a bad one.
        """

    def write(self, records: Iterable[tuple[str, str, float]], path: Path, run_id: str) -> None:
        """Write the topic, qid and score of each statement; write the whole file or nothing."""


class VerdictTask(Task, Protocol):
    """The interface of a task that submits verdicts; ``LABELS`` are the allowed labels."""

    LABELS: tuple[str, ...]

    def read_claims(self, path: Path, *, labelled: bool) -> list[Claim]:
        """Return the claims of a file; raise SourceError if one is empty or, with ``labelled``, has
        no valid label.
        """

    def write_verdicts(
        self,
        verdicts: Iterable[tuple[Claim, str, Sequence[tuple[str, int]]]],
        path: Path,
        run_id: str,
    ) -> None:
        """Write claim, label and sentences (document and number) of each verdict; raise QueryError
        if it cannot.
        """


def is_description(name: str) -> bool:
    """Return whether a task's name is the path of a file that describes it."""
    return name.endswith((".yaml", ".yml"))


def descriptions(name: str) -> list[Path]:
    """Return the file that describes a task: one if the task's name is its path, else none."""
    return [Path(name)] if is_description(name) else []


def identity(name: str) -> str:
    """Return the name of a task, followed by the file's checksum if the name is the path of a
    description.
    """
    return f"{name} {sha256(Path(name))}" if is_description(name) else name


_MODULES = Plugins[Task](__name__, QueryError, "task", "the tasks are")
_DESCRIBED: dict[tuple[Path, float], Task] = {}


def _descriptions() -> dict[str, Path]:
    return {
        path.stem.replace("_", "-"): path
        for folder in __path__
        for path in Path(folder).glob("*.yaml")
    }


def names() -> list[str]:
    """Return the names of all tasks, the modules and the descriptions in this folder, in
    alphabetical order.
    """
    return sorted([*_MODULES.names(), *_descriptions()])


def task(name: str) -> Task:
    """Return the task of this name, or the task that the file at this path describes.

    Raises QueryError, with the list of names, if there is no such task; ConfigError if the file
    describes no task.
    """
    path = Path(name) if is_description(name) else _descriptions().get(name)
    if path is None:
        if name not in _MODULES.names():
            there = (
                f"the tasks are {', '.join(names())}, or the path of a .yaml file that "
                "describes a task"
            )
            raise QueryError(f"unknown task {name[:80]!r}", remedy=there)
        return _MODULES.load(name)
    from ._described import described_task

    state = (path, path.stat().st_mtime if path.is_file() else 0.0)
    if state not in _DESCRIBED:
        _DESCRIBED[state] = described_task(path)
    return _DESCRIBED[state]


Chosen = TypeVar("Chosen", bound=Task)


class TasksThatSubmit(Generic[Chosen]):
    """The tasks whose submissions hold one kind of record; ``noun`` names such a task in
    messages.
    """

    def __init__(self, submits: Submits, noun: str) -> None:
        self._submits = submits
        self._noun = noun

    def names(self) -> list[str]:
        """Return the names of these tasks, in alphabetical order."""
        return [name for name in names() if self._submits == task(name).SUBMITS]

    def default(self) -> str:
        """Return the name of the default task."""
        return next(name for name in self.names() if task(name).DEFAULT)

    def load(self, name: str) -> Chosen:
        """Return the task of this name; raise QueryError, with the names, if it is not one of these
        tasks.
        """
        there = self.names()
        if name not in there and not (is_description(name) and self._submits == task(name).SUBMITS):
            remedy = f"the {self._noun}s are {', '.join(there)}"
            raise QueryError(f"is not a {self._noun}", place=name, remedy=remedy)
        return cast(Chosen, task(name))


RANKING = TasksThatSubmit[RankingTask]("documents", "ranking task")
STATEMENTS = TasksThatSubmit[StatementTask]("statements", "check-worthiness task")
VERDICTS = TasksThatSubmit[VerdictTask]("verdicts", "verification task")
