"""Read sitemaps: the addresses of a site's pages, and of further sitemaps."""

from __future__ import annotations

from typing import NamedTuple
from xml.parsers.expat import ExpatError, ParserCreate

from ...core.records.dates import clean_date
from ..collections.feed import is_feed
from .addresses import is_address
from .fetching import unpack_gzip
from .markup import UnsafeMarkupError, check_markup

_GZIP = b"\x1f\x8b"
_NO_SITEMAP = "is not a sitemap"
_FEED = "is a feed, not a sitemap; read it with factseek index feed"


class Sitemap(NamedTuple):
    """The pages and the further sitemaps that a sitemap lists.

    Each has the time of its last change as the sitemap writes it, ``""`` if it gives none.
    """

    pages: list[tuple[str, str]]
    sitemaps: list[tuple[str, str]]


def read_sitemap(content: bytes, most_bytes: int) -> Sitemap:
    """Return what a sitemap lists: XML, or a text with one address per line, packed or not.

    Raises ValueError, with the reason, if it is not a sitemap, or longer than ``most_bytes``.
    """
    if content.startswith(_GZIP):
        content = unpack_gzip(content, most_bytes)
    if not content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"<"):
        lines = content.decode("utf-8-sig", "replace").split()
        pages = [(line, "") for line in lines if is_address(line)]
        if not pages or len(pages) < len(lines):
            raise ValueError(_NO_SITEMAP if not is_feed(content) else _FEED)
        return Sitemap(pages, [])
    try:
        check_markup(content)
    except UnsafeMarkupError as error:
        raise ValueError(str(error)) from None
    reader = _SitemapReader()
    parser = ParserCreate(namespace_separator=" ")
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    try:
        parser.Parse(content, True)
    except ExpatError as error:
        raise ValueError(f"is not XML (line {error.lineno})") from None
    if not reader.is_sitemap and is_feed(content):
        raise ValueError(_FEED)
    if not reader.is_sitemap:
        raise ValueError("is not a sitemap: it has no <urlset> and no <sitemapindex>")
    return reader.sitemap


class _SitemapReader:
    """Collects the entries of a sitemap from the events of a parser."""

    def __init__(self) -> None:
        self.sitemap = Sitemap([], [])
        self.is_sitemap = False
        self._path: list[str] = []
        self._fields: dict[str, str] = {}

    def start(self, name: str, _: object) -> None:
        local = name.rpartition(" ")[2].lower()
        self._path.append(local)
        if len(self._path) == 1:
            self.is_sitemap = local in ("urlset", "sitemapindex")
        elif len(self._path) == 2:
            self._fields = {}

    def text(self, data: str) -> None:
        # Only the entry's own fields count; extensions nest others (image:loc) below them.
        if len(self._path) == 3 and self._path[-1] in ("loc", "lastmod"):
            self._fields[self._path[-1]] = self._fields.get(self._path[-1], "") + data

    def end(self, _: str) -> None:
        if len(self._path) == 2:
            self._add_entry(self._path[-1])
        self._path.pop()

    def _add_entry(self, kind: str) -> None:
        address = self._fields.get("loc", "").strip()
        changed = self._fields.get("lastmod", "").strip()
        if address and kind == "url":
            self.sitemap.pages.append((address, changed))
        elif address and kind == "sitemap":
            self.sitemap.sitemaps.append((address, changed))


def is_since(changed: str, since: str) -> bool:
    """Return whether a time of a sitemap is not before the day, month or year ``since``.

    A time that is less exact, or cannot be read, is not before it.
    """
    day = clean_date(changed[:10])
    return not day or day >= since[: len(day)]
