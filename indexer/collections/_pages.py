"""Turn the bytes of a web page into its main text, title, date, language and address."""

from __future__ import annotations

import codecs
import logging
import re
import unicodedata
from collections.abc import Iterator
from contextlib import suppress
from copy import deepcopy
from itertools import islice
from typing import Any, NamedTuple

from ...core.records.dates import ORDERS, clean_date, order_of
from ...core.records.table_shape import known_binary, shape_of_start
from ._linked_data import BrokenScriptError, parse_script
from ._markup import attributes

# Dates are searched only in the page's markup and address, never compared with today's date: the
# result must not depend on the day of the build. ``2100`` only excludes numbers that are not years.
_LATEST = "2100-01-01"

_BINARY = {
    "an image (PNG)": (b"\x89PNG\r\n\x1a\n",),
    "an image (JPEG)": (b"\xff\xd8\xff",),
    "an image (GIF)": (b"GIF87a", b"GIF89a"),
    "an image (BMP)": (b"BM",),
    "an image (ICO)": (b"\x00\x00\x01\x00",),
    "a PDF document": (b"%PDF-",),
    "a rich-text document": (b"{\\rtf",),
    "a ZIP archive or an office document": (b"PK\x03\x04",),
    "an office document": (b"\xd0\xcf\x11\xe0",),
    "gzip data": (b"\x1f\x8b",),
    "a program": (b"\x7fELF", b"MZ"),
    "a sound or video": (b"OggS",),
    "a sound": (b"ID3",),
    "a font": (b"wOFF", b"wOF2"),
}
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# The names of encodings in pages, and the encodings that browsers use for these names (the Encoding
# Standard).
_MEANT = {
    **dict.fromkeys(("ascii", "us-ascii", "latin1", "iso-8859-1", "iso8859-1"), "cp1252"),
    **dict.fromkeys(("shift_jis", "shift-jis", "x-sjis"), "cp932"),
    **dict.fromkeys(("gb2312", "gbk"), "gb18030"),
    **dict.fromkeys(("euc-kr", "ks_c_5601-1987"), "cp949"),
    **{"iso-8859-9": "cp1254", "iso-8859-8-i": "iso-8859-8", "windows-874": "cp874"},
}
# Their bytes look like UTF-8 but are not.
_SEVEN_BIT = ("iso-2022", "hz", "utf-7", "utf-16", "utf-32")
_CHARSETS = re.compile(
    r"utf-(?:8|16|32)|cp\d|ptcp|iso8859|iso2022|koi8|mac-|gb|big5|euc|hz|shift_jis|johab|tis|kz"
)
_META_CHARSET = re.compile(
    rb"""<(?:meta|\?xml)[^>]*?(?:charset|encoding)\s*+=\s*+["']?\s*+([\w:.-]+)""", re.I
)

# Browsers continue after an early </body> or </html>; the parser would drop all that follows.
_END_OF_PAGE = re.compile(r"</(?:body|html)\s*>", re.I)


MOST_ELEMENTS = 100_000
"""The maximum number of elements of a page.

Large pages have 10,000; an element takes about 70 microseconds.
"""
MOST_ATTRIBUTES, MOST_ATTRIBUTES_OF_ONE = 300_000, 1_000
"""The maximum number of attributes of a page, and of one element.

Parsing time grows with the square of the latter.
"""

_LONGEST_ATTRIBUTE = 1_000
_LONG_ATTRIBUTES = (
    f"//@*[string-length(.) > {_LONGEST_ATTRIBUTE} and (contains(., '<') or name(..) = 'meta')]"
)
"""Long attributes, for which the parser and trafilatura may take quadratic time.

No title or date is so long.
"""
_MOST_MARKS = 1_000
_COSTLY_MARKS = ("<!--", '"author"', '"publisher"', 'erson"')
"""Strings that trafilatura searches for in JSON-LD; at each occurrence, it may search all the text
that follows.
"""
_LONG_NAME = re.compile(
    r'"(?:author|creator|name|(?:given|family|additional)Name)"\s*+:\s*+\[?\s*+"[^"]{1000}'
)


