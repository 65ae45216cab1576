"""Texts: references in them, pieces to highlight, and what a profile leaves of a query."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import urlsplit


def refuse_text(name: str, values: object) -> None:
    """Raise TypeError if what should be several values is one text."""
    if isinstance(values, str | bytes):
        raise TypeError(f"{name} is one text; give a list, even of one: [{values[:40]!r}]")


# Python refuses to read a number of thousands of digits, leading zeros included.
_LEADING_ZEROS = re.compile(r"&#0+(?=[0-9])")
_OUT_OF_RANGE = re.compile(r"&#[0-9]{8,}+;?")


def unescaped(text: str) -> str:
    """Return ``text`` with its character references read; one out of range is U+FFFD, as HTML says."""
    if "&" not in text:
        return text
    return html.unescape(_OUT_OF_RANGE.sub("\ufffd", _LEADING_ZEROS.sub("&#", text)))


class Piece(NamedTuple):
    """A stretch of text, and whether it matches the query."""

    text: str
    marked: bool


def pieces_of(text: str, highlights: Sequence[tuple[int, int]], begin: int, end: int) -> list[Piece]:
    """Split ``text[begin:end]`` at the highlights that lie in it."""
    pieces, last = [], begin
    for start, stop in highlights:
        if start >= last and stop <= end:
            pieces += [Piece(text[last:start], False), Piece(text[start:stop], True)]
            last = stop
    pieces.append(Piece(text[last:end], False))
    return [piece for piece in pieces if piece.text]


def web_link(url: str) -> str:
    """Return ``url``, without white space around it, if a browser may be sent there, else ``""``."""
    url = url.strip()
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return url if parts.scheme in ("http", "https") and parts.hostname else ""


_URL = re.compile(r"(?:https?://|www\.|pic\.twitter\.com/|t\.co/)\S+", re.IGNORECASE)
_MENTION = re.compile(r"(?<![\w@.])@\w+")
_RETWEET = re.compile(r"^\s*RT\b\s*(?:@\w+\s*)?:?\s*")
_HASHTAG = re.compile(r"[#＃](\w+)")
# Between a lower-case letter and a capital, an acronym and a word, letters and digits.
_SEAM = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=[^\W\d_])(?=\d)|(?<=\d)(?=[^\W\d_]{2})")

_WORD = re.compile(r"\w")


def plain(text: str) -> str:
    """Return a query as it is."""
    return text


def tweet(text: str) -> str:
    """Return a tweet without URLs, mentions and RT, entities unescaped, hashtags split into words."""
    text = unescaped(unescaped(text))
    text = _URL.sub(" ", text)
    text = _RETWEET.sub("", text)
    text = _MENTION.sub(" ", text)
    text = _HASHTAG.sub(_words_of, text)
    return " ".join(text.split())


def _words_of(hashtag: re.Match[str]) -> str:
    """Return the words of ``#FlattenTheCurve2020``; a tag of mixed letters and digits also stays whole."""
    tag = hashtag[1].replace("_", " ").strip()
    words = _SEAM.sub(" ", tag)
    if words == tag:
        return f" {tag} "
    # "COVID19" is as often written whole as apart: search for both.
    both = any(char.isdigit() for char in tag) and " " not in tag
    return f" {tag} {words} " if both else f" {words} "


PROFILES: dict[str, Callable[[str], str]] = {"plain": plain, "tweet": tweet}
"""The profiles by name."""

if TYPE_CHECKING:
    ProfileName = str
else:
    ProfileName = Literal[tuple(PROFILES)]
    """The name of a profile, as settings and requests are checked."""


def has_words(text: str) -> bool:
    """Return whether a text holds anything to search for."""
    return bool(_WORD.search(text))
