"""Results in a notebook: as a DataFrame of pandas, and as a table of HTML that loads nothing."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import Any

from ...core.errors import MachineError
from .tables import html_table


def frame(header: Sequence[str], rows: Sequence[Sequence[object]], index: str = "") -> Any:
    """Return a table as a DataFrame; the column ``index`` becomes its index.

    Raises MachineError if pandas is not installed.
    """
    try:
        import pandas as pd
    except ImportError:
        raise MachineError(
            "pandas is not installed", remedy="install it with: python -m pip install pandas"
        ) from None
    table = pd.DataFrame(list(map(list, rows)), columns=list(header))
    return table.set_index(index) if index else table


def html(title: str, *tables: tuple[Sequence[str], Sequence[Sequence[str]]]) -> str:
    """Return tables under a title as HTML; texts are escaped."""
    parts = [f"<p><strong>{escape(title)}</strong></p>"]
    parts += [html_table(header, rows) for header, rows in tables]
    return "<div>" + "".join(parts) + "</div>"