_BREAK = "\u240a"
"""Marks a line end that the search for the main content would lose."""
_CELLS = "self::li or self::td or self::th or self::dd or self::dt"
_HEADINGS = (
    "//*[self::h1 or self::h2 or self::h3 or self::h4 or self::h5 or "
    f"self::h6][ancestor::*[{_CELLS}]]"
)
_BLOCKS = frozenset(
    "address article aside blockquote div dl figure footer form header ol p pre section table "
    "ul".split()
)
_RAISED_NUMBER = re.compile(r"[+−–-]?\d[\d.,–-]*")
_RAISED_DIGITS = re.compile(r"(?<=\d)[⁺⁻]?[⁰¹²³⁴⁵⁶⁷⁸⁹]+")
_NOTE = re.compile(r"[\[(]?(?:\d{1,3}|[a-z]{1,2}|[*†‡§]+|↑|↩)[\])]?", re.I)
_BLANKS = " \t\r\n\f\u00a0\u200b\ufeff"
_NOTED = re.compile(r"note|\bfn|\bref|cite", re.I)
_LONG_LINE = 40
"""A line of at least this many letters is dropped if it repeats the line before; shorter lines may
be a refrain.
"""
_FEWEST_WORDS = 20
"""A part of a page with at least this many words is left out if it repeats an earlier part."""
_HEADING_TAGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
_CONTAINERS = frozenset("article body div main section td".split())
_RUNNING = frozenset(
    "a abbr b big cite code em font i kbd mark q s small span strong sub sup tt u".split()
)
_UPDATED = re.compile(r"updat|modif|revis", re.I)

_PUBLISHED = (
    "article:published_time og:published_time og:article:published_time datepublished "
    "article:published "
    "rnews:datepublished cxenseparse:recs:publishtime dc.date.issued dcterms.issued "
    "dc.date.created dcterms.created "
    "dc.date dcterms.date datecreated date pubdate publishdate publish-date publish_date "
    "publication_date "
    "citation_publication_date citation_date sailthru.date parsely-pub-date"
).split()
"""The names of ``meta`` elements that give the publication day, most reliable first."""
_NOT_OF_PAGE = re.compile(
    r"comment|related|recommend|sidebar|widget|teaser|promo|trending|popular|read-?next", re.I
)
_ASIDE = ("aside", "nav", "footer")
_DATED = re.compile(
    r"(?:^|[\s_-])(?:date|datum|fecha|pubdate|published|posted|timestamp|dateline|time)(?:$|[\s_-])",
    re.I,
)
_LONGEST_DATE = 80
"""The maximum number of letters in an element that shows a date, including the text around the
date.
"""
_TERM = re.compile(
    r"\b(?:until|till|through|before|after|from|since|by|bis|ab|seit|hasta|desde|jusqu\w*|حتى|منذ)\b[^.]*\d",
    re.I,
)
"""Text that mentions a period or deadline, and not the day of publication."""
_MONTH = r"[A-Z][a-z]{2,8}\.?"
_DATE_IN_TEXT = re.compile(
    rf"\b\d{{4}}-\d\d-\d\d(?:T[\d:.]+(?:Z|[+-]\d\d:?\d\d)?)?|\b\d{{1,2}}(?:st|nd|rd|th)? "
    rf"{_MONTH},? \d{{4}}\b"
    rf"|\b{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? "
    rf"\d{{4}}\b|\b\d{{1,2}}([./-])\d{{1,2}}\1(?:\d{{4}}|\d\d)\b"
)
_UNREAD_DATE = re.compile(r"\b\d{1,2}\W{1,3}\w{3,}\W{1,3}\d{4}\b")
"""A day with the name of a month in any language, known or not."""
_INNER = frozenset(
    "comment review itemReviewed isPartOf mentions citation hasPart itemListElement "
    "subjectOf".split()
)
"""Properties of linked data whose objects are not the page itself."""


_HASH_BASE, _HASH_SIZE = 1_000_003, 2**61 - 1


class PageTooLargeError(Exception):
    """A page has more elements or attributes than the reader allows."""


