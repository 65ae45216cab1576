"""Turn the bytes of a web page into its main text, title, date, language and address."""

from __future__ import annotations

import codecs
import logging
import re
from itertools import islice
from typing import Any, NamedTuple

from ...retrieval.records.table_shape import known_binary, shape_of_start
from ._markup import attributes

# Dates are searched in the page's markup and address alone, and never against today's date: what is found
# must not depend on the day of the build. ``2100`` only keeps out numbers that are no years.
_LATEST = "2100-01-01"

_BINARY = (
    (b"\x89PNG\r\n\x1a\n", "an image (PNG)"),
    (b"\xff\xd8\xff", "an image (JPEG)"),
    (b"GIF87a", "an image (GIF)"),
    (b"GIF89a", "an image (GIF)"),
    (b"BM", "an image (BMP)"),
    (b"\x00\x00\x01\x00", "an image (ICO)"),
    (b"%PDF-", "a PDF document"),
    (b"{\\rtf", "a rich-text document"),
    (b"PK\x03\x04", "a ZIP archive or an office document"),
    (b"\xd0\xcf\x11\xe0", "an office document"),
    (b"\x1f\x8b", "gzip data"),
    (b"\x7fELF", "a program"),
    (b"MZ", "a program"),
    (b"OggS", "a sound or video"),
    (b"ID3", "a sound"),
    (b"wOFF", "a font"),
    (b"wOF2", "a font"),
)
_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)

# Names that pages write, and what browsers read them as (the Encoding Standard).
_MEANT = {
    "ascii": "cp1252",
    "us-ascii": "cp1252",
    "latin1": "cp1252",
    "iso-8859-1": "cp1252",
    "iso8859-1": "cp1252",
    "iso-8859-9": "cp1254",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "shift-jis": "cp932",
    "x-sjis": "cp932",
    "euc-kr": "cp949",
    "ks_c_5601-1987": "cp949",
    "iso-8859-8-i": "iso-8859-8",
    "windows-874": "cp874",
}
_SEVEN_BIT = ("iso-2022", "hz", "utf-7", "utf-16", "utf-32")  # their bytes can pass for UTF-8 and are not
_CHARSETS = re.compile(r"utf-(?:8|16|32)|cp\d|ptcp|iso8859|iso2022|koi8|mac-|gb|big5|euc|hz|shift_jis|johab|tis|kz")
_META_CHARSET = re.compile(rb"""<(?:meta|\?xml)[^>]*?(?:charset|encoding)\s*+=\s*+["']?\s*+([\w:.-]+)""", re.I)

# Browsers go on after an early </body> or </html>; the parser would drop all that follows.
_END_OF_PAGE = re.compile(r"</(?:body|html)\s*>", re.I)


MOST_ELEMENTS = 100_000
"""Elements of a page: to find its main content takes about 70 microseconds each. The largest real ones have a tenth."""
MOST_ATTRIBUTES, MOST_ATTRIBUTES_OF_ONE = 300_000, 1_000
"""Attributes of a page, and of one element: the parser's time grows with the square of the latter."""

_LONGEST_ATTRIBUTE = 1_000
_LONG_ATTRIBUTES = f"//@*[string-length(.) > {_LONGEST_ATTRIBUTE} and (contains(., '<') or name(..) = 'meta')]"
"""Attributes that the parser and trafilatura may take the square of their length for. No title or date is longer."""
_MOST_MARKS = 1_000
_COSTLY_MARKS = ("<!--", '"author"', '"publisher"', 'erson"')
"""What trafilatura looks for in JSON-LD; of each it may look through all that follows."""
_LONG_NAME = re.compile(r'"(?:author|creator|name|(?:given|family|additional)Name)"\s*+:\s*+\[?\s*+"[^"]{1000}')


class PageTooLargeError(Exception):
    """A page has more elements or attributes than are read."""


class Page(NamedTuple):
    """The content of a web page; unknown is ``""``."""

    text: str
    title: str
    url: str
    date: str
    language: str


