"""A ranking task that a YAML file describes: its columns, ids, cutoff and measures, and the
languages of its texts.

Queries and judgements are tables with a header and CSV quoting. Tabs or commas separate their
cells. A submission has one row for each query, with the list of its docids, best first, or one row
for each hit.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import msgspec

from ...core.config_file import read_yaml
from ...core.domain import Qrels, ScoredDocids
from ...core.errors import ConfigError, QueryError, UserError
from ...core.languages import language_code
from ...core.records.lines import Faults, Strict, quote_value
from ...core.records.qrels import GRADES, LARGEST_GRADE
from ...core.records.runs import ScoreTable, score_texts
from ...core.records.table_shape import shape_of
from ...core.settings import Settings, explain
from ...core.terminal import format_count, plural
from ...core.text import ProfileName
from ..files.answers import (
    Answer,
    Note,
    RunScores,
    ScoreOptions,
    Scores,
    TaskDefaults,
    TaskQuery,
    docid_list,
    docids_in,
    ignore,
    refuse_unprintable,
)  # fmt: skip
from ..files.report import CheckReport, check_ids, only, read_or_refuse
from ..files.tables import finite, rows_of, whole
from ..scoring import ranking
from ..scoring.measures import evaluate, note_on_programs, parse_measures

Column = Annotated[str, msgspec.Meta(min_length=1)]
_SEVERAL = "; if it may have several rows, set several: true under gold in the description"
_CUTOFF = re.compile(r"@(\d+)")
_ORDINALS = (
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
)


class QueryColumns(Settings, frozen=True, kw_only=True):
    """The columns of the input; ``topic`` and ``date`` are read only if the description names their
    columns.
    """

    id: Column
    text: Column
    topic: str = ""
    date: str = ""


class GoldColumns(Settings, frozen=True, kw_only=True):
    """The columns of the judgements: one document a query or, with ``several``, more; the default
    grade is 1.
    """

    id: Column
    docid: Column
    relevance: str = ""
    several: bool = False


class SubmissionColumns(Settings, frozen=True, kw_only=True):
    """The columns of a submission, and the number of docids of each query that count.

    A submission has either one row for each query, with its ``docids``, or one row for each hit,
    with its ``docid`` and its ``rank``, its ``score`` or both.
    """

    id: Column
    k: Annotated[int, msgspec.Meta(ge=1, le=1000)]
    docids: str = ""
    docid: str = ""
    rank: str = ""
    score: str = ""

    def named(self) -> list[str]:
        """Return the keys that name a column."""
        return [key for key in ("id", "docids", "docid", "rank", "score") if getattr(self, key)]


class DocidForm(Settings, frozen=True, kw_only=True):
    """The form of a docid: a regular expression, and its name in the messages of a check."""

    pattern: str
    name: str


class TaskDescription(Settings, frozen=True, kw_only=True):
    """The description of a task; ``unit`` is its word for a query, ``also`` are further
    measures.
    """

    summary: Annotated[str, msgspec.Meta(min_length=1, pattern=r"^[^\n]*(?!\n)$")]
    queries: QueryColumns
    gold: GoldColumns
    submission: SubmissionColumns
    measure: str
    also: tuple[str, ...] = ()
    docid: DocidForm | None = None
    languages: tuple[Annotated[str, msgspec.Meta(pattern=r"^[a-z]{2,3}(?!\n)$")], ...] = ()
    profile: ProfileName | None = None
    unit: Annotated[str, msgspec.Meta(pattern=r"^[a-z]+(?!\n)$")] = "query"


class _SubmittedHit(NamedTuple):
    """A row of a submission with one row for each hit; 0 for a column that it lacks."""

    line: int
    docid: str
    rank: int
    score: float


class Predictions(NamedTuple):
    """The docids predicted for a query, best first, and their line."""

    line: int
    docids: list[str]


def described_task(path: Path) -> DescribedTask:
    """Return the task that a file describes; raise ConfigError, naming file and key, if it
    describes none.
    """
    try:
        written = read_yaml(path, "task description")
        description = msgspec.convert(written, TaskDescription)
        # A submission is written with its columns in the order of the description.
        advice = "" if path.parent == Path(__file__).parent else _SEVERAL
        return DescribedTask(description, tuple(written["submission"]), advice)
    except msgspec.ValidationError as error:
        raise ConfigError(explain(error, TaskDescription), place=path) from None
    except re.error as error:
        raise ConfigError(
            f"docid.pattern: is not a regular expression: {error}", place=path
        ) from None
    except UserError as error:
        if isinstance(error, ConfigError):
            raise
        raise ConfigError(error.line, place=path) from None


class DescribedTask:
    """A task defined by its description; see :class:`factseek.eval.tasks.RankingTask`."""

    SUBMITS: Literal["documents", "statements", "verdicts"] = "documents"
    DEFAULT = False
    OPTIONS: tuple[str, ...] = ("measures",)

    def __init__(self, description: TaskDescription, order: Sequence[str], advice: str) -> None:
        """Read a description whose submission has the keys ``order``; ``advice`` ends the error of
        a second judgement, if the reader may change the description.

        Raises QueryError if a measure is unknown or the columns of a submission contradict each
        other, re.error if the form of docids is not a regular expression.
        """
        self._description = description
        self._advice = advice
        _check_columns(description.submission)
        named = description.submission.named()
        self._columns = [key for key in order if key in named]
        self._measures = [
            *_measures("measure", [description.measure]),
            *_measures("also", description.also),
        ]
        self._docid = re.compile(description.docid.pattern) if description.docid else None
        self.SUMMARY = description.summary
        self.OFFICIAL = self._measures[0]
        for code in description.languages:
            if not language_code(code):
                raise QueryError(f"languages: {code!r} is not a code of ISO 639")
        self.LANGUAGES = description.languages
        names = [getattr(description.submission, key) for key in self._columns]
        self.HEADER = "\t".join(names) + "\n"
        k = description.submission.k
        self.DEFAULTS = TaskDefaults(k, most=k, profile=description.profile, unit=description.unit)

    def read_queries(self, path: Path) -> list[TaskQuery]:
        names = self._description.queries
        needed = [name for name in (names.id, names.text, names.topic, names.date) if name]
        return [
            TaskQuery(
                row[names.id], row[names.text], row.get(names.topic, ""), row.get(names.date, "")
            )
            for _, row in self._rows(path, needed, names.id)
        ]

    def read_gold(self, paths: Sequence[Path], note: Note = ignore) -> Qrels:
        """Return the judgements of one table; more tables are refused, because ids are unique only
        within a split.
        """
        names, path = self._description.gold, only(paths, "--gold")
        faults = Strict(path)
        needed = [name for name in (names.id, names.docid, names.relevance) if name]
        qrels: Qrels = {}
        for line, row in self._rows(path, needed, "" if names.several else names.id, self._advice):
            text = row[names.relevance] if names.relevance else "1"
            if not re.fullmatch(r"-?\d{1,9}(\.0+)?", text, re.ASCII):
                faults.error(line, f"{names.relevance} {quote_value(text)} is not a whole number")
            grade = int(float(text))
            if abs(grade) > LARGEST_GRADE:
                faults.error(
                    line,
                    f"{names.relevance} {quote_value(text)} is not {GRADES}; scale the grades down",
                )
            if qrels.setdefault(row[names.id], {}).setdefault(row[names.docid], grade) != grade:
                faults.error(
                    line,
                    f"{quote_value(row[names.docid])} of {quote_value(row[names.id])} has two "
                    "grades",
                )
        return qrels

    def read_scores(self, path: Path) -> RunScores:
        return RunScores(_slot_scores(read_or_refuse(path, self.read_submission)[0]))

    def lines(self, answers: Sequence[Answer], run_id: str) -> list[str]:
        k = self._description.submission.k
        if self._description.submission.docid:
            return [self._hit_lines(qid, documents, k) for qid, documents in answers]
        lines = []
        for qid, documents in answers:
            cells = {"id": qid, "docids": docid_list(qid, documents.docids[:k])}
            lines.append("\t".join(cells[key] for key in self._columns) + "\n")
        return lines

    def _hit_lines(self, qid: str, documents: ScoredDocids, k: int) -> str:
        """Return a line for each of the first ``k`` hits of a query."""
        lines = []
        docids = documents.docids[:k]
        scores = score_texts(documents.scores[:k])
        for rank, (docid, score) in enumerate(zip(docids, scores, strict=True), 1):
            for value in (qid, docid):
                refuse_unprintable(value)
            cells = {"id": qid, "docid": docid, "rank": str(rank), "score": score}
            lines.append("\t".join(cells[key] for key in self._columns) + "\n")
        return "".join(lines)

    def check(self, path: Path, input_path: Path | None = None) -> CheckReport:
        """Report every problem in a submission: a missing query is a warning, and an unknown query
        is an error.
        """
        report = CheckReport(path)
        predictions = self.read_submission(path, report)
        if input_path is not None:
            expected = [query.qid for query in self.read_queries(input_path)]
            self._check_queries(report, predictions, expected, str(input_path))
        return report

    def score(self, gold: Sequence[Path], runs: Sequence[Path], options: ScoreOptions) -> Scores:
        """Return the figures, the official one first, or those of ``options.measures``.

        A missing query counts 0.
        """
        right = self.read_gold(gold)
        predictions, report = read_or_refuse(only(runs, "--run"), self.read_submission)
        self._check_queries(report, predictions, list(right), "the gold")
        report.refuse()
        figures = evaluate(right, _slot_scores(predictions), options.measures or self._measures)
        return Scores(
            official=self.OFFICIAL,
            unit=self._description.unit,
            values=figures.means(),
            per_query=figures.per_query(),
            notes=tuple(self._notes(right, predictions, deep=not options.measures)),
        )

    def _notes(self, right: Qrels, predictions: dict[str, Predictions], *, deep: bool) -> list[str]:
        unit = self._description.unit
        missing = sum(qid not in predictions for qid in right)
        notes = [f"{missing:,} of {len(right):,} {plural(unit)} are missing and count 0"] * bool(
            missing
        )
        longest = max(len(row.docids) for row in predictions.values())
        cutoffs = {
            name: int(cutoff[1]) for name in self._measures if (cutoff := _CUTOFF.search(name))
        }
        deepest = max(cutoffs, key=lambda name: cutoffs[name], default="")
        if deep and deepest and longest < cutoffs[deepest]:
            notes.append(
                f"no {unit} has more than {format_count(longest, 'prediction')}, so {deepest} "
                "looks no deeper"
            )
        if deep:
            notes += note_on_programs(self._measures)
        answered = {qid: row.docids for qid, row in predictions.items() if row.docids}
        return [*notes, *ranking.note_unjudged(right, answered, self._description.gold.docid)]

    def _check_queries(
        self,
        report: CheckReport,
        predictions: dict[str, Predictions],
        expected: list[str],
        source: str,
    ) -> None:
        lines = {qid: row.line for qid, row in predictions.items()}
        check_ids(
            report, lines, expected, name=self._description.unit, source=source, missing="warning"
        )

    def read_submission(self, path: Path, faults: Faults) -> dict[str, Predictions]:
        if self._description.submission.docid:
            predictions = self._read_hits(path, faults)
        else:
            predictions = self._read_lists(path, faults)
        if not predictions:
            faults.error(0, "contains no predictions")
        return predictions

    def _read_hits(self, path: Path, faults: Faults) -> dict[str, Predictions]:
        """Return the predictions of a submission with one row for each hit, by rank or, without
        ranks, by score.
        """
        names = self._description.submission
        needed = [name for name in (names.id, names.docid, names.rank, names.score) if name]
        delimiter = shape_of(path).delimiter or "\t"
        hits: dict[str, list[_SubmittedHit]] = {}
        for line, cells in rows_of(path, faults, needed, delimiter):
            row = {name: cells[name].strip() for name in needed}
            if not row[names.id]:
                faults.error(line, f"{names.id} is empty")
                continue
            rank = whole(row[names.rank]) if names.rank else 0
            score = finite(row[names.score]) if names.score else 0.0
            if rank is None or (names.rank and rank < 1):
                cell = quote_value(row[names.rank])
                faults.error(line, f"{names.rank} {cell} is not a whole number from 1")
            elif score is None:
                cell = quote_value(row[names.score])
                faults.error(line, f"{names.score} {cell} is not a finite number")
            else:
                hit = _SubmittedHit(line, row[names.docid], rank, score)
                hits.setdefault(row[names.id], []).append(hit)
        predictions = {}
        for qid, of_query in hits.items():
            ranked = self._in_order(qid, of_query, faults)
            first = min(hit.line for hit in of_query)
            predictions[qid] = Predictions(first, [hit.docid for hit in ranked])
            self._judge(predictions[qid], faults)
        return predictions

    def _in_order(
        self, qid: str, hits: Sequence[_SubmittedHit], faults: Faults
    ) -> list[_SubmittedHit]:
        """Return the hits of a query, best first; report equal ranks, and scores in another order.

        Hits with equal scores, if there are no ranks, are in the order of trec_eval: by docid,
        descending.
        """
        names, unit = self._description.submission, self._description.unit
        if not names.rank:
            by_docid = sorted(hits, key=lambda hit: hit.docid, reverse=True)
            return sorted(by_docid, key=lambda hit: -hit.score)
        ranked = sorted(hits, key=lambda hit: hit.rank)
        for before, hit in pairwise(ranked):
            if hit.rank == before.rank:
                again = f"{names.rank} {hit.rank} of {unit} {quote_value(qid)}"
                faults.error(hit.line, f"{again} is already on line {before.line}")
                break
            if hit.score > before.score:
                higher = f"{names.score} rises from {before.score:g} to {hit.score:g}"
                faults.warning(hit.line, f"{higher} at {names.rank} {hit.rank}; the ranks count")
                break
        return ranked

    def _read_lists(self, path: Path, faults: Faults) -> dict[str, Predictions]:
        """Return the predictions of a submission with one row for each query."""
        names = self._description.submission
        predictions: dict[str, Predictions] = {}
        for line, row in rows_of(path, faults, (names.id, names.docids)):
            qid, cell = row[names.id], row[names.docids].strip()
            if not qid:
                faults.error(line, f"{names.id} is empty")
            elif qid in predictions:
                before = predictions[qid].line
                faults.error(
                    line, f"{self._description.unit} {quote_value(qid)} is already on line {before}"
                )
            elif (docids := docids_in(cell)) is None:
                faults.error(
                    line, f"{names.docids} {quote_value(cell)} is not a list like ['a', 'b']"
                )
            else:
                predictions[qid] = Predictions(line, docids)
                self._judge(predictions[qid], faults)
        return predictions

    def _judge(self, row: Predictions, faults: Faults) -> None:
        docids = row.docids
        if len(docids) > (k := self._description.submission.k):
            last = f"the {_ORDINALS[k - 1]}" if k <= len(_ORDINALS) else f"prediction {k}"
            cutoff = _CUTOFF.search(self.OFFICIAL)
            ignores = cutoff is not None and int(cutoff[1]) <= k
            rest = f"what follows {last} is ignored" if ignores else f"the task asks for {k}"
            faults.warning(row.line, f"has {len(docids)} predictions; {rest}")
        if not docids:
            faults.warning(row.line, "has no prediction")
        odd = next((docid for docid in docids if [docid] != docid.split()), None)
        if odd is not None:
            faults.warning(row.line, f"docid {quote_value(odd)} is empty or contains white space")
        repeated = next((docid for at, docid in enumerate(docids) if docid in docids[:at]), None)
        if repeated is not None:
            faults.warning(
                row.line, f"contains {quote_value(repeated)} twice, and both places count"
            )
        if self._docid and self._description.docid:
            odd = next((docid for docid in docids if not self._docid.fullmatch(docid)), None)
            if odd is not None:
                faults.warning(
                    row.line,
                    f"{quote_value(odd)} does not look like a {self._description.docid.name}",
                )

    def _rows(
        self, path: Path, needed: Sequence[str], once: str, remedy: str = ""
    ) -> list[tuple[int, dict[str, str]]]:
        """Return the rows of an input or a gold file, each with its line.

        Raises SourceError if a ``needed`` cell is empty, or, with ``remedy``, if a value of the
        column ``once`` is repeated.
        """
        faults = Strict(path)
        first: dict[str, int] = {}
        rows = []
        delimiter = shape_of(path).delimiter or "\t"
        for line, cells in rows_of(path, faults, needed, delimiter):
            row = {name: cells[name].strip() for name in needed}
            empty = next((name for name in needed if not row[name]), None)
            if empty:
                faults.error(line, f"column {empty} is empty")
            if once and (before := first.setdefault(row[once], line)) != line:
                faults.error(
                    line,
                    f"{self._description.unit} {quote_value(row[once])} is already "
                    f"on line {before}{remedy}",
                )
            rows.append((line, row))
        if not rows:
            faults.error(0, f"contains no {self._description.unit} at all")
        return rows


def _check_columns(columns: SubmissionColumns) -> None:
    """Raise QueryError if a submission has not exactly one form."""
    if bool(columns.docids) == bool(columns.docid):
        raise QueryError(
            "give docids, the column of a list of docids, or docid, for one row per hit",
            place="submission",
        )
    if columns.docids and (columns.rank or columns.score):
        raise QueryError("rank and score need docid, for one row per hit", place="submission")
    if columns.docid and not (columns.rank or columns.score):
        raise QueryError("docid needs the column of its rank or its score", place="submission")


def _measures(key: str, texts: Sequence[str]) -> list[str]:
    try:
        return [name for text in texts for name in parse_measures(text)]
    except QueryError as error:
        raise QueryError(error.what, place=key, remedy=error.remedy) from None


def _slot_scores(predictions: Mapping[str, Predictions]) -> ScoreTable:
    """Return scores that express the order.

    A repeated docid gets an id that no document has, to keep its place.
    """
    return {
        qid: {
            f"{docid} (slot {rank})" if docid in row.docids[: rank - 1] else docid: float(-rank)
            for rank, docid in enumerate(row.docids, 1)
        }
        for qid, row in predictions.items()
    }
