"""Read the web pages in WARC, ARC and WACZ files, packed with gzip or Zstandard or not, and report
damage.
"""

from __future__ import annotations

import codecs
import logging
import re
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from urllib.parse import urljoin

from ...core.records.dates import clean_date
from ...core.records.table_shape import binary_content
from . import ReadOptions
from ._child import BadFileError
from ._codings import DamagedCodingError, UnreadCodingError, decoded, names_of
from ._files import open_bytes
from ._formats import ENDINGS
from ._wacz import SUFFIX as WACZ
from ._wacz import OpenStream, archives_in

_ZSTD = ".warc.zst"
SUFFIXES = (".warc", ".arc", _ZSTD, WACZ)
_PAGE_SUFFIXES = (".html", ".htm", ".xhtml", ".txt", *ENDINGS)

_PAGE_TYPES = ("text/html", "application/xhtml+xml", "text/plain")
_UNKNOWN_TYPES = ("", "unknown/unknown", "application/unknown", "*/*")
"""Content types that do not say what the content is, as in the standard MIME Sniffing."""
_NO_PAGE = "neither HTML nor plain text"
_WITHOUT_BEGINNING = "further part of a record that begins in another archive"
_INCOMPLETE = "page of several records, of which one is missing"
_LOOKED_AT = 4_096
_HTML = re.compile(
    rb"(?:\xef\xbb\xbf)?\s*(?:<!--.*?-->\s*|<\?xml[^>]*>\s*)*"
    rb"<(?:!doctype html|html|head|body|title|meta|script|style|div|h1|p|table|a|br|b)[\s>/]",
    re.I | re.S,
)
"""The beginning of a page, whose first tag is one of those that the standard lists."""
_PAGE_RECORDS = ("response", "resource", "conversion")
_REDIRECTS = ("301", "302", "303", "307", "308")
_ADDRESS = re.compile(r"(?:https?|ftp|file)://", re.I)
_MOMENT = re.compile(
    r"(?P<day>\d{4}(?:-\d\d){0,2})(?:(?<=-\d\d-\d\d)T(?P<clock>\d\d:\d\d(?::\d\d)?)(?:\.\d+)?(?P<zone>[+-]\d\d:?\d\d)?Z?)?"
)
_CHARSET = re.compile(r"""charset\s*+=\s*+["']?\s*+([\w:.-]+)""", re.I)


class Capture(NamedTuple):
    """One page as it was fetched at ``moment`` (ISO 8601, as far as known)."""

    place: str
    url: str
    moment: str
    media_type: str
    charset: str
    content: bytes
    record: str
    """The id of the record in the archive, ``""`` in an ARC file."""

    def metadata(self, archive: str) -> dict[str, str]:
        """Return when the page was captured and, if ``archive`` keeps it, where."""
        if not archive:
            return {"captured": self.moment}
        return {"captured": self.moment, "archive": archive, "record": self.record}


def is_archive(path: Path) -> bool:
    """Return whether ``path`` is a WARC, ARC or WACZ file, by its name or, if the name is unclear,
    by its first bytes.
    """
    name = path.name.lower().removesuffix(".gz")
    if name.endswith(SUFFIXES) or name.endswith(_PAGE_SUFFIXES):
        return name.endswith(SUFFIXES)
    try:
        with open_bytes(path) as stream:
            return stream.read(16).startswith((b"WARC/", b"filedesc://"))
    except BadFileError:
        return False


def captures(path: Path, options: ReadOptions) -> Iterator[Capture]:
    """Yield the pages of an archive: HTML and plain text with HTTP status 200.

    Other pages are counted as skipped.

    A record that cannot be read is reported at ``file#number``. Reading ends there if no further
    record can be found.
    """
    try:
        for place, open_stream in _archives_of(path):
            yield from _captures(place, open_stream, options)
    except BadFileError as error:
        options.bad_lines.report(error.place, error.what)


def _archives_of(path: Path) -> Iterator[tuple[str, OpenStream]]:
    """Yield the places of the WARC or ARC files in a file, and how each is opened."""
    if path.name.lower().endswith(WACZ):
        yield from archives_in(path)
    else:
        is_zstd = path.name.lower().endswith(_ZSTD)
        yield str(path), partial(open_bytes, path, zstd=is_zstd)


