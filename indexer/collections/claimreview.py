"""Read reviews of claims that fact-checkers publish as schema.org's ClaimReview.

The reviews come from web pages (JSON-LD or microdata), from JSON files and JSON lines (reviews, or
Data Commons' feed), and from tables. Columns of tables are named after the properties, with dots:
``reviewRating.alternateName``. The docid is the address of the review; further reviews at one
address get ``#2``, ``#3``. A repeated review is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from ...core.domain import NO_METADATA
from ...core.records.columns import Columns
from ...core.records.encodings import guess_encoding
from ...core.records.names import CLAIM_REVIEWS
from ...core.terminal import join_words
from ...core.text import unescape
from . import RECORDS, Files, ReadOptions, Record, dated
from ._child import BadFileError
from ._documents import (
    MAX_DOCID_BYTES,
    Docids,
    digest,
    kept_columns,
    make_record,
    table_columns,
    text_language,
    texts_behind,
)
from ._files import expand, read_bytes
from ._lines import read_json
from ._linked_data import BrokenScriptError, Node, microdata, nodes_of_type, parse_script, scripts
from ._office import SHEETS, select_readable
from ._pages import PageTooLargeError, binary_kind, check_attributes, decode
from ._reviews import DOCID, Rating, body_of, docid_in, fields_of, metadata_of, ratings_of
from ._tables import TableRow, each_sheet, find_table, first_cells, read_json_lines, read_whole_rows

SUMMARY = "fact-checks as schema.org ClaimReview: web pages, JSON-LD, Data Commons' feed, CSV"
COLUMNS = True
FILTER_FIELDS = ("verdict", "rating")
FILES: Sequence[Files] = [(form, frozenset({"claimreviewed"})) for form in RECORDS]

_TYPE = "ClaimReview"
_LONGEST_ADDRESS = MAX_DOCID_BYTES - 12
"""An address of at most this many bytes becomes a docid, with room for a number; a digest replaces
a longer one.
"""
_PAGES = (".html", ".htm", ".xhtml")
_LANGUAGE = re.compile(r"""<html\b[^<>]*?\slang\s*=\s*["']?([A-Za-z-]{2,20})""", re.I)
_SELF = re.compile(r"<(?:link|meta)\b[^<>]*>", re.I)
_ATTRIBUTE = re.compile(r"""([a-z]+)\s*=\s*(?:"([^"]*)"|'([^']*)'|([^\s"'>]+))""", re.I)
_MEANINGS = {
    **{
        DOCID: "docid",
        "claimReviewed": "text",
        "headline": "title",
        "url": "url",
        "datePublished": "date",
    },
    **{"inLanguage": "language", "author.name": "source", "reviewRating.alternateName": "rating"},
    "reviewRating.ratingExplanation": "explanation",
}
"""The document field that each property becomes."""


@dated
def read(sources: Sequence[Path], options: ReadOptions) -> Iterator[Record]:
    """Yield one document per review, in the order of the files and of the reviews in each."""
    docids, several = Docids(), _SeveralRatings()
    endings = (
        *_PAGES,
        ".json",
        ".jsonld",
        ".jsonl",
        ".ndjson",
        ".csv",
        ".tsv",
        *select_readable(*SHEETS),
    )
    for path in expand(sources, endings, options, saved_pages=True):
        for review in _reviews(path, options):
            if record := _record(review, docids, options):
                several.look_at(review)
                yield record
    if several.count:
        options.note(several.sentence)


class _Review(NamedTuple):
    """A review with its place.

    ``language`` and ``base`` are those of its page. A row of a table may have columns without a
    meaning (``others``), and further columns of texts that the user named.
    """

    place: str
    node: Node
    language: str = ""
    base: str = ""
    others: Mapping[str, Any] = NO_METADATA
    further: Sequence[str] = ()
    is_row: bool = False


class _SeveralRatings:
    """Counts the reviews with several ratings, and says which of its ratings the first of them
    got.
    """

    def __init__(self) -> None:
        self.count = 0
        self._example = ""

    def look_at(self, review: _Review) -> None:
        used, *others = ratings_of(review.node) or [Rating()]
        if not others:
            return
        self.count += 1
        self._example = (
            self._example
            or f"{used} is used, not {join_words([*map(str, others)], 'or')} ({review.place})"
        )

    @property
    def sentence(self) -> str:
        if self.count == 1:
            return f"1 review has several ratings: {self._example}"
        return f"{self.count} reviews have several ratings; of the first, {self._example}"


def _reviews(path: Path, options: ReadOptions) -> Iterator[_Review]:
    name = path.name.lower().removesuffix(".gz")
    if name.endswith((*_PAGES, ".json", ".jsonld")):
        try:
            if name.endswith(_PAGES):
                found = _of_page(path, options)
            else:
                nodes = enumerate(_nodes(read_json(path, options)), 1)
                found = [_Review(f"{path}:{number}", node) for number, node in nodes]
        except BadFileError as error:
            options.bad_lines.report(error.place, error.what)
            return
        if not found:
            options.leave_out(path, "no claim review")
        yield from found
    elif name.endswith((".jsonl", ".ndjson")):
        for place, content in read_json_lines(path, options):
            yield from (_Review(place, node) for node in _nodes(content))
    else:
        for place, row, others in _rows_of_sheets(path, options, _columns(options)):
            further = {field: text for field, text in row.items() if field.startswith("text ")}
            node = _nest({field: text for field, text in row.items() if field not in further})
            yield _Review(place, node, others=others, further=texts_behind(further), is_row=True)


