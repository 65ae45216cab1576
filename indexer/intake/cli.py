"""The options of ``factseek index`` for sources on the web, and their files for a build."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, NamedTuple

from ...core.errors import QueryError, UsageError
from ...core.records.dates import clean_date
from ...core.terminal import report, say
from ...retrieval.store.manifest import NAME
from ..settings import Config
from .addresses import is_address

if TYPE_CHECKING:
    from ..build import BuildRequest
    from .watching import FeedWatch

KINDS = {
    "sitemap": "the web pages that a sitemap lists: its address",
    "urls": "web pages: their addresses, or files or tables that list them",
}
"""What ``factseek index`` fetches besides feeds, each with a line for the help."""
FEED = "feed"
_TIME = re.compile(r"([0-9]{1,6})([smhd])")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3_600.0, "d": 86_400.0}
_MOST_FAILURES = 20


class IntakeFiles(NamedTuple):
    """The kind and the files of a build, and the addresses of places in files that are
    temporary.
    """

    kind: str
    sources: tuple[Path, ...]
    places: Mapping[str, str] = MappingProxyType({})


def add_intake_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``index`` for sources on the web."""
    group = parser.add_argument_group("for feed, sitemap and urls")
    _add_fetching(group)
    group.add_argument(
        "--since",
        default="",
        metavar="DATE",
        help="leave out pages that a sitemap dates before this day, month or year",
    )


def add_feed_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``watch`` for feeds."""
    group = parser.add_argument_group("for feeds")
    group.add_argument(
        "--feed",
        action="append",
        default=[],
        metavar="ADDRESS",
        help="a feed to fetch again and again; repeatable",
    )
    group.add_argument(
        "--every",
        default="15m",
        metavar="TIME",
        help="how often to fetch feeds, such as 90s, 15m, 2h or 1d (default: 15m)",
    )
    _add_fetching(group)


def _add_fetching(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--follow", action="store_true", help="fetch the page behind each item of a feed"
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
    group.add_argument(
        "--proxy-from-environment",
        action="store_true",
        help="use the proxies of http_proxy, https_proxy and no_proxy; needs --allow-private",
    )


@contextmanager
def intake_of(
    args: argparse.Namespace, config: Config, columns: tuple[tuple[str, str], ...] = ()
) -> Iterator[IntakeFiles]:
    """Yield the kind and the files of a build: the sources themselves, or what they lead to.

    ``columns`` are the columns of tables that the user named.

    There are no files if nothing new could be fetched; the command has then said so. Raises
    UsageError if an option or an address does not fit the kind of source.
    """
    addresses = [source for source in args.sources if isinstance(source, str)]
    fetches = args.kind in KINDS or (args.kind == FEED and (addresses or args.follow))
    _check_options(args, addresses, fetches=bool(fetches))
    if not fetches:
        yield IntakeFiles(args.kind, tuple(args.sources))
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
        columns=columns,
        allow_private=args.allow_private,
        proxies=args.proxy_from_environment,
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
        yield IntakeFiles(intake.kind, intake.sources, intake.places)


def _check_options(args: argparse.Namespace, addresses: list[str], *, fetches: bool) -> None:
    if args.follow and args.kind != FEED:
        raise UsageError("--follow fetches the pages behind a feed", remedy="leave it out")
    if args.since and args.kind != "sitemap":
        raise UsageError("--since reads the days of a sitemap", remedy="leave it out")
    if fetches:
        _check_proxy(args)
        return
    if addresses:
        raise UsageError(
            f"{addresses[0]} is an address, but {args.kind} reads files",
            remedy=f"fetch pages with factseek index urls, feeds with factseek index {FEED}",
        )
    given = {
        "--archive": args.archive,
        "--allow-private": args.allow_private,
        "--proxy-from-environment": args.proxy_from_environment,
    }
    for option, value in given.items():
        if value:
            raise UsageError(f"{option} is for what is fetched", remedy="leave it out")


def _check_proxy(args: argparse.Namespace) -> None:
    """Raise UsageError if a proxy is used by somebody who has not admitted private addresses."""
    if args.proxy_from_environment and not args.allow_private:
        raise UsageError(
            "--proxy-from-environment: factseek cannot check to which address a proxy connects",
            remedy="if the proxy may reach private addresses, give --allow-private as well",
        )


def _since(written: str) -> str:
    day = clean_date(written)
    if written and not day:
        raise QueryError(f"{written!r} is not a date", place="--since", remedy="write 2026-11-28")
    return day


def feeds_of(args: argparse.Namespace, config: Config, request: BuildRequest) -> FeedWatch | None:
    """Return the watch over the feeds of ``--feed``; None without any.

    Raises UsageError if a feed is not an address, or ``--every`` not a time.
    """
    for feed in args.feed:
        if not is_address(feed):
            raise UsageError(f"--feed {feed}: is not a web address")
    every = _seconds_of(args.every)
    if not args.feed:
        return None
    _check_proxy(args)

    from ..watching import check_index
    from .run import IntakeRequest
    from .watching import FeedWatch

    check_index(request, config)
    request = replace(request, archive=args.archive.name if args.archive else "")
    intake = IntakeRequest(
        kind=FEED,
        sources=tuple(args.feed),
        index=args.index,
        follow=args.follow,
        archive=args.archive,
        allow_private=args.allow_private,
        proxies=args.proxy_from_environment,
    )
    return FeedWatch(request, intake, config, every)


def _seconds_of(written: str) -> float:
    match = _TIME.fullmatch(written.strip())
    seconds = int(match[1]) * _SECONDS[match[2]] if match else 0
    if not seconds:
        raise UsageError(f"--every {written}: give a time such as 90s, 15m, 2h or 1d")
    return seconds
