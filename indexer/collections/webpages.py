"""Read the main content of web pages, without menus and banners: HTML, PDF and text files, e-mails,
saved pages, WARC and ARC archives.

The docid of a file is its name without the ending or, if names repeat, its path below the source
folder. The docid of an archived page is its URL. A later capture with other content has the docid
``URL@time`` (fourteen digits). A digest replaces a docid of more than 512 bytes. A claims file of
CheckThat! 2019 gives pages their URL, title and topic. The claims file is one of the sources, or
lies in a folder ``claims`` in or next to a source folder.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote

from ...core.domain import NO_METADATA
from ...core.records.table_shape import LOOKED_AT, binary_remedy, known_binary, shape_of_start
from ...retrieval.filters import last_day
from ...retrieval.search.evidence import PAGE_STARTS
from . import Files, ReadOptions, Record
from ._archives import SUFFIXES as ARCHIVES
from ._archives import captures, is_archive
from ._child import BadFileError
from ._documents import MAX_DOCID_BYTES, Docids, checkthat_ids, digest, make_record, text_language
from ._files import OUTSIDE, expand, leads_outside, read_bytes
from ._formats import ENDINGS, ZIP, ZIPPED, Format, format_of, read_file, readable_endings
from ._kinds import table_finder
from ._lines import read_objects
from ._office import PDF, SHEETS, pdf_text, select_readable
from ._pages import Page, PageTooLargeError, binary_kind, decode, extract
from ._tables import MEDIAWIKI, is_table, kind_for
from ._unread import SAVE_AS_DOCX
from .feed import is_feed, is_sitemap

SUMMARY = "web pages: HTML, PDF, text, mail and office files, their folders, web archives"
SPLIT = True
WHOLE_FOLDER = True
FILES: tuple[Files, ...] = (("HTML", frozenset()),)

_TABLE_ENDINGS = (".tsv", ".csv", *SHEETS, ".ndjson", ".parquet", ".pkl")
_PAGES = (".html", ".htm", ".xhtml", ".txt")
_ENDING = re.compile(rf"(?:{'|'.join(map(re.escape, (*_PAGES, *ENDINGS, PDF)))})(?:\.gz)?$", re.I)
_ADDRESS = re.compile(rb"https?://\S+", re.I)
_UNREAD_TEXTS = ("(.doc)", "(.ppt)")
_Result = dict[str, str]
"""The url and the title of a page in the results of a search, and the topic: the id of the
claim.
"""
_SAVED_FROM = re.compile(r"<!--\s*saved from url=\(\d+\)\s*(https?://[^\s<>]+?)\s*-->", re.I)
"""The comment that browsers write at the top of a saved page."""


def read(sources: Sequence[Path], options: ReadOptions) -> Iterator[Record]:
    """Yield one document per page, in the order of the files and of the records of archives.

    The reader keeps a few bytes in memory for each URL of an archive, to recognise a page that was
    captured again.
    """
    claims = [source for source in sources if _is_json(source) and not source.is_dir()]
    pages = [source for source in sources if source not in claims]
    results: dict[str, _Result] = {}  # by the id of the page
    claims_files = expand(claims, (), options)
    if not claims_files:
        folders = [source for source in pages if source.is_dir()]
        claims_files = [path for folder in folders for path in _beside(folder, options)]
    endings = (*_PAGES, *readable_endings(), *ARCHIVES, *select_readable(PDF))
    files = expand(
        pages,
        endings,
        options,
        used=claims_files,
        saved_pages=True,
        kind_of=table_finder(options),
    )
    archives = {path for path in files if is_archive(path)}
    for path in claims_files:
        for place, claim in read_objects(path, options):
            if not _is_claim(claim):
                raise BadFileError(
                    place,
                    'is not a claim with "claimID" and "results"; give HTML, WARC or text files',
                )
            results |= dict(_results(claim))
    docids = _docids([path for path in files if path not in archives], pages)
    archived = Docids()
    for path in files:
        if path in archives:
            yield from _read_archive(path, archived, options)
            continue
        is_named = path in pages
        result = results.get(_stem(path.name), {})
        if record := _page_of_file(path, docids[path], result, options, is_named=is_named):
            # A file that the user names may have the name of another page; in a later crawl, it is
            # the same page.
            yield record._replace(known_by="file" if is_named else "")


def _is_json(path: Path) -> bool:
    return path.name.lower().removesuffix(".gz").endswith((".json", ".jsonl"))


def _beside(folder: Path, options: ReadOptions) -> Iterator[Path]:
    """Yield the claims files of a folder of pages: in its ``claims`` folder, or in one next to
    it.
    """
    for root in (folder, folder.resolve().parent):
        place = root / "claims"
        if not place.is_dir() or leads_outside(place, root):
            continue
        for path in sorted(path for path in place.iterdir() if path.is_file() and _is_json(path)):
            if leads_outside(path, root):
                if root != folder:  # else it is named with the other files of the folder
                    options.leave_out(path, OUTSIDE)
                continue
            try:
                _, claim = next(read_objects(path, ReadOptions().silent()), ("", {}))
            except BadFileError:
                continue
            if _is_claim(claim):
                yield path


def _is_claim(row: Mapping[str, Any]) -> bool:
    return isinstance(row.get("claimID"), str) and isinstance(row.get("results"), list)


def _results(claim: Mapping[str, Any]) -> Iterator[tuple[str, _Result]]:
    for result in claim["results"]:
        if isinstance(result, dict) and isinstance(result.get("pageID"), str):
            url, title = (str(result.get(key) or "") for key in ("url", "title"))
            yield (
                result["pageID"],
                {"url": url, "title": " ".join(title.split()), "topic": claim["claimID"]},
            )


def _page_of_file(
    path: Path, docid: str, result: _Result, options: ReadOptions, *, is_named: bool
) -> Record | None:
    """Return the document of a file, None if it has none; ``is_named`` tells whether the user named
    the file, and not only its folder.
    """
    place = str(path)
    url, known = result.get("url", ""), result.get("title", "")
    fields = {
        "docid": docid,
        "url": url,
        "topic": result.get("topic", "") or checkthat_ids(docid)[0],
    }
    try:
        content = read_bytes(path, options, zipped=True)
        if content.startswith(b"%PDF"):
            title, text, starts = pdf_text(path)
            fields["title"] = known or title
            return _record(
                Page(text, title, "", "", ""), fields, place, options, {PAGE_STARTS: starts}
            )
        if found := format_of(path.name, content):
            return _record_of_format(path, found, content, fields, options)
        if reason := _why_unread(content):
            raise BadFileError(path, reason)
        if content.startswith(ZIP):
            if path.name.lower().removesuffix(".gz").endswith(ZIPPED):
                raise BadFileError(path, f"is a damaged {path.suffix.lower()} file; save it again")
            content = read_bytes(path, options)  # refused, unless it is a workbook
    except BadFileError as error:
        options.bad_lines.report(error.place, error.what)
        return None
    page = _page_of_text(path, content, options, is_named=is_named)
    if page is None:
        return None
    title = _choose_title(page.title, known)
    return _record(page, {**fields, "url": url or page.url, "title": title}, place, options)


def _page_of_text(
    path: Path, content: bytes, options: ReadOptions, *, is_named: bool
) -> Page | None:
    """Return the page in a file that is a text or HTML; if it is none, report why and return
    ``None``.
    """
    place = str(path)
    if kind := "an empty file" if not content.strip() else binary_kind(content):
        remedy = binary_remedy(kind)
        reason = f"is {kind}, not a web page{f'; {remedy}' if remedy else ''}"
        options.bad_lines.report(place, reason)
        return None
    if reason := _why_no_page(path, content):
        if is_named:
            options.bad_lines.report(place, reason)
        else:  # whoever names a folder does not mean each file in it
            options.leave_out(place, f"file that {reason}")
        return None
    if path.name.lower().removesuffix(".gz").endswith(".txt"):
        return _plain_page(content, "")
    return _html_page(decode(content), place, options)


def _record_of_format(
    path: Path, found: Format, content: bytes, fields: Mapping[str, str], options: ReadOptions
) -> Record | None:
    """Return the document of a file that is no web page, or that contains one.

    ``fields`` has what is known from elsewhere. Raises BadFileError if the file cannot be read.
    """
    place = str(path)
    said = read_file(path, found, content)
    for name in said.unread:
        options.leave_out(f"{place}#{name}", "attachment of an e-mail")
    page: Page | None = Page(said.text, said.title, said.url, said.date, "")
    if said.markup:
        page = _html_page(said.markup, place, options, said.url, said.captured)
    if page is None:
        return None
    known = fields.get("title", "")
    title = _choose_title(page.title or said.title, known)
    url = fields.get("url", "") or said.url or page.url
    metadata = {"from": said.sender, "captured": said.captured}
    kept = {name: value for name, value in metadata.items() if value}
    return _record(page, {**fields, "url": url, "title": title}, place, options, kept)


def _choose_title(own: str, known: str) -> str:
    """Return the title of a page: the known one, unless a search engine has shortened it."""
    is_whole = bool(known) and not known.endswith(("...", "…"))
    return known if is_whole else own or known


def _why_no_page(path: Path, content: bytes) -> str:
    """Return what a text is if it is not a web page, and what to do with it; else ``""``."""
    # Read as a page, such a file would be one document with the texts of all its entries.
    start = content[:LOOKED_AT]
    if is_feed(start) and b"<html" not in start.lower():
        return "is a feed, not a web page; read it with factseek index feed"
    if _is_list_of_addresses(start):
        return "is a list of addresses, not a web page; fetch them with factseek index urls"
    if is_sitemap(start) and b"<html" not in start.lower():
        return "is a sitemap, not a web page; fetch its pages with factseek index sitemap"
    if b"<mediawiki" in start:
        return f"is a dump of MediaWiki, not a web page; {MEDIAWIKI}"

    shape = shape_of_start(start)
    is_named_table = path.suffix.lower() in _TABLE_ENDINGS
    if is_named_table or shape.form == "JSON lines" or is_table(start, shape):
        kind = kind_for(shape)
        remedy = f"; read it with factseek index {kind}" if kind else ""
        return f"{shape.sentence}, not a web page{remedy}"
    return ""


def _why_unread(content: bytes) -> str:
    """Return why a document of an older office program is not read; else ``""``."""
    kind = known_binary(content[:LOOKED_AT])
    is_text = any(each in kind for each in _UNREAD_TEXTS)
    return f"is {kind}, which factseek does not read; {SAVE_AS_DOCX}" if is_text else ""


def _is_list_of_addresses(start: bytes) -> bool:
    """Return whether a file that begins with ``start`` has only addresses, one a line, besides
    comments.
    """
    lines = [line.strip() for line in start.splitlines() if line.strip()]
    if len(start) == LOOKED_AT:
        del lines[-1:]  # it may be cut off
    listed = [line for line in lines if not line.startswith(b"#")]
    return bool(listed) and all(_ADDRESS.fullmatch(line) for line in listed)


def _read_archive(path: Path, docids: Docids, options: ReadOptions) -> Iterator[Record]:
    for capture in captures(path, options):
        if kind := binary_kind(capture.content):
            options.leave_out(capture.place, f"{kind} served as text")
            continue
        if capture.media_type == "text/plain":
            page: Page | None = _plain_page(capture.content, capture.charset)
        else:
            text = decode(capture.content, capture.charset)
            page = _html_page(text, capture.place, options, capture.url, capture.moment)
        if page is None:
            continue
        url = _readable(capture.url)
        if docids.is_repeat(url, page.text):
            options.skipped["pages captured again without a change"] += 1
            continue
        docid = f"{url}@{re.sub(r'[^0-9]', '', capture.moment)}" if docids.has(url) else url
        docid = docids.make_unique(docid)
        if len(docid.encode("utf-8", "replace")) > MAX_DOCID_BYTES:
            docid = f"page-{digest(docid).hex()}"
        fields = {"docid": docid, "url": capture.url, "title": page.title}
        metadata = capture.metadata(options.archive)
        if record := _record(page, fields, capture.place, options, metadata):
            yield record


def _html_page(
    text: str, place: str, options: ReadOptions, url: str = "", captured: str = ""
) -> Page | None:
    """Return the main content of HTML, which was fetched from ``url`` at the moment ``captured``.

    If it has none, report why and return ``None``.
    """
    if not url and (saved := _SAVED_FROM.search(text, 0, LOOKED_AT)):
        url = saved[1]
    try:
        page = extract(text, url, last_day(captured[:10]))
    except PageTooLargeError as error:
        options.leave_out(place, str(error))
        return None
    except ValueError as error:
        options.bad_lines.report(place, str(error))
        return None
    if page is None:
        options.leave_out(place, "no main content")
    return page


def _plain_page(content: bytes, charset: str) -> Page:
    """Return a text as a page: line ends become line feeds, NULs become blanks, and outer blanks
    are removed.
    """
    text = (
        decode(content, charset)
        .replace("\r\n", "\n")
        .replace("\r", "\n")
        .replace("\0", " ")
        .strip()
    )
    return Page(text, "", "", "", "")


def _record(
    page: Page,
    fields: Mapping[str, str],
    place: str,
    options: ReadOptions,
    metadata: Mapping[str, Any] = NO_METADATA,
) -> Record | None:
    language = text_language(page.text, page.language)
    return make_record(
        {"text": page.text, "date": page.date, "language": language, **fields},
        place,
        options,
        metadata,
    )


def _docids(files: Sequence[Path], sources: Sequence[Path]) -> dict[Path, str]:
    """Return the docid of each file: its name or, if names repeat, more of its path."""
    folders = [source for source in sources if source.is_dir()]
    names: dict[Path, list[str]] = {}
    for path in files:
        folder = next((folder for folder in folders if path.is_relative_to(folder)), path.parent)
        below, stem = path.relative_to(folder), _stem(path.name)
        longer = (
            below.with_name(stem).as_posix(),
            below.as_posix(),
            f"{folder.resolve().name}/{below.as_posix()}",
        )
        names[path] = [_readable(name) for name in (stem, *longer)]
    docids: dict[Path, str] = {}
    for level in range(4):
        rest = [path for path in files if path not in docids]
        counts = Counter(names[path][level] for path in rest)
        docids |= {
            path: names[path][level]
            for path in rest
            if counts[names[path][level]] == 1 or level == 3
        }
    return docids


def _stem(name: str) -> str:
    return _ENDING.sub("", name) or name


def _readable(name: str) -> str:
    return re.sub(r"[\s\x00-\x1f\x7f-\x9f]", lambda match: quote(match[0]), name)
