"""The commands that make, change, describe and maintain an index: ``index``, ``info``, ``compact``,
``watch``, …
"""

from __future__ import annotations

import argparse
import dataclasses
import errno
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from operator import itemgetter
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

import msgspec

from ..core.errors import CheckFailed, UsageError
from ..core.records.dates import ORDERS
from ..core.records.lines import Strict, decode_line, lines
from ..core.records.vector_file import some_of
from ..core.terminal import (
    DONE,
    GOES_ON,
    STAYS_WHOLE,
    Command,
    Subparsers,
    add_json,
    format_count,
    report,
    say,
    write,
    write_bytes,
    write_now,
)
from ..retrieval.arguments import add_filter, add_index, config_of
from ..retrieval.filters import field_names, parse_filter
from .collections import kinds, reader
from .collections._documents import next_field
from .intake.addresses import is_address
from .intake.cli import KINDS as INTAKE_KINDS
from .intake.cli import IntakeFiles, add_feed_options, add_intake_options, feeds_of, intake_of
from .settings import Config

if TYPE_CHECKING:
    from ..retrieval.encoders.given import GivenVectors
    from .build import BuildReport, BuildRequest
    from .compaction import Compacted
    from .deletion import Deleted
    from .intake.watching import FeedWatch
    from .snapshot import Copied
    from .verification import Repaired, Verified

MOST_NAMES = 10
"""The maximum number of notes on standard error, and of names for each reason why something was
left out.
"""
PATIENCE = 60.0
"""Seconds that a batch of watched files waits for another writer to finish; after that, it is tried
again later.
"""


def register(commands: Subparsers) -> None:
    """Add the commands of this package to the command line."""
    _register_index(commands)
    delete = commands.add_parser(
        "delete", help="delete documents", description="Delete documents from an index."
    )
    delete.add_argument("docids", nargs="*", metavar="DOCID", help="the documents to delete")
    delete.add_argument(
        "--from-file", type=Path, metavar="FILE", help="a file with one docid per line"
    )
    add_filter(delete, "all documents")
    complete(delete, delete_documents, add_index, add_wait, add_json)
    info = commands.add_parser(
        "info",
        help="describe an index",
        description="Print what an index contains and how it was built.",
    )
    complete(info, _show_info, add_index, add_json, interrupted="interrupted")
    _register_upkeep(commands)


