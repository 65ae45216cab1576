"""When a tweet was written, as its number tells."""

from __future__ import annotations

import re

from ...retrieval.domain import Statement

_NUMBER = re.compile(r"[1-9][0-9]{16,18}")
"""A number that X, then Twitter, gave a tweet since the end of 2010: its first 42 bits are a time."""
_BEFORE = 22
"""Bits of a number below the time, which counts milliseconds from :data:`_START`, in milliseconds since 1970."""
_START = 1_288_834_974_657
_DAY = 86_400_000


def written(statement: Statement) -> float:
    """Return when a tweet was written, as its number tells, in days since 1970 (UTC); NaN if it is no such number."""
    if not _NUMBER.fullmatch(statement.qid):
        return float("nan")
    return ((int(statement.qid) >> _BEFORE) + _START) / _DAY
