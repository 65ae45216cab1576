"""What a task takes and gives: queries, how they are searched, answers, scores of a run, and figures."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ...retrieval.domain import Hit, Run, ScoredDocids
from ...retrieval.errors import QueryError
from ...retrieval.records.lines import shown
from ...retrieval.records.runs import ScoreTable, best_documents
from ...retrieval.text import ProfileName
from .report import CheckReport

Answer = tuple[str, ScoredDocids]
"""A qid and the documents found for it."""

Note = Callable[[str], None]
"""A function that takes a note on the judgements, for whoever reads the figures."""


def ignore(note: str) -> None:
    """Ignore a note."""


class TaskQuery(NamedTuple):
    """One input of a task: ``qid`` is what a :data:`factseek.retrieval.domain.Run` names it by; unknown is ``""``."""

    qid: str
    text: str
    topic: str = ""
    date: str = ""


class TaskDefaults(NamedTuple):
    """How a task is searched unless the request says otherwise.

    Number of hits a query, the most that the task takes, the query profile, and whether a query ranks its own topic;
    ``unit`` is what the task calls a query.
    """

    k: int
    most: int | None = None
    profile: ProfileName | None = None
    own_topic: bool = False
    unit: str = "query"

    def __str__(self) -> str:
        most = ", which is the most it takes" if self.most == self.k else f", at most {self.most}" if self.most else ""
        topic = f", of the {self.unit}'s own topic" if self.own_topic else ""
        profile = f"; profile {self.profile}" if self.profile else ""
        return f"{self.k} hits a {self.unit}{most}{topic}{profile}"


def answers_of(run: Run) -> list[Answer]:
    """Return the documents of the hits of each query.

    Raises QueryError if a score is not finite.
    """
    return [(qid, best_documents(hits)) for qid, hits in run.items()]


class RunScores(NamedTuple):
    """The scores of a run, and notes on oddities of its file for whoever reads the figures."""

    table: ScoreTable
    notes: tuple[str, ...] = ()


def scores_of(path: Path, read: Callable[[Path, CheckReport], ScoreTable]) -> RunScores:
    """Return the scores that ``read`` takes from a submission, with its warnings as notes.

    Raises CheckFailed if the submission has errors.
    """
    report = CheckReport(path)
    table = read(path, report)
    report.refuse()
    return RunScores(table, tuple(report.notes))


_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
# No blank can be matched by two parts of it, or a long gap where a bracket is missing would take quadratic time.
_LIST = re.compile(rf"\[\s*(?:(?:{_QUOTED})\s*(?:,\s*(?:{_QUOTED})\s*)*(?:,\s*)?)?\]")
_ITEM = re.compile(_QUOTED)


def docids_in(cell: str) -> list[str] | None:
    """Return the docids of a cell with a list of Python's or of JSON's, best first; None if it holds none."""
    return [item[1:-1] for item in _ITEM.findall(cell)] if _LIST.fullmatch(cell) else None


def prediction_line(qid: str, docids: Sequence[str]) -> str:
    """Return a line of qid and list.

    Raises QueryError if an id cannot stand in the file.
    """
    for value in (qid, *docids):
        if not value or not value.isprintable() or set(value) & set("'\"\\\t"):
            raise QueryError(f"{shown(value)} is empty or holds a quote: it cannot be written to a submission")
    return f"{qid}\t[{', '.join(map(repr, docids))}]\n"


def slots(docids: Sequence[str]) -> list[Hit]:
    """Return a hit for each slot; a docid named again keeps its slot, under one that no document has."""
    return [
        Hit(f"{docid} (slot {rank})" if docid in docids[: rank - 1] else docid, float(-rank))
        for rank, docid in enumerate(docids, 1)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOptions:
    """The options of a score.

    ``max_evidence`` is how many sentences of a prediction count, ``measures`` the names of ir-measures to give instead
    of the task's own. ``ignore_identical_ids`` leaves out a document whose id is that of its query, as BEIR does.
    """

    max_evidence: int = 5
    measures: tuple[str, ...] = ()
    ignore_identical_ids: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """The figures of one submission, each by its measure's name.

    ``values`` begins with the official measure. ``unit`` is what ``per_query`` is keyed by; ``topics`` holds the means
    over topics where a task has both. ``ties`` holds the least and the greatest value of each measure that another
    order of equal scores would change. ``notes`` say what a reader of the figures should know: ties that decide,
    queries without results.
    """

    official: str
    unit: str
    values: Mapping[str, float]
    per_query: Mapping[str, Mapping[str, float]]
    topics: Mapping[str, float] = field(default_factory=dict)
    ties: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def as_json(self, *, per_query: bool) -> dict[str, Any]:
        """Return the figures as ``score --json`` prints them: measure name to value, with the means over topics.

        ``ties`` holds the bounds of the measures that ties can change, ``notes`` the notes.
        """
        figures: dict[str, Any] = dict(self.values)
        figures.update({f"{name} over topics": value for name, value in self.topics.items()})
        figures["ties"] = {name: list(bounds) for name, bounds in self.ties.items()}
        figures["notes"] = list(self.notes)
        if per_query:
            figures["per_query"] = {key: dict(values) for key, values in self.per_query.items()}
        return figures
