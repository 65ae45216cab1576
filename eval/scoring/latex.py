"""Tables for papers: LaTeX with booktabs, the best value of each column in bold, and a caption that
says what was tested.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_ESCAPES = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "{": r"\{",
        "}": r"\}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        "–": "--",
        "−": "$-$",
        "→": r"$\rightarrow$",
    }
)


def escape_latex(text: str) -> str:
    """Return a text without characters that LaTeX reads as commands."""
    # Two hyphens would become one dash. The empty group between them comes after the escapes.
    apart = re.sub("-(?=-)", "-\0", " ".join(text.split()))
    return apart.translate(_ESCAPES).replace("\0", "{}")


def bold(text: str) -> str:
    """Return LaTeX in bold."""
    return rf"\textbf{{{text}}}"


def superscript(marks: str) -> str:
    """Return marks after a figure, such as the letters of the runs that it is better than."""
    return rf"$^{{{marks}}}$" if marks else ""


def latex_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], caption: str, *, left: int = 1
) -> str:
    """Return a table with its caption; the first ``left`` columns are left-aligned.

    ``header`` and ``caption`` are texts, which are escaped. The cells of ``rows`` are LaTeX.
    """
    columns = "l" * left + "r" * (len(header) - left)
    lines = [
        r"\begin{table}",
        r"  \centering",
        rf"  \begin{{tabular}}{{{columns}}}",
        r"    \toprule",
        f"    {' & '.join(map(escape_latex, header))} \\\\",
        r"    \midrule",
        *(f"    {' & '.join(row)} \\\\" for row in rows),
        r"    \bottomrule",
        r"  \end{tabular}",
        rf"  \caption{{{escape_latex(caption)}}}",
        r"\end{table}",
    ]
    return "% Needs \\usepackage{booktabs}.\n" + "\n".join(lines) + "\n"


def text_rows(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    """Return the cells of plain tables as LaTeX."""
    return [list(map(escape_latex, row)) for row in rows]
