"""Make documents from the fields of a source: find fields by their names; determine docids,
languages and topics.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from ...core.domain import NO_METADATA, Document, Span
from ...core.errors import SourceError
from ...core.folding import folded_value
from ...core.languages import identifier, language_code
from ...core.parts import PART_STARTS, join_parts
from ...core.records.columns import Columns, columns_of
from ...core.records.dates import ORDERS, order_of
from ...core.records.json_lines import json_name
from ...core.records.names import ANY_TABLE, Names
from ...core.records.table_shape import wrapper_advice
from ...retrieval.lucene.analysis import LANGUAGES
from . import ReadOptions, Record

MAX_DOCID_BYTES = 512
_MAY_BE_NUMBERS = ("docid", "topic", "page", "date")

# White space would break the columns of a run. Python and trec_eval disagree on what else separates
# columns.
_UNFIT = re.compile(r"[\s\x00-\x1f\x7f-\x9f\ud800-\udfff\ufeff]")
# An id of CheckThat!: topic, page of the topic, snippet of the page: CT20-AR-05-0003-001,
# CT19-T2-001-09-01.
_CHECKTHAT = re.compile(r"((CT\d\d-[A-Z0-9]+-\d+)-\d+)(-\d+)?")
_FURTHER_TEXT = re.compile(r"text [1-9]\d*")
_LETTERS_TO_TELL = 20
_CHARS_TO_READ = 4000
_ENGLISH = re.compile(r"\b(?:the|of|and|to|in|is|that|for|was|were|with|are|not)\b", re.I | re.A)
_OTHER_SCRIPTS = frozenset(
    "am ar as be bg bn ckb dv dz el fa gu he hi hy ja ka kk km kn ko ky lo mk ml mn mr my ne or pa "
    "ps ru sa sd si sr "
    "ta te tg th ti ug uk ur yi zh".split()
)
"""Languages that do not use Latin letters."""


def chosen_columns(
    names: Names, options: ReadOptions, meanings: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Return the columns that ``options`` give, by the reader's fields.

    ``meanings`` maps a reader's field to the common field that it corresponds to. Raises
    SourceError if ``options`` name an unknown field, or a field twice.
    """
    fields = {"id": "docid"} if "docid" in names else {}
    for field, meaning in (meanings or {name: name for name in ANY_TABLE}).items():
        if field in names:
            fields[meaning] = field
    fields |= {field: field for field in names}
    fields |= {name: name for name in options.columns if _FURTHER_TEXT.fullmatch(name)}

    if unknown := next((field for field in options.columns if field not in fields), ""):
        remedy = f"the fields are {', '.join(sorted(fields))}"
        raise SourceError(f"--column: there is no field {unknown!r}", remedy=remedy)
    chosen = {fields[field]: column for field, column in options.columns.items()}
    if len(chosen) < len(options.columns):
        raise SourceError(
            f"--column: two of {', '.join(options.columns)} are the same field",
            remedy="give it once",
        )
    return chosen


def names_of_any_table(
    names: Names, chosen: Mapping[str, str], meanings: Mapping[str, str] | None = None
) -> Names:
    """Return the names of each field: the reader's own, then common ones; or only the column that
    was ``chosen``.

    ``meanings`` maps a reader's field to the common field that it corresponds to.
    """
    meant = meanings or {name: name for name in ANY_TABLE}
    all_names: dict[str, Sequence[str]] = {}
    for field, own in names.items():
        common = ANY_TABLE.get(meant.get(field, ""), ())
        all_names[field] = (chosen[field],) if field in chosen else (*own, *common)
    for field, column in chosen.items():
        all_names.setdefault(field, (column,))  # further texts
    return all_names


