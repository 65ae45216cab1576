"""Listings: the hits of one search as a file for other programs, and the citation of a hit."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from ...core.domain import Document, Hit
from ...core.errors import QueryError
from ...core.parts import PART_STARTS
from ...core.records.claim_review import drop_empty, make_typed, name_of, review_of, script_safe
from ...core.records.runs import run_lines
from ..sentences import sentences
from .evidence import PAGE_STARTS, Evidence, claim_of

BOM = "\ufeff"
"""The mark of UTF-8 at the beginning of a file."""
JSON = "json"  # the format of a search's own answer; it is not a listing
PAPER = "cord19"  # the kind of source whose documents are journal articles
RUN_TAG = "factseek"
_OF_REVIEW = ("rating", "publisher", "claimant")
_SHOWN = frozenset({*_OF_REVIEW, "explanation"})
"""The fields of metadata that are among the first columns of a table."""
_MOST_METADATA = 1_000
"""The most columns of metadata in a table, which hostile documents could make very wide."""
_PLACES = frozenset({PART_STARTS, PAGE_STARTS})
"""Metadata that say where parts and pages begin in a text, which a table does not contain."""
HEADER = (
    *(
        "rank",
        "docid",
        "score",
        "title",
        "passage",
        "url",
        "date",
        "source",
        "topic",
        "language",
        "kind",
    ),
    *("near_copies", "index", *_OF_REVIEW, "claim", "explanation"),
)
"""The first columns of the table formats; columns of metadata follow."""
_as_lines = msgspec.json.Encoder().encode_lines
_SPACE = re.compile(r"\s+")
_STEERING = re.compile("[\x00-\x1f\x7f-\x9f]")
_FORMULA = re.compile("[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_LONG_NUMBER = re.compile(r"\s*(?:[0-9]{12,}|0[0-9]+|[0-9]+[eE][0-9]+)\s*")
"""A text that a spreadsheet would change, because it would read it as a number: 1.23E+18, 7."""
_BREAKS = re.compile("[\t\n\v\f\r\x1c-\x1e\x85\u2028\u2029]+")
_NO_KEY = re.compile(r"[^A-Za-z0-9.:_-]+")
_TEX_NAMES = {"\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}"}
_TEX = str.maketrans({sign: f"\\{sign}" for sign in "#$%&_{}"} | _TEX_NAMES)
_TEX_ADDRESS = str.maketrans({sign: f"%{ord(sign):02X}" for sign in "{}\\ "})
"""Addresses are copied unchanged, except for the characters that would end the field."""
_OF_PAPERS = frozenset({"doi", "journal", "pubmed_id", "pmcid", "authors", "source_x"})
_SCHEMA_TYPES = {PAPER: "ScholarlyArticle", "webpages": "WebPage"}


class Citation(NamedTuple):
    """The citation of a hit, each part on one line; an unknown part is ``""``.

    ``date`` is a year, a month or a day.

    ``short_title`` is the headline of a fact-check, whose ``title`` quotes the claim and says that
    this is one.
    """

    docid: str
    paper: bool
    title: str
    short_title: str
    authors: tuple[str, ...]
    source: str
    date: str
    url: str
    doi: str
    abstract: str


EXAMPLE_SOURCE = "example data of factseek"
REVIEW = "claimreview"  # the kind of source whose documents are fact-checks
_CLAIMS = "claims"
_ONLY_OF_CHECKS = ("verdict", "explanation")
"""Fields of metadata that tell a rated claim from another rated thing, such as a film."""
_LONGEST_CLAIM = 300  # the most characters of a claim in the title of a fact-check


def is_example(index: str, metadata: Mapping[str, Any]) -> bool:
    """Return whether a document is one of the bundled examples, by the name of its index or by its
    metadata.
    """
    return index.startswith("example-") or metadata.get("source_x") == "Example"


def cited_hit(hit: Evidence, index: str = "") -> Evidence:
    """Return a hit as it should be cited: a bundled example imitates a paper, but has no journal,
    DOI or address.
    """
    if not is_example(index, hit.metadata):
        return hit
    metadata = {name: value for name, value in hit.metadata.items() if name not in _OF_PAPERS}
    kind = REVIEW if is_fact_check(hit.kind, hit.metadata) else ""
    return msgspec.structs.replace(hit, source=EXAMPLE_SOURCE, url="", kind=kind, metadata=metadata)


def is_fact_check(kind: str, metadata: Mapping[str, Any]) -> bool:
    """Return whether a document is a review of the claim that is its text."""
    if kind == REVIEW:
        return True
    is_check = kind == _CLAIMS or any(_text(metadata, name) for name in _ONLY_OF_CHECKS)
    return is_check and bool(_text(metadata, "rating"))


def citation(hit: Evidence) -> Citation:
    """Return the citation of a hit; without a title, the first sentence of its passage is the
    title.
    """
    hit = cited_hit(hit)
    if is_fact_check(hit.kind, hit.metadata):
        return _fact_check_citation(hit)
    passage = _line(hit.passage.text)
    first = next(sentences(passage), None)
    return Citation(
        docid=_line(hit.docid),
        paper=hit.kind == PAPER,
        title=_line(hit.title) or (passage[first.start : first.end] if first else "") or hit.docid,
        short_title="",
        authors=tuple(filter(None, map(_line, str(hit.metadata.get("authors") or "").split(";")))),
        source=_line(hit.source),
        date=_line(hit.date),
        url=_line(hit.url),
        doi=_line(str(hit.metadata.get("doi") or "")),
        abstract=passage,
    )


def _fact_check_citation(hit: Evidence) -> Citation:
    """Return the citation of a fact-check.

    What it found is the abstract: the claim is not what the source says.
    """
    author, publisher = _text(hit.metadata, "author"), _text(hit.metadata, "publisher")
    if hit.source == EXAMPLE_SOURCE:
        author, publisher = "", ""
    source = publisher or _line(hit.source)
    headline = _line(hit.title)
    return Citation(
        docid=_line(hit.docid),
        paper=False,
        title=fact_check_title(claim_of(hit), hit.metadata),
        short_title="" if _same(headline, claim_of(hit)) else headline,
        authors=(author,) if author and author != source else (),
        source=source,
        date=_line(hit.date),
        url=_line(hit.url),
        doi=_line(str(hit.metadata.get("doi") or "")),
        abstract=_text(hit.metadata, "explanation"),
    )


def fact_check_title(claim: str, metadata: Mapping[str, Any]) -> str:
    """Return a title for a fact-check, with its rating and the quoted claim, such as: Fact check
    (False): “…”.
    """
    rating, quoted = _text(metadata, "rating"), _line(claim)
    if len(quoted) > _LONGEST_CLAIM:
        quoted = f"{quoted[:_LONGEST_CLAIM].rsplit(' ', 1)[0]} …"
    return f"Fact check ({rating}): “{quoted}”" if rating else f"Fact check: “{quoted}”"


def plain_citation(hit: Evidence, link: str) -> str:
    """Return a hit's citation as plain text; ``link`` is its address for readers."""
    parts = citation(hit)
    address = f"doi:{parts.doi}" if parts.doi else link
    if is_fact_check(hit.kind, hit.metadata):
        return f"{parts.title}. {', '.join(filter(None, (parts.source, parts.date, address)))}"
    authors = "; ".join(parts.authors[:3]) + (" et al." if len(parts.authors) > 3 else "")
    title = parts.title if parts.title.endswith(("…", ".", "?", "!", "؟")) else f"{parts.title}."
    where = ", ".join(filter(None, (parts.source, parts.date)))
    pieces = [authors and f"{authors}.", f"“{title}”", where and f"{where}.", address]
    return " ".join(filter(None, pieces))


