"""The measured part of a document, between two marks."""

from __future__ import annotations

from pathlib import Path


def replace_marked(path: Path, name: str, content: str) -> None:
    """Put ``content`` between the marks of this name.

    Raises ValueError if the document has none.
    """
    text = path.read_text("utf-8")
    begin, end = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    before, opened, rest = text.partition(begin)
    _, closed, after = rest.partition(end)
    if not opened or not closed:
        raise ValueError(f"{path}: has no part {name}")
    measured = content.strip("\n")
    path.write_text(f"{before}{begin}\n\n{measured}\n\n{end}{after}", "utf-8")
