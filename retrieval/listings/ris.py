"""RIS, which reference managers read (Zotero, EndNote, Citavi)."""

from __future__ import annotations

from collections.abc import Sequence

from ..search.evidence import Evidence
from ._citation import Citation, citation

MEDIA, SUFFIX = "application/x-research-info-systems", "ris"
HELP = "RIS, for reference managers"


def write(hits: Sequence[Evidence], qid: str) -> str:
    """Return a record a hit: papers as articles of journals, the rest as pages."""
    return "".join(_record(citation(hit)) for hit in hits)


def _record(cited: Citation) -> str:
    fields = [
        ("TY", "JOUR" if cited.paper else "ELEC"),
        ("ID", cited.docid),
        ("TI", cited.title),
        *(("AU", author) for author in cited.authors),
        ("JO" if cited.paper else "PB", cited.source),
        ("PY", cited.date[:4]),
        ("DA", cited.date.replace("-", "/")),
        ("DO", cited.doi),
        ("UR", cited.url),
        ("AB", cited.passage),
    ]
    return "".join(f"{tag}  - {value}\r\n" for tag, value in fields if value) + "ER  - \r\n\r\n"
