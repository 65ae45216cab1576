"""The cells of a hit, for formats that are tables."""

from __future__ import annotations

import re

from ..search.evidence import Evidence

HEADER = (
    "rank",
    "docid",
    "score",
    "title",
    "passage",
    "url",
    "date",
    "source",
    "topic",
    "language",
    "kind",
    "near_copies",
    "index",
)
_RUNS = re.compile("[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")


def cells(hit: Evidence) -> list[str]:
    """Return the cells of a hit in the order of ``HEADER``; texts are defused, numbers are what they are."""
    texts = (hit.title, hit.passage.text, hit.url, hit.date, hit.source, hit.topic, hit.language, hit.kind)
    copies = str(hit.copies.count) if hit.copies else ""
    return [str(hit.rank), defused(hit.docid), repr(hit.score), *map(defused, texts), copies, defused(hit.index or "")]


def defused(text: str) -> str:
    """Return a text with an apostrophe before it if a spreadsheet would take it for a formula, and without NULs."""
    text = text.replace("\0", "\ufffd")
    return f"'{text}" if _RUNS.match(text) else text