def table_columns(
    own: Names,
    options: ReadOptions,
    required: Sequence[Sequence[str]] = (),
    *,
    docid: str = "",
    text: str = "text",
    meanings: Mapping[str, str] | None = None,
) -> Columns:
    """Return the columns that a reader of tables looks for: its ``own`` names, the common ones, and
    the user's choices.

    ``docid`` and ``text`` are the reader's fields for them; without ``docid``, no ids are made.
    ``meanings`` maps a reader's field to the common field that it corresponds to. Columns without a
    meaning are kept as metadata.
    """
    chosen = chosen_columns(own, options, meanings)
    return Columns(
        names_of_any_table(own, chosen, meanings),
        required=required,
        own=own,
        docid=docid,
        keeps=True,
        chosen=chosen,
        text=text,
        address="url",
        meanings=meanings or {},
    )


def next_field(field: str, columns: Mapping[str, str]) -> str:
    """Return the field for the next column that a user names: each further text has its own."""
    texts = sum(each == "text" or _FURTHER_TEXT.fullmatch(each) is not None for each in columns)
    return f"text {texts + 1}" if field == "text" and texts else field


def texts_behind(row: Mapping[str, str], explanation: str = "") -> list[str]:
    """Return the texts of a row behind its first one: those that the user named, else what a
    fact-checker found.
    """
    further = [field for field in row if _FURTHER_TEXT.fullmatch(field)]
    if further:
        return [row[field] for field in sorted(further, key=lambda field: int(field[5:]))]
    return [explanation] if explanation else []


def check_docid(docid: str) -> str | None:
    """Return why ``docid`` cannot name a document, or ``None`` if it can."""
    if not docid:
        return "the docid is empty"
    if unfit := _UNFIT.search(docid):
        kind = "white space" if unfit[0].isspace() else "a character that cannot be printed"
        return f"docid {docid[:80]!r} contains {kind}"
    size = len(docid.encode("utf-8"))
    if size > MAX_DOCID_BYTES:
        return f"docid {docid[:40] + '…'!r} takes {size} bytes, more than {MAX_DOCID_BYTES}"
    return None


def digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()


class Docids:
    """The docids used so far, and the texts seen at each address so far, as digests of eight
    bytes.
    """

    def __init__(self) -> None:
        self._seen: set[bytes] = set()
        self._numbers: dict[bytes, int] = {}

    def has(self, docid: str) -> bool:
        return digest(docid) in self._seen

    def is_repeat(self, address: str, text: str) -> bool:
        """Return whether a text was seen at an address before, and remember both."""
        both = digest(f"{address} {text}")
        is_known = both in self._seen
        self._seen.add(both)
        return is_known

    def make_unique(self, first: str) -> str:
        """Return ``first`` or, if that docid is used already, ``first`` with a number; remember the
        result.
        """
        number = self._numbers.get(digest(first), 1)
        docid = first if number == 1 else f"{first}#{number}"
        while self.has(docid):
            number += 1
            docid = f"{first}#{number}"
        self._seen.add(digest(docid))
        if number > 1:
            self._numbers[digest(first)] = number
        return docid


def checkthat_ids(docid: str) -> tuple[str, str]:
    """Return the topic and the page in an id of CheckThat!, each ``""`` if missing; only a
    snippet's id has a page.
    """
    match = _CHECKTHAT.fullmatch(docid)
    return (match[2], match[1] if match[3] else "") if match else ("", "")


def host(url: str) -> str:
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def text_language(text: str, declared: str) -> str:
    """Return the code of the language that ``declared`` names, else the one that ``text`` looks
    like, or ``""``.

    A declared language in another script belongs to the page's template, and is ignored. A text of
    fewer than twenty letters tells nothing.
    """
    sample = text[:_CHARS_TO_READ]
    letters = [character for character in sample if character.isalpha()]
    code = language_code(declared)
    if len(letters) < _LETTERS_TO_TELL:
        return code
    latin = 2 * sum(character < "\u0250" for character in letters) > len(letters)
    if code and latin != (code in _OTHER_SCRIPTS):
        return code
    return str(identifier(iso_639_1=True).classify(sample)[0])


