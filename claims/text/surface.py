"""Features that work in any language: numbers, names, addresses, punctuation, length, and the time
of a tweet.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...core.domain import Statement
from ...core.text import unescape
from .words import MENTION, URL

_TWEET_NUMBER = re.compile(r"[1-9][0-9]{16,18}")
"""The form of the ids of tweets since the end of 2010; the first bits of such an id are a time."""
_BEFORE = 22
"""The number of bits of an id after the time, which counts milliseconds since ``_START``."""
_START = 1_288_834_974_657  # in milliseconds since 1970
_DAY = 86_400_000
_NUMBER = re.compile(r"(?<![\w@#])[-+]?\d+(?:[.,:]\d+)*")
_YEAR = re.compile(r"(?<!\d)(?:19|20)\d\d(?!\d)")
_PERCENT = re.compile(r"\d\s?[%٪]|per ?cent|por ciento|процент|yüzde|في المئة|بالمئة")
_MONEY = re.compile(r"[$€£₺]|\b(?:dollars?|euros?|лева|lira|TL)\b")
_HASHTAG = re.compile(r"[#＃]\w+")
_QUOTE = re.compile(r"[\"“”«»„‟]")
_NAME = re.compile(r"(?<=[\w,;] )[^\W\d_a-zа-я][\w’'-]+")
_WORD = re.compile(r"\w+")
_UPPER = re.compile(r"\b[^\W\d_]{2,}\b")

NAMES = (
    "numbers",
    "digits",
    "years",
    "percentages",
    "money",
    "addresses",
    "mentions",
    "hashtags",
    "quotes",
    "names",
    "capitals",
    "exclamations",
    "questions",
    "colons",
    "ellipses",
    "emoji",
    "reply",
    "retweet",
    "words",
    "characters",
    "word length",
    "lines",
    "truncated",
)
"""The names of the columns, which say what they count."""


def surface_features(statements: Sequence[Statement]) -> NDArray[np.float64]:
    """Return the features, shape (len(statements), len(NAMES)); counts are ln(1 + n)."""
    rows = [_features_of(unescape(unescape(statement.text))) for statement in statements]
    return np.array(rows).reshape(-1, len(NAMES))


def _features_of(text: str) -> list[float]:
    bare = MENTION.sub(" ", URL.sub(" ", text))
    words = _WORD.findall(bare)
    counts = [
        len(_NUMBER.findall(bare)),
        sum(char.isdigit() for char in bare),
        len(_YEAR.findall(bare)),
        len(_PERCENT.findall(bare)),
        len(_MONEY.findall(bare)),
        len(URL.findall(text)),
        len(MENTION.findall(text)),
        len(_HASHTAG.findall(text)),
        len(_QUOTE.findall(text)),
        len(_NAME.findall(bare)),
        sum(word.isupper() for word in _UPPER.findall(bare)),
        text.count("!"),
        text.count("?") + text.count("؟"),
        bare.count(":"),
        text.count("…") + text.count("..."),
        sum(ord(char) > 0x2190 and not char.isalnum() for char in text),
    ]
    begins = [float(text.lstrip().startswith(sign)) for sign in ("@", "RT ")]  # a reply, a retweet
    lengths = [len(words), len(bare), sum(map(len, words)) / max(1, len(words)), text.count("  ")]
    return [
        *map(math.log1p, counts),
        *begins,
        *map(math.log1p, lengths),
        float(text.rstrip().endswith("…")),
    ]


def decode_time(statement: Statement) -> float:
    """Return the time of a tweet from its id, in days since 1970 (UTC); NaN if the id is not a
    tweet's.
    """
    if not _TWEET_NUMBER.fullmatch(statement.qid):
        return float("nan")
    return ((int(statement.qid) >> _BEFORE) + _START) / _DAY
