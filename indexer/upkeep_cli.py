"""The commands that maintain an index: ``compact``, ``verify-index``, ``snapshot``, ``export``, ``watch`` and so on."""

from __future__ import annotations

import argparse
import errno
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import msgspec

from ..retrieval.errors import CheckFailed, UsageError
from ..retrieval.filters import parse_filter
from ..retrieval.terminal import (
    DONE,
    STAYS_WHOLE,
    Subparsers,
    add_filter,
    add_index,
    add_json,
    config_of,
    format_count,
    report,
    say,
    write,
    write_bytes,
    write_now,
)
from .collections import kinds
from .settings import Config

if TYPE_CHECKING:
    from .compaction import Compacted
    from .snapshot import Copied
    from .verification import Repaired, Verified

PATIENCE = 60.0
"""Seconds that a batch of watched files waits for another writer to finish; after that, it is tried again later."""


def register(commands: Subparsers) -> None:
    """Add the commands to the command line."""
    compact = commands.add_parser(
        "compact",
        help="merge segments and drop deleted documents",
        description="Merge the segments of an index, separately for each kind of source, and drop deleted documents.",
    )
    compact.add_argument(
        "--add",
        action="append",
        default=[],
        metavar="VIEW",
        help="add what the index lacks: signatures (to find near-duplicates), words (to suggest spellings) or vectors",
    )
    add_index(compact)
    add_wait(compact)
    add_json(compact)
    compact.set_defaults(command=compact_index, interrupted=STAYS_WHOLE)
    verify = commands.add_parser(
        "verify-index",
        help="check an index for damage",
        description="Check every file of an index against its checksum, and check that the parts of the index agree.",
    )
    add_index(verify)
    verify.add_argument("--repair", action="store_true", help="rebuild damaged parts from the documents")
    add_json(verify)
    add_wait(verify)
    verify.set_defaults(command=verify_index, interrupted=STAYS_WHOLE)
    snapshot = commands.add_parser(
        "snapshot",
        help="copy an index, even while it is in use",
        description="Copy the current state of an index to a new folder. The copy is a complete index.",
    )
    snapshot.add_argument("target", type=Path, metavar="DIR", help="the new folder")
    snapshot.add_argument("--copy", action="store_true", help="copy every file instead of sharing it by a hard link")
    add_index(snapshot)
    add_json(snapshot)
    snapshot.set_defaults(command=_take_snapshot, interrupted=STAYS_WHOLE)
    restore = commands.add_parser(
        "restore",
        help="restore an index from a snapshot",
        description="Restore an index from a snapshot, as a new index or over an existing one.",
    )
    restore.add_argument("source", type=Path, metavar="DIR", help="the snapshot")
    restore.add_argument("--overwrite", action="store_true", help="replace an existing index")
    add_index(restore)
    add_wait(restore)
    add_json(restore)
    restore.set_defaults(command=_restore_index, interrupted=STAYS_WHOLE)
    export = commands.add_parser(
        "export",
        help="write the documents as JSON lines, or reviews of claims as JSON-LD",
        description="Write the documents of an index as JSON lines for factseek index jsonl, or its claim reviews as"
        " schema.org's ClaimReview for factseek index claimreview.",
    )
    export.add_argument(
        "--as",
        dest="form",
        choices=("jsonl", "claimreview"),
        default="jsonl",
        help="jsonl: all documents; claimreview: those with a claim, a url and a rating, as JSON-LD (default: jsonl)",
    )
    export.add_argument("--output", type=Path, metavar="FILE", help="the file to write (default: -, standard output)")
    add_filter(export)
    add_index(export)
    add_json(export)
    export.set_defaults(command=_export_documents)
    alias = commands.add_parser(
        "alias",
        help="give an index another name",
        description="Let NAME point to an index, in one step, even while a server uses NAME for another index.",
        epilog="Every command accepts NAME as an index directory.",
    )
    alias.add_argument("alias", metavar="NAME=DIR", help="the path of the alias, and the index that it points to")
    add_json(alias)
    alias.set_defaults(command=_point_alias, interrupted=STAYS_WHOLE)
    watch = commands.add_parser(
        "watch",
        help="index files as they appear in a folder",
        description="Add the files of a folder to an index, then add new and changed files until you stop the command.",
    )
    watch.add_argument("folder", type=Path, metavar="DIR", help="the folder to watch")
    add_index(watch)
    watch.add_argument(
        "--kind",
        default="",
        metavar="KIND",
        help=f"one of {', '.join(kinds())} (default: the kind that the index contains)",
    )
    watch.add_argument("--pattern", default="*", metavar="GLOB", help="only files whose names match (default: all)")
    watch.add_argument("--language", default="", metavar="CODE", help="language of the documents (default: en)")
    watch.add_argument("--no-dense", action="store_true", help="build no vectors if this command creates the index")
    watch.set_defaults(command=_watch_folder)


