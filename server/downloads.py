"""Files that the server offers for download, named after what they contain and the day."""

from __future__ import annotations

import unicodedata
from datetime import UTC, datetime
from urllib.parse import quote

from flask import Response

_LONGEST_NAME = 60
"""The most characters of a file name before the day."""
_MOST_BYTES = 200
"""The most bytes of these characters: file systems allow 255 for the whole name."""
_UNFIT = frozenset('/\\:*?"<>|')
"""Characters that a file name must not contain on one of the usual systems."""
_PLAIN_NAME = "factseek"


def download(content: str | bytes, media_type: str, about: str, ending: str) -> Response:
    """Return a file to save. Its name begins with the words of ``about``, then has the day."""
    day = f"{datetime.now(UTC):%Y-%m-%d}"
    name = file_name(about, day, ending)
    ascii_name = file_name(_ascii_of(_fit(about)), day, ending)
    names = f'filename="{ascii_name}"'  # all that old programs read
    if name != ascii_name:
        names += f"; filename*=UTF-8''{quote(name, safe='')}"
    response = Response(content, mimetype=media_type)
    response.headers["Content-Disposition"] = f"attachment; {names}"
    return response


def file_name(about: str, day: str, ending: str) -> str:
    """Return the name of a file about a text: without slashes, quotes, control characters and
    marks of direction.

    The name of a file about nothing that a name may contain begins with ``factseek``.
    """
    words = " ".join(_fit(about).split())
    if len(words) > _LONGEST_NAME:
        words = words[:_LONGEST_NAME].rsplit(" ", 1)[0]
    words = words.encode()[:_MOST_BYTES].decode(errors="ignore")
    # Some systems hide a file that begins with a dot, and commands read a dash as an option.
    words = words.lstrip("-. ").rstrip(". ")
    return f"{words or _PLAIN_NAME} {day}.{ending}"


def _fit(text: str) -> str:
    """Return a text with a blank for each character that a file name must not contain."""
    return "".join(" " if _is_unfit(char) else char for char in text)


def _ascii_of(text: str) -> str:
    return unicodedata.normalize("NFKD", text).encode("ascii", "ignore").decode()


def _is_unfit(char: str) -> bool:
    return char in _UNFIT or unicodedata.category(char)[0] in "CZ"
