"""The command ``watch``."""

from __future__ import annotations

import argparse
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ..retrieval.errors import UsageError
from ..retrieval.terminal import DONE, Subparsers, add_index, config_of, counted, say, write_now
from .collections import kinds
from .settings import Config

if TYPE_CHECKING:
    from .watching import WatchOutcome

PATIENCE = 60.0
"""Seconds that a batch waits for another writer to finish before it is tried again."""


def register(commands: Subparsers) -> None:
    """Add ``watch`` to the command line."""
    parser = commands.add_parser(
        "watch",
        help="index files as they appear in a folder",
        description="Add the files of a folder to an index, then add files as they appear or change, until you stop"
        " it.",
    )
    parser.add_argument("folder", type=Path, metavar="DIR", help="the folder to watch")
    add_index(parser)
    parser.add_argument(
        "--kind",
        default="",
        metavar="KIND",
        help=f"one of {', '.join(kinds())} (default: the kind that the index contains)",
    )
    parser.add_argument("--pattern", default="*", metavar="GLOB", help="only files whose names match (default: all)")
    parser.add_argument("--language", default="", metavar="CODE", help="language of the documents (default: en)")
    parser.add_argument("--no-dense", action="store_true", help="build no vectors if this command creates the index")
    parser.set_defaults(command=watch_folder)


def watch_folder(args: argparse.Namespace) -> int:
    """Watch a folder until stopped, and print the result of each batch."""
    from .build import BuildRequest
    from .watching import Watched, check, watch

    request = BuildRequest(
        kind=args.kind or _kind_of(args.index),
        sources=(),
        folder=args.index,
        language=args.language,
        dense=not args.no_dense,
        wait=PATIENCE,
    )
    watched = Watched(folder=args.folder, request=request, pattern=args.pattern)
    check(watched)
    with _stopped_by_signals() as stop:
        say(f"watching {args.folder}; Ctrl-C stops")
        for outcome in watch(watched, config_of(args, Config), stop):
            _tell(args.index, outcome)
    say("stopped")
    return DONE


def _kind_of(index: Path) -> str:
    """Return the only kind of source in an index.

    Raises UsageError if there is no index, or if it has several kinds.
    """
    from ..retrieval.store import manifest as manifests

    held = {segment.kind for segment in manifests.read(index).segments} if (index / manifests.NAME).exists() else set()
    if len(held) != 1:
        reason = f"the index {index} contains {', '.join(sorted(held))}" if held else f"there is nothing in {index} yet"
        raise UsageError(
            f"give the kind of the files with --kind: {reason}", remedy=f"the kinds are {', '.join(kinds())}"
        )
    return held.pop()


def _tell(index: Path, outcome: WatchOutcome) -> None:
    if outcome.report is None:
        say(f"factseek: {outcome.error}")
        return
    report, files = outcome.report, len(outcome.files)
    replaced = f", of which {report.replaced} replaced others" if report.replaced else ""
    read = counted(files, "file")
    write_now(f"{index}: added {counted(report.documents, 'document')}{replaced} from {read}\n")


@contextmanager
def _stopped_by_signals() -> Iterator[threading.Event]:
    """Set an event at the first Ctrl-C or termination signal; a second signal has its usual effect."""
    stop = threading.Event()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def heard(*_: object) -> None:
        stop.set()
        restore()

    for number in before:
        signal.signal(number, heard)
    try:
        yield stop
    finally:
        restore()