def _register_index(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "index",
        help="build an index from a collection",
        description="Build an index from a collection, or add to an index."
        " To continue an interrupted build, run the same command again.",
        epilog="kinds of source:\n" + "\n".join(_kinds_of_source()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "kind",
        nargs="?",
        type=_kind,
        metavar="KIND",
        help=f"one of {', '.join(sorted({*kinds(), *INTAKE_KINDS}))}; or irds:NAME, a dataset of "
        "ir_datasets, which needs no SOURCE",
    )
    parser.add_argument(
        "sources",
        nargs="*",
        type=_source,
        metavar="SOURCE",
        help="files or folders; for feed, sitemap and urls also addresses",
    )
    add_index(parser)
    verbs = parser.add_mutually_exclusive_group()
    for verb, what in (
        ("append", "add to an existing index"),
        ("update", "add documents, and replace those that changed"),
        ("overwrite", "replace the index"),
    ):
        verbs.add_argument(f"--{verb}", dest="verb", action="store_const", const=verb, help=what)
    parser.add_argument(
        "--empty",
        action="store_true",
        help="make an index without documents, for documents that are added later; without SOURCE",
    )
    parser.add_argument(
        "--language", default="", metavar="CODE", help="language of the documents (default: en)"
    )
    parser.add_argument(
        "--analyzer", metavar="NAME", help="the name of a Lucene analyzer (default: the language's)"
    )
    parser.add_argument(
        "--filter-field",
        action="append",
        metavar="NAME",
        help="a metadata field to filter and count by; repeatable",
    )
    vectors = parser.add_mutually_exclusive_group()
    vectors.add_argument(
        "--no-dense",
        action="store_true",
        help="build no vectors; dense and hybrid cannot search such an index",
    )
    vectors.add_argument(
        "--encoder",
        action="append",
        metavar="MODEL",
        help="the encoder of the vectors (default: encoder.model); repeatable: each encoder makes "
        "separate vectors",
    )
    add_vectors(vectors)
    parser.add_argument(
        "--impacts",
        metavar="MODEL",
        help="also weigh the terms of the passages by this sparse model, for the retriever impact",
    )
    parser.add_argument(
        "--vector-ids",
        type=Path,
        metavar="FILE",
        help="for --vectors FILE.npy: docid TAB passage a line, in the order of the vectors",
    )
    parser.add_argument(
        "--skip-bad-lines",
        type=int,
        metavar="N",
        help="skip up to N unreadable lines, and list them",
    )
    parser.add_argument(
        "--column",
        action="append",
        metavar="FIELD=NAME",
        help="read FIELD from the table column NAME; fields: id, text, title, url, date, language, "
        "source and topic;"
        " repeatable; each further text becomes a passage of its own",
    )
    parser.add_argument(
        "--sheet",
        default="",
        metavar="NAME",
        help="the sheet of a workbook to read, or all (default: the first with content)",
    )
    parser.add_argument(
        "--header-row",
        type=_row,
        default=0,
        metavar="N",
        help="the row of a table that names its columns, from 1 (default: it is found)",
    )
    parser.add_argument(
        "--dates",
        choices=ORDERS,
        default="",
        help="how to read 3/5/2020 if no other date in the file shows the order",
    )
    add_intake_options(parser)
    complete(parser, make_index, add_wait, add_json, interrupted=GOES_ON)
    parser.set_defaults(verb="")


def _kinds_of_source() -> list[str]:
    """Return a line about each kind of source, in alphabetical order."""
    summaries = {kind: reader(kind).SUMMARY for kind in kinds()} | INTAKE_KINDS
    return [f"  {kind:10} {summary}" for kind, summary in sorted(summaries.items())]


def _register_upkeep(commands: Subparsers) -> None:
    compact = commands.add_parser(
        "compact",
        help="merge segments and drop deleted documents",
        description="Merge the segments of an index, separately for each kind of source, and drop "
        "deleted documents.",
    )
    compact.add_argument(
        "--add",
        action="append",
        default=[],
        metavar="VIEW",
        help="add what the index lacks: signatures (to find near-duplicates), words (to suggest "
        "spellings), vectors, vectors:NAME with --vectors, impacts or impacts:NAME (the terms that "
        "impact.model weighs)",
    )
    add_vectors(compact)
    compact.add_argument(
        "--vector-ids",
        type=Path,
        metavar="FILE",
        help="for --vectors FILE.npy: docid TAB passage a line, in the order of the vectors",
    )
    complete(compact, compact_index, add_index, add_wait, add_json)
    verify = commands.add_parser(
        "verify-index",
        help="check an index for damage",
        description="Check every file of an index against its checksum, and check that the parts "
        "of the index agree.",
    )
    add_index(verify)
    verify.add_argument(
        "--repair", action="store_true", help="rebuild damaged parts from the documents"
    )
    complete(verify, verify_index, add_json, add_wait)
    snapshot = commands.add_parser(
        "snapshot",
        help="copy an index, even while it is in use",
        description="Copy the current state of an index to a new folder. The copy is a complete "
        "index.",
    )
    snapshot.add_argument("target", type=Path, metavar="DIR", help="the new folder")
    snapshot.add_argument(
        "--copy", action="store_true", help="copy every file instead of sharing it by a hard link"
    )
    complete(snapshot, _take_snapshot, add_index, add_json)
    restore = commands.add_parser(
        "restore",
        help="restore an index from a snapshot",
        description="Restore an index from a snapshot, as a new index or over an existing one.",
    )
    restore.add_argument("source", type=Path, metavar="DIR", help="the snapshot")
    restore.add_argument("--overwrite", action="store_true", help="replace an existing index")
    complete(restore, _restore_index, add_index, add_wait, add_json)
    export = commands.add_parser(
        "export",
        help="write the documents as JSON lines, or reviews of claims as JSON-LD",
        description="Write the documents of an index as JSON lines for factseek index jsonl, or "
        "its claim reviews as"
        " schema.org's ClaimReview for factseek index claimreview.",
    )
    export.add_argument(
        "--as",
        dest="form",
        choices=("jsonl", "claimreview"),
        default="jsonl",
        help="jsonl: all documents; claimreview: those with a claim, a url and a rating, as "
        "JSON-LD (default: jsonl)",
    )
    export.add_argument(
        "--added",
        action="store_true",
        help="write in each line when the document was added, and the name of the key by which",
    )
    export.add_argument(
        "--output",
        type=Path,
        metavar="FILE",
        help="the file to write (default: -, standard output)",
    )
    complete(export, _export_documents, add_filter, add_index, add_json, interrupted="interrupted")
    alias = commands.add_parser(
        "alias",
        help="give an index another name",
        description="Let NAME point to an index, in one step, even while a server uses NAME for "
        "another index.",
        epilog="Every command accepts NAME as an index directory.",
    )
    alias.add_argument(
        "alias", metavar="NAME=DIR", help="the path of the alias, and the index that it points to"
    )
    complete(alias, _point_alias, add_json)
    watch = commands.add_parser(
        "watch",
        help="index files as they appear in a folder, and the items of feeds",
        description="Add the files of a folder and the items of feeds to an index, then add new "
        "and changed ones until you stop the command.",
    )
    watch.add_argument("folder", type=Path, nargs="?", metavar="DIR", help="the folder to watch")
    add_index(watch)
    watch.add_argument(
        "--kind",
        default="",
        metavar="KIND",
        help=f"one of {', '.join(kinds())} (default: the kind that the index contains)",
    )
    watch.add_argument(
        "--pattern", default="*", metavar="GLOB", help="only files whose names match (default: all)"
    )
    watch.add_argument(
        "--language", default="", metavar="CODE", help="language of the documents (default: en)"
    )
    watch.add_argument(
        "--no-dense", action="store_true", help="build no vectors if this command creates the index"
    )
    add_feed_options(watch)
    watch.set_defaults(command=_watch)


def complete(
    parser: argparse.ArgumentParser,
    command: Command,
    *options: Callable[[Any], object],
    interrupted: str = STAYS_WHOLE,
) -> None:
    """Add options that several commands share, and set the command and its message after an
    interruption.
    """
    for add in options:
        add(parser)
    parser.set_defaults(command=command, interrupted=interrupted)


def add_wait(parser: argparse.ArgumentParser) -> None:
    """Add ``--wait``."""
    what = "wait up to this long for another writer to finish"
    parser.add_argument("--wait", type=_seconds, default=0.0, metavar="SECONDS", help=what)


def _seconds(value: str) -> float:
    try:
        seconds = float(value)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < float("inf"):
        raise UsageError(f"--wait {value}: give a number of seconds, 0 or more")
    return seconds


def _row(value: str) -> int:
    if not value.isdecimal() or not int(value):
        raise argparse.ArgumentTypeError(f"{value} is not the number of a row, from 1")
    return int(value)


def _source(word: str) -> Path | str:
    """Return a source: an address as it is, anything else as a path."""
    if not word:
        raise argparse.ArgumentTypeError("is empty; give a path")
    return word if is_address(word) else Path(word)


def _kind(word: str) -> str:
    from ..core.records.table_shape import shape_of
    from .collections._tables import kind_for

    if word in kinds() or not Path(word).exists():
        return word
    known = "" if Path(word).is_dir() else kind_for(shape_of(Path(word)))
    raise argparse.ArgumentTypeError(
        f"{word} is a {'folder' if Path(word).is_dir() else 'file'}; give the kind of source "
        "before it: "
        f"factseek index {known or 'KIND'} {word}"
    )


def make_index(
    args: argparse.Namespace, build: Callable[[BuildRequest, Config], BuildReport] | None = None
) -> int:
    """Build or change an index, and print what it got.

    ``build`` replaces the function for an index without shards.
    """
    if args.empty:
        if build is not None:
            raise UsageError(
                "--empty makes an index without shards",
                remedy="leave out --shards and --ray, and divide the index later: factseek shard",
            )
        return _make_empty(args)
    if not args.kind or not args.sources:
        raise UsageError(
            "give the kind of source and a SOURCE, or --empty for an index without documents",
            remedy="see factseek index --help",
        )
    began = perf_counter()
    columns = tuple(_columns(args.column or []).items())
    with intake_of(args, _settings_of(args), columns) as intake:
        if not intake.sources:
            return DONE
        is_fetched = intake.kind != args.kind
        built = _build(args, build, intake, () if is_fetched else columns)
    _tell_build(args, built, perf_counter() - began)
    return DONE


def _make_empty(args: argparse.Namespace) -> int:
    """Make an index without documents, and say how to add some."""
    from .build import BuildRequest, create_empty

    if args.sources:
        raise UsageError(
            "--empty reads no source", remedy=f"leave out {args.sources[0]}, or --empty"
        )
    if args.verb in ("append", "update"):
        raise UsageError(f"--empty and --{args.verb} exclude each other", remedy="leave out one")
    if args.kind in INTAKE_KINDS:
        raise UsageError(
            f"--empty: {args.kind} is no kind of document", remedy="leave it out, or give webpages"
        )
    request = BuildRequest(
        kind=args.kind or "",
        sources=(),
        folder=args.index,
        verb=args.verb,
        language=args.language,
        dense=not args.no_dense,
        encoders=tuple(args.encoder or ()),
        views=_further_views(args),
        wait=args.wait,
    )
    manifest = create_empty(request, _settings_of(args))
    facts = {"index": str(args.index), "manifest_id": manifest.id, "documents": 0, "passages": 0}
    report(args, facts, f"{args.index}: made an empty index, language {manifest.language}\n")
    say(f"add documents with factseek index KIND SOURCE --append --index {args.index}")
    return DONE


def _build(
    args: argparse.Namespace,
    build: Callable[[BuildRequest, Config], BuildReport] | None,
    intake: IntakeFiles,
    columns: tuple[tuple[str, str], ...],
) -> BuildReport:
    from . import build as builds

    settings = _settings_of(args)
    request = builds.BuildRequest(
        kind=intake.kind,
        sources=intake.sources,
        places=intake.places,
        folder=args.index,
        verb=args.verb,
        language=args.language,
        dense=not args.no_dense,
        encoders=tuple(args.encoder or ()),
        views=_further_views(args),
        wait=args.wait,
        dates=args.dates,
        columns=columns,
        sheet=args.sheet,
        header_row=args.header_row,
        archive=args.archive.name if args.archive else "",
        vectors=_given_vectors(args, settings),
    )
    return (build or builds.build)(request, settings)


def _further_views(args: argparse.Namespace) -> tuple[str, ...]:
    return () if args.impacts is None else ("impacts",)


def _given_vectors(args: argparse.Namespace, config: Config) -> GivenVectors | None:
    from .given_vectors import read_given_vectors

    return read_given_vectors(args.vectors, args.vector_ids, args.index, config.encoder)


def add_vectors(parser: Any) -> None:
    """Add the option that brings vectors."""
    parser.add_argument(
        "--vectors",
        type=Path,
        metavar="FILE",
        help="the vectors of the passages, instead of an encoder: .npy with --vector-ids, Parquet "
        "or JSON Lines (docid, passage, vector)",
    )


def _columns(written: list[str]) -> dict[str, str]:
    columns: dict[str, str] = {}
    for each in written:
        field, mark, name = map(str.strip, each.partition("="))
        if not (field and mark and name):
            raise UsageError(f"--column {each!r}: write FIELD=NAME, as in text=Finding")
        if name not in columns.values():
            field = next_field(field, columns)
        if field in columns:
            raise UsageError(f"--column names {field} twice; give it once")
        columns[field] = name
    return columns


def _settings_of(args: argparse.Namespace) -> Config:
    config, replaced = config_of(args, Config), msgspec.structs.replace
    if args.analyzer:
        config = replaced(config, index=replaced(config.index, analyzer=args.analyzer))
    if args.filter_field:
        config = replaced(
            config, index=replaced(config.index, filter_fields=field_names(args.filter_field))
        )
    if args.impacts is not None:
        config = replaced(config, impact=replaced(config.impact, model=args.impacts))
    if args.skip_bad_lines is not None:
        if args.skip_bad_lines < 0:
            raise UsageError(
                f"--skip-bad-lines {args.skip_bad_lines}: give a number of lines, 0 or more"
            )
        config = replaced(config, build=replaced(config.build, skip_bad_lines=args.skip_bad_lines))
    return config


def _tell_build(args: argparse.Namespace, built: BuildReport, seconds: float) -> None:
    left_out = _say_left_out(built)
    added = (
        f"{format_count(built.documents, 'document')} in {format_count(built.passages, 'passage')}"
    )
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


def _say_left_out(built: BuildReport) -> dict[str, list[str]]:
    """Print what was not read, and notes; return the names of what was left out for each reason."""
    left_out: dict[str, list[str]] = {}
    for place, reason in sorted(built.left_out, key=itemgetter(1)):
        left_out.setdefault(reason, []).append(place)
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
        what = (
            "1 date is not understood:"
            if dates.count == 1
            else f"{dates.count:,} dates are not understood, such as"
        )
        either = ", or use --dates day-first or month-first" if dates.either else ""
        say(f"note: {what} {dates.example}; to filter by date, write YYYY-MM-DD{either}")
    for note in built.notes[:MOST_NAMES]:
        say(f"note: {note}")
    if built.merged > 0:
        say(f"small segments were merged; segments now: {len(built.manifest.segments)}")
    if built.unmerged:
        say(f"the documents were added, but the segments could not be merged: {built.unmerged}")
    return left_out


def delete_documents(args: argparse.Namespace, delete: Callable[..., Deleted] | None = None) -> int:
    """Delete documents and print how many.

    ``delete`` replaces the function for an index without shards.
    """
    from ..retrieval.search.opening import read_published
    from . import deletion

    docids = list(args.docids)
    if args.from_file:
        faults = Strict(args.from_file)
        docids += [
            docid
            for at, line in lines(args.from_file, faults)
            if (docid := decode_line(at, line, faults))
        ]
    where = parse_filter(
        args.filter, declared=read_published(args.index).filter_fields if args.filter else ()
    )
    if not docids and where is None and args.from_file is None:
        raise UsageError(
            "give the docids to delete, a file of docids with --from-file, or a --filter"
        )
    deleted = (delete or deletion.delete)(args.index, docids, where=where, wait=args.wait)
    for docid in deleted.unknown[:20]:
        say(f"not in the index: {docid}")
    more = f", {len(deleted.unknown)} were not in the index" if deleted.unknown else ""
    facts = {
        "index": str(args.index),
        "deleted": deleted.documents,
        "not_there": list(deleted.unknown),
    }
    report(
        args, facts, f"{args.index}: deleted {format_count(deleted.documents, 'document')}{more}\n"
    )
    return DONE


def _show_info(args: argparse.Namespace) -> int:
    from ..retrieval.search.options import description, segments
    from ..retrieval.store import manifest as manifests

    manifest = manifests.read(args.index)
    if args.json:
        write(manifests.encode(manifest).decode())
        return DONE
    write(
        "".join(
            f"{name:15} {value}\n"
            for name, value in (*description(args.index, manifest), *segments(manifest))
        )
    )
    return DONE


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
    """Merge segments with ``compact``, by default the function for an index without shards, and
    print the result.
    """
    from ..retrieval.search.opening import read_published
    from . import compaction

    began = perf_counter()
    published = read_published(args.index)
    before = published.views
    config = config_of(args, Config)
    vectors = _given_vectors(args, config)
    compacted = (compact or compaction.compact)(
        args.index, config, add=args.add, vectors=vectors, wait=args.wait
    )
    if vectors is not None and vectors.unused:
        say(f"there are vectors of passages that the index lacks: {some_of(vectors.unused)}")
    after = len(compacted.manifest.segments)
    done = []
    if after < compacted.before:
        done.append(f"merged {format_count(compacted.before, 'segment')} into {after}")
    if compacted.dropped:
        done.append(f"dropped {format_count(compacted.dropped, 'deleted document')}")
    added = sorted(compacted.manifest.views.keys() - before.keys())
    if added:
        done.append(f"added {', '.join(added)}")
    if compacted.manifest.analysis != published.analysis:
        done.append("renewed the analysis of words")
    seconds = perf_counter() - began
    line = (
        f"{', '.join(done)} in {seconds:.1f} s"
        if done
        else f"nothing to merge in {format_count(after, 'segment')}"
    )
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

    ``verify`` and ``repair`` replace the functions for an index without shards. Raises CheckFailed
    if faults are left.
    """
    from . import verification

    config = config_of(args, Config)
    if args.repair:
        done = (repair or verification.repair)(args.index, config, wait=args.wait)
    else:
        verified = (verify or verification.verify)(args.index, config)
        done = verification.Repaired(verified, (), verified.faults)
    faults = done.verified.faults
    if args.json:
        answer = {
            "index": str(args.index),
            "manifest_id": done.verified.manifest.id,
            "documents": done.verified.documents,
            "faults": [
                {"path": str(fault.path), "what": fault.what, "segment": fault.segment}
                for fault in faults
            ],
            "repaired": list(done.segments),
        }
        write(msgspec.json.format(msgspec.json.encode(answer), indent=2).decode() + "\n")
    else:
        whole = format_count(done.verified.documents, "whole document")
        write("".join(f"{fault}\n" for fault in faults))
        write(
            f"{args.index}: {whole}, "
            f"{format_count(len(faults), 'fault') if faults else 'no fault found'}\n"
        )
    for name in done.segments:
        say(f"segment {name} was rebuilt from its documents")
    if done.left:
        left = format_count(len(done.left), "fault")
        denied = os.strerror(errno.EACCES)
        repairable = {fault.segment for fault in faults} & {"", *done.verified.intact}
        what = (
            f"is damaged ({left}); "
            f"{'repair it with --repair, or ' if repairable else ''}restore a snapshot"
        )
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
    report(
        args,
        facts,
        f"{args.target}: {format_count(done.manifest.documents, 'document')}, {shared}\n",
    )
    return DONE


def _restore_index(args: argparse.Namespace) -> int:
    from .snapshot import restore

    done = restore(
        args.source, args.index, config_of(args, Config), overwrite=args.overwrite, wait=args.wait
    )
    facts = {"index": str(args.index), "snapshot": str(args.source), **_describe_copy(done)}
    report(
        args,
        facts,
        f"{args.index}: {format_count(done.manifest.documents, 'document')} restored from "
        f"{args.source}\n",
    )
    return DONE


def _describe_copy(done: Copied) -> dict[str, Any]:
    manifest = done.manifest
    return {
        "manifest_id": manifest.id,
        "documents": manifest.documents,
        "files": done.files,
        "shared": done.shared,
    }


def _export_documents(args: argparse.Namespace) -> int:
    from ..retrieval.search.opening import read_published
    from .export import export, export_reviews, export_to

    where = parse_filter(
        args.filter, declared=read_published(args.index).filter_fields if args.filter else ()
    )
    if args.added and args.form != "jsonl":
        raise UsageError("--added: a ClaimReview has no place for it", remedy="leave it out")
    to_file = args.output not in (None, Path("-"))
    if args.json and not to_file:
        raise UsageError(
            "--json describes the file that --output writes, but --output is missing",
            remedy="give --output, or leave out --json: the documents are JSON already",
        )
    left_out: Counter[str] = Counter()
    pieces = (
        export(args.index, where, with_added=args.added)
        if args.form == "jsonl"
        else export_reviews(args.index, where, left_out)
    )
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


def _watch(args: argparse.Namespace) -> int:
    from .build import BuildRequest

    if args.folder is None and not args.feed:
        raise UsageError("give a folder to watch, or --feed", remedy="see factseek watch --help")
    config = config_of(args, Config)
    request = BuildRequest(
        kind="feed",
        sources=(),
        folder=args.index,
        language=args.language,
        dense=not args.no_dense,
        wait=PATIENCE,
    )
    feeds = feeds_of(args, config, request)
    if args.folder is not None:
        kind = args.kind or _kind_of(args.index)
        request = dataclasses.replace(request, kind=kind, sources=(args.folder,))
    with _stopped_by_signals() as stop:
        _watch_until(stop, args, request, config, partial(_look_at_feeds, args, feeds))
    say("stopped")
    return DONE


def _watch_until(
    stop: threading.Event,
    args: argparse.Namespace,
    request: BuildRequest,
    config: Config,
    look_at_feeds: Callable[[], None],
) -> None:
    from .watching import LOOK_SECONDS, check, watch

    if args.folder is not None:
        check(request, config)
    watched = " and ".join(map(str, filter(None, (args.folder, *args.feed))))
    say(f"watching {watched}; press Ctrl-C to stop")
    if args.folder is None:
        look_at_feeds()
        while not stop.wait(LOOK_SECONDS):
            look_at_feeds()
        return
    for outcome in watch(request, config, stop, args.pattern, look_at_feeds):
        if outcome.report is None:
            say(f"factseek: {outcome.error}")
        else:
            _tell_watched(args, outcome.report, format_count(len(outcome.files), "file"))


def _look_at_feeds(args: argparse.Namespace, feeds: FeedWatch | None) -> None:
    """Fetch the feeds if it is time to, and say what was new or failed."""
    for outcome in feeds.look() if feeds else ():
        for failure in outcome.failures:
            say(f"factseek: {failure}")
        if outcome.report is not None:
            _tell_watched(args, outcome.report, outcome.feed)


def _tell_watched(args: argparse.Namespace, report: BuildReport, source: str) -> None:
    """Say what a batch of files or a feed added to the index."""
    _say_left_out(report)
    replaced = f" (earlier versions replaced: {report.replaced})" if report.replaced else ""
    added = format_count(report.documents, "document")
    write_now(f"{args.index}: added {added}{replaced} from {source}\n")


def _kind_of(index: Path) -> str:
    from ..retrieval.store import manifest as manifests

    manifests.check_whole(index)
    held = (
        {segment.kind for segment in manifests.read(index).segments}
        if (index / manifests.NAME).exists()
        else set()
    )
    if len(held) != 1:
        reason = (
            f"the index {index} contains {', '.join(sorted(held))}"
            if held
            else f"there is nothing in {index} yet"
        )
        raise UsageError(
            f"give the kind of the files with --kind: {reason}",
            remedy=f"the kinds are {', '.join(kinds())}",
        )
    return held.pop()


@contextmanager
def _stopped_by_signals() -> Iterator[threading.Event]:
    """Set an event at the first Ctrl-C or termination signal; a second signal has its usual
    effect.
    """
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
