"""BibTeX, for LaTeX: papers as ``@article``, the rest as ``@misc``."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..search.evidence import Evidence
from ._citation import Citation, citation

MEDIA, SUFFIX = "application/x-bibtex", "bib"
HELP = "BibTeX, for LaTeX"
_UNFIT = re.compile(r"[^A-Za-z0-9.:_-]+")
_ESCAPES = {
    **{sign: f"\\{sign}" for sign in "#$%&_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
}
_VERBATIM = str.maketrans({sign: f"%{ord(sign):02X}" for sign in "{}\\ "})
"""Addresses are taken as they are: no sign in them may end the field."""
_TABLE = str.maketrans(_ESCAPES)


def write(hits: Sequence[Evidence], qid: str) -> str:
    """Return an entry a hit, its key made of the docid; keys that would be the same are numbered."""
    keys: dict[str, int] = {}
    return "".join(_entry(citation(hit), _key(hit.docid, keys)) for hit in hits)


def _key(docid: str, keys: dict[str, int]) -> str:
    """Return a key that no other entry has, and remember it."""
    plain = key = _UNFIT.sub("-", docid).strip("-") or "document"
    while key.lower() in keys:
        keys[plain.lower()] += 1
        key = f"{plain}-{keys[plain.lower()]}"
    keys[key.lower()] = 1
    return key


def _entry(cited: Citation, key: str) -> str:
    fields = [
        ("title", f"{{{cited.title.translate(_TABLE)}}}"),
        ("author", " and ".join(author.translate(_TABLE) for author in cited.authors)),
        ("journal" if cited.paper else "publisher", cited.source.translate(_TABLE)),
        ("year", cited.date[:4]),
        ("month", cited.date[5:7]),
        ("doi", cited.doi.translate(_VERBATIM)),
        ("url", cited.url.translate(_VERBATIM)),
        ("abstract", cited.passage.translate(_TABLE)),
    ]
    lines = "".join(f"  {name} = {{{value}}},\n" for name, value in fields if value and value != "{}")
    return f"@{'article' if cited.paper else 'misc'}{{{key},\n{lines}}}\n\n"
