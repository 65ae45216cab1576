"""Texts: character references, pieces to highlight, and the profiles that prepare queries."""

from __future__ import annotations

import html
import re
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple
from urllib.parse import urlsplit


def refuse_text(name: str, values: object) -> None:
    """Raise TypeError if ``values`` is a single string instead of several."""
    if isinstance(values, str | bytes):
        raise TypeError(f"{name} is one text; give a list, even for one text: [{values[:40]!r}]")


# Python refuses to convert numbers of thousands of digits, including leading zeros.
_LEADING_ZEROS = re.compile(r"&#0+(?=[0-9])")
_OUT_OF_RANGE = re.compile(r"&#[0-9]{8,}+;?")


def unescape(text: str) -> str:
    """Return ``text`` with its character references resolved; a reference out of range becomes
    U+FFFD, as in HTML.
    """
    if "&" not in text:
        return text
    return html.unescape(_OUT_OF_RANGE.sub("\ufffd", _LEADING_ZEROS.sub("&#", text)))


class Piece(NamedTuple):
    """A slice of text, and whether it matches the query."""

    text: str
    marked: bool


def pieces_of(
    text: str, highlights: Sequence[tuple[int, int]], begin: int, end: int
) -> list[Piece]:
    """Split ``text[begin:end]`` at the highlights in it."""
    pieces, last = [], begin
    for start, stop in highlights:
        if start >= last and stop <= end:
            pieces += [Piece(text[last:start], False), Piece(text[start:stop], True)]
            last = stop
    pieces.append(Piece(text[last:end], False))
    return [piece for piece in pieces if piece.text]


def web_link(url: str) -> str:
    """Return ``url``, without white space around it, if it is a web address, else ``""``."""
    url = url.strip()
    try:
        parts = urlsplit(url)
    except ValueError:
        return ""
    return url if parts.scheme in ("http", "https") and parts.hostname else ""


@cache
def marks() -> str:
    """Return all combining marks in the form of a character class, because ``\\w`` does not include
    them.
    """
    codes = [
        code for code in range(0x300, 0x1E94B) if unicodedata.category(chr(code)) in ("Mn", "Mc")
    ]
    # Ranges make the patterns twice as fast as single characters.
    firsts = [code for before, code in zip((0, *codes), codes, strict=False) if code != before + 1]
    lasts = [code for code, after in zip(codes, (*codes[1:], 0), strict=True) if after != code + 1]
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in zip(firsts, lasts, strict=True))


_LATIN = "A-Za-z0-9_\u00c0-\u024f\u0300-\u036f\u1e00-\u1eff"
# The characters of a URL: RFC 3986, and letters with accents. Text of a script without spaces, and
# punctuation of other scripts, may follow it.
_IN_URL = rf"[{_LATIN}.~:/?#\[\]@!$&'()*+,;=%-]*"
_LINK = re.compile(
    rf"(?:(?:(?i:https?://)|(?<![{_LATIN}.@/-]))(?i:t\.co/)[A-Za-z0-9]*(?:[?/#]{_IN_URL})?"
    r"|(?i:pic\.twitter\.com/)[A-Za-z0-9]*"
    rf"|(?:(?i:https?://)|(?<![{_LATIN}])(?i:www\.)){_IN_URL})"
    # With the punctuation that ends a sentence or a quotation.
    r"(?:[!-/:-@\[-`{-~\u2019\u201d\u2026]+(?!\S))?"
)
_NAME = rf"[@＠][A-Za-z0-9_]{{1,15}}(?![{_LATIN}])"
_MENTION = re.compile(rf"(?<![{_LATIN}@＠!#$%&*]){_NAME}")
_RETWEET = re.compile(rf"^\s*RT\b\s*(?:{_NAME}\s*)?[:：]?\s*")
_ASCII_HASHTAG = re.compile(r"#(\w+)")
_WORD = re.compile(r"\w")


@cache
def _hashtag() -> re.Pattern[str]:
    return re.compile(rf"[#＃](\w(?:\w|[{marks()}\u200c\u200d])*)")


def tweet(text: str) -> str:
    """Return a tweet without links, mentions and RT, with entities resolved; hashtags appear whole
    and as words.
    """
    text = _without_marks_of_tweets(text)
    text = _tag_in(text).sub(lambda tag: f" {' '.join(_spellings(tag[1]))} ", text)
    return " ".join(text.split())


def hashtags_of_words(text: str) -> tuple[tuple[str, str], ...]:
    """Return the hashtags of a tweet that have several words, each whole and as its words."""
    if "#" not in text and "＃" not in text:
        return ()
    text = _without_marks_of_tweets(text)
    tags = (tuple(_spellings(tag[1])) for tag in _tag_in(text).finditer(text))
    return tuple(dict.fromkeys((tag[0], tag[1]) for tag in tags if len(tag) == 2))


def _without_marks_of_tweets(text: str) -> str:
    text = unescape(unescape(text))
    text = _LINK.sub(" ", text)
    text = _RETWEET.sub("", text)
    return _MENTION.sub(" ", text)


def _tag_in(text: str) -> re.Pattern[str]:
    return _ASCII_HASHTAG if text.isascii() else _hashtag()


def _spellings(tag: str) -> list[str]:
    """Return a tag and, if it has several words, also these words, since texts contain both
    forms.
    """
    tag, words, before = tag.strip("_"), "", ""
    for at, char in enumerate(tag):
        after = tag[at + 1 : at + 2]
        if (
            (before.islower() and char.isupper())
            or (before.isupper() and char.isupper() and after.islower())
            or (before.isalpha() and char.isdecimal())
            or (before.isdecimal() and char.isalpha() and after.isalpha())
        ):
            words += " "
        words += " " if char == "_" else char
        if unicodedata.category(char)[0] != "M":
            before = char
    return [tag] if words == tag else [tag, " ".join(words.split())]


PROFILES: dict[str, Callable[[str], str]] = {"plain": str, "tweet": tweet}  # the profiles by name

if TYPE_CHECKING:
    ProfileName = str
else:
    ProfileName = Literal[tuple(PROFILES)]
    """The name of a profile, for the validation of settings and requests."""


def has_words(text: str) -> bool:
    """Return whether a text contains anything to search for."""
    return bool(_WORD.search(text))
