"""Tab-separated values with a header, a hit a line: tabs and line breaks within a text are blanks."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..search.evidence import Evidence
from ._table import HEADER, cells

MEDIA, SUFFIX = "text/tab-separated-values", "tsv"
HELP = "tab-separated values, a hit a line"
_BREAKS = re.compile("[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]+")


def write(hits: Sequence[Evidence], qid: str) -> str:
    """Return a header and a line a hit."""
    rows = (HEADER, *map(cells, hits))
    return "".join("\t".join(_BREAKS.sub(" ", cell) for cell in row) + "\n" for row in rows)
