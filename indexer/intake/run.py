"""Fetch the sources of ``factseek index feed``, ``sitemap`` and ``urls`` into files for a build.

What is fetched goes to an archive in the form of the Internet Archive (WARC), which the readers of
web pages and feeds read. A page that cannot be fetched is one line; it is tried again by the next
run, and nothing else stops.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import msgspec

from ...core.errors import SourceError
from ...core.progress import bar
from ...core.records.columns import Columns
from ...core.records.names import ANY_TABLE
from ...core.records.table_shape import shape_of
from ..collections import ReadOptions
from ..collections._lines import read_lines
from ..collections._tables import SUFFIXES as TABLE_ENDINGS
from ..collections._tables import read_rows
from ..collections.feed import OWN_KEY, Item, parse_feed, read_feed
from ..settings import Config
from .addresses import is_address
from .archive import Archive
from .fetching import Fetched, Fetcher, FetchError
from .seen import Seen, SeenAddress, read_seen, write_seen
from .sitemaps import Sitemap, is_since, read_sitemap

KINDS = {"feed": "feed", "sitemap": "webpages", "urls": "webpages"}
"""The kind of the documents that each kind of source on the command line becomes."""
MOST_SITEMAPS = 1_000
MOST_PAGES = 100_000
"""The most sitemaps, and the most pages, of one run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IntakeRequest:
    """What to fetch: sources are addresses, or files that list them or are feeds.

    ``follow`` fetches the pages behind the items of feeds. ``since`` leaves out pages that a
    sitemap dates before this day. ``archive`` keeps every answer. ``columns`` names the column of a
    table, the field ``url``. ``proxies`` uses those of the environment. With ``fresh``, the index
    is new, so what was fetched for it before does not count.
    """

    kind: str
    sources: tuple[str, ...]
    index: Path
    follow: bool = False
    since: str = ""
    archive: Path | None = None
    columns: tuple[tuple[str, str], ...] = ()
    allow_private: bool = False
    proxies: bool = False
    fresh: bool = False


@dataclass(slots=True)
class Intake:
    """What a run has fetched: the files to read, what failed, and what to remember.

    ``answered`` counts the sources and pages that gave something, or are as they were.
    ``unchanged`` counts addresses and items that are as they were. ``places`` has the address of
    each place in the files, which are temporary.
    """

    kind: str
    sources: tuple[Path, ...] = ()
    failures: list[str] = field(default_factory=list)
    fetched: int = 0
    answered: int = 0
    unchanged: int = 0
    places: dict[str, str] = field(default_factory=dict)


@contextmanager
def fetch_sources(
    request: IntakeRequest, config: Config, sleep: Callable[[float], object] = time.sleep
) -> Iterator[Intake]:
    """Fetch the sources, and yield the files to read; they are removed afterwards.

    If the caller ends without an error, the index remembers what was fetched. Raises SourceError if
    a file among the sources cannot be read, or if no source could be fetched at all.
    """
    seen = Seen() if request.fresh else read_seen(request.index)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="factseek-")))
        run = _Run(request, config, seen, folder, sleep)
        run.fetch_all()
        intake = run.intake
        if intake.failures and not intake.answered:
            raise SourceError(f"nothing could be fetched: {intake.failures[0]}")
        yield intake
        write_seen(request.index, run.remembered)


