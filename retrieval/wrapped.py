"""JSON in another form than one record a line: a list, an object that wraps a list, a value over several lines.

Programs and other people's APIs save records so. Each function returns the end of a message, with what to do.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping

_SHOWN = 40


def list_advice(value: object) -> str:
    """Return what to do with a JSON list of objects, ``""`` if the value is no such list."""
    return ": write its objects one a line, as jq -c '.[]' does" if _is_records(value) else ""


def wrapper_advice(row: Mapping[str, object]) -> str:
    """Return what to do with an object one value of which is a list of objects, ``""`` if none or several are."""
    names = [name for name, value in row.items() if _is_records(value)]
    if len(names) != 1 or len(names[0]) > _SHOWN or not names[0].isprintable():
        return ""
    (name,) = names
    path = f".{name}[]" if name.isidentifier() and name.isascii() else f".[{json.dumps(name, ensure_ascii=False)}][]"
    return f"; its {name!r} is a list of objects: write these one a line, as jq -c {shlex.quote(path)} does"


def continued(line: str) -> str:
    """Return what is wrong with a line that opens a JSON value which the next line goes on with, else ``""``."""
    line = line.strip()
    if line[:1] not in ("{", "[") or line[-1:] not in ("{", "["):
        return ""
    return (
        "is the beginning of JSON that goes on over several lines: write one object a line, as jq -c '.[]' does with "
        "a list, jq -c . with objects"
    )


def _is_records(value: object) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(entry, dict) for entry in value)
