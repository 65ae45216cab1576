"""The character references of HTML in a text: ``&amp;``, ``&#233;``."""

from __future__ import annotations

import html
import re

# Python refuses to read a number of thousands of digits, leading zeros included.
_LEADING_ZEROS = re.compile(r"&#0+(?=[0-9])")
_OUT_OF_RANGE = re.compile(r"&#[0-9]{8,}+;?")


def unescaped(text: str) -> str:
    """Return ``text`` with its character references read; one out of range is U+FFFD, as HTML says."""
    if "&" not in text:
        return text
    return html.unescape(_OUT_OF_RANGE.sub("\ufffd", _LEADING_ZEROS.sub("&#", text)))