class _Run:
    """One run over all sources."""

    def __init__(
        self,
        request: IntakeRequest,
        config: Config,
        seen: Seen,
        folder: Path,
        sleep: Callable[[float], object],
    ) -> None:
        self._request, self._config = request, config
        self._seen = seen.addresses
        self.remembered = Seen(dict(seen.addresses))
        self._folder = folder
        self._sleep = sleep
        self.intake = Intake(KINDS[request.kind])

    def fetch_all(self) -> None:
        """Fetch everything, into one archive and, for feeds, a file of new items."""
        request = self._request
        pages = self._folder / "fetched.warc.gz"
        with ExitStack() as stack:
            self._pages = stack.enter_context(Archive(pages))
            kept = stack.enter_context(Archive(request.archive)) if request.archive else None
            fetcher = Fetcher(
                self._config.fetch,
                allow_private=request.allow_private,
                proxies=request.proxies,
                keep=kept.add if kept else None,
                sleep=self._sleep,
            )
            if request.kind == "feed":
                self._fetch_feeds(fetcher)
            elif request.kind == "sitemap":
                self._fetch_pages(fetcher, self._pages_of_sitemaps(fetcher))
            else:
                self._fetch_pages(fetcher, dict.fromkeys(self._listed_addresses(), ""))
        if self.intake.fetched:
            self.intake.sources = (*self.intake.sources, pages)

    def _fetch(self, fetcher: Fetcher, address: str, *, anew: bool = False) -> Fetched | None:
        """Return the answer of an address; None if it failed or, unless ``anew``, is as it was."""
        before = self._seen.get(address, SeenAddress())
        if anew:
            before = SeenAddress()
        try:
            answer = fetcher.fetch(address, etag=before.etag, modified=before.modified)
        except FetchError as error:
            self.intake.failures.append(f"{address}: {error}")
            return None
        digest = hashlib.sha256(answer.body).hexdigest()
        if answer.status == HTTPStatus.NOT_MODIFIED or digest == before.digest:
            self.intake.unchanged += 1
            self.intake.answered += 1
            return None
        self.remembered.addresses[address] = SeenAddress(
            etag=answer.header("etag"), modified=answer.header("last-modified"), digest=digest
        )
        return answer

    def _add_page(self, answer: Fetched) -> None:
        """Keep a page for the build."""
        self._pages.add(answer)
        self.intake.fetched += 1
        record = self.intake.fetched + 1  # the first record describes the file
        self.intake.places[f"{self._pages.path}#{record}"] = answer.address
        self.intake.answered += 1

    def _fetch_pages(self, fetcher: Fetcher, pages: dict[str, str]) -> None:
        """Fetch pages that are new; ``pages`` has the time of each one's last change, if known."""
        with closing(bar("fetching", "page", len(pages))) as fetching:
            for address, changed in pages.items():
                fetching.update()
                before = self._seen.get(address)
                if before is not None and changed and before.changed == changed:
                    self.intake.unchanged += 1
                    self.intake.answered += 1
                    continue
                answer = self._fetch(fetcher, address)
                if answer is not None:
                    self._add_page(answer)
                    self.remembered.addresses[address].changed = changed

    def _pages_of_sitemaps(self, fetcher: Fetcher) -> dict[str, str]:
        """Return the pages that the sitemaps list, with the times of their last changes."""
        waiting = list(self._request.sources)
        since = self._request.since
        pages: dict[str, str] = {}
        read: set[str] = set()
        while waiting and len(read) < MOST_SITEMAPS:
            address = waiting.pop(0)
            if address in read:
                continue
            read.add(address)
            try:
                sitemap = self._sitemap(fetcher, address)
            except (FetchError, ValueError) as error:
                self.intake.failures.append(f"{address}: {error}")
                continue
            self.intake.answered += 1
            waiting += [place for place, changed in sitemap.sitemaps if is_since(changed, since)]
            for place, changed in sitemap.pages:
                if is_since(changed, since):
                    pages.setdefault(place, changed)
        if waiting:
            self.intake.failures.append(f"only the first {MOST_SITEMAPS:,} sitemaps are read")
        if len(pages) > MOST_PAGES:
            listed = f"{len(pages):,} pages are listed"
            self.intake.failures.append(f"{listed}, of which the first {MOST_PAGES:,} are fetched")
        return dict(islice(pages.items(), MOST_PAGES))

    def _sitemap(self, fetcher: Fetcher, source: str) -> Sitemap:
        """Return what a sitemap lists: an address, or a file.

        An address is asked with the conditions of its last answer. If the sitemap has not changed,
        its list is known, so that pages which failed are tried again. Raises FetchError or
        ValueError.
        """
        most = self._config.fetch.max_bytes
        if not is_address(source):
            try:
                return read_sitemap(Path(source).read_bytes(), most)
            except OSError as error:
                raise ValueError(f"cannot be read: {error.strerror}") from None
        before = self._seen.get(source, SeenAddress())
        known = Sitemap(before.pages, before.sitemaps)
        is_known = bool(known.pages or known.sitemaps)
        answer = fetcher.fetch(
            source,
            etag=before.etag if is_known else "",
            modified=before.modified if is_known else "",
        )
        if answer.status == HTTPStatus.NOT_MODIFIED:
            return known
        sitemap = read_sitemap(answer.body, most)
        etag, modified = answer.header("etag"), answer.header("last-modified")
        if etag or modified:
            self.remembered.addresses[source] = SeenAddress(
                etag=etag, modified=modified, pages=sitemap.pages, sitemaps=sitemap.sitemaps
            )
        else:  # it has no conditions any more
            self.remembered.addresses.pop(source, None)
        return sitemap

    def _listed_addresses(self) -> Iterator[str]:
        """Yield the addresses among the sources, and those that files list."""
        for source in self._request.sources:
            if is_address(source):
                yield source
                continue
            listed = 0
            for place, address in self._lines_or_cells(Path(source)):
                listed += 1
                if not is_address(address):
                    raise SourceError(
                        f"{address[:60]!r} is not a web address",
                        place=place,
                        remedy="give one address a line, or a table with a column url",
                    )
                yield address
            if not listed:
                raise SourceError(
                    "contains no address", place=source, remedy="give one address a line"
                )

    def _lines_or_cells(self, path: Path) -> Iterator[tuple[str, str]]:
        """Yield what should be addresses, with their places: the lines of a file without blank
        ones and comments, or the filled cells of a table's column of addresses.
        """
        columns = dict(self._request.columns)
        options = ReadOptions(columns=columns)
        ending = path.name.lower().removesuffix(".gz").rpartition(".")[2]
        shape = shape_of(path)
        # A list of addresses that contain commas is no table.
        is_list = not shape.cells or is_address(shape.cells[0])
        if f".{ending}" in TABLE_ENDINGS or (shape.delimiter and not is_list):
            chosen = ("url",) if "url" in columns else ()
            names = {"url": [columns["url"]] if chosen else ANY_TABLE["url"]}
            wanted = Columns(names, (("url",),), chosen=chosen, address="url")
            for place, row in read_rows(path, options, wanted):
                if "url" in row:
                    yield place, row["url"]
            return
        for place, line in read_lines(path, options):
            text = line.strip()
            if text and not text.startswith("#"):
                yield place, text

    def _fetch_feeds(self, fetcher: Fetcher) -> None:
        """Write the new items of all feeds to a file, and fetch the pages behind them."""
        new: list[Item] = []
        for source in self._request.sources:
            items = self._new_items(fetcher, source)
            new += self._follow_links(fetcher, source, items) if self._request.follow else items
        if new:
            path = self._folder / "items.json"
            path.write_bytes(_json_feed(new))
            self.intake.sources = (path,)
            for number, item in enumerate(new, 1):
                self.intake.places[f"{path}#{number}"] = item.link or item.docid

    def _new_items(self, fetcher: Fetcher, source: str) -> list[Item]:
        """Return the items of a feed that are new, or that have changed since the last run."""
        if not is_address(source):
            items = read_feed(Path(source), ReadOptions())
            self.intake.answered += 1
            return items
        before = self._seen.get(source, SeenAddress())
        # A feed that has not changed is read again if pages of its items are still to be read.
        unfollowed = set(before.items) - set(before.followed) if self._request.follow else set()
        answer = self._fetch(fetcher, source, anew=bool(unfollowed))
        if answer is None:
            return []
        headers = {"content-location": answer.address, **dict(answer.headers)}
        try:
            items = parse_feed(
                answer.body, {name.lower(): value for name, value in headers.items()}
            )
        except ValueError as error:
            self.intake.failures.append(f"{source}: {error}")
            del self.remembered.addresses[source]
            if source in self._seen:  # a site that is down may answer with another page
                self.remembered.addresses[source] = before
            return []
        self.intake.answered += 1
        digests = {item.docid: _digest_of(item) for item in items}
        seen = self.remembered.addresses[source]
        seen.items = digests
        seen.followed = [docid for docid in before.followed if docid in digests]
        changed = [
            item
            for item in items
            if before.items.get(item.docid) != digests[item.docid] or item.docid in unfollowed
        ]
        self.intake.unchanged += len(items) - len(changed)
        return changed

    def _follow_links(self, fetcher: Fetcher, source: str, items: Sequence[Item]) -> list[Item]:
        """Fetch the pages behind items; return the items to read, with the addresses of pages.

        An item whose page fails is read with its own text, unless the index has its page from an
        earlier run. The next run tries the page again.
        """
        pages = self._fetch_links(fetcher, items)
        seen = self.remembered.addresses.get(source, SeenAddress())
        before = self._seen.get(source, SeenAddress())
        followed = set(seen.followed)
        read: list[Item] = []
        for item in items:
            if item.link and item.link not in pages:
                if item.docid in followed:
                    # Its page stays. The item counts as changed until the page is read again, and
                    # the feed is fetched again although it may not have changed.
                    seen.items[item.docid] = before.items.get(item.docid, "")
                    seen.etag = seen.modified = seen.digest = ""
                    continue
            else:
                followed.add(item.docid)
            read.append(item._replace(page=pages.get(item.link, "")))
        seen.followed = sorted(followed)
        return read

    def _fetch_links(self, fetcher: Fetcher, items: Sequence[Item]) -> dict[str, str]:
        """Fetch each link of items once; return the final address of each page that was fetched."""
        pages: dict[str, str] = {}
        links = dict.fromkeys(item.link for item in items if item.link)
        with closing(bar("fetching", "page", len(links))) as fetching:
            for link in links:
                fetching.update()
                try:
                    answer = fetcher.fetch(link)
                except FetchError as error:
                    self.intake.failures.append(f"{link}: {error}")
                    continue
                if answer.address not in pages.values():
                    self._add_page(answer)
                pages[link] = answer.address
        return pages


def _digest_of(item: Item) -> str:
    return hashlib.sha256(msgspec.json.encode(tuple(item))).hexdigest()[:32]


def _json_feed(items: Iterable[Item]) -> bytes:
    """Return items as a JSON Feed, which the reader of feeds reads."""
    entries: list[dict[str, Any]] = [
        {
            "id": item.id,
            "title": item.title,
            "url": item.link,
            "date_published": item.date,
            "authors": [{"name": item.author}] if item.author else [],
            "content_text": item.text,
            "language": item.language,
            OWN_KEY: {"page": item.page},
        }
        for item in items
    ]
    return msgspec.json.encode({"version": "https://jsonfeed.org/version/1.1", "items": entries})