def _same(one: str, other: str) -> bool:
    return _line(one).casefold().rstrip(".") == _line(other).casefold().rstrip(".")


def _text(metadata: Mapping[str, Any], name: str) -> str:
    value = metadata.get(name)
    return _line(value) if isinstance(value, str) else ""


def _line(text: str) -> str:
    return _STEERING.sub("\ufffd", _SPACE.sub(" ", text)).strip()


def _table(hits: Sequence[Evidence]) -> list[list[str]]:
    """Return the rows of a table, the header first.

    Every field of the metadata is a column: one that has a column of the hit, such as the rating,
    has no other, and one whose name is that of another column is called ``metadata.NAME``.
    """
    names: dict[str, None] = {}
    for hit in hits:
        names.update({name: None for name, value in hit.metadata.items() if _cell(value)})
    more = [name for name in names if name not in _SHOWN and name not in _PLACES][:_MOST_METADATA]
    titles = [f"metadata.{name}" if name in HEADER else name for name in more]
    header = [*HEADER, *map(defuse_cell, titles)]
    return [header, *([*_cells(hit), *_metadata_cells(hit, more)] for hit in hits)]


def _metadata_cells(hit: Evidence, names: Sequence[str]) -> list[str]:
    return [defuse_cell(_cell(hit.metadata.get(name))) for name in names]


