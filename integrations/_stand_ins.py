"""Files that replace ``irds:NAME`` in the arguments of a command."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..retrieval.errors import UsageError
from ._irds import PREFIX, language_of, write_documents, write_judgements, write_queries

KIND = "jsonl"
"""The kind of source that documents of ir_datasets become."""

_WRITERS: dict[str, Callable[[str, Path], Path]] = {
    "queries": write_queries,
    "input": write_queries,
    "gold": write_judgements,
    "qrels": write_judgements,
}
"""For each argument that names files, the function that writes the matching part of a dataset."""


@contextmanager
def stand_ins(args: argparse.Namespace) -> Iterator[None]:
    """Replace each ``irds:NAME`` by files while a command runs.

    ``factseek index irds:NAME`` then indexes JSON lines, in the dataset's language unless the user names one.
    Raises NotFoundError if there is no such dataset, SourceError if it lacks the required part or cannot be read,
    UsageError if ``index`` also has other sources.
    """
    names = [name for name in _WRITERS if any(map(_is_foreign, _listed(getattr(args, name, None))))]
    indexes = hasattr(args, "kind") and any(map(_is_foreign, [args.kind, *getattr(args, "sources", ())]))
    if not names and not indexes:
        yield
        return
    with written_folder() as folder:
        for name in names:
            setattr(args, name, _replaced(getattr(args, name), _WRITERS[name], folder))
        if indexes:
            _index_documents(args, folder)
        yield


@contextmanager
def written_folder() -> Iterator[Path]:
    """Give a temporary folder, and remove it afterwards."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory(prefix="factseek-irds-") as folder:
        yield Path(folder)


def spelled_out(arguments: Sequence[str]) -> list[str]:
    """Return the arguments of a command, with the kind of source that ``index irds:NAME`` leaves out."""
    at = next((place for place, argument in enumerate(arguments) if _is_foreign(argument)), 0)
    if not at or arguments[0] != "index" or not arguments[1].startswith(("-", PREFIX)):
        return list(arguments)
    return [*arguments[:at], KIND, *arguments[at:]]


def dataset_name(value: object) -> str:
    """Return the name of a dataset of ir_datasets, ``""`` if the value does not name one."""
    return str(value).removeprefix(PREFIX) if _is_foreign(value) else ""


def _index_documents(args: argparse.Namespace, folder: Path) -> None:
    """Make ``index`` read the documents of datasets.

    Raises UsageError if one of the sources is not a dataset.
    """
    sources = [str(source) for source in [args.kind, *args.sources] if source != KIND]
    others = [source for source in sources if not _is_foreign(source)]
    if others:
        raise UsageError(
            f"{others[0]}: is not a dataset of ir_datasets",
            remedy=f"index it separately, or give a dataset as {PREFIX}NAME",
        )
    names = [dataset_name(source) for source in sources]
    args.language = args.language or language_of(names[0])
    args.kind, args.sources = KIND, [write_documents(name, folder) for name in names]


def _is_foreign(value: object) -> bool:
    return str(value).startswith(PREFIX)


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def _replaced(value: Any, write: Callable[[str, Path], Path], folder: Path) -> Any:
    """Write each dataset in the value of an argument to a file; return the value with the files in their place."""
    paths = [write(dataset_name(path), folder) if _is_foreign(path) else path for path in _listed(value)]
    return paths if isinstance(value, list) else paths[0]
