"""What ``claims`` asks of the package that knows the tasks' files; the command line hands it over.

So the parsers and writers stay in one place, beside the checkers and scorers, and neither package imports the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

from ...retrieval.domain import Statement


class Formats(Protocol):
    """Read statements and write submissions."""

    TASKS: tuple[str, ...]
    """The tasks that rank by check-worthiness."""

    def read(self, name: str, path: Path, *, labelled: bool) -> list[Statement]:
        """Read a whole file."""
        ...

    def stream(self, name: str, lines: Iterable[bytes], source: str) -> Iterator[Statement]:
        """Read statements as their lines come."""
        ...

    def write(self, name: str, records: Iterable[tuple[str, str, float]], path: Path, run_id: str) -> None:
        """Write topic or debate, id and score of each statement as a submission."""
        ...
