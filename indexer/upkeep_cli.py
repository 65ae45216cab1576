"""The commands that maintain an index: ``compact``, ``verify-index``, ``snapshot``, ``export`` and so on."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import msgspec

from ..retrieval.domain import Filter
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
    counted,
    report,
    say,
    write,
    write_bytes,
)
from .settings import Config

if TYPE_CHECKING:
    from .compaction import Compacted
    from .snapshot import Copied
    from .verification import Repaired, Verified


def register(commands: Subparsers) -> None:
    """Add the commands to the command line."""
    _register_compact(commands)
    _register_verify(commands)
    _register_snapshot(commands)
    _register_restore(commands)
    _register_export(commands)
    _register_alias(commands)


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


def _register_compact(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "compact",
        help="merge segments and drop deleted documents",
        description="Merge the segments of an index, separately for each kind of source, and drop deleted documents.",
    )
    parser.add_argument(
        "--add",
        action="append",
        default=[],
        metavar="VIEW",
        help="add what the index lacks: signatures (to find near-duplicates), words (to suggest spellings) or vectors",
    )
    add_index(parser)
    add_wait(parser)
    add_json(parser)
    parser.set_defaults(command=compact_index, interrupted=STAYS_WHOLE)


def _register_verify(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "verify-index",
        help="check an index for damage",
        description="Check every file of an index against its checksum, and check that its parts agree.",
    )
    add_index(parser)
    parser.add_argument("--repair", action="store_true", help="rebuild damaged parts from the documents")
    add_json(parser)
    add_wait(parser)
    parser.set_defaults(command=verify_index, interrupted=STAYS_WHOLE)


def _register_snapshot(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "snapshot",
        help="copy an index, even while it is in use",
        description="Copy the current state of an index to a new folder. The copy is a complete index.",
    )
    parser.add_argument("target", type=Path, metavar="DIR", help="the new folder")
    parser.add_argument("--copy", action="store_true", help="copy every file, even if files could be shared")
    add_index(parser)
    add_json(parser)
    parser.set_defaults(command=take_snapshot, interrupted=STAYS_WHOLE)


def _register_restore(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "restore",
        help="restore an index from a snapshot",
        description="Restore an index from a snapshot, as a new index or over an existing one.",
    )
    parser.add_argument("source", type=Path, metavar="DIR", help="the snapshot")
    parser.add_argument("--overwrite", action="store_true", help="replace an existing index")
    add_index(parser)
    add_wait(parser)
    add_json(parser)
    parser.set_defaults(command=restore_index, interrupted=STAYS_WHOLE)


def _register_export(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "export",
        help="write the documents as JSON lines, or reviews of claims as JSON-LD",
        description="Write the documents of an index as JSON lines for factseek index jsonl, or its claim reviews as"
        " schema.org's ClaimReview for factseek index claimreview.",
    )
    parser.add_argument(
        "--as",
        dest="form",
        choices=("jsonl", "claimreview"),
        default="jsonl",
        help="jsonl: all documents; claimreview: those with a claim, a url and a rating, as JSON-LD (default: jsonl)",
    )
    parser.add_argument("--output", type=Path, metavar="FILE", help="the file to write (default: -, standard output)")
    add_filter(parser)
    add_index(parser)
    add_json(parser)
    parser.set_defaults(command=export_documents)


def _register_alias(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "alias",
        help="give an index another name",
        description="Point a name to an index, or switch it to another index in one step, even while a server uses it.",
        epilog="Every command accepts NAME as an index directory.",
    )
    parser.add_argument("alias", metavar="NAME=DIR", help="the path of the alias, and the index that it points to")
    add_json(parser)
    parser.set_defaults(command=point_alias, interrupted=STAYS_WHOLE)


def point_alias(args: argparse.Namespace) -> int:
    """Point an alias to an index and print its target.

    Raises UsageError if the argument is not of the form NAME=DIR.
    """
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
    """Merge segments with ``compact``, by default the function for a single index, and print the result."""
    from ..retrieval.search.opening import published
    from . import compaction

    began = perf_counter()
    before = published(args.index).views
    compacted = (compact or compaction.compact)(args.index, config_of(args, Config), add=args.add, wait=args.wait)
    after = len(compacted.manifest.segments)
    done = []
    if after < compacted.before:
        done.append(f"merged {counted(compacted.before, 'segment')} into {after}")
    if compacted.dropped:
        done.append(f"dropped {counted(compacted.dropped, 'deleted document')}")
    added = sorted(compacted.manifest.views.keys() - before.keys())
    if added:
        done.append(f"added {', '.join(added)}")
    seconds = perf_counter() - began
    line = f"{', '.join(done)} in {seconds:.1f} s" if done else f"nothing to merge in {counted(after, 'segment')}"
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

    ``verify`` and ``repair`` replace the functions for a single index. Raises CheckFailed if faults are left.
    """
    from . import verification

    config = config_of(args, Config)
    if args.repair:
        done = (repair or verification.repair)(args.index, config, wait=args.wait)
    else:
        verified = (verify or verification.verify)(args.index, config)
        done = verification.Repaired(verified, (), verified.all_faults)
    faults = done.verified.all_faults
    whole = f"{counted(done.verified.documents, 'whole document')}"
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
        write("".join(f"{fault}\n" for fault in faults))
        write(f"{args.index}: {whole}, {counted(len(faults), 'fault') if faults else 'no fault found'}\n")
    for name in done.segments:
        say(f"segment {name} was rebuilt from its documents")
    if done.left:
        raise CheckFailed(f"{_remedy(len(done.left), repaired=args.repair)}", place=args.index)
    return DONE