def _cell(value: Any) -> str:
    """Return a value of metadata as the text of a cell.

    The texts of a list have semicolons between them; other lists and objects are JSON.
    """
    if value is None or value in ([], {}):
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, list) and all(isinstance(each, str) for each in value):
        return "; ".join(value)
    return json.dumps(value, ensure_ascii=False)


def _cells(hit: Evidence) -> list[str]:
    texts = (
        hit.title,
        hit.passage.text,
        hit.url,
        hit.date,
        hit.source,
        hit.topic,
        hit.language,
        hit.kind,
    )
    copies = str(hit.copies.count) if hit.copies else ""
    review = [_cell(hit.metadata.get(name)) for name in _OF_REVIEW]
    is_review = hit.claim or _text(hit.metadata, "rating")
    review += [claim_of(hit) if is_review else "", _cell(hit.metadata.get("explanation"))]
    start = (str(hit.rank), defuse_cell(hit.docid), repr(hit.score))
    return [*start, *map(defuse_cell, texts), copies, *map(defuse_cell, (hit.index or "", *review))]


def defuse_cell(text: str) -> str:
    """Return a text without NULs, with an apostrophe before it if a spreadsheet would read it as a
    formula.
    """
    text = text.replace("\0", "\ufffd")
    return f"'{text}" if _FORMULA.match(text) else text


def keep_digits(text: str) -> str:
    """Return the text of a cell, with an apostrophe before it if a spreadsheet would read it as a
    number and lose some of its digits or its leading zeros.
    """
    return f"'{text}" if _LONG_NUMBER.fullmatch(text) else text


def _csv(hits: Sequence[Evidence], _: str) -> str:
    text = io.StringIO()
    csv.writer(text).writerows(_table(hits))
    return text.getvalue()


def csv_for_excel(rows: Iterable[Sequence[str]]) -> str:
    """Return rows of defused cells as CSV that Excel opens with a double click.

    It begins with the mark of UTF-8, without which Excel reads another encoding, and
    :func:`keep_digits` applies to each cell.
    """
    text = io.StringIO(newline="")
    csv.writer(text).writerows([keep_digits(cell) for cell in row] for row in rows)
    return f"{BOM}{text.getvalue()}"


def list_for_excel(hits: Sequence[Evidence]) -> str:
    """Return hits, best first, as the CSV of a search with :func:`csv_for_excel`."""
    return csv_for_excel(_table(hits))


def _tsv(hits: Sequence[Evidence], _: str) -> str:
    lines = ("\t".join(_BREAKS.sub(" ", cell) for cell in row) for row in _table(hits))
    return "".join(f"{line}\n" for line in lines)


def _ris(hits: Sequence[Evidence], _: str) -> str:
    records = []
    for cited in map(citation, hits):
        fields = [
            ("TY", "JOUR" if cited.paper else "ELEC"),
            ("ID", cited.docid),
            ("TI", cited.title),
            ("ST", cited.short_title),
            *(("AU", author) for author in cited.authors),
            ("JO" if cited.paper else "PB", cited.source),
            ("PY", cited.date[:4]),
            ("DA", cited.date.replace("-", "/")),
            ("DO", cited.doi),
            ("UR", cited.url),
            ("AB", cited.abstract),
        ]
        records.append(
            "".join(f"{tag}  - {value}\r\n" for tag, value in fields if value) + "ER  - \r\n\r\n"
        )
    return "".join(records)


def _bibtex(hits: Sequence[Evidence], _: str) -> str:
    numbers: dict[str, int] = {}
    entries = []
    for hit in hits:
        plain = key = _NO_KEY.sub("-", hit.docid).strip("-") or "document"
        while key.lower() in numbers:
            numbers[plain.lower()] += 1
            key = f"{plain}-{numbers[plain.lower()]}"
        numbers[key.lower()] = 1
        cited = citation(hit)
        fields = [
            ("title", f"{{{cited.title.translate(_TEX)}}}"),
            ("shorttitle", cited.short_title and f"{{{cited.short_title.translate(_TEX)}}}"),
            ("author", " and ".join(author.translate(_TEX) for author in cited.authors)),
            ("journal" if cited.paper else "publisher", cited.source.translate(_TEX)),
            ("year", cited.date[:4]),
            ("month", cited.date[5:7]),
            ("doi", cited.doi.translate(_TEX_ADDRESS)),
            ("url", cited.url.translate(_TEX_ADDRESS)),
            ("abstract", cited.abstract.translate(_TEX)),
        ]
        lines = "".join(
            f"  {name} = {{{value}}},\n" for name, value in fields if value and value != "{}"
        )
        entries.append(f"@{'article' if cited.paper else 'misc'}{{{key},\n{lines}}}\n\n")
    return "".join(entries)


