"""Query profiles: changes to the text of a query before the search."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal

from .references import unescaped

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
