"""Read e-mails, and web pages that a browser saved as one file (MHTML: RFC 2557)."""

from __future__ import annotations

import email
import re
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime
from email.errors import MessageError
from email.header import decode_header, make_header
from email.message import Message
from email.utils import parsedate_to_datetime

from ._formats import FileText
from ._pages import decode
from ._plain_html import text_of_html

_PAGES = ("text/html", "application/xhtml+xml")


def read_mail(content: bytes) -> FileText | str:
    """Return what an e-mail or a saved page says, or why it cannot be read."""
    try:
        message = email.message_from_bytes(content.lstrip(b"\xef\xbb\xbf"))
        return _saved_page(message) if _is_saved_page(message) else _mail(message)
    except RecursionError:
        return "is an e-mail whose parts are nested too deeply"


def _is_saved_page(message: Message) -> bool:
    """Return whether a message is a saved page: its first page has an address (RFC 2557, 4.2).

    The parts of an e-mail with pictures may have addresses too, but an e-mail has a receiver.
    """
    if message["Snapshot-Content-Location"]:
        return True
    page = _first_page(message)
    has_address = page is not None and bool(page["Content-Location"])
    return has_address and not (message["To"] or message["Received"])


def _saved_page(message: Message) -> FileText:
    page = _first_page(message)
    address = _header(message, "Snapshot-Content-Location")
    if page is not None:
        address = address or _header(page, "Content-Location")
    saved = _moment(_header(message, "Date"))
    return FileText(
        markup=_text(page) if page is not None else "",
        title=_header(message, "Subject"),
        url=address if re.match(r"https?://", address, re.I) else "",
        captured=f"{saved.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}" if saved else "",
    )


def _first_page(message: Message) -> Message | None:
    """Return the page of a message: the part that ``start`` names, else the first one in HTML."""
    pages = [part for part in _leaves(message) if part.get_content_type() in _PAGES]
    start = message.get_param("start")
    named = [part for part in pages if start and part["Content-ID"] == start]
    return next(iter(named or pages), None)


def _leaves(part: Message) -> Iterator[Message]:
    if part.get_content_maintype() == "multipart" and part.is_multipart():
        for child in part.get_payload():
            if isinstance(child, Message):
                yield from _leaves(child)
    else:
        yield part


def _mail(message: Message) -> FileText:
    written = _header(message, "Date")
    sent = _moment(written)
    return FileText(
        text=_body(message),
        title=_header(message, "Subject"),
        date=sent.isoformat() if sent else written,
        sender=_header(message, "From"),
        unread=tuple(_name(part) for part in _leaves(message) if _is_attachment(part)),
    )


def _body(part: Message) -> str:
    """Return the text of a part, of its richest form if it has several (RFC 2046, 5.1.4)."""
    if part.get_content_maintype() == "multipart" and part.is_multipart():
        children = [child for child in part.get_payload() if isinstance(child, Message)]
        if part.get_content_subtype() == "alternative":
            return next(filter(None, map(_body, reversed(children))), "")
        return "\n\n".join(filter(None, map(_body, children)))
    if _is_attachment(part):
        return ""
    if part.get_content_type() in _PAGES:
        return text_of_html(_text(part))
    text = _text(part).replace("\r\n", "\n").replace("\r", "\n").replace("\0", " ").strip()
    if str(part.get_param("format")).lower() == "flowed":
        text = re.sub(r"(?<!\n--) \n", " ", text)  # a line that goes on (RFC 3676, 4.1)
    return text


def _is_attachment(part: Message) -> bool:
    """Return whether a part belongs to an e-mail as a file; pictures in its text do not."""
    if part.get_content_disposition() == "attachment":
        return True
    is_text = part.get_content_type() in ("text/plain", *_PAGES)
    return not is_text and part.get_content_maintype() != "image"


def _name(part: Message) -> str:
    """Return the name of an attachment, or its type if it has no name."""
    decoded = Message()  # some programs write names as plain UTF-8, others encode them
    for header in ("Content-Disposition", "Content-Type"):
        decoded[header] = _header(part, header)
    name = decoded.get_filename() or part.get_content_type()
    return " ".join(name.encode("utf-8", "replace").decode().split())[:200]


def _text(part: Message) -> str:
    payload = part.get_payload(decode=True)
    if not isinstance(payload, bytes):  # a part with parts, which says it has none
        return ""
    charset = part.get_param("charset") or ""
    return decode(payload, charset if isinstance(charset, str) else "")


def _header(message: Message, name: str) -> str:
    """Return the value of a header, decoded; ``""`` if a message does not have it."""
    values = [value for key, value in message.raw_items() if key.lower() == name.lower()]
    return _decoded(str(values[0])) if values else ""


def _decoded(value: str) -> str:
    """Return a value from a header, decoded (RFC 2047); some programs write plain UTF-8."""
    text = decode(value.encode("utf-8", "surrogateescape"))
    with suppress(MessageError, LookupError, ValueError):  # an unknown encoding
        text = str(make_header(decode_header(text)))
    text = text.encode("utf-8", "replace").decode()
    return " ".join(text.replace("\0", " ").split())


def _moment(written: str) -> datetime | None:
    """Return a date with a time zone; ``-0000`` is UTC in an unknown place (RFC 5322, 3.3)."""
    try:
        moment = parsedate_to_datetime(written)
    except (ValueError, OverflowError, TypeError):
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