def _jsonld(hits: Sequence[Evidence], _: str) -> str:
    """Return one ``ItemList`` of schema.org, safe in a page's script; a review of a claim becomes a
    ``ClaimReview``.
    """
    items = [
        {"@type": "ListItem", "position": hit.rank, "item": _item(cited_hit(hit))} for hit in hits
    ]
    listed = {"@context": "https://schema.org", "@type": "ItemList", "itemListElement": items}
    return script_safe(listed) + "\n"


def _item(hit: Evidence) -> dict[str, Any]:
    document = Document(
        hit.docid,
        claim_of(hit),
        hit.title,
        hit.url,
        hit.date,
        hit.language,
        hit.source,
        hit.topic,
        hit.metadata,
    )
    cited = citation(hit)
    same = f"https://doi.org/{cited.doi}" if cited.doi else ""
    if is_fact_check(hit.kind, hit.metadata):
        review = review_of(document) or {
            "@type": "ClaimReview",
            "@id": name_of(hit.docid),
            "claimReviewed": claim_of(hit),
            "url": hit.url if hit.url.startswith(("https://", "http://")) else "",
            "datePublished": hit.date,
            "inLanguage": hit.language,
            "author": make_typed("Organization", name=cited.source),
        }
        shown = {
            "name": cited.title,
            "headline": cited.short_title,
            "abstract": cited.abstract,
            "sameAs": same,
        }
        return drop_empty({**review, **shown})
    return drop_empty(
        {
            "@type": _SCHEMA_TYPES.get(hit.kind, "CreativeWork"),
            "@id": name_of(hit.docid),
            "name": cited.title,
            "text": hit.passage.text,
            "url": hit.url if hit.url.startswith(("https://", "http://")) else "",
            "datePublished": hit.date,
            "inLanguage": hit.language,
            "author": [make_typed("Person", name=author) for author in cited.authors],
            "publisher": make_typed("Organization", name=hit.source),
            "sameAs": same,
        }
    )


class ListingKind(NamedTuple):
    """A format: its media type, its file suffix, and a function that writes the hits of query
    ``qid``, best first.
    """

    media: str
    suffix: str
    write: Callable[[Sequence[Evidence], str], str]


CITING = frozenset({"bibtex", "jsonld", "ris"})
"""The formats for citations; for them, `cited_hit` replaces a hit of a bundled example."""
KINDS = MappingProxyType(
    {
        "bibtex": ListingKind("application/x-bibtex", "bib", _bibtex),
        "csv": ListingKind("text/csv", "csv", _csv),
        "jsonld": ListingKind("application/ld+json", "jsonld", _jsonld),
        "ndjson": ListingKind(
            "application/x-ndjson", "ndjson", lambda hits, _: _as_lines(hits).decode()
        ),
        "ris": ListingKind("application/x-research-info-systems", "ris", _ris),
        "trec": ListingKind(
            "text/plain",
            "run",
            lambda hits, qid: run_lines(qid, [Hit(hit.docid, hit.score) for hit in hits], RUN_TAG),
        ),
        "tsv": ListingKind("text/tab-separated-values", "tsv", _tsv),
    }
)
"""The formats by name, in alphabetical order."""


def kind(format: str) -> ListingKind:
    """Return the format of this name. Raises QueryError if it does not exist."""
    if format not in KINDS:
        raise QueryError(
            f"unknown format {format[:80]!r}", remedy=f"the formats are {', '.join(KINDS)}"
        )
    return KINDS[format]


def list_hits(hits: Sequence[Evidence], format: str, qid: str = "1") -> str:
    """Return hits, best first, in a format of :data:`KINDS`; ``qid`` is for a TREC run.

    Raises QueryError if the format does not exist.
    """
    return kind(format).write(hits, qid)