class Page(NamedTuple):
    """The content of a web page.

    Unknown values are ``""``; a date that cannot be read is kept as written.
    """

    text: str
    title: str
    url: str
    date: str
    language: str


def binary_kind(content: bytes) -> str:
    """Return the kind of ``content`` if it is not text, else ``""``."""
    if content.startswith(tuple(mark for mark, _ in _MARKS)):
        return ""
    for kind, magics in _BINARY.items():
        if any(
            content.startswith(magic) and (len(magic) > 2 or b"\0" in content[:64])
            for magic in magics
        ):
            return kind
    if content[:4] == b"RIFF":
        return "an image (WebP)" if content[8:12] == b"WEBP" else "a sound or video"
    if content[4:8] == b"ftyp":
        return "a video or an image (ISO media)"
    if b"\0" not in content[:4096]:
        return known_binary(content[:4096])
    return shape_of_start(content[:4096]).content or "binary data"


def decode(content: bytes, charset: str = "") -> str:
    """Return a page's text, decoded by its byte-order mark, else as UTF-8 if valid, else as
    declared, else by a guess.

    ``charset`` comes from the HTTP header. A declared encoding whose bytes look like UTF-8, such as
    ISO-2022-JP, is tried before UTF-8. Text with a few bytes that are not UTF-8, such as a
    truncated page, is read as UTF-8.
    """
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return content[len(mark) :].decode(encoding, "replace")
    declared = _read_declared(content, charset)
    text = _decode_as(
        [*(name for name in declared if name.startswith(_SEVEN_BIT)), "utf-8"], content
    )
    if text is not None:
        return text
    lenient = content.decode("utf-8", "replace")
    if lenient.count("\ufffd") * 4 < sum(character > "\x7f" for character in lenient):
        return lenient
    text = _decode_as([*declared, *_guess_encodings(content)], content)
    return (
        content.decode(declared[0] if declared else "cp1252", "replace") if text is None else text
    )


def extract(source: str, url: str = "", latest: str = "") -> Page | None:
    """Return the main content of an HTML page, or ``None`` if it has none.

    ``url`` is the address of the page, if known. ``latest`` is the day (ISO) of the fetch; the
    page's date cannot be later. Nothing is fetched, and the result does not depend on the current
    day. Raises ValueError if the page cannot be parsed, PageTooLargeError if parsing would take too
    long.
    """
    import trafilatura

    # The reader reports errors itself.
    for name in ("trafilatura", "htmldate", "courlan", "charset_normalizer"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    tree = _tree(source)
    if tree is None:
        return None
    date = _date(tree, url, latest or _LATEST)
    _drop_copies(tree)
    _mark_breaks(tree)
    _mark_raised(tree)
    try:
        extracted: Any = trafilatura.bare_extraction(
            tree,
            url=url or None,
            favor_recall=True,
            include_comments=False,
            with_metadata=True,
            date_extraction_params={
                "original_date": True,
                "extensive_search": False,
                "max_date": latest or _LATEST,
            },
        )
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError) as error:
        raise ValueError(f"cannot be parsed: {type(error).__name__}") from error
    text = _tidy(extracted.text or "") if extracted else ""
    if not text:
        return None
    title = _title(extracted.title or "", tree)
    heading, _, rest = text.partition("\n")
    if rest and heading.casefold() == title.casefold():  # the title is indexed separately
        text = rest
    address = extracted.url if re.match(r"https?://", extracted.url or "") else ""
    names = ("lang", "xml:lang", "{http://www.w3.org/XML/1998/namespace}lang")
    language = next((str(tree.get(name)) for name in names if tree.get(name)), "")
    return Page(text, title, address, date, language)


def _tree(source: str) -> Any:
    from trafilatura.utils import load_html

    check_attributes(source)
    whole = _END_OF_PAGE.sub("", source)
    tree = load_html(whole)
    if tree is None and whole.strip():  # a fragment, which trafilatura rejects
        tree = load_html(f"<html><body><div>{whole}</div></body></html>")
    if tree is None:
        return None
    if next(islice(tree.iter(), MOST_ELEMENTS, None), None) is not None:
        raise PageTooLargeError(f"page of more than {MOST_ELEMENTS:,} elements")
    # Cut attributes and scripts that would take quadratic time to read.
    for value in tree.xpath(_LONG_ATTRIBUTES):
        value.getparent().set(value.attrname, value[:_LONGEST_ATTRIBUTE])
    for script in tree.iter("script"):
        text = script.text or ""
        marks = [text.count("<", text.rfind(">") + 1), *map(text.count, _COSTLY_MARKS)]
        if max(marks) > _MOST_MARKS or _LONG_NAME.search(text):
            script.text = ""
    return tree