def add_wait(parser: argparse.ArgumentParser) -> None:
    """Add ``--wait``."""
    parser.add_argument(
        "--wait",
        type=_seconds,
        default=0.0,
        metavar="SECONDS",
        help="wait up to this long for another writer to finish",
    )


def _seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise UsageError(f"--wait {value}: give a number of seconds, 0 or more")
    return seconds


def _point_alias(args: argparse.Namespace) -> int:
    from .aliases import point

    name, _, index = args.alias.partition("=")
    if not name or not index:
        raise UsageError(f"{args.alias!r} is not of the form NAME=DIR")
    done = point(Path(name), Path(index))
    before = f", before that to {done.before}" if done.before and done.before != done.target else ""
    facts = {
        "alias": str(done.alias),
        "index": str(done.target),
        "manifest_id": done.manifest_id,
        "before": str(done.before) if done.before else None,
    }
    report(args, facts, f"{done.alias}: points to {done.target}{before}\n")
    return DONE


def compact_index(args: argparse.Namespace, compact: Callable[..., Compacted] | None = None) -> int:
    """Merge segments with ``compact``, by default the function for an index without shards, and print the result."""
    from ..retrieval.search.opening import read_published
    from . import compaction

    began = perf_counter()
    before = read_published(args.index).views
    compacted = (compact or compaction.compact)(args.index, config_of(args, Config), add=args.add, wait=args.wait)
    after = len(compacted.manifest.segments)
    done = []
    if after < compacted.before:
        done.append(f"merged {format_count(compacted.before, 'segment')} into {after}")
    if compacted.dropped:
        done.append(f"dropped {format_count(compacted.dropped, 'deleted document')}")
    added = sorted(compacted.manifest.views.keys() - before.keys())
    if added:
        done.append(f"added {', '.join(added)}")
    seconds = perf_counter() - began
    line = f"{', '.join(done)} in {seconds:.1f} s" if done else f"nothing to merge in {format_count(after, 'segment')}"
    facts = {
        "index": str(args.index),
        "manifest_id": compacted.manifest.id,
        "segments_before": compacted.before,
        "segments": after,
        "dropped": compacted.dropped,
        "added": added,
        "seconds": round(seconds, 3),
    }
    report(args, facts, f"{args.index}: {line}\n")
    return DONE


def verify_index(
    args: argparse.Namespace,
    verify: Callable[..., Verified] | None = None,
    repair: Callable[..., Repaired] | None = None,
) -> int:
    """Check an index and, with ``--repair``, repair it; print what is wrong.

    ``verify`` and ``repair`` replace the functions for an index without shards. Raises CheckFailed if faults are left.
    """
    from . import verification

    config = config_of(args, Config)
    if args.repair:
        done = (repair or verification.repair)(args.index, config, wait=args.wait)
    else:
        verified = (verify or verification.verify)(args.index, config)
        done = verification.Repaired(verified, (), verified.all_faults)
    faults = done.verified.all_faults
    if args.json:
        answer = {
            "index": str(args.index),
            "manifest_id": done.verified.manifest.id,
            "documents": done.verified.documents,
            "faults": [{"path": str(fault.path), "what": fault.what, "segment": fault.segment} for fault in faults],
            "repaired": list(done.segments),
        }
        write(msgspec.json.format(msgspec.json.encode(answer), indent=2).decode() + "\n")
    else:
        whole = format_count(done.verified.documents, "whole document")
        write("".join(f"{fault}\n" for fault in faults))
        write(f"{args.index}: {whole}, {format_count(len(faults), 'fault') if faults else 'no fault found'}\n")
    for name in done.segments:
        say(f"segment {name} was rebuilt from its documents")
    if done.left:
        left = format_count(len(done.left), "fault")
        denied = os.strerror(errno.EACCES)
        repairable = done.verified.faults.keys() & {"", *done.verified.intact}
        what = f"is damaged ({left}); {'repair it with --repair, or ' if repairable else ''}restore a snapshot"
        if all(fault.what.endswith(denied) for fault in done.left):
            what = f"cannot be checked ({left}): {denied}; let this user read the files"
        elif args.repair:
            what = f"{left} cannot be repaired: documents are damaged; restore a snapshot"
        raise CheckFailed(what, place=args.index)
    return DONE


