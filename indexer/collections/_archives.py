"""Read the web pages in WARC, ARC and WACZ files, compressed or not, and report damage."""

from __future__ import annotations

import logging
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import redirect_stderr, suppress
from datetime import UTC, datetime
from functools import partial
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from urllib.parse import urljoin

from ...core.records.dates import clean_date
from . import ReadOptions
from ._child import BadFileError
from ._files import open_bytes
from ._formats import ENDINGS
from ._wacz import SUFFIX as WACZ
from ._wacz import OpenStream, archives_in

SUFFIXES = (".warc", ".arc", WACZ)
_PAGE_SUFFIXES = (".html", ".htm", ".xhtml", ".txt", *ENDINGS)

_PAGE_TYPES = ("text/html", "application/xhtml+xml", "text/plain")
_PACKINGS = ("br", "zstd", "compress", "x-compress")
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
        yield str(path), partial(open_bytes, path)


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
    try:
        with open_stream() as stream:
            # An error comes after all earlier bytes.
            records = ArchiveIterator(SimpleNamespace(read=stream.read1))
            records.INC_RECORD = ""  # warcio would write this text to standard error
            record = None
            for following in records:
                _check_end(records, record, f"{place}#{number}")
                record, number = following, number + 1
                if capture := _capture(record, f"{place}#{number}", options):
                    yield capture
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


def _capture(record: Any, place: str, options: ReadOptions) -> Capture | None:
    if record.rec_type is None or record.length is None:
        what = (
            "the header of the record has no type or no length; the rest of the archive cannot "
            "be read"
        )
        raise BadFileError(place, what)
    if record.rec_type == "revisit":
        options.skipped["revisit of an archived page"] += 1
    if record.rec_type not in _PAGE_RECORDS:
        return None
    url = _header(record.rec_headers, "WARC-Target-URI", "uri").strip("<>")
    answer = record.http_headers
    declared = _header(answer, "Content-Type") if answer else (record.content_type or "")
    media_type = declared.partition(";")[0].strip().lower()
    reasons = {
        "record without a web address": not _ADDRESS.match(url),
        "HTTP status other than 200": answer is not None and answer.get_statuscode() != "200",
        "neither HTML nor plain text": media_type not in _PAGE_TYPES,
    }
    if reason := next((reason for reason, holds in reasons.items() if holds), ""):
        options.skipped[reason] += 1
        return None
    moment = _moment(_header(record.rec_headers, "WARC-Date", "archive-date"))
    length = _header(record.rec_headers, "Content-Length", "length")
    if not (moment and length.isdecimal()):
        options.bad_lines.report(place, "the header of the record has no date or no length")
        return None
    content = _content(record, place, options)
    charset = _CHARSET.search(declared)
    if content is None:
        return None
    named = charset[1] if charset else ""
    record_id = _header(record.rec_headers, "WARC-Record-ID").strip("<>")
    return Capture(place, url, moment, media_type, named, content, record_id)


def _content(record: Any, place: str, options: ReadOptions) -> bytes | None:
    from warcio.bufferedreaders import BufferedReader

    answer = record.http_headers
    packing = _header(answer, "Content-Encoding").strip().lower() if answer else ""
    unread = packing in _PACKINGS and packing not in BufferedReader.get_supported_decompressors()
    if unread or packing == "x-gzip":
        answer.replace_header("Content-Encoding", "identity" if unread else "gzip")
    with redirect_stderr(StringIO()) as damage:  # warcio only prints the errors of unpacking
        content: bytes = record.content_stream().read(options.max_file_bytes + 1)
    while record.raw_stream.read(1 << 16):
        pass
    if record.raw_stream.limit:  # the archive was cut here; _check_end reports it after the record
        return None
    if damage.getvalue():
        options.leave_out(place, f"page whose {packing} data are damaged")
        return None
    if len(content) > options.max_file_bytes:
        options.bad_lines.report(
            place, f"is longer than {options.max_file_bytes:,} bytes (build.max_file_bytes)"
        )
        return None
    # An archive may contain unpacked content under the old header.
    if unread and not _is_text(content):
        options.skipped[f"packed with {packing}, which factseek does not read"] += 1
        return None
    return content


def _is_text(content: bytes) -> bool:
    try:
        return content.lstrip().startswith(b"<") or "\0" not in content.decode("utf-8")
    except UnicodeDecodeError:
        return False


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
