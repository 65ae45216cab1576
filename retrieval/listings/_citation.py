"""The parts of a citation, for the formats of reference managers."""

from __future__ import annotations

import re
from typing import NamedTuple

from ..search.evidence import Evidence
from ..sentences import sentences

PAPER = "cord19"
"""The kind of source whose documents are articles of journals."""
_SPACE = re.compile(r"\s+")
_STEERING = re.compile("[\x00-\x1f\x7f-\x9f]")


class Citation(NamedTuple):
    """The citation of a hit, each part on one line; unknown is ``""``. ``date`` is a year, a month or a day."""

    docid: str
    paper: bool
    title: str
    authors: tuple[str, ...]
    source: str
    date: str
    url: str
    doi: str
    passage: str


def citation(hit: Evidence) -> Citation:
    """Return the citation of a hit; a document without a title is called by the first sentence of its passage."""
    passage = _line(hit.passage.text)
    named = str(hit.metadata.get("authors") or "")
    authors = tuple(author for part in named.split(";") if (author := _line(part)))
    first = next(sentences(passage), None)
    title = _line(hit.title) or (passage[first.start : first.end] if first else "") or hit.docid
    return Citation(
        docid=_line(hit.docid),
        paper=hit.kind == PAPER,
        title=title,
        authors=authors,
        source=_line(hit.source),
        date=_line(hit.date),
        url=_line(hit.url),
        doi=_line(str(hit.metadata.get("doi") or "")),
        passage=passage,
    )


def _line(text: str) -> str:
    return _STEERING.sub("\ufffd", _SPACE.sub(" ", text)).strip()
