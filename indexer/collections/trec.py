"""TREC documents: SGML newswire (``<DOC>``, ``<DOCNO>``, ``<TEXT>``) and web pages (``<DOCHDR>``).

Of newswire the text is what stands in the elements for text, the title what stands in those for headlines,
both without markup; a document with neither gives all that it holds. Of a web page the text is all that is
visible, the URL is the first line of its header.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ...retrieval.errors import SourceError
from ...retrieval.text import unescaped
from . import Files, ReadOptions, Record
from ._dates import clean_date
from ._documents import make_record
from ._files import expand
from ._lines import read_lines
from ._markup import Element, elements, first_inside, starts, without, without_tags

SUMMARY = "TREC documents: SGML newswire and web collections"
SPLIT = False
SENTENCES = False
WHOLE_FOLDER = False
FILES: tuple[Files, ...] = (("XML", frozenset()),)

_START = re.compile(r"<DOC(?:\s[^<>]*)?>", re.I)
_END = re.compile(r"</DOC>", re.I)
_ID_ATTRIBUTE = re.compile(r"""<DOC\s[^<>]*?\bid\s*=\s*["']?([^\s"'>]+)""", re.I)
_INLINE = re.compile(r"</?(?:a|abbr|b|big|cite|code|em|font|i|q|s|small|span|strong|sub|sup|tt|u)(?:\s[^<>]*)?>", re.I)

_ID = starts("DOCNO")
_WEB_HEADER = starts("DOCHDR")
_OTHER = starts("DOCID", "DOCTYPE", "FILEID", "DOCOLDNO", "BYTECOUNT", "PARENT", "ACCESS", "AN")
_TEXT = starts("TEXT", "LEADPARA", "LP")
_TITLE = starts("HEADLINE", "TITLE", "HL", "HEAD", "TTL", "TI")
_DATE = starts("DATE_TIME", "DATE", "DATE1", "DD", "PUBDATE")
_PAGE_TITLE = starts("title")
_UNSEEN = re.compile(r"<(script|style|noscript|title)\b|<!--", re.I)

# Entities of the TREC discs that HTML lacks.
_ENTITIES = {"&hyph;": "-", "&blank;": " ", "&cir;": "°", "&bull;": "•"}
_WRITTEN_DATE = re.compile(r"[A-Z][a-z]+\.? \d{1,2}, \d{4}|\d{1,2} [A-Z][a-z]+\.? \d{4}|\d{4}-\d\d-\d\d")


class _Doc(NamedTuple):
    """The source of one document, from its start tag to its end tag."""

    place: str
    source: str


def read(sources: Sequence[Path], options: ReadOptions) -> Iterator[Record]:
    """Yield the documents in the order of the files and of their lines; a line not in UTF-8 is read as Latin-1.

    A document is bounded by ``options.max_file_bytes``. A file of a folder that holds no document is counted.
    Raises SourceError if a source cannot be read, or a file that was named holds no document.
    """
    named = {source for source in sources if not source.is_dir()}
    for path in expand(sources, ("",), options):
        documents = 0
        for doc in _docs(path, options):
            documents += 1
            if record := _record(doc, options):
                yield record
        if not documents and path in named:
            raise SourceError("holds no <DOC>; it is not a TREC collection", place=path)
        if not documents:
            options.leave_out(path, "file without <DOC>")


def _docs(path: Path, options: ReadOptions) -> Iterator[_Doc]:
    """Yield the source of each document; report one that does not end before the next, or is too long."""
    place, parts, size = "", list[str](), 0
    for here, piece in _pieces(path, options):
        start = _START.match(piece.lstrip()) if place else _START.search(piece)
        if start and place:
            options.bad_lines.report(place, f"<DOC> is not closed before the next one at {here}")
        if start:
            place, parts, size = here, [], 0
        if not place:
            continue
        parts.append(piece)
        size += len(piece) + 1
        if size > options.max_file_bytes:
            limit = f"{options.max_file_bytes:,} bytes (build.max_file_bytes)"
            options.bad_lines.report(place, f"<DOC> is longer than {limit}")
            place = ""
        elif _END.search(piece):
            yield _Doc(place, "\n".join(parts))
            place = ""
    if place:
        options.bad_lines.report(place, "<DOC> is not closed before the file ends")


def _pieces(path: Path, options: ReadOptions) -> Iterator[tuple[str, str]]:
    """Yield the lines, cut after each end tag, so that none holds more of a document than one."""
    for place, line in read_lines(path, options, fallback="latin-1"):
        begin = 0
        for end in _END.finditer(line):
            yield place, line[begin : end.end()]
            begin = end.end()
        yield place, line[begin:]


def _record(doc: _Doc, options: ReadOptions) -> Record | None:
    """Return the document, or report why there is none and return ``None``."""
    docid = first_inside(doc.source, _ID)
    if docid is None and (attribute := _ID_ATTRIBUTE.search(doc.source)):
        docid = attribute[1]
    if docid is None:
        options.bad_lines.report(doc.place, "<DOC> has no <DOCNO>")
        return None
    body = _inside(doc.source)
    header = next(elements(body, _WEB_HEADER), None)
    fields = _web_fields(body, header) if header else _news_fields(body)
    fields["docid"] = unescaped(docid).strip()
    return make_record(fields, doc.place, options)


def _inside(source: str) -> str:
    """Return what a document holds besides its own tags and its id."""
    start, ends = _START.search(source), list(_END.finditer(source))
    return without(source[start.end() if start else 0 : ends[-1].start() if ends else None], _ID)


def _news_fields(body: str) -> dict[str, str]:
    """Return text, title and date of a newswire document."""
    texts, titles = _elements(body, _TEXT), _elements(body, _TITLE)
    if not (texts or titles):
        texts = [_plain(without(body, _OTHER))]
    dates = _elements(body, _DATE)
    return {"text": "\n".join(texts), "title": " ".join(" ".join(titles).split()), "date": _date(dates)}


def _web_fields(body: str, header: Element) -> dict[str, str]:
    """Return text, title and URL of a web page."""
    lines = body[header.inner_start : header.inner_end].strip().splitlines()
    page = body[header.end :]
    visible = _INLINE.sub("", without(page, _UNSEEN, " "))
    return {
        "text": _plain(without_tags(visible, "\n")),
        "title": " ".join(_plain(first_inside(page, _PAGE_TITLE) or "").split()),
        "url": lines[0].split()[0] if lines else "",
    }


def _elements(body: str, opening: re.Pattern[str]) -> list[str]:
    """Return the text of the elements that start so, in the order of the document, outermost only."""
    inside = (body[element.inner_start : element.inner_end] for element in elements(body, opening))
    return [text for source in inside if (text := _plain(source))]


def _plain(source: str) -> str:
    """Return text without markup, its paragraphs apart, entities read."""
    text = without_tags(source, " ")
    for entity, character in _ENTITIES.items():
        text = text.replace(entity, character)
    lines = (" ".join(line.split()) for line in unescaped(text).split("\n"))
    return "\n".join(line for line in lines if line)


def _date(written: Sequence[str]) -> str:
    """Return the first date that can be read, as the discs write it: also ``870324`` and ``03/24/87``."""
    for text in (" ".join(date.split()) for date in written):
        if short := re.fullmatch(r"(\d\d)(\d\d)(\d\d)", text):
            cleaned = clean_date(f"19{short[1]}-{short[2]}-{short[3]}")
        elif short := re.fullmatch(r"(\d\d?)/(\d\d?)/(\d\d)", text):
            cleaned = clean_date(f"19{short[3]}-{short[1]}-{short[2]}")
        elif short := re.fullmatch(r"(\d{4})(\d\d)(\d\d)", text):
            cleaned = clean_date(f"{short[1]}-{short[2]}-{short[3]}")
        else:
            match = _WRITTEN_DATE.search(text)
            cleaned = clean_date(text) or (clean_date(match[0]) if match else "")
        if cleaned:
            return cleaned
    return ""