def binary_kind(content: bytes) -> str:
    """Return the kind of ``content`` if it is not text, else ``""``."""
    if content.startswith(tuple(mark for mark, _ in _MARKS)):
        return ""
    for magic, kind in _BINARY:
        if content.startswith(magic) and (len(magic) > 2 or b"\0" in content[:64]):
            return kind
    if content[:4] == b"RIFF":
        return "an image (WebP)" if content[8:12] == b"WEBP" else "a sound or video"
    if content[4:8] == b"ftyp":
        return "a video or an image (ISO media)"
    if b"\0" not in content[:4096]:
        return known_binary(content[:4096])
    return shape_of_start(content[:4096]).content or "binary data"


def decode(content: bytes, charset: str = "") -> str:
    """Return a page's text: decoded by its byte-order mark, as UTF-8 if it is that, as it declares, or by a guess.

    ``charset`` is what the HTTP header said. Text that is UTF-8 but for a few bytes, as in a page that was cut,
    is read as UTF-8 with replacement characters.
    """
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return content[len(mark) :].decode(encoding, "replace")
    declared = _declared(content, charset)
    tries = [name for name in declared if name.startswith(_SEVEN_BIT)]
    for encoding in (*tries, "utf-8"):
        if (text := _strict(content, encoding)) is not None:
            return text
    lenient = content.decode("utf-8", "replace")
    broken = lenient.count("\ufffd")
    if broken * 4 < sum(character > "\x7f" for character in lenient):
        return lenient
    for encoding in (*declared, *_guessed(content)):
        if (text := _strict(content, encoding)) is not None:
            return text
    return content.decode(declared[0] if declared else "cp1252", "replace")


def extract(source: str, url: str = "", latest: str = "") -> Page | None:
    """Return the main content of an HTML page, or ``None`` if it has none.

    ``url`` is the address it was fetched from, if that is known; ``latest`` is the day (ISO) of the fetch, which
    the page's date cannot pass. Nothing is fetched, and the answer does not depend on the day.
    Raises ValueError if the page cannot be parsed, PageTooLargeError if that would take too long: if it has more
    elements than ``MOST_ELEMENTS`` or attributes than ``MOST_ATTRIBUTES``, or an element ``MOST_ATTRIBUTES_OF_ONE``.
    """
    trafilatura = _trafilatura()
    tree = _tree(source)
    if tree is None:
        return None
    try:
        extracted = trafilatura.bare_extraction(
            tree,
            url=url or None,
            favor_recall=True,
            include_comments=False,
            with_metadata=True,
            date_extraction_params={"original_date": True, "extensive_search": False, "max_date": latest or _LATEST},
        )
    except (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError) as error:
        raise ValueError(f"cannot be parsed: {type(error).__name__}") from error
    text = _tidy(extracted.text or "") if extracted else ""
    if not text:
        return None
    title = _title(extracted.title or "", tree)
    return Page(_below(title, text), title, _address(extracted.url), extracted.date or "", _declared_language(tree))


def _trafilatura() -> Any:
    """Import trafilatura and keep it from logging what the reader reports itself."""
    import trafilatura

    for name in ("trafilatura", "htmldate", "courlan", "charset_normalizer"):
        logging.getLogger(name).setLevel(logging.CRITICAL + 1)
    return trafilatura


def _tree(source: str) -> Any:
    """Parse a page, or return ``None`` if there is nothing in it."""
    from trafilatura.utils import load_html

    check_attributes(source)
    whole = _END_OF_PAGE.sub("", source)
    tree = load_html(whole)
    if tree is None and whole.strip():  # a fragment, which trafilatura refuses
        tree = load_html(f"<html><body><div>{whole}</div></body></html>")
    if tree is not None and next(islice(tree.iter(), MOST_ELEMENTS, None), None) is not None:
        raise PageTooLargeError(f"page of more than {MOST_ELEMENTS:,} elements")
    if tree is not None:
        _cut(tree)
    return tree


