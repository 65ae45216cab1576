"""Files that the page offers for download, named after what they contain and the day."""

from __future__ import annotations

import io
import unicodedata
from datetime import UTC, datetime

from flask import send_file
from werkzeug.wrappers import Response

BOM = "\ufeff"
"""The mark of UTF-8: Excel reads a CSV file in another encoding without it."""
_LONGEST_NAME = 60
_UNFIT = frozenset('/\\:*?"<>|')
"""Characters that a file name must not contain on one of the usual systems."""


def download(content: str, media_type: str, about: str, ending: str) -> Response:
    """Return a file to save. Its name begins with the words of ``about``, then has the day."""
    name = file_name(about, f"{datetime.now(UTC):%Y-%m-%d}", ending)
    file = io.BytesIO(content.encode("utf-8"))
    return send_file(file, media_type, as_attachment=True, download_name=name)


def file_name(about: str, day: str, ending: str) -> str:
    """Return the name of a file about a text: without slashes, control characters and marks of
    direction.
    """
    shown = "".join(" " if _is_unfit(char) else char for char in about)
    words = " ".join(shown.split())
    if len(words) > _LONGEST_NAME:
        words = words[:_LONGEST_NAME].rsplit(" ", 1)[0]
    words = words.strip(". ")  # some systems hide a file that begins with a dot
    return f"{words or 'factseek'} {day}.{ending}"


def _is_unfit(char: str) -> bool:
    return char in _UNFIT or unicodedata.category(char)[0] in "CZ"
