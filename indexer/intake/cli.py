"""The options of ``factseek index`` for sources on the web, and their files for a build."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...core.errors import QueryError, UsageError
from ...core.records.dates import clean_date
from ...core.terminal import report, say
from ...retrieval.store.manifest import NAME
from ..settings import Config

KINDS = {
    "sitemap": "the web pages that a sitemap lists: its address",
    "urls": "web pages: their addresses, or files with one address a line",
}
"""What ``factseek index`` fetches besides feeds, each with a line for the help."""
FEED = "feed"
_MOST_FAILURES = 20


def add_intake_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for sources on the web."""
    group = parser.add_argument_group("for feed, sitemap and urls")
    group.add_argument(
        "--follow", action="store_true", help="fetch the page behind each item of a feed"
    )
    group.add_argument(
        "--since",
        default="",
        metavar="DATE",
        help="leave out pages that a sitemap dates before this day, month or year",
    )
    group.add_argument(
        "--archive",
        type=Path,
        metavar="FILE",
        help="also keep every answer in this .warc.gz file; it is continued if it exists",
    )
    group.add_argument(
        "--allow-private",
        action="store_true",
        help="also fetch from addresses of private networks and of this machine",
    )


@contextmanager
def intake_of(args: argparse.Namespace, config: Config) -> Iterator[tuple[str, tuple[Path, ...]]]:
    """Yield the kind and the files of a build: the sources themselves, or what they lead to.

    There are no files if nothing new could be fetched; the command has then said so. Raises
    UsageError if an option or an address does not fit the kind of source.
    """
    addresses = [source for source in args.sources if isinstance(source, str)]
    fetches = args.kind in KINDS or (args.kind == FEED and (addresses or args.follow))
    _check_options(args, addresses, fetches=bool(fetches))
    if not fetches:
        yield args.kind, tuple(args.sources)
        return

    from .run import IntakeRequest, fetch_sources

    is_there = (args.index / NAME).is_file()
    if is_there and not args.verb:
        from ..build import already_there

        raise already_there(args.index)
    request = IntakeRequest(
        kind=args.kind,
        sources=tuple(map(str, args.sources)),
        index=args.index,
        follow=args.follow,
        since=_since(args.since),
        archive=args.archive,
        allow_private=args.allow_private,
        fresh=not is_there or args.verb == "overwrite",
    )
    with fetch_sources(request, config) as intake:
        for failure in intake.failures[:_MOST_FAILURES]:
            say(f"factseek: {failure}")
        more = len(intake.failures) - _MOST_FAILURES
        if more > 0:
            say(f"factseek: {more:,} more could not be fetched")
        if not intake.sources:
            facts = {"index": str(args.index), "documents": 0, "failed": len(intake.failures)}
            report(args, facts, f"{args.index}: nothing new was found\n")
        yield intake.kind, intake.sources


def _check_options(args: argparse.Namespace, addresses: list[str], *, fetches: bool) -> None:
    if args.follow and args.kind != FEED:
        raise UsageError("--follow fetches the pages behind a feed", remedy="leave it out")
    if args.since and args.kind != "sitemap":
        raise UsageError("--since reads the days of a sitemap", remedy="leave it out")
    if fetches:
        return
    if addresses:
        raise UsageError(
            f"{addresses[0]} is an address, but {args.kind} reads files",
            remedy=f"fetch pages with factseek index urls, feeds with factseek index {FEED}",
        )
    for option, value in (("--archive", args.archive), ("--allow-private", args.allow_private)):
        if value:
            raise UsageError(f"{option} is for what is fetched", remedy="leave it out")


def _since(written: str) -> str:
    day = clean_date(written)
    if written and not day:
        raise QueryError(f"{written!r} is not a date", place="--since", remedy="write 2026-11-28")
    return day
