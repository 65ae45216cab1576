"""Read TREC documents: SGML newswire (``<DOC>``, ``<DOCNO>``, ``<TEXT>``) and web pages
(``<DOCHDR>``).

The text of a newswire document is the content of its text elements and the text outside all
elements. Its title is the content of its headline elements. Markup in both is removed. Other
elements are left out and counted. If nothing else contains text, the content of these elements is
the text. The text of a web page is everything visible, and its URL is the first line of its header.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from html import escape
from pathlib import Path

from ...core.errors import SourceError
from ...core.records.dates import clean_date, order_of
from ...core.records.table_shape import shape_of
from ...core.text import unescape
from . import Files, ReadOptions, Record, dated
from ._documents import make_record
from ._files import expand
from ._lines import read_lines
from ._markup import Element, elements, first_inside, starts, without, without_tags
from ._tables import MEDIAWIKI

SUMMARY = "TREC documents: SGML newswire and web collections"
FILES: tuple[Files, ...] = (("XML", frozenset()),)

_START = re.compile(r"<DOC(?:\s[^<>]*)?>", re.I)
_END = re.compile(r"</DOC>", re.I)
_ID_ATTRIBUTE = re.compile(r"""<DOC\s[^<>]*?\bid\s*=\s*["']?([^\s"'>]+)""", re.I)
_INLINE = re.compile(
    r"</?(?:a|abbr|b|big|cite|code|em|font|i|q|s|small|span|strong|sub|sup|tt|u)(?:\s[^<>]*)?>",
    re.I,
)

_CDATA = re.compile(r"<!\[CDATA\[(.*?)(?:\]\]>|\Z)", re.S)

_ID = starts("DOCNO")
_WEB_HEADER = starts("DOCHDR")
_ANY = re.compile(r"<([A-Za-z][\w.-]*)(?:\s[^<>]*)?>")
"""The start tag of any element."""
_WHOLE = frozenset("body article content story main".split())
"""Elements whose inner elements are read: they contain text, headlines and more."""
_HEADERS = frozenset("header h3".split())
"""Elements in which only headlines and dates are read."""
_TEXT = frozenset("text leadpara lp ld lead tx abstract summary description desc p para".split())
_TITLE = frozenset("headline title hl head ttl ti".split())
_DATE = frozenset("date_time date date1 dd pubdate".split())
_OTHER = frozenset("docid doctype fileid docoldno bytecount parent access an".split())
_UNCLOSED = frozenset("p br hr li tr td th dd dt img f".split())
"""Elements whose end tag is usually omitted."""
_ATTRIBUTES = r"""(?:\s+[\w:-]+\s*=\s*(?:"[^"]*"|'[^']*'|[^\s"']+))+"""
_TAG = re.compile(rf"<(?P<end>/)?(?P<name>[A-Za-z][\w.:-]*)(?P<attributes>{_ATTRIBUTES})?\s*/?>")
_MOST_NAMES = 100
_PAGE_TITLE = starts("title")
_UNSEEN = re.compile(r"<(script|style|noscript|title)\b|<!--", re.I)

# Entities of the TREC discs; HTML lacks some of them, or defines them otherwise.
_ENTITIES = {"&hyph;": "-", "&blank;": " ", "&cir;": "°", "&bull;": "•"}
_WRITTEN_DATE = re.compile(
    r"[A-Z][a-z]+\.? \d{1,2}, \d{4}|\d{1,2} [A-Z][a-z]+\.? \d{4}|\d{4}-\d\d-\d\d"
)


@dated
def read(sources: Sequence[Path], options: ReadOptions) -> Iterator[Record]:
    """Yield the documents in the order of the files and of their lines; a line not in UTF-8 is read
    as Latin-1.

    ``options.max_file_bytes`` limits the length of a document. In a folder, a file that contains no
    document is counted as left out.
    """
    named = {source for source in sources if not source.is_dir()}
    for path in expand(sources, ("",), options):
        documents = 0
        for place, source in _docs(path, options):
            documents += 1
            if record := _record(place, source, options):
                yield record
        if not documents and path in named:
            is_dump = shape_of(path).cells[:1] == ("mediawiki",)
            raise SourceError(
                "contains no <DOC>; it is not a TREC collection",
                place=path,
                remedy=f"it is a dump of MediaWiki: {MEDIAWIKI}" if is_dump else "",
            )
        if not documents:
            options.leave_out(path, "file without <DOC>")


def _docs(path: Path, options: ReadOptions) -> Iterator[tuple[str, str]]:
    """Yield the place and the source of each document; report one that does not end before the
    next, or is too long.
    """
    place, parts, size = "", list[str](), 0
    for here, piece in _pieces(path, options):
        start = _START.match(piece.lstrip()) if place else _START.search(piece)
        if start and place:
            options.bad_lines.report(place, f"<DOC> is not closed before the next <DOC> at {here}")
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
            yield place, "\n".join(parts)
            place = ""
    if place:
        options.bad_lines.report(place, "<DOC> is not closed before the file ends")


def _pieces(path: Path, options: ReadOptions) -> Iterator[tuple[str, str]]:
    """Yield the lines, cut after each end tag, so that no piece has parts of two documents."""
    for place, line in read_lines(path, options, fallback="latin-1"):
        begin = 0
        for end in _END.finditer(line):
            yield place, line[begin : end.end()]
            begin = end.end()
        yield place, line[begin:]


def _record(place: str, source: str, options: ReadOptions) -> Record | None:
    docid = first_inside(source, _ID)
    if docid is None and (attribute := _ID_ATTRIBUTE.search(source)):
        docid = attribute[1]
    if docid is None:
        options.bad_lines.report(place, "<DOC> has no <DOCNO>")
        return None
    body = _CDATA.sub(lambda match: escape(match[1], quote=False), source)
    start, ends = _START.search(body), list(_END.finditer(body))
    body = without(body[start.end() if start else 0 : ends[-1].start() if ends else None], _ID)
    header = next(elements(body, _WEB_HEADER), None)
    fields = _web_fields(body, header) if header else _news_fields(body, options)
    fields["docid"] = unescape(docid).strip()
    return make_record(fields, place, options)


def _news_fields(body: str, options: ReadOptions) -> dict[str, str]:
    closed = {name.lower() for name in re.findall(r"</([A-Za-z][\w.:-]*)", body)}

    def is_tag(written: str) -> bool:
        """Return whether text in angle brackets is a tag, and not the text between two inequality
        signs.
        """
        tag = _TAG.fullmatch(written)
        if tag is None or tag["end"] or tag["attributes"]:
            return tag is not None
        name = tag["name"]
        return (
            name.lower() in closed
            or name.lower() in _UNCLOSED
            or (name.isupper() and len(name) > 1)
        )

    texts, titles, dates, others = list[str](), list[str](), list[str](), list[tuple[str, str]]()

    def collect(source: str, header: str = "") -> None:
        position = 0
        for start, end in (*elements(source, _ANY), (None, None)):
            beside = _plain(source[position : start.start() if start else None], is_tag)
            others.append((header, beside)) if header else texts.append(beside)
            if start is None or end is None:
                return
            position = end.end()
            name = start[1].lower()
            inner = source[start.end() : end.start()]
            if name in _WHOLE or name in _HEADERS:
                collect(inner, name if name in _HEADERS else header)
            elif name not in _OTHER:
                taken = {
                    **dict.fromkeys(_TEXT, texts),
                    **dict.fromkeys(_TITLE, titles),
                    **dict.fromkeys(_DATE, dates),
                }
                text = _plain(inner, is_tag)
                taken[name].append(text) if name in taken else others.append((name, text))

    collect(body)
    if not any(texts):
        texts = [text for _, text in others]
    else:
        for name in (name for name, text in others if text):
            reason = f"<{name.upper()[:40]}> elements outside the text"
            known = reason in options.skipped or len(options.skipped) < _MOST_NAMES
            options.skipped[reason if known else "other elements outside the text"] += 1
    title = " ".join(" ".join(titles).split())
    return {"text": "\n".join(filter(None, texts)), "title": title, "date": _date(dates)}


def _web_fields(body: str, header: Element) -> dict[str, str]:
    start, end = header
    lines, page = body[start.end() : end.start()].strip().splitlines(), body[end.end() :]
    visible = _INLINE.sub("", without(page, _UNSEEN, " "))
    return {
        "text": _plain(without_tags(visible, "\n")),
        "title": " ".join(_plain(first_inside(page, _PAGE_TITLE) or "").split()),
        "url": lines[0].split()[0] if lines else "",
    }


def _plain(source: str, is_tag: Callable[[str], bool] = bool) -> str:
    text = _INLINE.sub(lambda match: "" if is_tag(match[0]) else match[0], source)
    text = without_tags(text, " ", is_tag)
    for entity, character in _ENTITIES.items():
        text = text.replace(entity, character)
    lines = (" ".join(line.split()) for line in unescape(text).split("\n"))
    return "\n".join(line for line in lines if line)


def _date(written: Sequence[str]) -> str:
    """Return the first readable date, else the first one.

    Two-digit years, as in ``870324``, mean 1969 to 2068.
    """
    dates = []
    for text in (" ".join(date.split()) for date in written):
        if re.fullmatch(r"\d{6}", text):
            dates.append(f"{'19' if text >= '69' else '20'}{text[:2]}-{text[2:4]}-{text[4:]}")
        elif not clean_date(text) and (match := _WRITTEN_DATE.search(text)):
            dates.append(match[0])
        else:
            dates.append(text)
    return next(
        (date for date in dates if clean_date(date) or order_of(date)), next(iter(dates), "")
    )