def _captures(place: str, open_stream: OpenStream, options: ReadOptions) -> Iterator[Capture]:
    from warcio.archiveiterator import ArchiveIterator
    from warcio.exceptions import ArchiveLoadFailed
    from warcio.statusandheaders import StatusAndHeadersParserException

    reasons: dict[type[Exception], str] = {
        ArchiveLoadFailed: "it does not begin like one",
        StatusAndHeadersParserException: "its header is invalid",
        zlib.error: "its compression is damaged",
        ValueError: "a value in its header is invalid",
        AttributeError: "a line of its header is missing",
    }
    # Warcio warns of addresses with spaces, which it repairs.
    logging.getLogger("warcio").setLevel(logging.ERROR)
    number = 0
    segments = _Segments()
    try:
        with open_stream() as stream:
            # An error comes after all earlier bytes.
            records = ArchiveIterator(SimpleNamespace(read=stream.read1))
            records.INC_RECORD = ""  # warcio would write this text to standard error
            record = None
            for following in records:
                _check_end(records, record, f"{place}#{number}")
                record, number = following, number + 1
                if capture := _capture(record, f"{place}#{number}", options, segments):
                    yield capture
            segments.count_open(options)
            _check_end(records, record, f"{place}#{number}")
            if records.next_line:
                raise BadFileError(place, "ends inside the header of a record; fetch it again")
            if not number:
                raise BadFileError(place, "contains no record; it is not a WARC or ARC file")
    except BadFileError as error:
        options.bad_lines.report(error.place, error.what)
    except tuple(reasons) as error:
        reason = next(reason for kind, reason in reasons.items() if isinstance(error, kind))
        options.bad_lines.report(
            f"{place}#{number + 1}", f"is not a record of a WARC or ARC file: {reason}"
        )


def redirects(path: Path) -> dict[str, str]:
    """Return where the redirects in an archive finally lead to, by the address that was asked for.

    Damage is not reported: :func:`captures` reports it.
    """
    from warcio.archiveiterator import ArchiveIterator
    from warcio.exceptions import ArchiveLoadFailed

    targets: dict[str, str] = {}
    with suppress(ArchiveLoadFailed, BadFileError, zlib.error, ValueError, AttributeError):
        for _, open_stream in _archives_of(path):
            with open_stream() as file:
                for record in ArchiveIterator(SimpleNamespace(read=file.read1)):
                    if target := _redirect(record):
                        targets.update([target])
    return {start: _end_of_chain(start, targets) for start in targets}


def _redirect(record: Any) -> tuple[str, str] | None:
    """Return the address that was asked for and the one it leads to, if a record is a redirect."""
    answer = record.http_headers
    if record.rec_type != "response" or answer is None:
        return None
    target = _header(answer, "Location")
    if not target or answer.get_statuscode() not in _REDIRECTS:
        return None
    url = _header(record.rec_headers, "WARC-Target-URI")
    return url, urljoin(url, target)


def _end_of_chain(start: str, targets: Mapping[str, str]) -> str:
    """Return the last address of a chain of redirects, which may be a circle."""
    passed = {start}
    while start in targets and targets[start] not in passed:
        start = targets[start]
        passed.add(start)
    return start


def _check_end(records: Any, record: Any, place: str) -> None:
    if missing := record.raw_stream.limit if record is not None else 0:
        raise BadFileError(
            place, f"the record lacks its last {missing:,} bytes; fetch the archive again"
        )
    if records.err_count:
        raise BadFileError(
            place, "the length of the record is wrong; the rest of the archive cannot be read"
        )


def _capture(record: Any, place: str, options: ReadOptions, segments: _Segments) -> Capture | None:
    if record.length is None:
        what = "the header of the record has no length; the rest of the archive cannot be read"
        raise BadFileError(place, what)
    if record.rec_type is None:
        options.bad_lines.report(place, "the header of the record has no WARC-Type")
        return None
    if record.rec_type == "continuation":
        return segments.add(record, options)
    if record.rec_type == "revisit":
        options.skipped["revisit of an archived page"] += 1
    if record.rec_type not in _PAGE_RECORDS:
        return None
    is_segment = _header(record.rec_headers, "WARC-Segment-Number") == "1"
    if is_segment:
        segments.begin(record)
    page = _read_page(record, place, options)
    if page is not None and is_segment:
        segments.open(page)
        return None
    return page.capture(options) if page is not None else None


def _read_page(record: Any, place: str, options: ReadOptions) -> _Page | None:
    """Return a page with its body, or None if a record is no page, is cut off, or lacks a date or a
    length.
    """
    url = _header(record.rec_headers, "WARC-Target-URI", "uri").strip("<>")
    answer = record.http_headers
    reasons = {
        "record without a web address": not _ADDRESS.match(url),
        "HTTP status other than 200": answer is not None and answer.get_statuscode() != "200",
        _NO_PAGE: not _may_be_page(_declared_types(record)),
    }
    if reason := next((reason for reason, holds in reasons.items() if holds), ""):
        options.skipped[reason] += 1
        return None
    moment = _moment(_header(record.rec_headers, "WARC-Date", "archive-date"))
    length = _header(record.rec_headers, "Content-Length", "length")
    if not (moment and length.isdecimal()):
        options.bad_lines.report(place, "the header of the record has no date or no length")
        return None
    body = record.raw_stream.read(options.max_file_bytes + 1)
    while record.raw_stream.read(1 << 16):
        pass
    if record.raw_stream.limit:  # the archive was cut here; _check_end reports it after the record
        return None
    return _Page(record, place, url, moment, body)


