"""Check XML from the web before it is parsed: no declarations, limited depth and number."""

from __future__ import annotations

import re
from xml.parsers.expat import ExpatError, ParserCreate, errors

MOST_DEPTH = 100
MOST_ELEMENTS = 2_000_000
"""The limits of a feed or sitemap; the largest sitemap has 50,000 addresses of five elements."""
_DECLARATION = re.compile(
    rb"<!(?:ENTITY|ELEMENT|ATTLIST|NOTATION)|<\0!\0E\0N\0T\0|\0<\0!\0E\0N\0T", re.I
)

_DECLARED = re.compile(rb"""\s*<\?xml\b[^>]*?\bencoding\s*=\s*["']([\w.:-]{1,40})["'][^>]*>""")
_ODD_ENCODING = "is in an encoding that feeds and sitemaps do not use"
_ODD_ENCODINGS = (b"\0\0\xfe\xff", b"\xff\xfe\0\0", b"\0\0\0<", b"<\0\0\0", b"\x4c\x6f\xa7\x94")
"""The beginnings of XML in UTF-32 and EBCDIC, in which a declaration would not be seen."""


class UnsafeMarkupError(Exception):
    """XML declares what it should not, or is too large, as the message says."""


def check_markup(content: bytes) -> None:
    """Raise UnsafeMarkupError if XML declares entities, or is nested too deeply or too large.

    XML that is not well-formed is checked up to its first error: feeds often have one.
    """
    if content.startswith(_ODD_ENCODINGS):
        raise UnsafeMarkupError(_ODD_ENCODING)
    try:
        _check_utf8(content)
    except ValueError:  # the parser knows no encodings such as GBK and Shift JIS
        _check_utf8(_in_utf8(content))


def _in_utf8(content: bytes) -> bytes:
    """Return XML in UTF-8, decoded as it declares; raise UnsafeMarkupError if that is unknown."""
    declared = _DECLARED.match(content)
    if declared is None:
        raise UnsafeMarkupError(_ODD_ENCODING)
    try:
        text = content[declared.end() :].decode(declared[1].decode("ascii"), "replace")
    except (LookupError, UnicodeError):
        raise UnsafeMarkupError(_ODD_ENCODING) from None
    return text.encode("utf-8", "replace")


def _check_utf8(content: bytes) -> None:
    """Check XML in UTF-8, UTF-16 or an encoding of single bytes; raise ValueError for others."""
    if _DECLARATION.search(content):
        raise UnsafeMarkupError("declares entities or elements of its own")
    parser = ParserCreate()
    depth = elements = 0

    def start(*_: object) -> None:
        nonlocal depth, elements
        depth += 1
        elements += 1
        if depth > MOST_DEPTH:
            raise UnsafeMarkupError(f"is nested more than {MOST_DEPTH} elements deep")
        if elements > MOST_ELEMENTS:
            raise UnsafeMarkupError(f"has more than {MOST_ELEMENTS:,} elements")

    def end(*_: object) -> None:
        nonlocal depth
        depth -= 1

    parser.StartElementHandler, parser.EndElementHandler = start, end
    try:
        parser.Parse(content, True)
    except ExpatError as error:
        if error.code == errors.codes[errors.XML_ERROR_NO_MEMORY]:
            raise UnsafeMarkupError("needs too much memory") from None
