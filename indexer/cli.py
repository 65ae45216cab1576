"""The commands that make, change and describe an index: ``index``, ``delete``, ``info``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from operator import itemgetter
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import msgspec

from ..retrieval.errors import UsageError
from ..retrieval.filters import field_names, parse_filter
from ..retrieval.records.dates import ORDERS
from ..retrieval.records.lines import Strict, decoded, lines
from ..retrieval.terminal import (
    DONE,
    GOES_ON,
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
)
from . import upkeep_cli, watch_cli
from .collections import kinds, reader
from .settings import Config

if TYPE_CHECKING:
    from .build import BuildReport, BuildRequest
    from .deletion import Deleted

MOST_NAMES = 10
"""The most names to print on standard error for each reason to leave something out."""


def register(commands: Subparsers) -> None:
    """Add the commands of this package to the command line."""
    _register_index(commands)
    _register_delete(commands)
    info = commands.add_parser(
        "info", help="describe an index", description="Print what an index contains and how it was built."
    )
    add_index(info)
    add_json(info)
    info.set_defaults(command=show_info)
    upkeep_cli.register(commands)
    watch_cli.register(commands)


def _register_index(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "index",
        help="build an index from a collection",
        description="Build an index from a collection, or add to an index. If interrupted, the same command continues.",
        epilog="kinds of source:\n" + "\n".join(f"  {kind:10} {reader(kind).SUMMARY}" for kind in kinds()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("kind", type=_kind, metavar="KIND", help=f"one of {', '.join(kinds())}")
    parser.add_argument("sources", nargs="+", type=Path, metavar="SOURCE", help="files or folders")
    add_index(parser)
    verb = parser.add_mutually_exclusive_group()
    verb.add_argument("--append", dest="verb", action="store_const", const="append", help="add to an existing index")
    verb.add_argument(
        "--update",
        dest="verb",
        action="store_const",
        const="update",
        help="add documents, and replace those that changed",
    )
    verb.add_argument("--overwrite", dest="verb", action="store_const", const="overwrite", help="replace the index")
    parser.add_argument("--language", default="", metavar="CODE", help="language of the documents (default: en)")
    parser.add_argument("--analyzer", metavar="NAME", help="the name of a Lucene analyzer (default: the language's)")
    parser.add_argument(
        "--filter-field",
        action="append",
        metavar="NAME",
        help="a metadata field to filter and count by; repeatable",
    )
    vectors = parser.add_mutually_exclusive_group()
    vectors.add_argument(
        "--no-dense", action="store_true", help="build no vectors, so that only bm25 can search the index"
    )
    vectors.add_argument(
        "--encoder",
        action="append",
        metavar="MODEL",
        help="the encoder of the vectors (default: encoder.model); if given twice, each encoder gets its own vectors",
    )
    parser.add_argument("--skip-bad-lines", type=int, metavar="N", help="skip up to N unreadable lines, and list them")
    parser.add_argument(
        "--column",
        action="append",
        metavar="FIELD=NAME",
        help="the table column to use as id, text, title, url, date, language, source or topic; repeatable",
    )
    parser.add_argument(
        "--dates", choices=ORDERS, default="", help="how to read 3/5/2020 if no other date in the file shows the order"
    )
    upkeep_cli.add_wait(parser)
    add_json(parser)
    parser.set_defaults(command=make_index, verb="", interrupted=GOES_ON)


def _kind(word: str) -> str:
    """Return the kind of source that a word names; raise ArgumentTypeError if it is a source itself."""
    from ..retrieval.records.table_shape import shape_of
    from .collections._tables import kind_for

    if word in kinds() or not Path(word).exists():
        return word
    known = "" if Path(word).is_dir() else kind_for(shape_of(Path(word)))
    raise argparse.ArgumentTypeError(
        f"{word} is a {'folder' if Path(word).is_dir() else 'file'}; give the kind of source before it: "
        f"factseek index {known or 'KIND'} {word}"
    )


def _register_delete(commands: Subparsers) -> None:
    parser = commands.add_parser("delete", help="delete documents", description="Delete documents from an index.")
    parser.add_argument("docids", nargs="*", metavar="DOCID", help="the documents to delete")
    parser.add_argument("--from-file", type=Path, metavar="FILE", help="a file with one docid per line")
    add_filter(parser, "all documents")
    add_index(parser)
    upkeep_cli.add_wait(parser)
    add_json(parser)
    parser.set_defaults(command=delete_documents, interrupted=STAYS_WHOLE)


def delete_documents(args: argparse.Namespace, delete: Callable[..., Deleted] | None = None) -> int:
    """Delete documents with ``delete``, by default the function for a single index; print how many were deleted."""
    from ..retrieval.search.opening import published
    from . import deletion

    docids = [*args.docids, *(_docids_in(args.from_file) if args.from_file else ())]
    where = parse_filter(args.filter, declared=published(args.index).filter_fields if args.filter else ())
    if not docids and where is None:
        raise UsageError("give the docids to delete, a file of docids with --from-file, or a --filter")
    deleted = (delete or deletion.delete)(args.index, docids, where=where, wait=args.wait)
    for docid in deleted.unknown[:20]:
        say(f"not in the index: {docid}")
    more = f", {len(deleted.unknown)} were not in the index" if deleted.unknown else ""
    facts = {"index": str(args.index), "deleted": deleted.documents, "not_there": list(deleted.unknown)}
    report(args, facts, f"{args.index}: deleted {counted(deleted.documents, 'document')}{more}\n")
    return DONE


def _docids_in(path: Path) -> list[str]:
    """Return the docids of a file, one per line. A byte-order mark, UTF-16 and gzip are allowed.

    Raises SourceError if the file cannot be read or is not text.
    """
    faults = Strict(path)
    return [docid for number, line in lines(path, faults) if (docid := decoded(number, line, faults))]


def make_index(args: argparse.Namespace) -> int:
    """Build an index and print a summary of it."""
    from .build import build

    began = perf_counter()
    tell_build(args, build(request_of(args), settings_of(args)), perf_counter() - began)
    return DONE


def request_of(args: argparse.Namespace) -> BuildRequest:
    """Return the build request that the command line describes."""
    from .build import BuildRequest

    return BuildRequest(
        kind=args.kind,
        sources=tuple(args.sources),
        folder=args.index,
        verb=args.verb,
        language=args.language,
        dense=not args.no_dense,
        encoders=tuple(args.encoder or ()),
        wait=args.wait,
        dates=args.dates,
        columns=tuple(map(_column, args.column or ())),
    )


def _column(written: str) -> tuple[str, str]:
    """Return the field and the column in ``FIELD=NAME``. Raise UsageError if either is missing."""
    field, mark, name = written.partition("=")
    if not (field.strip() and mark and name.strip()):
        raise UsageError(f"--column {written!r}: write FIELD=NAME, as in text=Finding")
    return field.strip(), name.strip()


def tell_build(args: argparse.Namespace, built: BuildReport, seconds: float) -> None:
    """Print what a build read and what the index contains now."""
    for example in built.bad_lines.examples:
        say(f"skipped: {example}")
    _say_left_out(built)
    _say_unread_dates(built)
    for note in built.notes[:MOST_NAMES]:
        say(f"note: {note}")
    if built.merged > 0:
        say(f"small segments were merged; segments now: {len(built.manifest.segments)}")
    if built.unmerged:
        say(f"the segments could not be merged: {built.unmerged}")
    report(args, _facts(args.index, built, seconds), _line(args.index, built, seconds))


def _line(index: Path, built: BuildReport, seconds: float) -> str:
    added = f"{counted(built.documents, 'document')} in {counted(built.passages, 'passage')}"
    more = f", of which {built.replaced} replaced others" if built.replaced else ""
    more += f", {built.duplicates} were there already" if built.duplicates else ""
    bad = f", {built.bad_lines.count} bad lines skipped" if built.bad_lines.count else ""
    on = "went on and " if built.resumed else ""
    return f"{index}: {on}added {added}{more}{bad} in {seconds:.1f} s\n"


def _facts(index: Path, built: BuildReport, seconds: float) -> dict[str, Any]:
    return {
        "index": str(index),
        "manifest_id": built.manifest.id,
        "documents": built.documents,
        "passages": built.passages,
        "replaced": built.replaced,
        "there_already": built.duplicates,
        "bad_lines": built.bad_lines.count,
        "left_out": dict(sorted(built.skipped.items())),
        "left_out_names": _left_out_names(built),
        "unread_dates": built.unread_dates.count,
        "segments": len(built.manifest.segments),
        "unmerged": built.unmerged,
        "went_on": built.resumed,
        "seconds": round(seconds, 3),
    }


def _left_out_names(built: BuildReport) -> dict[str, list[str]]:
    names: dict[str, list[str]] = {}
    for place, reason in sorted(built.left_out, key=itemgetter(1)):
        names.setdefault(reason, []).append(place)
    return names


def _say_left_out(built: BuildReport) -> None:
    names = _left_out_names(built)
    for reason, count in sorted(built.skipped.items()):
        say(f"left out: {count} {reason}")
        shown = names.get(reason, [])[:MOST_NAMES]
        for name in shown:
            say(f"  {name}")
        if shown and count > len(shown):
            say(f"  and {count - len(shown):,} more")


def _say_unread_dates(built: BuildReport) -> None:
    dates = built.unread_dates
    if dates.count:
        what = "1 date is not understood:" if dates.count == 1 else f"{dates.count:,} dates are not understood, such as"
        either = ", or use --dates day-first or month-first" if dates.either else ""
        say(f"note: {what} {dates.example}; to filter by date, write YYYY-MM-DD{either}")


def show_info(args: argparse.Namespace) -> int:
    """Print the manifest of an index."""
    from ..retrieval.search.options import description, segments
    from ..retrieval.store import manifest as manifests

    manifest = manifests.read(args.index)
    if args.json:
        write(manifests.encode(manifest).decode())
        return DONE
    write("".join(f"{name:15} {value}\n" for name, value in (*description(args.index, manifest), *segments(manifest))))
    return DONE


def settings_of(args: argparse.Namespace) -> Config:
    """Return the settings of a build, with the options of the command line."""
    config = config_of(args, Config)
    if args.analyzer:
        config = msgspec.structs.replace(config, index=msgspec.structs.replace(config.index, analyzer=args.analyzer))
    if args.filter_field:
        index = msgspec.structs.replace(config.index, filter_fields=field_names(args.filter_field))
        config = msgspec.structs.replace(config, index=index)
    if args.skip_bad_lines is not None:
        if args.skip_bad_lines < 0:
            raise UsageError(f"--skip-bad-lines {args.skip_bad_lines}: give a number of lines, 0 or more")
        build = msgspec.structs.replace(config.build, skip_bad_lines=args.skip_bad_lines)
        config = msgspec.structs.replace(config, build=build)
    return config
