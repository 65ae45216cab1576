"""Checks of documents that every reader shares."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from ...retrieval.domain import NO_METADATA, Document
from . import ReadOptions, Record
from ._dates import clean_date
from ._lines import json_name

MAX_DOCID_BYTES = 512
_MAY_BE_NUMBERS = ("docid", "topic", "page", "date")

# White space would break the columns of a run; Python and trec_eval do not agree on what else splits one.
_UNFIT = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ud800-\udfff\ufeff]")


def check_docid(docid: str) -> str | None:
    """Return why ``docid`` cannot name a document, or ``None`` if it can.

    A docid is not empty, holds no white space and no control character (a run has one a column), and takes
    at most 512 bytes in UTF-8.
    """
    if not docid:
        return "the docid is empty"
    if unfit := _UNFIT.search(docid):
        kind = "white space" if unfit[0].isspace() else "a character that cannot be printed"
        return f"docid {docid[:80]!r} holds {kind}"
    size = len(docid.encode("utf-8"))
    if size > MAX_DOCID_BYTES:
        return f"docid {docid[:40] + '…'!r} takes {size} bytes, more than {MAX_DOCID_BYTES}"
    return None


def clean_language(value: str) -> str:
    """Return the two- or three-letter code of a language tag such as ``en-US``, or ``""`` if it is none."""
    code = re.split(r"[-_]", value.strip().lower(), maxsplit=1)[0]
    return code if re.fullmatch(r"[a-z]{2,3}", code) else ""


def host(url: str) -> str:
    """Return the host that a URL names, or ``""``."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def make_record(
    fields: Mapping[str, str], place: str, options: ReadOptions, metadata: Mapping[str, Any] = NO_METADATA
) -> Record | None:
    """Return the document of fields named as in :class:`Document`; if it is none, report why and return ``None``.

    A docid that cannot be one is reported as bad; a document without text and title is counted as skipped. The
    language is ``options.language`` if the fields do not say; the source is the host of the URL if they do not
    say. A date that cannot be read is noted, and kept in the metadata as it was written.
    """
    docid = fields.get("docid", "").strip()
    if reason := check_docid(docid):
        options.bad_lines.report(place, reason)
        return None
    text, title, url = fields.get("text", ""), fields.get("title", "").strip(), fields.get("url", "").strip()
    if not (text.strip() or title):
        options.leave_out(place, "no text")
        return None
    written = fields.get("date", "").strip()
    date = clean_date(written)
    if written and not date:
        options.note_date(place, written)
        metadata = {**metadata, "date": written}
    language = clean_language(fields.get("language", "")) or options.language
    source = fields.get("source", "").strip() or host(url)
    topic = fields.get("topic", "").strip()
    return Record(Document(docid, text, title, url, date, language, source, topic, metadata), place)


def named_fields(
    row: Mapping[str, Any], names: Mapping[str, str], place: str, options: ReadOptions
) -> tuple[dict[str, str], dict[str, Any]] | None:
    """Return the fields of a document and the metadata in a JSON object; report a bad line and return ``None``.

    ``names`` maps keys to fields; of two keys for one field, the first of ``names`` counts and the other is
    metadata, as is every key that ``names`` lacks. An object under ``metadata`` is metadata itself. A field is a
    string or null, a docid, a topic, a page or a date may be an integer.
    """
    keys: dict[str, str] = {}
    for key, name in names.items():
        if key in row:
            keys.setdefault(name, key)
    fields: dict[str, str] = {}
    for name, key in keys.items():
        value = row[key]
        if isinstance(value, int) and not isinstance(value, bool) and name in _MAY_BE_NUMBERS:
            value = str(value)
        if not isinstance(value, str | None):
            options.bad_lines.report(place, f'"{key}" is {json_name(value)}, not a string')
            return None
        fields[name] = value or ""
    taken = set(keys.values())
    metadata = {key: value for key, value in row.items() if key not in taken}
    if isinstance(metadata.get("metadata"), dict):
        metadata |= metadata.pop("metadata")
    return fields, metadata
