"""Documents, queries, judgements and statements as Python programs have them: our own records,
mappings, pairs, a DataFrame, or the objects of ir_datasets and ranx.

No library is imported for this: what an object is shows in its attributes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isfinite, nan
from numbers import Integral, Real
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import msgspec

from ..core.domain import Document, Hit, Qrels, Query, Run, Statement
from ..core.errors import FactseekError, QueryError, UsageError
from ..core.files import os_errors_reported
from ..core.records.lines import quote_value
from ..core.records.names import SUBTOPICS, TWEETS
from ..core.records.qrels import GRADES, LARGEST_GRADE, SubtopicQrels, Subtopics
from ..core.records.runs import ScoreTable, encodable
from ..core.text import refuse_text
from ._arguments import shown

Documents: TypeAlias = Iterable[Document | Mapping[str, Any]] | Any
"""Documents, mappings with the columns of a table, or a DataFrame."""
Queries: TypeAlias = Mapping[str, str] | Iterable[Query | tuple[str, str]] | Any
"""Texts by qid, queries, pairs of qid and text, queries of ir_datasets, or a DataFrame."""
Judgements: TypeAlias = Mapping[str, Mapping[str, int]] | Iterable[Any] | Any
"""Relevance by qid and docid, the ``Qrels`` of ranx, judgements of ir_datasets, or a DataFrame."""

Statements: TypeAlias = Mapping[str, str] | Iterable[Query | tuple[str, str]] | Any
"""Texts by id, pairs of id and text, mappings with the columns of a table, or a DataFrame."""

_QID = ("qid", "query_id", "query-id", "q_id", "id", "_id")
_TEXT = ("text", "query", "claim", "title")
_DOCID = ("docid", "doc_id", "docno", "corpus-id")
_RELEVANCE = ("relevance", "label", "rel", "score")
_QUERIES = "give factseek.Query(qid, text), a pair, or a mapping from qid to text"
_JUDGEMENTS = "give a mapping from qid to docid to relevance, or judgements of ir_datasets"
_FORMS = {
    "sources": "give factseek.Document, mappings, a DataFrame, or paths of files",
    "queries": _QUERIES,
    "qrels": _JUDGEMENTS,
    "statements": "give a mapping from id to text, pairs, a DataFrame, or paths of files",
}
"""What to give, by the name of an argument."""


@contextmanager
def as_sources(sources: Sequence[str | Path] | Documents) -> Iterator[list[str | Path]]:
    """Yield the paths of sources; documents in memory become a file of JSON lines for that time.

    An error in that file names the document by its position.

    Raises UsageError if a document is neither a Document nor a mapping.
    """
    refuse_text("sources", sources)
    if isinstance(sources, Mapping | Document):
        raise UsageError("sources are one document", remedy=f"give a list: [{shown(sources)}]")
    if not _is_frame(sources):
        sources = _listed(sources)
        if all(isinstance(source, str | Path) for source in sources):
            yield sources
            return
    with TemporaryDirectory(prefix="factseek-documents-") as folder:
        path = Path(folder) / "documents.jsonl"
        with os_errors_reported(path), path.open("wb") as file:
            for number, record in enumerate(_documents(sources), 1):
                file.write(_line(record, number))
        try:
            yield [path]
        except FactseekError as error:
            _name_documents(error, path)
            raise


def _listed(sources: Any) -> list[Any]:
    """Return the sources as a list, because several passes over them may be needed."""
    try:
        return list(sources)
    except TypeError:
        if hasattr(sources, "__iter__"):  # an error of the user's own generator
            raise
    raise UsageError(f"sources are {shown(sources)}", remedy=_FORMS["sources"])


def _documents(sources: Any) -> Iterable[Any]:
    """Return the documents one by one.

    Raises UsageError if there are none.
    """
    records = _records(sources, "sources")
    if _is_frame(sources) and not len(sources):
        raise UsageError("sources contain no document")
    return records


def _name_documents(error: FactseekError, path: Path) -> None:
    """Let an error name documents and the setting, not the lines of a file that the caller never
    saw, and an option of the command line.
    """

    def named(text: str) -> str:
        text = re.sub(rf"{re.escape(str(path))}:(\d+)", r"document \1", text)
        text = text.replace(str(path), "the documents")
        text = text.replace("--skip-bad-lines N", "build.skip_bad_lines")
        return text.replace("--skip-bad-lines", "build.skip_bad_lines")

    error.what, error.place, error.remedy = map(named, (error.what, error.place, error.remedy))
    error.args = (error.what, error.place, error.remedy)


def _line(record: Any, number: int) -> bytes:
    if isinstance(record, Document):
        fields = record._asdict()
        metadata = fields.pop("metadata")
        written = {name: value for name, value in fields.items() if value}
        record = {**metadata, **written}
    if not isinstance(record, Mapping):
        raise UsageError(
            f"document {number} is {quote_value(str(record))}",
            remedy="give factseek.Document, a mapping, or paths of files",
        )
    for name, value in record.items():
        if isinstance(value, bytes | bytearray):
            # msgspec would write them in base64.
            raise UsageError(f"document {number}: {name} is bytes", remedy="decode it to text")
    present = {str(name): value for name, value in record.items() if not _is_missing(value)}
    try:
        return msgspec.json.encode(present, enc_hook=_plain) + b"\n"
    except (TypeError, ValueError) as error:
        raise UsageError(f"document {number} cannot be written as JSON: {error}") from None


def _plain(value: Any) -> Any:
    """Return a number of numpy or a date of pandas as Python has it."""
    if isinstance(value, Integral):
        return int(value)
    if isinstance(value, Real):
        return float(value)
    if hasattr(value, "isoformat"):
        return value.isoformat()
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def _is_missing(value: Any) -> bool:
    """Return whether a cell of a DataFrame is empty: None, NaN, or pandas' own mark."""
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(value, float) and value != value  # noqa: PLR0124  only NaN differs from itself


