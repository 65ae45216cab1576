"""Results in a notebook: as a DataFrame of pandas, and as a table of HTML that loads nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from typing import Any

from .errors import MachineError

_FIGURE = re.compile(r"[-+]?[0-9][-+0-9.,%–]*(?: to [-+0-9.,]+)?")


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


def html(
    title: str,
    *tables: tuple[Sequence[str], Sequence[Sequence[str]]],
    notes: Sequence[str] = (),
) -> str:
    """Return tables under a title, and notes below them, as HTML; texts are escaped."""
    parts = [f"<p><strong>{escape(title)}</strong></p>"]
    parts += [html_table(header, rows) for header, rows in tables]
    parts += [f"<p>Note: {escape(note)}.</p>" for note in notes]
    return "<div>" + "".join(parts) + "</div>"


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an HTML table; cells are text.

    Names may wrap so that all columns fit; figures never wrap.
    """
    return html_rows(header, [list(map(escape, row)) for row in rows])


def html_rows(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return an HTML table whose cells are HTML already; the header is text."""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in header)
    body = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>\n" for row in rows)
    return f'<div class="wide"><table>\n<tr>{head}</tr>\n{body}</table></div>\n'


def _cell(content: str) -> str:
    kind = ' class="figure"' if _FIGURE.fullmatch(content) else ""
    return f"<td{kind}>{content}</td>"
