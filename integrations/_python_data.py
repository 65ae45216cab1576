"""Documents, queries, judgements and statements as Python programs have them: our own records,
mappings, pairs, a DataFrame, or the objects of ir_datasets and ranx.

No library is imported for this: what an object is shows in its attributes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Integral, Real
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import msgspec

from ..core.domain import Document, Qrels, Query, Statement
from ..core.errors import QueryError, UsageError
from ..core.files import os_errors_reported
from ..core.records.lines import quote_value
from ..core.records.names import TWEETS
from ..core.text import refuse_text

Documents: TypeAlias = Iterable[Document | Mapping[str, Any]] | Any
"""Documents, mappings with the columns of a table, or a DataFrame."""
Queries: TypeAlias = Mapping[str, str] | Iterable[Query | tuple[str, str]] | Any
"""Texts by qid, queries, pairs of qid and text, queries of ir_datasets, or a DataFrame."""
Judgements: TypeAlias = Mapping[str, Mapping[str, int]] | Iterable[Any] | Any
"""Relevance by qid and docid, the ``Qrels`` of ranx, judgements of ir_datasets, or a DataFrame."""

Statements: TypeAlias = Mapping[str, str] | Iterable[Query | tuple[str, str]] | Any
"""Texts by id, pairs of id and text, mappings with the columns of a table, or a DataFrame."""

_QID = ("qid", "query_id", "query-id", "id", "_id")
_TEXT = ("text", "query", "claim", "title")
_DOCID = ("docid", "doc_id", "docno", "corpus-id")
_RELEVANCE = ("relevance", "label", "rel", "score")


@contextmanager
def as_sources(sources: Sequence[str | Path] | Documents) -> Iterator[list[str | Path]]:
    """Yield the paths of sources; documents in memory become a file of JSON lines for that time.

    Raises UsageError if a document is neither a Document nor a mapping.
    """
    refuse_text("sources", sources)
    if not hasattr(sources, "to_dict"):
        sources = list(sources)
        if all(isinstance(source, str | Path) for source in sources):
            yield sources
            return
    with TemporaryDirectory(prefix="factseek-documents-") as folder:
        path = Path(folder) / "documents.jsonl"
        with os_errors_reported(path), path.open("wb") as file:
            for number, record in enumerate(_records(sources), 1):
                file.write(_line(record, number))
        yield [path]


def _line(record: Any, number: int) -> bytes:
    if isinstance(record, Document):
        fields = record._asdict()
        metadata = fields.pop("metadata")
        written = {
            "docid" if name == "docid" else name: value for name, value in fields.items() if value
        }
        record = {**metadata, **written}
    if not isinstance(record, Mapping):
        raise UsageError(
            f"document {number} is {quote_value(str(record))}",
            remedy="give factseek.Document, a mapping, or paths of files",
        )
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


def _records(value: Any) -> Iterable[Any]:
    """Return the rows of a DataFrame as mappings; anything else as it is."""
    if hasattr(value, "to_dict") and hasattr(value, "columns"):
        records: list[dict[str, Any]] = value.to_dict("records")
        return records
    found: Iterable[Any] = value
    return found


def as_queries(queries: Queries) -> list[Query]:
    """Return queries in their order.

    Raises QueryError if something is not a query, or if a DataFrame lacks a column.
    """
    refuse_text("queries", queries)
    if isinstance(queries, Mapping):
        return [Query(qid, text) for qid, text in queries.items()]
    return [_query(record) for record in _records(queries)]


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
        f"queries contain {quote_value(str(record))}, which is not a query",
        remedy="give factseek.Query(qid, text), a pair, or a mapping from qid to text",
    )


def as_statements(statements: Statements) -> list[Statement]:
    """Return tweets or sentences in their order; mappings and DataFrames may also have a topic.

    Raises QueryError if something is not a statement, or has no text.
    """
    if isinstance(statements, Mapping):
        statements = statements.items()
    found = [_statement(record, at) for at, record in enumerate(_records(statements), 1)]
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
    if not str(text).strip():
        raise QueryError(f"statements: {quote_value(str(qid))} has no text")
    return Statement(str(qid), str(text), topic=topic, place=f"statement {number}")


def as_qrels(qrels: Judgements) -> Qrels:
    """Return judgements by qid and docid.

    Raises QueryError if something is not a judgement, a DataFrame lacks a column, or a judgement
    contradicts another.
    """
    if isinstance(qrels, Mapping):
        return {qid: dict(judged) for qid, judged in qrels.items()}
    if hasattr(qrels, "to_dict") and not hasattr(qrels, "columns"):  # of ranx
        return {
            str(qid): {str(docid): int(grade) for docid, grade in judged.items()}
            for qid, judged in qrels.to_dict().items()
        }
    if hasattr(qrels, "qrels_iter"):  # a dataset of ir_datasets
        qrels = qrels.qrels_iter()
    found: Qrels = {}
    for record in _records(qrels):
        qid, docid, grade = _judgement(record)
        judged = found.setdefault(qid, {})
        if judged.setdefault(docid, grade) != grade:
            raise QueryError(
                f"qrels: {quote_value(docid)} of query {quote_value(qid)} is judged twice, and "
                "differently"
            )
    return found


def _judgement(record: Any) -> tuple[str, str, int]:
    if isinstance(record, Mapping):
        grade: Any = _number(record)
        return _cell(record, _QID, "qrels"), _cell(record, _DOCID, "qrels"), grade
    if all(hasattr(record, name) for name in ("query_id", "doc_id", "relevance")):
        return record.query_id, record.doc_id, int(record.relevance)
    raise QueryError(
        f"qrels contain {quote_value(str(record))}, which is not a judgement",
        remedy="give a mapping from qid to docid to relevance, or judgements of ir_datasets",
    )


def _number(record: Mapping[str, Any]) -> int:
    name = next((name for name in _RELEVANCE if name in record), "")
    value: Any = record.get(name)
    if not isinstance(value, Real) or value != int(float(value)):
        raise QueryError(
            f"qrels: the relevance {quote_value(str(value))} is not a whole number",
            remedy=f"give a column {_RELEVANCE[0]}",
        )
    return int(float(value))


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
    return str(value)