def _is_frame(value: Any) -> bool:
    return hasattr(value, "to_dict") and hasattr(value, "columns")


def _records(value: Any, what: str) -> Iterable[Any]:
    """Return the rows of a DataFrame as mappings; anything else as it is.

    Raises QueryError if two columns have the same name, or if ``value`` has no elements.
    """
    if _is_frame(value):
        names = list(value.columns)
        if repeated := [name for name in names if names.count(name) > 1]:
            raise QueryError(
                f"{what}: two columns have the name {quote_value(str(repeated[0]))}",
                remedy="give each column a name of its own",
            )
        records: list[dict[str, Any]] = value.to_dict("records")
        return records
    if not isinstance(value, Iterable):
        raise QueryError(f"{what} are {shown(value)}", remedy=_FORMS[what])
    found: Iterable[Any] = value
    return found


def as_queries(queries: Queries) -> list[Query]:
    """Return queries in their order.

    Raises QueryError if something is not a query, two queries have the same qid, or a DataFrame
    lacks a column.
    """
    refuse_text("queries", queries)
    if isinstance(queries, Mapping):
        queries = queries.items()
    found: dict[str, Query] = {}
    for record in _records(queries, "queries"):
        query = _query(record)
        check_qid("queries", query.qid)
        if not isinstance(query.text, str):
            raise QueryError(
                f"queries: the text of {quote_value(query.qid)} is {shown(query.text)}, not text",
                remedy=_QUERIES,
            )
        if query.qid in found:
            raise QueryError(
                f"two queries have the qid {quote_value(query.qid)}",
                remedy="give each query a qid of its own",
            )
        found[query.qid] = query
    return list(found.values())


def _query(record: Any) -> Query:
    if isinstance(record, Query):
        return record
    if isinstance(record, Mapping):
        return Query(_cell(record, _QID, "queries"), _cell(record, _TEXT, "queries"))
    if hasattr(record, "query_id") and hasattr(record, "default_text"):  # of ir_datasets
        return Query(record.query_id, record.default_text())
    if hasattr(record, "qid") and hasattr(record, "text"):
        return Query(record.qid, record.text)
    if isinstance(record, tuple | list) and len(record) == 2:
        qid, text = record
        return Query(qid, text)
    raise QueryError(
        f"queries contain {quote_value(str(record))}, which is not a query", remedy=_QUERIES
    )


def check_qid(place: str, qid: object) -> None:
    if not isinstance(qid, str):
        raise QueryError(f"{place}: the qid {qid!r} is not text", remedy=f"give {str(qid)!r}")
    _check_id(place, "qid", qid)