def _nodes(content: Any) -> list[Node]:
    """Return the reviews in a value of JSON: those that say so, else objects with a reviewed claim
    and no type.
    """
    if nodes := list(nodes_of_type(content, _TYPE)):
        return nodes
    entries = content if isinstance(content, list) else [content]
    return [
        entry
        for entry in entries
        if isinstance(entry, dict) and "claimReviewed" in entry and "@type" not in entry
    ]


def _rows_of_sheets(path: Path, options: ReadOptions, columns: Columns) -> Iterator[TableRow]:
    for of_sheet in each_sheet(path, options):
        yield from read_whole_rows(path, of_sheet, columns)


def is_desk_table(path: Path, start: bytes, options: ReadOptions) -> bool:
    """Return whether a table that begins with ``start`` has columns of a claim, its rating and what
    was found, as the tables of a desk have.
    """
    columns = _columns(options)
    shape, _ = find_table(path, start, columns, options)
    encoding = "" if shape.encoding else guess_encoding(start)
    wanted = {"claimReviewed", "reviewRating.alternateName", "reviewRating.ratingExplanation"}
    return wanted <= columns.find(first_cells(shape, encoding)).keys()


def _columns(options: ReadOptions) -> Columns:
    required = (("claimReviewed",),)
    return table_columns(CLAIM_REVIEWS, options, required, text="claimReviewed", meanings=_MEANINGS)


def has_review(content: bytes) -> bool:
    """Return whether a web page contains a review of a claim."""
    if _TYPE.encode() not in content or binary_kind(content):
        return False
    page = decode(content)
    for script in scripts(page):
        with suppress(BrokenScriptError):
            if _TYPE in script and nodes_of_type(parse_script(script), _TYPE):
                return True
    if "itemscope" not in page:
        return False
    with suppress(PageTooLargeError):
        check_attributes(page)
        return bool(microdata(page, _TYPE))
    return False


def _nest(row: Mapping[str, str]) -> Node:
    node: Node = {}
    for name, value in row.items():
        *above, last = name.split(".")
        inner = node
        for part in above:
            inner = inner.setdefault(part, {})
        inner[last] = value
    return node


def _of_page(path: Path, options: ReadOptions) -> list[_Review]:
    content = read_bytes(path, options)
    if kind := binary_kind(content):
        raise BadFileError(path, f"is {kind}, not a web page")
    page = decode(content)
    nodes: list[Node] = []
    for script in scripts(page):
        try:
            nodes += nodes_of_type(parse_script(script), _TYPE) if _TYPE in script else ()
        except BrokenScriptError as error:
            options.bad_lines.report(str(path), f"its claim review {error}")
    if "itemscope" in page and _TYPE in page:
        try:
            check_attributes(page)
            nodes += microdata(page, _TYPE)
        except PageTooLargeError as error:
            options.leave_out(path, str(error))
    declared, address = _LANGUAGE.search(page), _address(page) if nodes else ""
    return [_Review(str(path), node, declared[1] if declared else "", address) for node in nodes]


def _address(page: str) -> str:
    for tag in _SELF.finditer(page):
        named = {
            name.lower(): unescape(a or b or c) for name, a, b, c in _ATTRIBUTE.findall(tag[0])
        }
        said = (
            "canonical" in named.get("rel", "").lower().split()
            or named.get("property", "").lower() == "og:url"
        )
        address = (named.get("href") or named.get("content") or "").strip()
        if said and address.startswith(("https://", "http://")):
            return address
    return ""


def _record(review: _Review, docids: Docids, options: ReadOptions) -> Record | None:
    fields = fields_of(review.node, review.base)
    if not fields["text"]:
        options.leave_out(review.place, "reviews without a claim")
        return None
    metadata = metadata_of(review.node)
    docid = re.sub(r"\s", lambda blank: quote(blank[0]), docid_in(review.node) or fields["url"])
    docid = docid or f"claim-{digest(fields['text'] + str(metadata.get('publisher', ''))).hex()}"
    if DOCID not in review.node and len(docid.encode("utf-8", "replace")) > _LONGEST_ADDRESS:
        docid = f"claim-{digest(docid).hex()}"
    # Sites and archives repeat a review, and write the name of its checker in several ways. But
    # each row of a desk is a review of its own: two checkers may have looked at the same post.
    checker = " ".join(str(metadata.get("publisher", "")).casefold().split())
    claim = f"{fields['text']}\n{checker}" if review.is_row else fields["text"]
    is_repeat = docids.is_repeat(docid, claim)
    has_same_rating = docids.is_repeat(docid, f"{claim} {metadata.get('rating', '')}")
    if is_repeat:
        other = "" if has_same_rating else " with another rating; the first one is used"
        options.leave_out(review.place, f"reviews that occurred before{other}")
        return None
    if not fields["url"]:
        options.note(
            "some reviews have no web address; export --as claimreview will leave them out"
        )
    language = fields["language"] or text_language(fields["text"], review.language)
    fields |= {"docid": docids.make_unique(docid), "language": language}
    found = dict.fromkeys((str(metadata.get("explanation", "")), body_of(review.node)))
    record = make_record(
        fields,
        review.place,
        options,
        kept_columns(review.others, metadata),
        behind=review.further or list(found),
    )
    # Reviews of one page share its address, so the address does not show that a stored review is
    # the same one.
    return record and record._replace(known_by="" if docid_in(review.node) else "text")
