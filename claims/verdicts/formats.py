"""What verification asks of the package that knows the tasks' files; the command line hands it over."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

from ...retrieval.domain import Claim


class Formats(Protocol):
    """Read claims and write verdicts."""

    TASKS: tuple[str, ...]
    """The tasks that ask for verdicts."""

    @property
    def LABELS(self) -> Mapping[str, tuple[str, ...]]:  # noqa: N802  a module's constant
        """What a verdict of each task may be."""
        ...

    def read(self, name: str, path: Path, *, labelled: bool) -> list[Claim]:
        """Read the claims of a file."""
        ...

    def write(
        self, name: str, records: Iterable[tuple[Claim, str, Sequence[tuple[str, int]]]], path: Path, run_id: str
    ) -> None:
        """Write claim, label and sentences of each verdict as a submission."""
        ...