def _check_id(place: str, kind: str, value: str) -> None:
    # trec_eval's code would crash, or cut the id.
    if not encodable(value) or "\0" in value:
        raise QueryError(f"{place}: {quote_value(value)} is no {kind}")


def as_statements(statements: Statements) -> list[Statement]:
    """Return tweets or sentences in their order; mappings and DataFrames may also have a topic.

    Raises QueryError if something is not a statement, or has no text.
    """
    if isinstance(statements, Mapping):
        statements = statements.items()
    found = [
        _statement(record, at) for at, record in enumerate(_records(statements, "statements"), 1)
    ]
    if not found:
        raise QueryError("there are no statements to rank")
    return found


def _statement(record: Any, number: int) -> Statement:
    topic = ""
    if isinstance(record, Mapping):
        qid = _cell(record, (*_QID, *TWEETS["tweet_id"]), "statements")
        text = _cell(record, (*_TEXT, *TWEETS["text"]), "statements")
        named = next((name for name in TWEETS["topic"] if name in record), "")
        if named and not _is_missing(record[named]):
            topic = str(record[named])
    else:
        qid, text = _query(record)
    if _is_missing(text) or not str(text).strip():
        raise QueryError(f"statements: {quote_value(str(qid))} has no text")
    return Statement(str(qid), str(text), topic=topic, place=f"statement {number}")


def as_qrels(qrels: Judgements) -> Qrels:
    """Return judgements by qid and docid.

    Raises QueryError if there are none, something is not a judgement, a DataFrame lacks a column, a
    judgement contradicts another, or a grade is out of range.
    """
    if isinstance(qrels, str | Path):
        raise QueryError(
            f"qrels are {quote_value(str(qrels))}", remedy="read a file with factseek.read_qrels"
        )
    if hasattr(qrels, "to_dict") and not hasattr(qrels, "columns"):  # of ranx
        qrels = qrels.to_dict()
    if hasattr(qrels, "qrels_iter"):  # a dataset of ir_datasets
        qrels = qrels.qrels_iter()
    found: Qrels = {}
    subtopics: Subtopics = {}
    if isinstance(qrels, SubtopicQrels):  # which a file had, or this function returned
        return qrels
    if isinstance(qrels, Mapping):
        for qid, judged in qrels.items():
            check_qid("qrels", qid)
            found[qid] = _grades(qid, judged)
    else:
        for record in _records(qrels, "qrels"):
            _add_judgement(found, subtopics, record)
    if not found:
        raise QueryError("there are no judgements", remedy="read judgements with read_qrels")
    names = {name for judged in subtopics.values() for grades in judged.values() for name in grades}
    return SubtopicQrels(found, subtopics) if len(names) > 1 else found


def _grades(qid: str, judged: Any) -> dict[str, int]:
    """Return the grades of a query by docid, as integers of Python."""
    if not isinstance(judged, Mapping):
        raise QueryError(
            f"qrels: the judgements of {quote_value(qid)} are {shown(judged)}, not a mapping",
            remedy="give a mapping from docid to relevance",
        )
    return {
        _checked_docid("qrels", qid, docid): _checked_grade(qid, docid, grade)
        for docid, grade in judged.items()
    }


def _add_judgement(found: Qrels, subtopics: Subtopics, record: Any) -> None:
    """Add a judgement; a document has the highest grade of its subtopics."""
    qid, docid, relevance = _judgement(record)
    check_qid("qrels", qid)
    _checked_docid("qrels", qid, docid)
    grade = _checked_grade(qid, docid, relevance)
    grades = subtopics.setdefault(qid, {}).setdefault(docid, {})
    if grades.setdefault(_subtopic(record), grade) != grade:
        raise QueryError(
            f"qrels: {quote_value(docid)} of query {quote_value(qid)} is judged twice, and "
            "differently"
        )
    judged = found.setdefault(qid, {})
    judged[docid] = max(grade, judged.get(docid, grade))


def _subtopic(record: Any) -> str:
    """Return the subtopic of a judgement; "" if it names none."""
    if isinstance(record, Mapping):
        name = next((name for name in SUBTOPICS if name in record), None)
        return "" if name is None or _is_missing(record[name]) else str(record[name])
    named = (getattr(record, name) for name in SUBTOPICS if hasattr(record, name))
    return str(next(named, ""))


