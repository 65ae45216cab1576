"""The inputs and outputs of a task: queries, search defaults, answers, scores of a run, and
figures.
"""

from __future__ import annotations

import ast
import json
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ...core.domain import ScoredDocids
from ...core.errors import QueryError
from ...core.notebook import frame, html
from ...core.records.lines import quote_value
from ...core.records.runs import ScoreTable, encodable
from ...core.text import ProfileName
from ..scoring.tables import figure
from .report import CheckReport, read_or_refuse

Answer = tuple[str, ScoredDocids]  # a qid and the documents found for it
# A function that receives a note on the judgements for the reader of the figures.
Note = Callable[[str], None]


def ignore(note: str) -> None:
    """Ignore a note."""


class TaskQuery(NamedTuple):
    """One input of a task; ``qid`` is its key in a :data:`factseek.core.domain.Run`.

    Unknown fields are ``""``.
    """

    qid: str
    text: str
    topic: str = ""
    date: str = ""


class TaskDefaults(NamedTuple):
    """How to search for a task's queries if the request does not say otherwise.

    ``k`` is the number of hits for each query, ``most`` the largest number that the task accepts.
    With ``own_topic``, a search reads only documents of the query's own topic. ``unit`` is the
    task's word for a query.
    """

    k: int
    most: int | None = None
    profile: ProfileName | None = None
    own_topic: bool = False
    unit: str = "query"

    def __str__(self) -> str:
        most = (
            ", the task's maximum"
            if self.most == self.k
            else f", at most {self.most}"
            if self.most
            else ""
        )
        topic = f", only from the {self.unit}'s own topic" if self.own_topic else ""
        profile = f"; profile {self.profile}" if self.profile else ""
        return f"{self.k} hits a {self.unit}{most}{topic}{profile}"


class RunScores(NamedTuple):
    """The scores of a run, and notes on oddities of its file for the reader of the figures."""

    table: ScoreTable
    notes: tuple[str, ...] = ()


def scores_of(path: Path, read: Callable[[Path, CheckReport], ScoreTable]) -> RunScores:
    """Return the scores of a submission, with its warnings as notes; raise CheckFailed if it has
    errors.
    """
    table, report = read_or_refuse(path, read)
    return RunScores(table, tuple(report.notes))


_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
# No two parts of the pattern may match the same blank: otherwise, a long gap before a missing
# bracket would take quadratic time.
_LIST = re.compile(rf"\[\s*(?:(?:{_QUOTED})\s*(?:,\s*(?:{_QUOTED})\s*)*(?:,\s*)?)?\]")
_ITEM = re.compile(_QUOTED)


def docids_in(cell: str) -> list[str] | None:
    """Return the docids of a cell that contains a Python or JSON list, best first; None if it
    contains no list.

    JSON's and Python's escapes are read, unless the text is then no docid.
    """
    if not _LIST.fullmatch(cell):
        return None
    docids = []
    for item in _ITEM.findall(cell):
        raw = text = item[1:-1]
        if "\\" in raw:
            with (
                suppress(ValueError, SyntaxError),
                warnings.catch_warnings(action="ignore", category=SyntaxWarning),
            ):
                try:
                    text = str(json.loads(item))
                except ValueError:
                    text = str(ast.literal_eval(item))
        docids.append(text if encodable(text) and "\0" not in text else raw)
    return docids


def docid_list(qid: str, docids: Sequence[str]) -> str:
    """Return the cell of a query's docids in a submission; raise QueryError if an id cannot be
    written.
    """
    for value in (qid, *docids):
        refuse_unprintable(value)
    if set(qid) & set("'\""):
        raise QueryError(f"{quote_value(qid)} contains a quote: it cannot be submitted")
    return f"[{', '.join(map(repr, docids))}]"


def refuse_unprintable(value: str) -> None:
    """Raise QueryError if an id cannot be the cell of a table."""
    if not value or not value.isprintable():
        unfit = "is empty or contains an unprintable character"
        raise QueryError(f"{quote_value(value)} {unfit}: it cannot be submitted")


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOptions:
    """The options of the command ``score``.

    ``max_evidence`` is the number of sentences of a prediction that count. ``measures`` are names
    of ir-measures that replace the task's own. ``ignore_identical_ids`` leaves out a document that
    has the same id as its query, as BEIR does.
    """

    max_evidence: int = 5
    measures: tuple[str, ...] = ()
    ignore_identical_ids: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """The figures of one submission, each by its measure's name, the official one first.

    ``unit`` says what the keys of ``per_query`` are. ``topics`` has the means over topics, if the
    task reports them. ``ties`` has the least and the greatest value of each measure that another
    order of equal scores would change.
    """

    official: str
    unit: str
    values: Mapping[str, float]
    per_query: Mapping[str, Mapping[str, float]]
    topics: Mapping[str, float] = field(default_factory=dict)
    ties: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def as_json(self, *, per_query: bool = False) -> dict[str, Any]:
        """Return the figures as ``score --json`` prints them; with ``per_query``, the values of
        each query follow.
        """
        topics = {f"{name} over topics": value for name, value in self.topics.items()}
        ties = {name: list(bounds) for name, bounds in self.ties.items()}
        figures: dict[str, Any] = {**self.values, **topics, "ties": ties, "notes": list(self.notes)}
        if per_query:
            figures["per_query"] = {key: dict(values) for key, values in self.per_query.items()}
        return figures

    def to_frame(self) -> Any:
        """Return the figures as a DataFrame, a row per measure."""
        return frame(["measure", "value"], list(self.values.items()), "measure")

    def _repr_html_(self) -> str:
        """Return the figures as HTML, for a notebook."""
        rows = [(name, figure(value)) for name, value in self.values.items()]
        return html(f"official: {self.official}", (("measure", "value"), rows), notes=self.notes)
