"""Read JSON lines: one object a line, and the fault of each line that is no object."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from .lines import Faults
from .table_shape import find_unended_json, list_advice

DEEPEST = 100
"""The maximum number of levels of lists and objects in a line of JSON; an exported line may have
one more level.
"""
Values = Literal["storable", "standard", "any"]
"""Which values an object may contain.

``any`` value that Python reads, such as NaN; ``standard`` ones; or only ``storable`` ones, which
every store and every other parser reads: no infinite number, no NUL character or half a surrogate
pair in a string, at most ``DEEPEST`` levels.
"""
_ESCAPED = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
_ESCAPED_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_SURROGATE = re.compile(r"[\ud800-\udfff]")


class UnfitJsonError(Exception):
    """A value that Python's parser accepts, or gives up on, and that must not be read."""


class NotObjectError(Exception):
    """A line that is not a JSON object; the message is its fault."""


def read_objects(
    lines: Iterable[tuple[int, str]], faults: Faults, values: Values, *, gaps: bool = True
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number and the object of each line that is not blank.

    Without ``gaps``, a file without any object, and blank lines before an object, are errors.
    """
    blank = 0
    is_empty = True
    for number, line in lines:
        if not line.strip():
            blank = blank or number
            continue
        is_empty = False
        if blank and not gaps:
            faults.error(blank, "is blank")
        blank = 0
        try:
            value = decode_object(line, values)
        except NotObjectError as error:
            faults.error(number, str(error))
        else:
            yield number, value
    if is_empty and not gaps:
        faults.error(0, "is empty")


def decode_object(line: str, values: Values) -> dict[str, Any]:
    """Return the JSON object in a line; raise NotObjectError if there is none."""
    try:
        value = decode_json(line, values)
    except json.JSONDecodeError as error:
        raise NotObjectError(find_unended_json(line) or json_fault(error)) from None
    except UnfitJsonError as error:
        raise NotObjectError(str(error)) from None
    if not isinstance(value, dict):
        raise NotObjectError(f"is {json_name(value)}, not a JSON object{list_advice(value)}")
    may_be_deep = values == "storable" and line.count("[") + line.count("{") > DEEPEST
    if may_be_deep and _is_too_deep(value):
        raise NotObjectError("is nested too deeply")
    return value


def decode_json(text: str, values: Values) -> Any:
    """Return the value of a JSON text.

    Raises JSONDecodeError if the text is not JSON, and UnfitJsonError for a value that is not to be
    read.
    """
    try:
        value = _DECODERS[values].decode(text)
    except json.JSONDecodeError:
        raise
    except RecursionError:
        raise UnfitJsonError("is nested too deeply") from None
    except ValueError:  # Python's own limit on the digits of an integer
        raise UnfitJsonError("contains a number that is too large") from None
    if values == "storable" and _ESCAPED.search(text):
        written = json.dumps(value, ensure_ascii=False)
        if _ESCAPED_NUL.search(written):
            raise UnfitJsonError("contains a NUL character in a string")
        if _SURROGATE.search(written):
            raise UnfitJsonError("contains half a surrogate pair in a string")
    return value


def json_fault(error: json.JSONDecodeError) -> str:
    """Return the fault of a text that is not JSON."""
    return f"is not JSON (column {error.colno}: {error.msg[:1].lower()}{error.msg[1:]})"


def json_name(value: object) -> str:
    """Return the name of a value's kind, for a message."""
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    names = ((str, "a JSON string"), (dict, "a JSON object"), (list, "a JSON list"))
    return next((name for kind, name in names if isinstance(value, kind)), "a number")


def _is_too_deep(value: dict[str, Any]) -> bool:
    """Return whether another program may be unable to read an object.

    Python's limit of nesting depends on the call stack. A line that is indexed here must be
    readable everywhere.
    """
    is_exported = "checksum" in value
    return _depth(value) > DEEPEST + is_exported


def _depth(value: object) -> int:
    depth = 0
    level = [value]
    while containers := [each for each in level if isinstance(each, list | dict)]:
        depth += 1
        level = []
        for each in containers:
            level += each.values() if isinstance(each, dict) else each
    return depth


def _refuse_constant(name: str) -> float:
    raise UnfitJsonError(f"is not JSON ({name} is not a JSON number)")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise UnfitJsonError(f"contains a number that is too large ({digits[:40]})")
    return number


_DECODERS: dict[Values, json.JSONDecoder] = {
    "storable": json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_finite),
    "standard": json.JSONDecoder(parse_constant=_refuse_constant),
    "any": json.JSONDecoder(),
}