def _take_snapshot(args: argparse.Namespace) -> int:
    from .snapshot import snapshot

    done = snapshot(args.index, args.target, copy=args.copy)
    facts = {"snapshot": str(args.target), "index": str(args.index), **_describe_copy(done)}
    shared = f"{format_count(done.files, 'file')} shared with the index"
    if done.shared < done.files:
        shared = f", {done.shared} shared with the index" if done.shared else ""
        shared = f"{format_count(done.files - done.shared, 'file')} copied{shared}"
    report(args, facts, f"{args.target}: {format_count(done.manifest.documents, 'document')}, {shared}\n")
    return DONE


def _restore_index(args: argparse.Namespace) -> int:
    from .snapshot import restore

    done = restore(args.source, args.index, config_of(args, Config), overwrite=args.overwrite, wait=args.wait)
    facts = {"index": str(args.index), "snapshot": str(args.source), **_describe_copy(done)}
    report(
        args, facts, f"{args.index}: {format_count(done.manifest.documents, 'document')} restored from {args.source}\n"
    )
    return DONE


def _describe_copy(done: Copied) -> dict[str, Any]:
    return {
        "manifest_id": done.manifest.id,
        "documents": done.manifest.documents,
        "files": done.files,
        "shared": done.shared,
    }


def _export_documents(args: argparse.Namespace) -> int:
    from ..retrieval.search.opening import read_published
    from .export import export, export_reviews, export_to

    where = parse_filter(args.filter, declared=read_published(args.index).filter_fields if args.filter else ())
    to_file = args.output not in (None, Path("-"))
    if args.json and not to_file:
        raise UsageError(
            "--json describes the file that --output writes, but --output is missing",
            remedy="give --output, or leave out --json: the documents are JSON already",
        )
    left_out: Counter[str] = Counter()
    pieces = export(args.index, where) if args.form == "jsonl" else export_reviews(args.index, where, left_out)
    documents = 0
    if to_file:
        documents = export_to(args.output, pieces)
    else:
        for piece in pieces:
            write_bytes(piece)
    for reason, count in left_out.items():
        say(f"{format_count(count, 'document')} left out: {reason}")
    if to_file:
        facts = {"output": str(args.output), "index": str(args.index), "documents": documents}
        report(args, facts, f"{args.output}: {format_count(documents, 'document')}\n")
    return DONE


def _watch_folder(args: argparse.Namespace) -> int:
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
        say(f"watching {args.folder}; press Ctrl-C to stop")
        for files, report, error in watch(watched, config_of(args, Config), stop):
            if report is None:
                say(f"factseek: {error}")
                continue
            replaced = f" (earlier versions replaced: {report.replaced})" if report.replaced else ""
            added, read = format_count(report.documents, "document"), format_count(len(files), "file")
            write_now(f"{args.index}: added {added}{replaced} from {read}\n")
    say("stopped")
    return DONE


def _kind_of(index: Path) -> str:
    """Return the only kind of source in an index; raise UsageError if it has none or several."""
    from ..retrieval.store import manifest as manifests

    held = {segment.kind for segment in manifests.read(index).segments} if (index / manifests.NAME).exists() else set()
    if len(held) != 1:
        reason = f"the index {index} contains {', '.join(sorted(held))}" if held else f"there is nothing in {index} yet"
        raise UsageError(
            f"give the kind of the files with --kind: {reason}", remedy=f"the kinds are {', '.join(kinds())}"
        )
    return held.pop()


@contextmanager
def _stopped_by_signals() -> Iterator[threading.Event]:
    """Set an event at the first Ctrl-C or termination signal; a second signal has its usual effect."""
    stop = threading.Event()
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}

    def restore(*_: object) -> None:
        stop.set()
        for number, handler in before.items():
            signal.signal(number, handler)

    for number in before:
        signal.signal(number, restore)
    try:
        yield stop
    finally:
        restore()