def _remedy(faults: int, *, repaired: bool) -> str:
    if repaired:
        return f"{counted(faults, 'fault')} cannot be repaired: documents are damaged; restore a snapshot"
    return f"is damaged ({counted(faults, 'fault')}); repair it with --repair, or restore a snapshot"


def take_snapshot(args: argparse.Namespace) -> int:
    """Copy an index and print what was copied."""
    from .snapshot import snapshot

    done = snapshot(args.index, args.target, copy=args.copy)
    facts = {"snapshot": str(args.target), "index": str(args.index), **_copied(done)}
    line = f"{counted(done.manifest.documents, 'document')}, {_shared(done.files, done.shared)}"
    report(args, facts, f"{args.target}: {line}\n")
    return DONE


def restore_index(args: argparse.Namespace) -> int:
    """Restore a snapshot and print what the index contains now."""
    from .snapshot import restore

    done = restore(args.source, args.index, config_of(args, Config), overwrite=args.overwrite, wait=args.wait)
    facts = {"index": str(args.index), "snapshot": str(args.source), **_copied(done)}
    report(args, facts, f"{args.index}: {counted(done.manifest.documents, 'document')} restored from {args.source}\n")
    return DONE


def _copied(done: Copied) -> dict[str, Any]:
    return {
        "manifest_id": done.manifest.id,
        "documents": done.manifest.documents,
        "files": done.files,
        "shared": done.shared,
    }


def export_documents(args: argparse.Namespace) -> int:
    """Write the documents of an index, or its reviews."""
    from ..retrieval.search.opening import published

    where = parse_filter(args.filter, declared=published(args.index).filter_fields if args.filter else ())
    if args.output == Path("-"):
        args.output = None
    if args.output is None and args.json:
        raise UsageError(
            "--json reports on a file that --output writes",
            remedy="give --output, or leave out --json: the documents are JSON already",
        )
    left_out: Counter[str] = Counter()
    if args.output is None:
        for piece in _pieces(args, where, left_out):
            write_bytes(piece)
        _say_left_out(left_out)
        return DONE
    documents = _exported_to(args, where, left_out)
    _say_left_out(left_out)
    facts = {"output": str(args.output), "index": str(args.index), "documents": documents}
    report(args, facts, f"{args.output}: {counted(documents, 'document')}\n")
    return DONE


def _pieces(args: argparse.Namespace, where: Filter | None, left_out: Counter[str]) -> Iterator[bytes]:
    from .export import export
    from .review_export import export_reviews

    return export(args.index, where) if args.form == "jsonl" else export_reviews(args.index, where, left_out)


def _exported_to(args: argparse.Namespace, where: Filter | None, left_out: Counter[str]) -> int:
    from .export import export_to
    from .review_export import export_reviews_to

    if args.form == "jsonl":
        return export_to(args.index, args.output, where)
    return export_reviews_to(args.index, args.output, where, left_out)


def _say_left_out(left_out: Counter[str]) -> None:
    for reason, count in left_out.items():
        say(f"{counted(count, 'document')} left out: {reason}")


def _shared(files: int, shared: int) -> str:
    if shared == files:
        return f"{counted(files, 'file')} shared with the index"
    return f"{counted(files - shared, 'file')} copied" + (f", {shared} shared with the index" if shared else "")
