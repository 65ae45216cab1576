"""Tables of figures: for the terminal, in Markdown, and on an HTML page that needs no network."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape

from .statistics import Interval

_STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 96rem; margin: 2rem auto;
  padding: 0 1rem; color: #1b1b1b; }
p, ul, svg { max-width: 72rem; }
table { border-collapse: collapse; margin: 1rem 0; font-size: .875rem; }
th, td { border-bottom: 1px solid #ccc; padding: .25rem .5rem; text-align: right;
  overflow-wrap: anywhere; }
th { overflow-wrap: normal; }
th:first-child, td:first-child { text-align: left; overflow-wrap: normal; }
td.figure { white-space: nowrap; }
img, svg { max-width: 100%; height: auto; }
.wide { overflow-x: auto; }
"""


def figure(value: float | None, digits: int = 4) -> str:
    """Return a figure as text; ``-`` if it is undefined."""
    return "-" if value is None else f"{value:.{digits}f}"


def span(low: float, high: float) -> str:
    """Return an interval as text."""
    return f"{figure(low)} to {figure(high)}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return a table for the terminal; the first ``left`` columns are left-aligned, the others
    right-aligned.
    """
    lines = [list(header), *map(list, rows)]
    widths = [max(len(line[at]) for line in lines) for at in range(len(header))]
    pads = [*[str.ljust] * left, *[str.rjust] * (len(header) - left)]
    padded = (
        [pad(cell, width) for pad, cell, width in zip(pads, line, widths, strict=True)]
        for line in lines
    )
    return "".join("  ".join(cells).rstrip() + "\n" for cells in padded)


def interval_table(measure: str, rows: Mapping[str, Interval]) -> str:
    """Return a table of means with their intervals."""
    return table(interval_header(measure), interval_cells(rows))


def interval_header(measure: str) -> tuple[str, ...]:
    """Return the header of a table of means with their intervals."""
    return ("", measure, "95 % interval")


def interval_cells(rows: Mapping[str, Interval]) -> list[tuple[str, ...]]:
    """Return the rows of a table of means with their intervals."""
    return [(name, figure(of.mean), span(of.low, of.high)) for name, of in rows.items()]


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int = 1) -> str:
    """Return a Markdown table; its first ``left`` columns are left-aligned, the others
    right-aligned.
    """
    lines = [header, ["---"] * left + ["---:"] * (len(header) - left), *rows]
    return "".join(
        f"| {' | '.join(cell.replace('|', '&#124;') for cell in line)} |\n" for line in lines
    )


def page(title: str, body: str) -> str:
    """Return the HTML page around ``body``, which is HTML."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
        f"<h1>{escape(title)}</h1>\n{body}</body>\n</html>\n"
    )


def html_image(png: bytes, alternative: str) -> str:
    """Return an HTML image that contains the PNG's bytes; ``alternative`` describes the picture."""
    return (
        f'<p><img src="data:image/png;base64,{b64encode(png).decode()}" '
        f'alt="{escape(alternative)}"></p>\n'
    )
