"""The commands that make, change and describe an index: ``index``, ``delete``, ``info``."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from operator import itemgetter
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import msgspec

from ..retrieval.errors import UsageError
from ..retrieval.filters import field_names, parse_filter
from ..retrieval.records.dates import ORDERS
from ..retrieval.records.lines import Strict, decode_line, lines
from ..retrieval.terminal import (
    DONE,
    GOES_ON,
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
)
from . import upkeep_cli
from .collections import kinds, reader
from .settings import Config

if TYPE_CHECKING:
    from .build import BuildReport, BuildRequest
    from .deletion import Deleted

MOST_NAMES = 10
"""The maximum number of notes on standard error, and of names for each reason why something was left out."""


def register(commands: Subparsers) -> None:
    """Add the commands of this package to the command line."""
    _register_index(commands)
    delete = commands.add_parser("delete", help="delete documents", description="Delete documents from an index.")
    delete.add_argument("docids", nargs="*", metavar="DOCID", help="the documents to delete")
    delete.add_argument("--from-file", type=Path, metavar="FILE", help="a file with one docid per line")
    add_filter(delete, "all documents")
    add_index(delete)
    upkeep_cli.add_wait(delete)
    add_json(delete)
    delete.set_defaults(command=delete_documents, interrupted=STAYS_WHOLE)
    info = commands.add_parser(
        "info", help="describe an index", description="Print what an index contains and how it was built."
    )
    add_index(info)
    add_json(info)
    info.set_defaults(command=_show_info)
    upkeep_cli.register(commands)


def _register_index(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "index",
        help="build an index from a collection",
        description="Build an index from a collection, or add to an index."
        " To continue an interrupted build, run the same command again.",
        epilog="kinds of source:\n" + "\n".join(f"  {kind:10} {reader(kind).SUMMARY}" for kind in kinds()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("kind", type=_kind, metavar="KIND", help=f"one of {', '.join(kinds())}")
    parser.add_argument("sources", nargs="+", type=Path, metavar="SOURCE", help="files or folders")
    add_index(parser)
    verbs = parser.add_mutually_exclusive_group()
    for verb, what in (
        ("append", "add to an existing index"),
        ("update", "add documents, and replace those that changed"),
        ("overwrite", "replace the index"),
    ):
        verbs.add_argument(f"--{verb}", dest="verb", action="store_const", const=verb, help=what)
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
        "--no-dense", action="store_true", help="build no vectors; dense and hybrid cannot search such an index"
    )
    vectors.add_argument(
        "--encoder",
        action="append",
        metavar="MODEL",
        help="the encoder of the vectors (default: encoder.model); repeatable: each encoder makes separate vectors",
    )
    parser.add_argument("--skip-bad-lines", type=int, metavar="N", help="skip up to N unreadable lines, and list them")
    parser.add_argument(
        "--column",
        action="append",
        metavar="FIELD=NAME",
        help="read FIELD from the table column NAME; fields: id, text, title, url, date, language, source and topic;"
        " repeatable",
    )
    parser.add_argument(
        "--dates", choices=ORDERS, default="", help="how to read 3/5/2020 if no other date in the file shows the order"
    )
    upkeep_cli.add_wait(parser)
    add_json(parser)
    parser.set_defaults(command=_make_index, verb="", interrupted=GOES_ON)


def _kind(word: str) -> str:
    """Return a word that should name a kind of source; raise ArgumentTypeError if it is the path of a source."""
    from ..retrieval.records.table_shape import shape_of
    from .collections._tables import kind_for

    if word in kinds() or not Path(word).exists():
        return word
    known = "" if Path(word).is_dir() else kind_for(shape_of(Path(word)))
    raise argparse.ArgumentTypeError(
        f"{word} is a {'folder' if Path(word).is_dir() else 'file'}; give the kind of source before it: "
        f"factseek index {known or 'KIND'} {word}"
    )


def _make_index(args: argparse.Namespace) -> int:
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
        columns=_columns(args.column or ()),
    )


def _columns(written: Sequence[str]) -> tuple[tuple[str, str], ...]:
    columns = tuple(map(_column, written))
    fields = [field for field, _ in columns]
    if twice := [field for field in fields if fields.count(field) > 1]:
        raise UsageError(f"--column names {twice[0]} twice; give it once")
    return columns


def _column(written: str) -> tuple[str, str]:
    field, mark, name = written.partition("=")
    if not (field.strip() and mark and name.strip()):
        raise UsageError(f"--column {written!r}: write FIELD=NAME, as in text=Finding")
    return field.strip(), name.strip()


def settings_of(args: argparse.Namespace) -> Config:
    """Return the settings of a build: the configured ones, as the command line changes them."""
    config, replaced = config_of(args, Config), msgspec.structs.replace
    if args.analyzer:
        config = replaced(config, index=replaced(config.index, analyzer=args.analyzer))
    if args.filter_field:
        config = replaced(config, index=replaced(config.index, filter_fields=field_names(args.filter_field)))
    if args.skip_bad_lines is not None:
        if args.skip_bad_lines < 0:
            raise UsageError(f"--skip-bad-lines {args.skip_bad_lines}: give a number of lines, 0 or more")
        config = replaced(config, build=replaced(config.build, skip_bad_lines=args.skip_bad_lines))
    return config


def tell_build(args: argparse.Namespace, built: BuildReport, seconds: float) -> None:
    """Print what a build added to the index, and what it left out."""
    left_out: dict[str, list[str]] = {}
    for place, reason in sorted(built.left_out, key=itemgetter(1)):
        left_out.setdefault(reason, []).append(place)
    _say_what_was_not_read(built, left_out)
    added = f"{format_count(built.documents, 'document')} in {format_count(built.passages, 'passage')}"
    added += f" (earlier versions replaced: {built.replaced})" if built.replaced else ""
    added += f", {built.duplicates} were already in the index" if built.duplicates else ""
    added += f", {built.bad_lines.count} bad lines skipped" if built.bad_lines.count else ""
    facts = {
        "index": str(args.index),
        "manifest_id": built.manifest.id,
        "documents": built.documents,
        "passages": built.passages,
        "replaced": built.replaced,
        "there_already": built.duplicates,
        "bad_lines": built.bad_lines.count,
        "left_out": dict(sorted(built.skipped.items())),
        "left_out_names": left_out,
        "unread_dates": built.unread_dates.count,
        "segments": len(built.manifest.segments),
        "unmerged": built.unmerged,
        "went_on": built.resumed,
        "seconds": round(seconds, 3),
    }
    went_on = "continued and " if built.resumed else ""
    report(args, facts, f"{args.index}: {went_on}added {added} in {seconds:.1f} s\n")


def _say_what_was_not_read(built: BuildReport, left_out: dict[str, list[str]]) -> None:
    for example in built.bad_lines.examples:
        say(f"skipped: {example}")
    for reason, count in sorted(built.skipped.items()):
        say(f"left out: {count} {reason}")
        shown = left_out.get(reason, [])[:MOST_NAMES]
        for name in shown:
            say(f"  {name}")
        if shown and count > len(shown):
            say(f"  and {count - len(shown):,} more")
    dates = built.unread_dates
    if dates.count:
        what = "1 date is not understood:" if dates.count == 1 else f"{dates.count:,} dates are not understood, such as"
        either = ", or use --dates day-first or month-first" if dates.either else ""
        say(f"note: {what} {dates.example}; to filter by date, write YYYY-MM-DD{either}")
    for note in built.notes[:MOST_NAMES]:
        say(f"note: {note}")
    if built.merged > 0:
        say(f"small segments were merged; segments now: {len(built.manifest.segments)}")
    if built.unmerged:
        say(f"the documents were added, but the segments could not be merged: {built.unmerged}")


def delete_documents(args: argparse.Namespace, delete: Callable[..., Deleted] | None = None) -> int:
    """Delete documents and print how many. ``delete`` replaces the function for an index without shards."""
    from ..retrieval.search.opening import read_published
    from . import deletion

    docids = list(args.docids)
    if args.from_file:
        faults = Strict(args.from_file)
        docids += [docid for at, line in lines(args.from_file, faults) if (docid := decode_line(at, line, faults))]
    where = parse_filter(args.filter, declared=read_published(args.index).filter_fields if args.filter else ())
    if not docids and where is None and args.from_file is None:
        raise UsageError("give the docids to delete, a file of docids with --from-file, or a --filter")
    deleted = (delete or deletion.delete)(args.index, docids, where=where, wait=args.wait)
    for docid in deleted.unknown[:20]:
        say(f"not in the index: {docid}")
    more = f", {len(deleted.unknown)} were not in the index" if deleted.unknown else ""
    facts = {"index": str(args.index), "deleted": deleted.documents, "not_there": list(deleted.unknown)}
    report(args, facts, f"{args.index}: deleted {format_count(deleted.documents, 'document')}{more}\n")
    return DONE


def _show_info(args: argparse.Namespace) -> int:
    from ..retrieval.search.options import description, segments
    from ..retrieval.store import manifest as manifests

    manifest = manifests.read(args.index)
    if args.json:
        write(manifests.encode(manifest).decode())
        return DONE
    write("".join(f"{name:15} {value}\n" for name, value in (*description(args.index, manifest), *segments(manifest))))
    return DONE
