"""The parts of a msgspec validation error: the error has only a message, and only this module
parses that message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import Any, NamedTuple

import msgspec

_UNKNOWN = re.compile(r"Object contains unknown field `(.*)`")
_MISSING = re.compile(r"Object missing required field `(.*)`")
_TEXT_FOR_TRUTH = "Expected `bool`, got `str`"
_ANY_KEY = "[...]"


class Mismatch(NamedTuple):
    """The fault and its place: ``path`` is dotted, such as ``server.indexes[0]``, and empty for the
    whole object.

    ``unknown`` and ``missing`` name a field below the path. ``of_a_key`` means that a key of the
    mapping is invalid, ``no_choice`` that a value is not one of the choices, ``text_for_truth``
    that a text replaces a truth value.
    """

    reason: str
    path: str
    unknown: str = ""
    missing: str = ""
    of_a_key: bool = False
    no_choice: bool = False
    text_for_truth: bool = False

    @property
    def field(self) -> str:
        """The dotted name of the invalid field, including an unknown or missing one."""
        return ".".join(filter(None, (self.path, self.unknown or self.missing)))


def mismatch(error: msgspec.ValidationError) -> Mismatch:
    """Return the parts of a validation error."""
    reason, _, where = str(error).partition(" - at `")
    inside = where.removeprefix("key` in `")
    unknown, missing = _UNKNOWN.fullmatch(reason), _MISSING.fullmatch(reason)
    return Mismatch(
        reason=reason[:1].lower() + reason[1:].replace("`", ""),
        path=inside.rstrip("`").removeprefix("$").lstrip("."),
        unknown=unknown[1] if unknown else "",
        missing=missing[1] if missing else "",
        of_a_key=inside != where,
        no_choice=reason.startswith("Invalid enum value"),
        text_for_truth=reason == _TEXT_FOR_TRUTH,
    )


def mismatch_in(
    raw: Any, error: msgspec.ValidationError, check: Callable[[Any], object]
) -> Mismatch:
    """Return the parts of the error that ``check`` raised for ``raw``.

    msgspec writes ``[...]`` for any key of a mapping. In the path, the first key that causes the
    error replaces it.
    """
    wrong = mismatch(error)
    while _ANY_KEY in wrong.path:
        mapping = wrong.path.partition(_ANY_KEY)[0].split(".")
        alone = islice(_each_alone(raw, mapping), 50)
        key = next(
            (key for key, narrowed in alone if _message(check, narrowed) == str(error)), None
        )
        if key is None:
            break
        wrong = wrong._replace(path=wrong.path.replace(_ANY_KEY, f".{key}", 1))
    return wrong


def _message(check: Callable[[Any], object], raw: Any) -> str:
    try:
        check(raw)
    except msgspec.ValidationError as error:
        return str(error)
    return ""


def _each_alone(raw: Any, path: list[str]) -> Iterator[tuple[str, Any]]:
    """Yield each key of the mapping at a path of ``raw``, with a ``raw`` in which that mapping has
    only this key.
    """
    if not isinstance(raw, Mapping):
        return
    if not path:
        yield from ((str(key), {key: value}) for key, value in raw.items())
    elif path[0] in raw:
        yield from (
            (key, {**raw, path[0]: narrowed})
            for key, narrowed in _each_alone(raw[path[0]], path[1:])
        )
