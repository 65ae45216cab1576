"""Reviews of claims as fact-checkers publish them: schema.org's ClaimReview.

They stand in web pages as JSON-LD or microdata, in JSON files and lines of JSON (one review, several, Data Commons'
feed), and in tables whose columns are named as the properties are, with dots: ``reviewRating.alternateName``. A docid
is the address of the review; further reviews at one address get ``#2``, ``#3``. The same review again is left out.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote

from . import Files, ReadOptions, Record
from ._claim_reviews import DOCID, docid_in, fields_of, metadata_of
from ._documents import MAX_DOCID_BYTES, make_record
from ._files import expand
from ._foreign import NOT_JSON_LINES, refuse_foreign
from ._languages import page_language
from ._lines import BadFileError, parse_json_object, read_bytes, read_json, read_lines
from ._linked_data import BrokenScriptError, Node, microdata, nodes_of_type, parsed, scripts
from ._pages import PageTooLargeError, binary_kind, check_attributes, decode
from ._tables import read_rows

SUMMARY = "fact-checks as schema.org ClaimReview: web pages, JSON-LD, Data Commons' feed, CSV"
SPLIT = False
SENTENCES = False
WHOLE_FOLDER = False
FILES: tuple[Files, ...] = (
    ("JSON lines", frozenset({"claimreviewed"})),
    ("commas", frozenset({"claimreviewed"})),
    ("tabs", frozenset({"claimreviewed"})),
)

_TYPE = "ClaimReview"
_LONGEST_ADDRESS = MAX_DOCID_BYTES - 12
"""Bytes of an address that is a docid, with room for a number; a review at a longer one is named by a digest of it."""
_PAGES = (".html", ".htm", ".xhtml")
_LANGUAGE = re.compile(r"""<html\b[^<>]*?\slang\s*=\s*["']?([A-Za-z-]{2,20})""", re.I)
_COLUMNS: Mapping[str, tuple[str, ...]] = {
    DOCID: ("docid", "id", "@id"),
    "claimReviewed": ("claimReviewed", "claim_reviewed", "claim", "text"),
    "headline": ("headline", "name", "title", "review_title"),
    "url": ("url", "review_url", "link"),
    "datePublished": ("datePublished", "review_date", "date"),
    "inLanguage": ("inLanguage", "languageCode", "language"),
    "author.name": ("author.name", "author", "publisher", "publisher.name"),
    "author.url": ("author.url", "publisher.url", "publisher_url", "publisher.site"),
    "author.image": ("author.image", "publisher_image"),
    "reviewRating.alternateName": ("reviewRating.alternateName", "textualRating", "rating", "reviewRating"),
    "reviewRating.ratingValue": ("reviewRating.ratingValue", "ratingValue", "rating_value"),
    "reviewRating.bestRating": ("reviewRating.bestRating", "bestRating", "best_rating"),
    "reviewRating.worstRating": ("reviewRating.worstRating", "worstRating", "worst_rating"),
    "reviewRating.ratingExplanation": ("reviewRating.ratingExplanation", "explanation"),
    "itemReviewed.author.name": ("itemReviewed.author.name", "claimant", "claim_author"),
    "itemReviewed.author.jobTitle": ("itemReviewed.author.jobTitle", "claimant_job"),
    "itemReviewed.author.sameAs": ("itemReviewed.author.sameAs", "claimant_page"),
    "itemReviewed.datePublished": ("itemReviewed.datePublished", "claimDate", "claim_date"),
    "itemReviewed.firstAppearance.url": ("itemReviewed.firstAppearance.url", "firstAppearance"),
    "itemReviewed.appearance.url": ("itemReviewed.appearance.url", "appearance"),
}
"""The names of columns for each property."""


def read(sources: Sequence[Path], options: ReadOptions) -> Iterator[Record]:
    """Yield a document a review, in the order of the files and of the reviews in each.

    It keeps eight bytes an address, to tell the reviews of one page apart.
    Raises SourceError if a source cannot be read.
    """
    docids = _Docids()
    for path in expand(sources, (*_PAGES, ".json", ".jsonld", ".jsonl", ".ndjson", ".csv", ".tsv"), options):
        for place, node, language in _reviews(path, options):
            record = _record(node, place, language, docids, options)
            if record is not None:
                yield record


