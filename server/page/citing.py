"""Citations of a hit, to be copied: in plain text, as RIS, as a link."""

from __future__ import annotations

from typing import NamedTuple

from ...retrieval.evidence import Evidence
from ...retrieval.listings import list_hits
from ...retrieval.listings._citation import Citation, citation


class Cited(NamedTuple):
    """The citations of a hit; ``link`` leads to the source, or to the document here where it names none."""

    plain: str
    ris: str
    link: str


def cited(hit: Evidence, link: str) -> Cited:
    """Return the citations of a hit; ``link`` is the address of its source, or of its document here."""
    return Cited(_plain(citation(hit), link), list_hits([hit], "ris").strip(), link)


def _plain(parts: Citation, link: str) -> str:
    authors = "; ".join(parts.authors[:3]) + (" et al." if len(parts.authors) > 3 else "")
    title = parts.title if parts.title.endswith(("…", ".", "?", "!", "؟")) else f"{parts.title}."
    pieces = [f"{authors}." if authors else "", f"“{title}”", ", ".join(filter(None, (parts.source, parts.date)))]
    doi = f"doi:{parts.doi}" if parts.doi else ""
    return " ".join(filter(None, [*pieces[:2], f"{pieces[2]}." if pieces[2] else "", doi or link]))
