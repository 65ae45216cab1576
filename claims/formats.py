"""The file formats of tasks, as this package's commands need them; the caller passes in the readers and writers."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol, TypeVar

from ..retrieval.domain import Claim, Statement
from ..retrieval.errors import QueryError
from .learning.models import ModelManifest


class StatementFormat(Protocol):
    """A task that ranks statements by check-worthiness; ``LANGUAGES`` are the languages of its statements."""

    LANGUAGES: tuple[str, ...]

    def read_statements(self, path: Path, *, labelled: bool) -> list[Statement]:
        """Return the statements of a whole file."""

    def stream_statements(self, lines: Iterable[bytes], source: str) -> Iterator[Statement]:
        """Yield the statements as their lines arrive."""

    def write(self, records: Iterable[tuple[str, str, float]], path: Path, run_id: str) -> None:
        """Write a submission: the topic or debate, id and score of each statement."""


class ClaimFormat(Protocol):
    """A task that asks for verdicts on claims; ``LABELS`` are the labels that a verdict may have."""

    LABELS: tuple[str, ...]

    def read_claims(self, path: Path, *, labelled: bool) -> list[Claim]:
        """Return the claims of a file."""

    def write_verdicts(
        self, verdicts: Iterable[tuple[Claim, str, Sequence[tuple[str, int]]]], path: Path, run_id: str
    ) -> None:
        """Write a submission: the claim, label and sentences of each verdict."""


FormatT_co = TypeVar("FormatT_co", covariant=True)


class Formats(Protocol[FormatT_co]):
    """The tasks of one kind, by name; ``default`` is the task to use if none is named."""

    def names(self) -> list[str]:
        """Return the names of the tasks."""

    def default(self) -> str:
        """Return the name of the default task."""

    def load(self, name: str) -> FormatT_co:
        """Return the task of this name."""


StatementFormats = Formats[StatementFormat]
ClaimFormats = Formats[ClaimFormat]


def add_learning(
    parser: argparse.ArgumentParser, tasks: Sequence[str], models: Sequence[str], *, train: str, what: str, model: str
) -> None:
    """Add the options for the task, the training files, the saved model and its kind; ``what`` is the model's noun."""
    parser.add_argument("task", choices=tasks, metavar="TASK", help=f"one of {', '.join(tasks)}")
    parser.add_argument("--train", nargs="+", type=Path, default=[], metavar="FILE", help=train)
    parser.add_argument("--load", type=Path, metavar="MODEL", help=f"a {what} that --save wrote; replaces --train")
    parser.add_argument("--save", type=Path, metavar="MODEL", help=f"write the trained {what} to this file")
    parser.add_argument("--model", metavar="NAME", help=f"one of {', '.join(models)} (default: {model})")


class _Learned(Protocol):
    @property
    def manifest(self) -> ModelManifest: ...


Learned = TypeVar("Learned", bound=_Learned)


def loaded(args: argparse.Namespace, load: Callable[[], Learned]) -> Learned:
    """Return the model of ``--load``.

    Raises QueryError if ``--model`` names another kind than that model's.
    """
    learned, kind = load(), args.model
    if kind and kind != learned.manifest.model:
        reason = f"--model {kind}: {args.load} is a {learned.manifest.model} model"
        raise QueryError(reason, remedy="leave --model out")
    return learned