def other_language(texts: Sequence[str], expected: str) -> str:
    """Return the code of the language that most of the texts look like, ``""`` if it is the
    expected one or unclear.
    """
    joined = "\n".join(texts)
    if expected == "en" and len(_ENGLISH.findall(joined)) * 10 > len(joined.split()):
        return ""  # most texts are English, and the model takes half a second to load
    languages = Counter(filter(None, (text_language(text, "") for text in texts)))
    ((language, count),) = languages.most_common(1) or [("", 0)]
    sure = language in LANGUAGES and language != expected and 4 * count >= 3 * languages.total()
    return language if sure else ""


def make_record(
    fields: Mapping[str, str],
    place: str,
    options: ReadOptions,
    metadata: Mapping[str, Any] = NO_METADATA,
    *,
    spans: tuple[Span, ...] | None = None,
    behind: Sequence[str] = (),
    empty: str = "no text",
) -> Record | None:
    """Make a document from fields with the names of :class:`Document`; if this fails, report why
    and return ``None``.

    The texts ``behind`` the text, each a part of its own, join it unless the text is empty. A
    document without text and title is left out for the reason ``empty``. The language is
    ``options.language`` if the fields give none, and ``und`` if they give an unknown one. An
    unreadable date or language becomes metadata.
    """
    docid = fields.get("docid", "").strip()
    if reason := check_docid(docid):
        options.bad_lines.report(place, reason)
        return None
    text, title, url = (
        fields.get("text", ""),
        fields.get("title", "").strip(),
        fields.get("url", "").strip(),
    )
    written, named = fields.get("date", "").strip(), fields.get("language", "").strip()
    if not (text.strip() or title):
        if order_of(written) in ORDERS:  # this date shows the order of the file's other dates
            options.date(place, written)
        options.leave_out(place, empty)
        return None
    if text.strip() and any(map(str.strip, behind)):
        text, starts = join_parts((text, *behind))
        if len(starts) > 1:
            metadata = {**metadata, PART_STARTS: starts}
    date, language = options.date(place, written), language_code(named) if named else ""
    if written and not date:
        metadata = {**metadata, "date": written}
    if named and not language:
        metadata, language = {**metadata, "language": named}, "und"
    source = folded_value(fields.get("source", "").strip()) or (host(url) if url else "")
    topic = folded_value(fields.get("topic", "").strip())
    document = Document(
        docid, text, title, url, date, language or options.language, source, topic, metadata
    )
    return Record(document, place, spans)


def kept_columns(others: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the metadata of a row: ``known`` ones, before them its ``others`` without a meaning.

    No other has the name of a field of documents, or of known metadata.
    """
    kept = {}
    for name, value in others.items():
        is_taken = name in Document._fields or name in known or name == PART_STARTS
        kept[f"column {name}" if is_taken else name] = value
    return {**kept, **known}


def named_fields(
    row: Mapping[str, Any],
    names: Names,
    place: str,
    options: ReadOptions,
    required: Mapping[str, str] = NO_METADATA,
) -> tuple[dict[str, str], dict[str, Any]] | None:
    """Return the fields and the metadata of a document in a JSON object, or report a bad line and
    return ``None``.

    ``required`` maps each field that must be there to its possible keys, in words for a message. If
    two keys name one field, the first in ``names`` is used and the other becomes metadata. Unknown
    keys and the entries of an object under ``metadata`` become metadata too. A field is a string or
    null; a docid, a topic, a page or a date may also be an integer.
    """
    fields: dict[str, str] = {}
    taken = set()
    for field, columns in columns_of(tuple(row), names).items():
        key = columns[0]
        value = row[key]
        if isinstance(value, int) and not isinstance(value, bool) and field in _MAY_BE_NUMBERS:
            value = str(value)
        if not isinstance(value, str | None):
            options.bad_lines.report(place, f'"{key}" is {json_name(value)}, not a string')
            return None
        fields[field] = value or ""
        taken.add(key)
    for name, keys in required.items():
        if name not in fields:
            options.bad_lines.report(place, f"has no {keys}{wrapper_advice(row)}")
            return None
    metadata = {key: value for key, value in row.items() if key not in taken}
    if isinstance(metadata.get("metadata"), dict):
        metadata |= metadata.pop("metadata")
    return fields, metadata