def check_attributes(source: str) -> None:
    """Raise PageTooLargeError if a page, or one of its elements, has too many attributes."""
    total = 0
    for count in attributes(source, MOST_ATTRIBUTES_OF_ONE):
        total += count
        if count > MOST_ATTRIBUTES_OF_ONE:
            raise PageTooLargeError(
                f"page with an element of more than {MOST_ATTRIBUTES_OF_ONE:,} attributes"
            )
        if total > MOST_ATTRIBUTES:
            raise PageTooLargeError(f"page of more than {MOST_ATTRIBUTES:,} attributes")


def _drop_copies(tree: Any) -> None:
    """Leave out a part of a page that repeats the words of an earlier part, such as a copy for
    small screens.
    """
    from lxml.etree import iterwalk  # type: ignore[import-untyped]

    sums, starts = [0], dict[Any, int]()  # rolling hashes of the first n words
    powers, seen, copies = [1], dict[tuple[int, int], int](), list[Any]()

    def add(text: str | None) -> None:
        for word in (text or "").split():
            sums.append((sums[-1] * _HASH_BASE + hash(word)) % _HASH_SIZE)
            powers.append(powers[-1] * _HASH_BASE % _HASH_SIZE)

    for event, element in iterwalk(tree, events=("start", "end")):
        if event == "start":
            starts[element] = len(sums) - 1
            add(element.text if element.tag not in ("script", "style") else "")
            continue
        start, end = starts.pop(element), len(sums) - 1
        if element.tag in ("article", "div", "section") and end - start >= _FEWEST_WORDS:
            words = (sums[end] - sums[start] * powers[end - start]) % _HASH_SIZE, end - start
            if seen.setdefault(words, end) <= start:
                copies.append(element)
        add(element.tail)
    for copy in copies:
        if copy.getparent() is not None:
            copy.drop_tree()


def _mark_breaks(tree: Any) -> None:
    """Mark the line ends around headings in cells and list items, and between a block and the text
    next to it.
    """
    for heading in [element for element in tree.iter() if element.tag in _HEADING_TAGS]:
        _wrap_tail(heading)
    for heading in tree.xpath(_HEADINGS):
        heading.tail = f"{_BREAK}{heading.tail or ''}"
        _append_before(heading, _BREAK)
    for block in [element for element in tree.iter() if element.tag in _BLOCKS]:
        parent, before = block.getparent(), block.getprevious()
        if parent is None or parent.tag not in (
            "div",
            "li",
            "td",
            "th",
            "dd",
            "section",
            "article",
            "blockquote",
        ):
            continue
        if ((parent.text if before is None else before.tail) or "").strip():
            _append_before(block, _BREAK)
        if (block.tail or "").strip():
            block.tail = f"{_BREAK}{block.tail}"


def _wrap_tail(heading: Any) -> None:
    """Move the text after a heading into its own paragraph: else it would be lost, or be joined to
    the heading.
    """
    parent, text = heading.getparent(), heading.tail or ""
    if parent is None or parent.tag not in _CONTAINERS or not text.strip():
        return
    paragraph = heading.makeelement("p")
    paragraph.text, heading.tail = text, None
    for following in list(heading.itersiblings()):
        if following.tag not in _RUNNING:
            break
        paragraph.append(following)
    heading.addnext(paragraph)


def _append_before(element: Any, text: str) -> None:
    before, parent = element.getprevious(), element.getparent()
    if before is not None:
        before.tail = f"{before.tail or ''}{text}"
    elif parent is not None:
        parent.text = f"{parent.text or ''}{text}"