def _reviews(path: Path, options: ReadOptions) -> Iterator[tuple[str, Node, str]]:
    """Yield the place and the object of each review of a file, and the language that the file declares."""
    name = path.name.lower().removesuffix(".gz")
    if name.endswith(_PAGES):
        yield from _of_page(path, options)
    elif name.endswith((".json", ".jsonld")):
        yield from ((place, node, "") for place, node in _of_json(path, options))
    elif name.endswith((".jsonl", ".ndjson")):
        refuse_foreign(path, NOT_JSON_LINES, "JSON lines")
        for place, line in read_lines(path, options):
            content = parse_json_object(line, place, options) if line.strip() else None
            yield from ((place, node, "") for node in nodes_of_type(content, _TYPE))
    else:
        columns = [column for columns in _COLUMNS.values() for column in columns]
        for place, row in read_rows(path, options, wanted=columns, required=(_COLUMNS["claimReviewed"],)):
            yield place, _unflattened(row), ""


def _of_json(path: Path, options: ReadOptions) -> Iterator[tuple[str, Node]]:
    try:
        content = read_json(path, options)
    except BadFileError as error:
        options.bad_lines.report(error.place, error.what)
        return
    number = 0
    for number, node in enumerate(nodes_of_type(content, _TYPE), 1):
        yield f"{path}:{number}", node
    if not number:
        options.leave_out(path, "no claim review")


def _of_page(path: Path, options: ReadOptions) -> Iterator[tuple[str, Node, str]]:
    """Yield the reviews of a web page, those of its scripts before those of its elements."""
    try:
        content = read_bytes(path, options)
    except BadFileError as error:
        options.bad_lines.report(error.place, error.what)
        return
    if kind := binary_kind(content):
        options.bad_lines.report(str(path), f"is {kind}, not a web page")
        return
    page = decode(content)
    declared = _LANGUAGE.search(page)
    nodes = [*_of_scripts(page, path, options), *_of_elements(page, path, options)]
    for node in nodes:
        yield str(path), node, declared[1] if declared else ""
    if not nodes:
        options.leave_out(path, "no claim review")


def _of_scripts(page: str, path: Path, options: ReadOptions) -> Iterator[Node]:
    for script in scripts(page):
        if _TYPE not in script:
            continue
        try:
            yield from nodes_of_type(parsed(script), _TYPE)
        except BrokenScriptError as error:
            options.bad_lines.report(str(path), f"its claim review {error}")


def _of_elements(page: str, path: Path, options: ReadOptions) -> Iterator[Node]:
    if "itemscope" not in page or _TYPE not in page:
        return
    try:
        check_attributes(page)
    except PageTooLargeError as error:
        options.leave_out(path, str(error))
        return
    yield from microdata(page, _TYPE)


def _unflattened(row: Mapping[str, str]) -> Node:
    """Return the object whose properties are the cells of a row."""
    node: Node = {}
    for name, columns in _COLUMNS.items():
        value = next((row[column] for column in columns if row.get(column)), "")
        if value:
            *above, last = name.split(".")
            inner = node
            for part in above:
                inner = inner.setdefault(part, {})
            inner[last] = value
    return node


def _record(node: Node, place: str, declared: str, docids: _Docids, options: ReadOptions) -> Record | None:
    """Return the document of a review, or report or count why there is none and return ``None``."""
    fields = fields_of(node)
    if not fields["text"]:
        options.leave_out(place, "reviews without a claim")
        return None
    docid = docids.of(node, fields)
    if not docid:
        options.leave_out(place, "reviews given before")
        return None
    language = fields["language"] or page_language(fields["text"], declared)
    return make_record({**fields, "docid": docid, "language": language}, place, options, metadata_of(node))


class _Docids:
    """The docids of the reviews so far."""

    def __init__(self) -> None:
        self._seen: set[bytes] = set()
        self._numbers: dict[bytes, int] = {}

    def of(self, node: Node, fields: Mapping[str, str]) -> str:
        """Return the docid of a review, ``""`` if it was given before."""
        first = re.sub(r"\s", lambda blank: quote(blank[0]), docid_in(node) or fields["url"])
        first = first or f"claim-{_digest(fields['text'] + str(metadata_of(node).get('publisher', ''))).hex()}"
        if DOCID not in node and len(first.encode("utf-8", "replace")) > _LONGEST_ADDRESS:
            first = f"claim-{_digest(first).hex()}"
        if self._known(f"{first} {fields['text']}"):
            return ""
        return self._numbered(first)

    def _numbered(self, first: str) -> str:
        """Return a docid that was not there before: the first itself, or the first with a number."""
        digest = _digest(first)
        number = self._numbers.get(digest, 1)
        docid = first if number == 1 else f"{first}#{number}"
        while self._known(docid):
            number += 1
            docid = f"{first}#{number}"
        if number > 1:
            self._numbers[digest] = number
        return docid

    def _known(self, text: str) -> bool:
        """Return whether a text was seen before, and remember it."""
        digest = _digest(text)
        known = digest in self._seen
        self._seen.add(digest)
        return known


def _digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "replace"), digest_size=8).digest()
