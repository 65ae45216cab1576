"""Read feeds: RSS 1.0 and 2.0, Atom and JSON Feed, with the pages behind their items if they are
archived.

Each item is a document: its title, link, date, author, and its text without markup. The docid is
the item's id, else its link. If an archive (WARC) among the sources has the page of an item's link,
the document has the text of the page, and the date and the title of the item where the page has
none. Enclosures are ignored.
"""

from __future__ import annotations

import io
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ...core.domain import NO_METADATA
from ...core.text import web_link
from . import Files, ReadOptions, Record
from ._archives import Capture, captures, is_archive, redirects
from ._documents import Docids, check_docid, digest, host, make_record, text_language
from ._files import expand, read_bytes
from ._pages import Page, PageTooLargeError, decode, extract

SUMMARY = "feeds: RSS, Atom and JSON Feed, from files or addresses"
SPLIT = True
FILES: tuple[Files, ...] = ()

_ENDINGS = (".xml", ".rss", ".atom", ".rdf", ".json", ".warc", ".arc")
_FEED_ROOTS = (b"<rss", b"<feed", b"<rdf:RDF")
_JSON_FEED = "jsonfeed.org/version"
OWN_KEY = "_factseek"
"""The key of this program's own object in an item of a JSON Feed, as the format admits."""
_LOOKED_AT = 4_096
_SITEMAP = re.compile(rb"<(?:\w+:)?(?:urlset|sitemapindex)\b")
_BLOCKS = frozenset(
    "address article aside blockquote br dd div dl dt figcaption figure footer h1 h2 h3 h4 h5 h6 "
    "header hr li ol p pre section table td th tr ul".split()
)
"""Elements that begin and end a line of text."""
_NO_TEXT_AT_ALL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
"""Control characters and halves of characters, which XML does not admit and no index stores."""
_IS_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]*:", re.I)
_NO_TEXT = ("script", "style", "template", "noscript")


class Item(NamedTuple):
    """An item of a feed; ``text`` is plain, ``date`` is ISO 8601 or ``""``."""

    id: str
    title: str
    link: str
    date: str
    author: str
    text: str
    language: str
    page: str = ""
    """The address of the page behind the link, if the link is redirected."""

    @property
    def docid(self) -> str:
        """The id of the item, else its link, else a digest of its content.

        An id that is no address counts only within its site, whose name then precedes it.
        """
        if self.id and not _IS_ADDRESS.match(self.id) and self.link:
            return f"{host(self.link)}#{self.id}"
        return self.id or self.link or f"item-{digest(f'{self.title} {self.text}').hex()}"


def read(sources: Sequence[Path], options: ReadOptions) -> Iterator[Record]:
    """Yield the items with an archived page, in the order of the archives, then the other items."""
    files = expand(sources, _ENDINGS, options)
    archives = [path for path in files if is_archive(path)]
    feeds = [path for path in files if path not in archives]
    docids = Docids()
    read: set[str] = set()
    if not archives:
        for place, item in _new_items(feeds, read, options):
            if record := _record(item, None, docids, place, options):
                yield record
        return

    items = {item.docid: (place, item) for place, item in _new_items(feeds, read, options)}
    for docid, page, capture in _archived_pages(archives, items, options):
        place, item = items.pop(docid)
        about = capture.metadata(options.archive)
        if record := _record(item, page, docids, place, options, about=about):
            yield record
    for place, item in items.values():
        if record := _record(item, None, docids, place, options):
            yield record


def _new_items(
    feeds: Sequence[Path], read: set[str], options: ReadOptions
) -> Iterator[tuple[str, Item]]:
    """Yield the items of feeds with their places; the first of several with one docid counts."""
    for path in feeds:
        for number, item in enumerate(read_feed(path, options), 1):
            if item.docid in read:
                options.skipped["items that a feed repeats"] += 1
                continue
            read.add(item.docid)
            yield f"{path}#{number}", item


def _archived_pages(
    archives: Sequence[Path], items: Mapping[str, tuple[str, Item]], options: ReadOptions
) -> Iterator[tuple[str, Page, Capture]]:
    """Yield the docid of each item whose page is archived, with the page and its capture."""
    docids_of: dict[str, list[str]] = defaultdict(list)
    for docid, (_, item) in items.items():
        if item.link:
            docids_of[item.page or item.link].append(docid)
    for archive in archives:
        for start, target in redirects(archive).items():
            if start in docids_of and target != start:
                docids_of[target] += docids_of[start]
        for capture in captures(archive, options):
            waiting = [docid for docid in docids_of.get(capture.url, ()) if docid in items]
            page = _page_of(capture, options) if waiting else None
            if page is not None:
                for docid in waiting:
                    yield docid, page, capture


def _page_of(capture: Capture, options: ReadOptions) -> Page | None:
    """Return the page of a capture, or report why there is none."""
    try:
        page = extract(decode(capture.content, capture.charset), capture.url)
    except (PageTooLargeError, ValueError) as error:
        options.leave_out(capture.place, str(error))
        return None
    if page is None:
        options.leave_out(capture.place, "no main content")
    return page