def _cut(tree: Any) -> None:
    """Cut what a parsed page says of itself where reading it would take the square of its length."""
    for value in tree.xpath(_LONG_ATTRIBUTES):
        value.getparent().set(value.attrname, value[:_LONGEST_ATTRIBUTE])
    for script in tree.iter("script"):
        text = script.text or ""
        marks = [text.count("<", text.rfind(">") + 1), *map(text.count, _COSTLY_MARKS)]
        if max(marks) > _MOST_MARKS or _LONG_NAME.search(text):
            script.text = ""


def check_attributes(source: str) -> None:
    """Raise PageTooLargeError if a page, or one of its elements, has more attributes than are read."""
    total = 0
    for count in attributes(source, MOST_ATTRIBUTES_OF_ONE):
        total += count
        if count > MOST_ATTRIBUTES_OF_ONE:
            raise PageTooLargeError(f"page with an element of more than {MOST_ATTRIBUTES_OF_ONE:,} attributes")
        if total > MOST_ATTRIBUTES:
            raise PageTooLargeError(f"page of more than {MOST_ATTRIBUTES:,} attributes")


def _tidy(text: str) -> str:
    """Return a text with single spaces, without blank lines and without the bars around the rows of tables."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(tidy for line in lines if (tidy := _row(line) if line.startswith("|") else line))


def _below(title: str, text: str) -> str:
    """Return the text without a first line that only says the title again: the title is kept and indexed apart."""
    heading, _, rest = text.partition("\n")
    return rest if rest and heading.casefold() == title.casefold() else text


def _row(line: str) -> str:
    """Return the cells of a row of a table that hold something, with bars between them alone."""
    cells = (cell.strip() for cell in line.replace("\\|", "|").split("|"))
    return " | ".join(cell for cell in cells if cell.strip("-"))


def _title(extracted: str, tree: Any) -> str:
    """Return the extracted title, or the page's own if the two share few words: then it heads something else."""
    own = " ".join((tree.findtext(".//title") or "").split())
    words, own_words = set(re.findall(r"\w+", extracted.lower())), set(re.findall(r"\w+", own.lower()))
    title = extracted if extracted and (not own_words or 2 * len(words & own_words) >= len(words)) else own
    return " ".join(title.split())


def _address(url: str | None) -> str:
    """Return an address of the web, or ``""``."""
    return url if url and re.match(r"https?://", url) else ""


def _declared_language(tree: Any) -> str:
    """Return the language that the page's root element declares."""
    for name in ("lang", "xml:lang", "{http://www.w3.org/XML/1998/namespace}lang"):
        if tree.get(name):
            return str(tree.get(name))
    return ""


def _declared(content: bytes, charset: str) -> list[str]:
    """Return the encodings that the header and the page declare, as browsers mean them, those that are known."""
    names = [charset]
    if match := _META_CHARSET.search(content[:4096]):
        inside = match[1].decode("ascii", "ignore")
        names.append("utf-8" if inside.lower().startswith("utf-16") else inside)  # it was read as single bytes
    meant = [_MEANT.get(name.strip().lower(), name.strip().lower()) for name in names if name.strip()]
    return [name for name in dict.fromkeys(meant) if _is_charset(name)]


def _is_charset(name: str) -> bool:
    """Return whether Python knows ``name`` as an encoding of text on the web, which ``hex`` and ``idna`` are not."""
    try:
        return _CHARSETS.match(codecs.lookup(name).name) is not None
    except (LookupError, ValueError):
        return False


def _guessed(content: bytes) -> list[str]:
    """Return the encodings that the bytes look like, best first; a few odd bytes tell nothing."""
    from trafilatura.utils import detect_encoding

    if sum(byte > 0x7F for byte in content[:100_000]) < 8:
        return ["cp1252"]
    guesses = (name.replace("_", "-") for name in detect_encoding(content))
    return [name for name in guesses if not name.startswith(_SEVEN_BIT)]  # without a mark they would hold NUL bytes


def _strict(content: bytes, encoding: str) -> str | None:
    """Decode ``content``, or return ``None`` if it is not in that encoding or there is no such encoding."""
    try:
        return content.decode(encoding)
    except (LookupError, ValueError):
        return None