def _mark_raised(tree: Any) -> None:
    """Separate superscript digits from the number before them, as in 10^6; leave out the numbers
    that link to notes.
    """
    for link in list(tree.iter("a")):
        text = "".join(islice(link.itertext(), 9)).strip(_BLANKS)
        _, mark, target = link.get("href", "").partition("#")
        raised = link.getparent().tag == "sup" or link.find(".//sup") is not None
        named = _NOTED.search(f"{target} {link.get('class', '')} {link.get('role', '')}")
        marked = (
            text
            and not text.isalpha()
            and (text[0] in "[(" or named or _text_before(link)[-1:].isdigit())
        )
        if mark and _NOTE.fullmatch(text) and (raised or marked):
            link.drop_tree()
    for raised in list(tree.iter("sup")):
        text = "".join(raised.itertext()).strip(_BLANKS)
        if not text or text in ("[]", "()"):
            raised.drop_tree()
        elif _RAISED_NUMBER.fullmatch(text) or (
            text[0].isdigit() and _text_before(raised)[-1:].isdigit()
        ):
            raised.text = f"^{text}"
            for part in list(raised):
                raised.remove(part)
            raised.drop_tag()


def _text_before(element: Any) -> str:
    before = element.getprevious()
    if before is None:
        return element.getparent().text or ""
    return before.tail or "".join(before.itertext())


def _date(tree: Any, url: str, latest: str) -> str:
    """Return the publication day of a page in ISO 8601, or the original date if it is ambiguous."""
    unclear = ""
    for written in _written_dates(tree):
        day = clean_date(written)
        if day and day <= latest:
            return day
        if not day and any(map(str.isdigit, written)):
            unclear = unclear or written
    if unclear:
        return unclear
    from htmldate import find_date

    rest = deepcopy(tree)
    orders = {
        order_of(match[0]) for text in tree.itertext() for match in _DATE_IN_TEXT.finditer(text)
    }
    order = next(iter(orders & set(ORDERS)), "") if len(orders & set(ORDERS)) == 1 else ""
    for part in list(rest.iter()):
        if (
            isinstance(part.tag, str)
            and part.tag not in ("html", "body")
            and (part.tag == "script" or _is_aside(part))
        ):
            part.drop_tree() if part.getparent() is not None else None
        for name in ("text", "tail") if isinstance(part.tag, str) else ():
            text = getattr(part, name) or ""
            is_prose = len(text) > _LONGEST_DATE or _TERM.search(text)
            setattr(
                part,
                name,
                _DATE_IN_TEXT.sub(
                    "" if is_prose else lambda date: clean_date(date[0], order), text
                ),
            )
    try:
        return (
            find_date(
                rest, url=url or None, original_date=True, extensive_search=False, max_date=latest
            )
            or ""
        )
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError):
        return ""


def _is_aside(element: Any) -> bool:
    """Return whether an element is not about the page's subject: comments, related pages, menus."""
    if element.tag in ("html", "body", "main", "article", "head"):
        return False
    return element.tag in _ASIDE or bool(
        _NOT_OF_PAGE.search(f"{element.get('class', '')} {element.get('id', '')}")
    )


def _written_dates(tree: Any) -> Iterator[str]:
    for script in tree.iter("script"):
        if "ld+json" in (script.get("type") or ""):
            with suppress(BrokenScriptError):
                yield from _linked_dates(parse_script((script.text or "").strip()))
    metas: dict[str, str] = {}
    for meta in tree.iter("meta"):
        for name in ("property", "name", "itemprop"):
            metas.setdefault((meta.get(name) or "").lower(), (meta.get("content") or "").strip())
    yield from (metas[name] for name in _PUBLISHED if metas.get(name))
    times, others, updates = list[str](), list[str](), list[str]()
    for element in tree.iter():
        if not isinstance(element.tag, str) or element.tag in (
            "html",
            "body",
            "meta",
            "script",
            "style",
        ):
            continue
        sure = element.get("itemprop") == "datePublished" or element.get("pubdate") is not None
        timed = sure or element.tag == "time"
        named = timed or _DATED.search(f"{element.get('class', '')} {element.get('id', '')}")
        if named and (written := _date_in(element)):
            listed = times if timed else others
            if not sure and _UPDATED.search(
                f"{element.get('class', '')} {element.get('itemprop', '')}"
            ):
                listed = updates
            listed.insert(0 if sure else len(listed), written)
    yield from (*times, *others, *updates)