def _record(
    item: Item,
    page: Page | None,
    docids: Docids,
    place: str,
    options: ReadOptions,
    *,
    about: Mapping[str, str] = NO_METADATA,
) -> Record | None:
    docid = item.docid
    if check_docid(docid):  # it has white space, or is too long
        docid = f"item-{digest(docid).hex()}"
    docid = docids.make_unique(docid)
    text = page.text if page else item.text
    language = text_language(text, (page.language if page else "") or item.language)
    fields = {
        "docid": docid,
        "text": text,
        "title": (page.title if page else "") or item.title,
        "url": item.link,
        "date": (page.date if page else "") or item.date,
        "language": language,
    }
    metadata = {"author": item.author, **about} if item.author else about
    return make_record(fields, place, options, metadata, empty="item without title and text")


def is_feed(start: bytes) -> bool:
    """Return whether a file that starts with ``start`` is a feed in XML or JSON."""
    head = start[:_LOOKED_AT]
    if head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        return _JSON_FEED.encode() in head.replace(b"\\/", b"/")
    return any(root in head for root in _FEED_ROOTS)


def read_feed(path: Path, options: ReadOptions) -> list[Item]:
    """Return the items of a feed in a file; report a file that is no feed as a bad line."""
    try:
        return parse_feed(read_bytes(path, options))
    except ValueError as error:
        options.bad_lines.report(str(path), str(error))
        return []


def is_sitemap(content: bytes) -> bool:
    """Return whether content looks like a sitemap."""
    return _SITEMAP.search(content[:_LOOKED_AT]) is not None


def parse_feed(content: bytes, headers: Mapping[str, str] | None = None) -> list[Item]:
    """Return the items of a feed in XML or JSON, as it was fetched with ``headers``.

    Raises ValueError, with the reason, if it is no feed or may not be parsed.
    """
    from ..intake.markup import UnsafeMarkupError, check_markup

    if content.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{"):
        try:
            return list(_json_items(json.loads(content)))
        except (ValueError, RecursionError):
            raise ValueError("is not a JSON Feed") from None
    try:
        check_markup(content)
    except UnsafeMarkupError as error:
        raise ValueError(str(error)) from None
    import feedparser

    # The object keeps feedparser from taking the content for an address or the name of a file.
    feed = feedparser.parse(
        io.BytesIO(content), response_headers=dict(headers or {}), sanitize_html=False
    )
    if not feed.version:
        if is_sitemap(content):
            raise ValueError("is a sitemap, not a feed; read it with factseek index sitemap")
        raise ValueError("is not a feed: RSS, Atom or JSON Feed")
    language = feed.feed.get("language", "")
    return [_xml_item(entry, language) for entry in feed.entries]


def _xml_item(entry: Any, language: str) -> Item:
    contents = [part.get("value", "") for part in entry.get("content", ())]
    whole = max([*contents, entry.get("summary", "")], key=len)
    title = entry.get("title", "")
    author = entry.get("author_detail", {}).get("name", "") or entry.get("author", "")
    is_markup = "html" in entry.get("title_detail", {}).get("type", "")
    return _item(
        id=entry.get("id", "").strip(),
        title=" ".join((text_of_html(title) if is_markup else title).split()),
        link=web_link(entry.get("link", "")),
        date=entry.get("published") or dict(entry).get("updated") or "",
        author=" ".join(author.split()),
        text=text_of_html(whole),
        language=language,
    )


def _json_items(feed: Any) -> Iterator[Item]:
    """Yield the items of a JSON Feed (version 1 or 1.1)."""
    if not isinstance(feed, dict) or _JSON_FEED not in str(feed.get("version", "")):
        raise ValueError("is not a JSON Feed")
    entries = feed.get("items")
    for entry in entries if isinstance(entries, list) else ():
        if not isinstance(entry, dict):
            continue
        authors = entry.get("authors")
        if not isinstance(authors, list):
            authors = [entry.get("author")]
        own = entry.get(OWN_KEY)
        names = [str(each.get("name", "")) for each in authors if isinstance(each, dict)]
        html, plain = entry.get("content_html"), entry.get("content_text")
        text = text_of_html(html) if isinstance(html, str) else str(plain or "")
        yield _item(
            id=str(entry.get("id") or "").strip(),
            title=" ".join(str(entry.get("title") or "").split()),
            link=web_link(str(entry.get("url") or "")),
            date=str(entry.get("date_published") or entry.get("date_modified") or ""),
            author=", ".join(filter(None, names)),
            text=text or str(entry.get("summary") or ""),
            language=str(entry.get("language") or feed.get("language") or ""),
            page=str(own.get("page", "")) if isinstance(own, dict) else "",
        )


def _item(**fields: str) -> Item:
    """Return an item whose texts have only characters of texts."""
    return Item(**{name: _NO_TEXT_AT_ALL.sub("", text) for name, text in fields.items()})


def text_of_html(source: str) -> str:
    """Return the text of a piece of HTML: a line for each block, blanks folded."""
    source = _NO_TEXT_AT_ALL.sub("", source)
    if "<" in source or "&" in source:
        source = _text_content(source)
    lines = (" ".join(line.split()) for line in source.splitlines())
    return "\n".join(filter(None, lines))


def _text_content(source: str) -> str:
    """Return the text of HTML, with line ends around its blocks."""
    from lxml import etree, html  # type: ignore[import-untyped]

    try:
        tree = html.fragment_fromstring(source, create_parent="div")
    except (ValueError, AssertionError, etree.ParserError):
        return source
    etree.strip_elements(
        tree, *_NO_TEXT, etree.Comment, etree.ProcessingInstruction, with_tail=False
    )
    for element in tree.iter():
        if element.tag in _BLOCKS:
            element.text = f"\n{element.text or ''}"
            element.tail = f"\n{element.tail or ''}"
    return str(tree.text_content())
