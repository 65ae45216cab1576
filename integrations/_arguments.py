"""Checks of the arguments of the Python functions: a fault is one line that names the argument."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from numbers import Integral
from os import PathLike
from pathlib import Path
from typing import Any

from ..core.errors import QueryError
from ..core.text import refuse_text


def shown(value: Any) -> str:
    """Return a value as a message shows it, shortened if it is long."""
    text = repr(value)
    return text if len(text) <= 40 else text[:39] + "…"


def check_index(index: object) -> None:
    """Raise QueryError if ``index`` is not an open index."""
    from ..retrieval.search.index import Index

    if not isinstance(index, Index):
        raise QueryError(
            f"index is {shown(index)}, not an open index", remedy="open it with factseek.open_index"
        )


def whole_number(name: str, value: Any, least: int) -> int:
    """Return an argument as an integer of Python.

    Raises QueryError if it is not a whole number, or less than ``least``.
    """
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise QueryError(f"{name} is {shown(value)}, not a whole number")
    if value < least:
        raise QueryError(f"{name} is {value}", remedy=f"give {least} or more")
    return int(value)


def check_choice(name: str, value: object, choices: Iterable[str]) -> None:
    """Raise QueryError if an argument is none of ``choices``."""
    *others, last = choices
    if value not in (*others, last):
        raise QueryError(f"{name} is {shown(value)}", remedy=f"give {', '.join(others)} or {last}")


def names(name: str, values: Any) -> list[str]:
    """Return an argument that is a list of names, such as measures; those of ir-measures are
    objects that have their name as text.

    Raises TypeError if it is one text, QueryError if it is no list.
    """
    refuse_text(name, values)
    if not isinstance(values, Iterable):
        raise QueryError(f"{name} is {shown(values)}", remedy="give a list of names")
    return [str(value) for value in values]


def path_of(name: str, value: Any) -> Path:
    """Return an argument as a path; raise QueryError if it is none."""
    if not isinstance(value, str | PathLike):
        raise QueryError(f"{name} is {shown(value)}, not a path")
    return Path(value)


def paths_of(name: str, values: Any) -> list[Path]:
    """Return an argument that is one path or several; raise QueryError if it is neither."""
    if isinstance(values, str | PathLike):
        return [Path(values)]
    if isinstance(values, Mapping) or not isinstance(values, Sequence):
        raise QueryError(f"{name} is {shown(values)}", remedy="give a path, or a list of paths")
    return [path_of(name, value) for value in values]