def _date_in(element: Any) -> str:
    """Return the date in an element, ``""`` if it has none or is not about the page's subject."""
    if any(_is_aside(above) for above in (element, *islice(element.iterancestors(), 20))):
        return ""
    if written := element.get("datetime") or element.get("content"):
        return str(written)
    text = " ".join("".join(islice(element.itertext(), 20)).split())
    if len(text) > _LONGEST_DATE:
        return ""
    match = _DATE_IN_TEXT.search(text) or _UNREAD_DATE.search(text)
    return match[0] if match else ""


def _linked_dates(value: Any) -> Iterator[str]:
    level = [value]
    for _ in range(6):
        inner: list[Any] = []
        for part in level:
            if isinstance(part, dict):
                dates = (part.get(name) for name in ("datePublished", "dateCreated"))
                yield from (date for date in dates if isinstance(date, str))
                inner += [each for name, each in part.items() if name not in _INNER]
            elif isinstance(part, list):
                inner += part
        level = inner


def _tidy(text: str) -> str:
    """Return a text with single spaces, without blank lines, bars around rows, and long lines that
    repeat the last.
    """
    text = _RAISED_DIGITS.sub(lambda match: f"^{unicodedata.normalize('NFKC', match[0])}", text)
    kept = list[str]()
    for line in (" ".join(line.split()) for line in text.replace(_BREAK, "\n").splitlines()):
        tidy = line
        if line.startswith("|") or line.endswith("|"):
            cells = (cell.strip() for cell in line.strip("| ").replace("\\|", "|").split("|"))
            tidy = " | ".join(cell for cell in cells if cell.strip("-"))
        bare, last = tidy.removeprefix("- "), kept[-1].removeprefix("- ") if kept else ""
        if not bare.strip("-| ") or (len(bare) >= _LONG_LINE and bare == last):
            continue
        kept.append(tidy)
    return "\n".join(kept)


def _title(extracted: str, tree: Any) -> str:
    """Return the extracted title if half of its words are in the page's ``title`` element, else
    that element's text.
    """
    own = " ".join((tree.findtext(".//title") or "").split())
    words, own_words = (
        set(re.findall(r"\w+", extracted.lower())),
        set(re.findall(r"\w+", own.lower())),
    )
    title = (
        extracted
        if extracted and (not own_words or 2 * len(words & own_words) >= len(words))
        else own
    )
    return " ".join(title.split())


def _read_declared(content: bytes, charset: str) -> list[str]:
    """Return the known encodings that the header and the page declare, as browsers interpret
    them.
    """
    names = [charset]
    if match := _META_CHARSET.search(content[:4096]):
        inside = match[1].decode("ascii", "ignore")
        # The declaration is written in ASCII.
        names.append("utf-8" if inside.lower().startswith("utf-16") else inside)
    meant = [
        _MEANT.get(name.strip().lower(), name.strip().lower()) for name in names if name.strip()
    ]
    return [name for name in dict.fromkeys(meant) if _is_charset(name)]


def _is_charset(name: str) -> bool:
    try:
        return _CHARSETS.match(codecs.lookup(name).name) is not None
    except (LookupError, ValueError):
        return False


def _guess_encodings(content: bytes) -> list[str]:
    """Return the encodings that the bytes look like, best first.

    For fewer than 8 bytes beyond ASCII, return cp1252.
    """
    from trafilatura.utils import detect_encoding

    if sum(byte > 0x7F for byte in content[:100_000]) < 8:
        return ["cp1252"]
    guesses = (name.replace("_", "-") for name in detect_encoding(content))
    # UTF-16 without a mark would contain NULs.
    return [name for name in guesses if not name.startswith(_SEVEN_BIT)]


def _decode_as(encodings: list[str], content: bytes) -> str | None:
    for encoding in encodings:
        with suppress(LookupError, ValueError):
            return content.decode(encoding)
    return None
