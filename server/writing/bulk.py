"""The documents of a bulk request: a JSON array, or a line of JSON each, checked as far as being whole goes."""

from __future__ import annotations

import msgspec
from flask import Request
from werkzeug.exceptions import UnsupportedMediaType

from ..contract.errors import BadInput
from ..contract.requests import body_of

_LINES = frozenset({"application/x-ndjson", "application/ndjson", "application/jsonl"})
_ARRAY = msgspec.json.Decoder(list[msgspec.Raw])
_OBJECT = msgspec.json.Decoder(dict[str, msgspec.Raw])


def lines_of(request: Request, most: int) -> list[bytes]:
    """Return the documents of a request, each a line of JSON.

    What is wrong with a document is not looked at here, but a body that is cut off or no JSON is refused as a whole.
    Raises BadInput, naming the item (from 1), UnsupportedMediaType, or RequestEntityTooLarge.
    """
    if not request.is_json and request.mimetype not in _LINES:
        raise UnsupportedMediaType
    body = body_of(request)
    try:
        body.decode("utf-8")
    except UnicodeDecodeError as error:
        raise BadInput("body", f"is not UTF-8 (byte {error.start + 1})") from None
    parts = _array(body) if request.is_json else [line.strip() for line in body.split(b"\n")]
    items = [item for item in parts if item]
    if not 1 <= len(items) <= most:
        remedy = "; split it" if items else ""
        raise BadInput("body", f"a bulk holds 1 to {most} documents, this one {len(items)}{remedy}")
    return [_line(number, item) for number, item in enumerate(items, 1)]


def _array(body: bytes) -> list[bytes]:
    try:
        return [bytes(item) for item in _ARRAY.decode(body)]
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadInput("body", f"is not a JSON array of documents: {_error_text(error)}") from None


def _line(number: int, item: bytes) -> bytes:
    """Return an item on one line."""
    try:
        _OBJECT.decode(item)
        # Line ends may stand between the parts of an object, never within a string.
        return item.replace(b"\r", b" ").replace(b"\n", b" ")
    except (msgspec.DecodeError, RecursionError) as error:
        raise BadInput("body", f"item {number} is not a JSON object: {_error_text(error)}") from None


def _error_text(error: Exception) -> str:
    return "it is nested too deeply" if isinstance(error, RecursionError) else str(error).replace("`", "")
