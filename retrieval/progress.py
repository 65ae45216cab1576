"""Progress bars: for whatever takes more than two seconds, on standard error, silent when it is no terminal."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol


class Bar(Protocol):
    """A running progress bar."""

    def update(self, n: int = 1) -> object:
        """Say that ``n`` more are done."""
        ...

    def close(self) -> None:
        """End the bar."""
        ...


Progress = Callable[[str, str, int], Bar]
"""Start a bar: what is done, to what, and how many there are."""


def bar(doing: str, unit: str, total: int | None = None) -> Bar:
    """Start a bar that shows after two seconds."""
    from tqdm import tqdm

    running: Bar = tqdm(desc=doing, unit=f" {unit}", total=total, delay=2, disable=None, dynamic_ncols=True)
    return running


class _Silent:
    def update(self, n: int = 1) -> None:
        """Say nothing."""

    def close(self) -> None:
        """Say nothing."""


def silent(doing: str, unit: str, total: int) -> Bar:
    """Start a bar that shows nothing."""
    return _Silent()