def _checked_docid(place: str, qid: str, docid: Any) -> str:
    if not isinstance(docid, str):
        raise QueryError(
            f"{place}: the docid {docid!r} of query {quote_value(qid)} is not text",
            remedy=f"give {str(docid)!r}",
        )
    if not encodable(docid) or "\0" in docid:
        # trec_eval's code would crash, or cut the docid.
        raise QueryError(f"{place}: {quote_value(docid)} of query {quote_value(qid)} is no docid")
    return docid


def _checked_grade(qid: str, docid: str, grade: Any) -> int:
    where = f"{quote_value(docid)} for query {quote_value(qid)}"
    if not isinstance(grade, Integral):
        raise QueryError(
            f"qrels: the relevance {grade} of {where} is not an integer",
            remedy="convert the grades with int()",
        )
    number = int(grade)  # trec_eval's code takes no integers of numpy
    if abs(number) > LARGEST_GRADE:
        raise QueryError(
            f"qrels: the relevance {shown(number)} of {where} is not {GRADES}",
            remedy="scale the grades down",
        )
    return number


def _judgement(record: Any) -> tuple[Any, Any, Any]:
    if isinstance(record, Mapping):
        grade: Any = _number(record)
        return _cell(record, _QID, "qrels"), _cell(record, _DOCID, "qrels"), grade
    if all(hasattr(record, name) for name in ("query_id", "doc_id", "relevance")):
        return record.query_id, record.doc_id, record.relevance
    raise QueryError(
        f"qrels contain {quote_value(str(record))}, which is not a judgement", remedy=_JUDGEMENTS
    )


def _number(record: Mapping[str, Any]) -> int:
    name = next((name for name in _RELEVANCE if name in record), "")
    value: Any = record.get(name)
    # A column of whole numbers is of floats if one of its cells was empty once.
    number = float(value) if isinstance(value, Real) else nan
    if not isfinite(number) or not number.is_integer():
        raise QueryError(
            f"qrels: the relevance {quote_value(str(value))} is not a whole number",
            remedy=f"give a column {_RELEVANCE[0]}",
        )
    return int(number)


def as_scores(run: Run, place: str = "run") -> ScoreTable:
    """Return the score of each docid for each qid: that of its best passage.

    Measures need nothing else. Raises QueryError if ``run`` is not a run; ``place`` names it.
    """
    if not isinstance(run, Mapping):
        raise QueryError(
            f"{place}: {shown(run)} is not a run",
            remedy="give a mapping from qid to hits, as factseek.run and factseek.read_run do",
        )
    scores: dict[str, dict[str, float]] = {}
    for qid, hits in run.items():
        check_qid(place, qid)
        if not isinstance(hits, Iterable):
            raise QueryError(f"{place}: the hits of query {quote_value(qid)} are {shown(hits)}")
        best = scores[qid] = dict[str, float]()
        for hit in hits:
            if not isinstance(hit, Hit):
                raise QueryError(
                    f"{place}: {shown(hit)} of query {quote_value(qid)} is not a hit",
                    remedy="give factseek.Hit(docid, score)",
                )
            docid = _checked_docid(place, qid, hit.docid)
            if not isinstance(hit.score, Real) or not isfinite(hit.score):
                raise QueryError(
                    f"{place}: the score of {quote_value(docid)} for query {quote_value(qid)} is "
                    "not a finite number"
                )
            best[docid] = max(hit.score, best.get(docid, hit.score))
    return scores


def _cell(record: Mapping[str, Any], names: Sequence[str], what: str) -> str:
    """Return the first of the named cells, as text: a DataFrame often has ids as numbers."""
    name = next((name for name in names if name in record), None)
    if name is None:
        raise QueryError(
            f"{what}: there is no column {' or '.join(names)}: there are "
            f"{', '.join(map(str, record))}"
        )
    value = record[name]
    if _is_missing(value):
        raise QueryError(f"{what}: a row has no {name}")
    if isinstance(value, Real) and not isinstance(value, Integral):
        # 1.0 would not equal the id 1, and a long id has lost digits.
        raise QueryError(
            f"{what}: the {name} {value} is a number with a decimal point",
            remedy="read the column as text: dtype=str",
        )
    return str(value)
