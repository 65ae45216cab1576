"""Files that replace ``irds:NAME``, a dataset of ir_datasets, in the arguments of a command."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, Literal

import msgspec

from ..core.errors import MachineError, NotFoundError, SourceError, UsageError
from ..core.files import os_errors_reported
from ..core.progress import bar

PREFIX = "irds:"
KIND = "jsonl"
"""The kind of source that documents of ir_datasets become."""

Part = Literal["docs", "queries", "qrels"]
_PARTS: dict[Part, tuple[str, str, str]] = {
    "docs": ("documents", ".jsonl", "document"),
    "queries": ("queries", ".queries.jsonl", "query"),
    "qrels": ("judgements", ".qrels", "judgement"),
}
"""The parts of a dataset, each with its name, the ending of its file, and the unit that its
progress bar counts.
"""
_ARGUMENTS: dict[str, Part] = {
    "queries": "queries",
    "input": "queries",
    "gold": "qrels",
    "qrels": "qrels",
}
"""For each argument that names files, the part of the dataset that ``irds:NAME`` means there."""
_TEXTS = ("text", "body", "abstract", "contents", "content")
"""The fields that may hold the text of a document whose title is a separate field."""
_FIELDS = {
    "url": "url",
    "date": "date",
    "published_date": "date",
    "language": "language",
    "lang": "language",
}


@contextmanager
def stand_ins(args: argparse.Namespace) -> Iterator[None]:
    """Replace each ``irds:NAME`` by files while a command runs.

    ``factseek index irds:NAME`` then indexes JSON lines, in the dataset's language unless the user
    gives a language. Raises NotFoundError if there is no such dataset, SourceError if it lacks the
    required part or cannot be read, UsageError if ``factseek index`` also has other sources.
    """
    names = [
        name for name in _ARGUMENTS if any(map(_is_foreign, _as_list(getattr(args, name, None))))
    ]
    indexes = hasattr(args, "kind") and any(
        map(_is_foreign, [args.kind, *getattr(args, "sources", ())])
    )
    if not names and not indexes:
        yield
        return
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="factseek-irds-") as folder:
        for name in names:
            value = getattr(args, name)
            paths = [
                _write_part(str(p), _ARGUMENTS[name], folder) if _is_foreign(p) else p
                for p in _as_list(value)
            ]
            setattr(args, name, paths if isinstance(value, list) else paths[0])
        if indexes:
            sources = [str(source) for source in [args.kind, *args.sources] if str(source) != KIND]
            if others := [source for source in sources if not _is_foreign(source)]:
                remedy = f"index it separately, or give a dataset as {PREFIX}NAME"
                raise UsageError(f"{others[0]}: is not a dataset of ir_datasets", remedy=remedy)
            args.language = args.language or _dataset(sources[0], "docs").docs_lang() or ""
            args.kind, args.sources = (
                KIND,
                [_write_part(source, "docs", folder) for source in sources],
            )
        yield


def spelled_out(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command; in ``index irds:NAME``, insert the missing kind of
    source.
    """
    at = next((place for place, argument in enumerate(arguments) if _is_foreign(argument)), 0)
    if not at or arguments[0] != "index" or not arguments[1].startswith(("-", PREFIX)):
        return list(arguments)
    return [*arguments[:at], KIND, *arguments[at:]]


def _is_foreign(value: object) -> bool:
    return str(value).startswith(PREFIX)


def _as_list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _write_part(source: str, part: Part, folder: str) -> Path:
    _, ending, unit = _PARTS[part]
    path = Path(folder, source.replace("/", "-") + ending)
    with (
        os_errors_reported(path),
        path.open("wb") as file,
        closing(bar(f"reading {source}", unit)) as progress,
    ):
        for line in _lines(source, part):
            file.write(line + b"\n")
            progress.update()
    return path


def _lines(source: str, part: Part) -> Iterator[bytes]:
    dataset = _dataset(source, part)
    try:
        if part == "docs":
            language = dataset.docs_lang() or ""
            for document in dataset.docs_iter():
                yield msgspec.json.encode(_document(document, language))
        elif part == "queries":
            for query in dataset.queries_iter():
                text = " ".join(str(query.default_text()).split())
                yield msgspec.json.encode({"qid": str(query.query_id), "query": text})
        else:
            for judged in dataset.qrels_iter():
                named = getattr(judged, "subtopic_id", getattr(judged, "iteration", "0"))
                subtopic = "_".join(str(named).split()) or "0"
                grade = int(judged.relevance)
                yield f"{judged.query_id} {subtopic} {judged.doc_id} {grade}".encode()
    except (OSError, RuntimeError, ValueError) as error:
        raise SourceError(
            f"cannot be read: {str(error) or type(error).__name__}", place=source
        ) from error


def _dataset(source: str, part: Part) -> Any:
    try:
        import ir_datasets
    except ModuleNotFoundError as error:
        remedy = "install it with: pip install 'factseek[ir-datasets]'"
        raise MachineError(
            f"the package {error.name} is missing", place=source, remedy=remedy
        ) from None
    name = source.removeprefix(PREFIX)
    try:
        dataset = ir_datasets.load(name)
    except KeyError:
        remedy = "list the names: ir_datasets list"
        raise NotFoundError(
            "ir_datasets has no dataset of this name", place=source, remedy=remedy
        ) from None
    there = [what for each, (what, *_) in _PARTS.items() if getattr(dataset, f"has_{each}")()]
    if _PARTS[part][0] not in there:
        parts = (
            f"it has only {' and '.join(there)}"
            if there
            else f"list its parts: ir_datasets list | grep {name}/"
        )
        raise SourceError(f"has no {_PARTS[part][0]}", place=source, remedy=parts)
    return dataset


def _document(document: Any, language: str) -> dict[str, Any]:
    """Return a document with the keys of factseek's JSON lines; other texts and numbers become
    metadata.

    Without a title, the text is the dataset's default text.
    """
    fields = document._asdict()
    docid, title = str(fields.pop("doc_id")), fields.pop("title", None)
    text_name = next((name for name in _TEXTS if isinstance(fields.get(name), str)), "")
    text = fields.pop(text_name, None)
    if isinstance(title, str) and title and text_name:
        row = {"docid": docid, "title": title, "text": text, "language": language}
    else:
        row = {"docid": docid, "text": document.default_text(), "language": language}
    row |= {
        own: fields.pop(name) for name, own in _FIELDS.items() if isinstance(fields.get(name), str)
    }
    further = {
        name: value
        for name, value in fields.items()
        if isinstance(value, str | int | float) and value != ""
    }
    return {**row, "metadata": further} if further else row
