"""The options with which this package's commands learn or load a model, and the tasks whose files
they read.

A command gets the tasks, with their readers and writers, from its caller: this package imports
``eval`` for types only.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from ..core.errors import QueryError
from .learning.models import ModelManifest

if TYPE_CHECKING:
    from ..eval.tasks import StatementTask, TasksThatSubmit, VerdictTask

    StatementTasks = TasksThatSubmit[StatementTask]
    VerdictTasks = TasksThatSubmit[VerdictTask]


def add_learning(
    parser: argparse.ArgumentParser,
    tasks: Sequence[str],
    models: Sequence[str],
    *,
    train: str,
    what: str,
    model: str,
) -> None:
    """Add the options for the task, the training files, the saved model and its kind; ``what``
    names the model.
    """
    parser.add_argument("task", choices=tasks, metavar="TASK", help=f"one of {', '.join(tasks)}")
    parser.add_argument("--train", nargs="+", type=Path, default=[], metavar="FILE", help=train)
    parser.add_argument(
        "--load", type=Path, metavar="MODEL", help=f"a {what} of --save; use it instead of --train"
    )
    parser.add_argument(
        "--save", type=Path, metavar="MODEL", help=f"write the trained {what} to this file"
    )
    parser.add_argument(
        "--model", metavar="NAME", help=f"one of {', '.join(models)} (default: {model})"
    )


def try_to_submit(source: object, write: Callable[[Path], None]) -> None:
    """Raise QueryError, at ``source``, if a submission cannot be written; a user learns this before
    the training.
    """
    with TemporaryDirectory() as folder:
        try:
            write(Path(folder, "submission"))
        except QueryError as error:
            raise QueryError(error.what, place=source, remedy=error.remedy) from None


def check_model(args: argparse.Namespace, manifest: ModelManifest) -> None:
    """Raise QueryError if ``--model`` names another kind than that of the loaded model."""
    if args.model and args.model != manifest.model:
        reason = f"--model {args.model}: {args.load} is a {manifest.model} model"
        raise QueryError(reason, remedy="leave --model out")
