"""Comma-separated values with a header (RFC 4180), for spreadsheets."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from ..search.evidence import Evidence
from ._table import HEADER, cells

MEDIA, SUFFIX = "text/csv", "csv"
HELP = "comma-separated values; what a spreadsheet would run is defused"


def write(hits: Sequence[Evidence], qid: str) -> str:
    """Return a header and a line a hit."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(HEADER)
    writer.writerows(map(cells, hits))
    return text.getvalue()
