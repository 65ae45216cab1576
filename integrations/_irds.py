"""Documents, queries and judgements of ir_datasets in factseek's formats, for ``irds:NAME``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ..retrieval.domain import Query
from ..retrieval.errors import MachineError, NotFoundError, SourceError
from ..retrieval.files import os_errors_reported
from ..retrieval.progress import bar

PREFIX = "irds:"
"""The prefix of the name of a dataset of ir_datasets, given in place of a file."""

_TEXTS = ("text", "body", "abstract", "contents", "content")
"""The fields that may hold the text of a document whose title is a separate field."""
_FIELDS = {"url": "url", "date": "date", "published_date": "date", "language": "language", "lang": "language"}
_SCALARS = (str, int, float)


class Judgement(NamedTuple):
    """The relevance of a document for a query."""

    qid: str
    docid: str
    relevance: int


def documents(name: str) -> Iterator[dict[str, Any]]:
    """Yield the documents of a dataset with the keys of factseek's JSON lines.

    A title stays a separate field. Without a title, the text is the dataset's default text. Other fields that are texts
    or numbers become metadata.
    Raises NotFoundError if there is no such dataset, SourceError if it has no documents or they cannot be read.
    """
    dataset = _dataset(name, "docs", "documents")
    language = dataset.docs_lang() or ""
    with _reading(name):
        for document in dataset.docs_iter():
            yield _document(document, language)


def queries(name: str) -> Iterator[Query]:
    """Yield the queries of a dataset, each with the dataset's default text.

    Raises NotFoundError if there is no such dataset, SourceError if it has no queries or they cannot be read.
    """
    dataset = _dataset(name, "queries", "queries")
    with _reading(name):
        for query in dataset.queries_iter():
            yield Query(str(query.query_id), " ".join(str(query.default_text()).split()))


def judgements(name: str) -> Iterator[Judgement]:
    """Yield the judgements of a dataset.

    Raises NotFoundError if there is no such dataset, SourceError if it has no judgements or they cannot be read.
    """
    dataset = _dataset(name, "qrels", "judgements")
    with _reading(name):
        for judged in dataset.qrels_iter():
            yield Judgement(str(judged.query_id), str(judged.doc_id), int(judged.relevance))


def language_of(name: str) -> str:
    """Return the language of a dataset's documents, ``""`` if it is unknown.

    Raises NotFoundError if there is no such dataset, SourceError if it has no documents.
    """
    return str(_dataset(name, "docs", "documents").docs_lang() or "")


def write_documents(name: str, folder: Path) -> Path:
    """Write the documents of a dataset into ``folder`` as JSON lines; return the file.

    Raises what :func:`documents` raises, and MachineError if the disk is full.
    """
    return _written(name, folder / f"{_file_name(name)}.jsonl", documents, "document")


def write_queries(name: str, folder: Path) -> Path:
    """Write the queries of a dataset into ``folder`` as JSON lines; return the file.

    Raises what :func:`queries` raises, and MachineError if the disk is full.
    """

    def lines(name: str) -> Iterator[dict[str, str]]:
        return ({"qid": query.qid, "query": query.text} for query in queries(name))

    return _written(name, folder / f"{_file_name(name)}.queries.jsonl", lines, "query")


def write_judgements(name: str, folder: Path) -> Path:
    """Write the judgements of a dataset into ``folder`` in TREC's form; return the file.

    Raises what :func:`judgements` raises, and MachineError if the disk is full.
    """
    path = folder / f"{_file_name(name)}.qrels"
    with os_errors_reported(path), path.open("w", encoding="utf-8", newline="\n") as file:
        for judged in judgements(name):
            file.write(f"{judged.qid} 0 {judged.docid} {judged.relevance}\n")
    return path


def _written(name: str, path: Path, rows: Callable[[str], Iterator[dict[str, Any]]], unit: str) -> Path:
    with os_errors_reported(path), path.open("wb") as file, closing(bar(f"reading {PREFIX}{name}", unit)) as progress:
        for row in rows(name):
            file.write(msgspec.json.encode(row) + b"\n")
            progress.update()
    return path


def _file_name(name: str) -> str:
    """Return the name of a file for this dataset."""
    return f"{PREFIX}{name}".replace("/", "-")


def _dataset(name: str, kind: str, what: str) -> Any:
    """Return a dataset that has entities of a kind.

    Raises NotFoundError if there is no such dataset, SourceError if it has no such entities, MachineError without
    ir_datasets.
    """
    try:
        import ir_datasets
    except ModuleNotFoundError as error:
        remedy = "install it with: pip install 'factseek[ir-datasets]'"
        raise MachineError(f"the package {error.name} is missing", place=f"{PREFIX}{name}", remedy=remedy) from None
    try:
        dataset = ir_datasets.load(name)
    except KeyError:
        raise NotFoundError(
            "ir_datasets has no dataset of this name",
            place=f"{PREFIX}{name}",
            remedy="list the names: ir_datasets list",
        ) from None
    if not getattr(dataset, f"has_{kind}")():
        raise SourceError(f"has no {what}", place=f"{PREFIX}{name}", remedy=_remedy(name, dataset))
    return dataset


def _remedy(name: str, dataset: Any) -> str:
    kinds = {"docs": "documents", "queries": "queries", "qrels": "judgements"}
    there = [what for kind, what in kinds.items() if getattr(dataset, f"has_{kind}")()]
    return f"it has only {' and '.join(there)}" if there else f"list its parts: ir_datasets list | grep {name}/"


@contextmanager
def _reading(name: str) -> Iterator[None]:
    """Raise SourceError for errors while a dataset is read; reading may begin with a download."""
    try:
        yield
    except (OSError, RuntimeError, ValueError) as error:
        reason = str(error) or type(error).__name__
        raise SourceError(f"cannot be read: {reason}", place=f"{PREFIX}{name}") from error


def _document(document: Any, language: str) -> dict[str, Any]:
    """Return a document of a dataset with the keys of factseek's JSON lines."""
    fields = document._asdict()
    docid, title = str(fields.pop("doc_id")), fields.pop("title", None)
    text_name = next((name for name in _TEXTS if isinstance(fields.get(name), str)), "")
    if isinstance(title, str) and title and text_name:
        row = {"docid": docid, "title": title, "text": fields.pop(text_name), "language": language}
    else:
        row = {"docid": docid, "text": document.default_text(), "language": language}
        fields.pop(text_name, None)
    for name, own in _FIELDS.items():
        if isinstance(fields.get(name), str):
            row[own] = fields.pop(name)
    further = {name: value for name, value in fields.items() if isinstance(value, _SCALARS) and value != ""}
    return {**row, "metadata": further} if further else row