class _Page:
    """A page whose body is read, but not yet decoded."""

    def __init__(self, record: Any, place: str, url: str, moment: str, body: bytes) -> None:
        self.place, self.url, self.moment, self.body = place, url, moment, body
        self.record_id = _header(record.rec_headers, "WARC-Record-ID").strip("<>")
        self._types = _declared_types(record)
        answer = record.http_headers
        self._codings = [
            coding
            for name in ("Content-Encoding", "Transfer-Encoding")
            for coding in names_of(_values(answer, name) if answer else [])
        ]

    def capture(self, options: ReadOptions) -> Capture | None:
        """Return the page, or None if it cannot be read, which is then counted or reported."""
        most = options.max_file_bytes
        try:
            content = decoded(self.body, self._codings, most)
        except DamagedCodingError as error:
            options.leave_out(self.place, f"page whose {error} data are damaged")
            return None
        except UnreadCodingError as error:
            options.skipped[f"packed with {error}, which factseek does not read"] += 1
            return None
        if len(content) > most or len(self.body) > most:
            options.bad_lines.report(
                self.place, f"is longer than {most:,} bytes (build.max_file_bytes)"
            )
            return None
        declared = [each for each in self._types if _media_type(each) in _PAGE_TYPES]
        media_types = set(map(_media_type, declared))
        media_type = media_types.pop() if len(media_types) == 1 else _type_of_content(content)
        if not media_type:
            options.skipped[_NO_PAGE] += 1
            return None
        charset = next(filter(None, map(_CHARSET.search, (*declared, *self._types))), None)
        return Capture(
            self.place,
            self.url,
            self.moment,
            media_type,
            charset[1] if charset else "",
            content,
            self.record_id,
        )


class _Segments:
    """Joins the records of pages that were cut into several (WARC/1.1, 7)."""

    def __init__(self) -> None:
        self._pages: dict[str, tuple[_Page, list[bytes]]] = {}
        self._begun = set[str]()

    def begin(self, record: Any) -> None:
        """Note that the first segment of a record is here, even if it is no page."""
        self._begun.add(_header(record.rec_headers, "WARC-Record-ID").strip("<>"))

    def open(self, page: _Page) -> None:
        """Keep the first segment of a page."""
        self._pages[page.record_id] = page, [page.body]

    def add(self, record: Any, options: ReadOptions) -> Capture | None:
        """Add a further segment; return the page if it is the last one."""
        origin = _header(record.rec_headers, "WARC-Segment-Origin-ID").strip("<>")
        number = _header(record.rec_headers, "WARC-Segment-Number")
        page, bodies = self._pages.get(origin, (None, []))
        if page is None:
            if origin not in self._begun:
                options.skipped[_WITHOUT_BEGINNING] += 1
            return None
        size = sum(map(len, bodies))
        bodies.append(record.raw_stream.read(max(0, options.max_file_bytes + 1 - size)))
        if number != str(len(bodies)):
            del self._pages[origin]
            options.skipped[_INCOMPLETE] += 1
            return None
        if not _header(record.rec_headers, "WARC-Segment-Total-Length"):
            return None
        del self._pages[origin]
        page.body = b"".join(bodies)
        return page.capture(options)

    def count_open(self, options: ReadOptions) -> None:
        """Count the pages whose last segment is missing."""
        if self._pages:
            options.skipped[_INCOMPLETE] += len(self._pages)
        self._pages.clear()


def _declared_types(record: Any) -> list[str]:
    """Return the content types that a record declares, each with its parameters."""
    answer = record.http_headers
    values = _values(answer, "Content-Type") if answer else [record.content_type or ""]
    return [each.strip() for value in values for each in value.split(",") if each.strip()]


def _may_be_page(types: Sequence[str]) -> bool:
    """Return whether one of the types is a page's, or none of them says what the content is."""
    media_types = [_media_type(each) for each in types]
    return not _declared(media_types) or any(each in _PAGE_TYPES for each in media_types)


def _declared(media_types: Sequence[str]) -> list[str]:
    return [each for each in media_types if each not in _UNKNOWN_TYPES]


def _media_type(declared: str) -> str:
    return declared.partition(";")[0].strip().lower()


def _type_of_content(content: bytes) -> str:
    """Return the type of a page that declares none, ``""`` if it is neither HTML nor text."""
    start = content[:_LOOKED_AT]
    if _HTML.match(start):
        return "text/html"
    if binary_content(start) or b"\0" in start or not start.strip():
        return ""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return ""
    return "text/plain"


def _values(headers: Any, name: str) -> list[str]:
    """Return all values of a header that may be there several times."""
    return [str(value) for key, value in headers.headers if key.lower() == name.lower()]


def _header(headers: Any, *names: str) -> str:
    return next((str(value) for name in names if (value := headers.get_header(name))), "")


def _moment(written: str) -> str:
    """Return the time of a capture as ISO 8601, or ``""``.

    An ARC file writes 14 digits. WARC/1.1 allows a time without its last parts, or with fractions
    of a second.
    """
    if re.fullmatch(r"\d{14}", written):
        day = f"{written[:4]}-{written[4:6]}-{written[6:8]}"
        written = f"{day}T{written[8:10]}:{written[10:12]}:{written[12:]}Z"
    match = _MOMENT.fullmatch(written)
    try:
        if match and match["clock"]:
            moment = datetime.fromisoformat(
                f"{match['day']}T{match['clock']}{match['zone'] or '+00:00'}"
            )
            return f"{moment.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"
        return clean_date(written) if match else ""
    except (ValueError, OverflowError):
        return ""
