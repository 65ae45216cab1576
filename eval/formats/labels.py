"""Labels of check-worthiness: 1 is worth checking, 0 is not."""

from __future__ import annotations

from ...retrieval.lines import Faults, shown


def read_label(line: int, text: str, faults: Faults) -> int:
    """Return a gold label; anything but 0 and 1 is an error."""
    if text not in ("0", "1"):
        faults.error(line, f"label {shown(text)} is neither 0 nor 1")
    return int(text == "1")
