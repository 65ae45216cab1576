"""Find objects of schema.org: as JSON-LD in the scripts of a page, or as microdata in its elements.

Each object is a dict whose names have no prefix ``schema:`` or ``https://schema.org/``. A reference
to another object of the same source (``{"@id": ...}`` alone) is followed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from ._markup import elements

Node = dict[str, Any]
# Find the end of the tag first; else the pattern would search for it again at each ``ld+json``.
_SCRIPT = re.compile(r"<(script)(?=\s[^<>]*+>)[^<>]*?ld\+json[^<>]*+>", re.I)
_STRING = r'("[^"\\]*+(?:\\.?[^"\\]*+)*(?:"|\Z))'
_SURROGATE_ESCAPE, _SURROGATE = re.compile(r"\\ud[89a-f]", re.I), re.compile("[\ud800-\udfff]")
_COMMENT = re.compile(rf"{_STRING}|//[^\n]*|/\*[^*]*+(?:\*(?!/)[^*]*+)*(?:\*/|\Z)", re.S)
_TRAILING_COMMA = re.compile(rf"{_STRING}|,(?=\s*[}}\]])", re.S)
_BAD_ESCAPE = re.compile(r"\\(u(?![0-9A-Fa-f]{4})|[^u])", re.S)
_BETWEEN = re.compile(r"(?:[\s;,\ufeff]|<!\[CDATA\[|\]\](?:>|&gt;)|<!--|-->)*", re.I)
"""Text that is not JSON, between and around the values of a script."""
_DECLARATION = re.compile(r"^\s*<\?xml[^>]*>")
"""The XML declaration of a page; lxml refuses a decoded text that has one."""
_VOCABULARY = re.compile(r"^(?:schema:|https?://(?:www\.)?schema\.org/)")
_ATTRIBUTES = {
    "a": "href",
    "area": "href",
    "link": "href",
    "img": "src",
    "audio": "src",
    "embed": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "object": "data",
    "time": "datetime",
    "data": "value",
    "meter": "value",
}
_PARTED = frozenset(
    "address article blockquote br dd div dl dt h1 h2 h3 h4 h5 h6 hr li ol p section table td th "
    "tr ul".split()
)
"""Elements that separate words."""
_DEEPEST = 100
_DEEPEST_LINKED = 4
"""The levels of an object of JSON-LD whose references are followed."""
_DEEPEST_REFERENCES, _MOST_REFERENCES = 2, 100
"""The levels of nested items of microdata whose references are followed, and the most references of
an item.

These references may be circular.
"""
_MOST_COPIED, _MOST_COPIED_IN_ALL = 10_000, 1_000_000
"""The maximum number of values that references may copy into one object, and into all objects of a
source.
"""
_MOST_STEPS, _LETTERS_A_STEP = 1_000_000, 16
"""The maximum number of elements to visit for the items of a page; ``_LETTERS_A_STEP`` letters
count as an element.
"""


class BrokenScriptError(ValueError):
    """A script that should contain JSON-LD does not."""


def scripts(page: str) -> Iterator[str]:
    for start, end in elements(page, _SCRIPT):
        yield page[start.end() : end.start()].strip("\ufeff \t\r\n")


def parse_script(script: str) -> Any:
    """Return the JSON of a script, or a list of its values if it has several.

    The parser is at least as lenient as extruct. It skips comments, CDATA marks, trailing commas
    and semicolons. It accepts line ends in texts, and escapes that JSON lacks. Half a surrogate
    pair becomes U+FFFD, as in a browser. Raises BrokenScriptError, with line and column, if the
    script is not JSON.
    """
    value = _parse_leniently(script)
    if _SURROGATE_ESCAPE.search(script):
        return json.loads(_SURROGATE.sub("\ufffd", json.dumps(value, ensure_ascii=False)))
    return value


def _parse_leniently(script: str) -> Any:
    try:
        return json.loads(script, strict=False)
    except json.JSONDecodeError as error:
        reason = f"is not JSON (line {error.lineno}, column {error.colno}: {error.msg})"
    except (RecursionError, ValueError) as error:
        raise BrokenScriptError(f"is not JSON ({type(error).__name__})") from None
    plain = _COMMENT.sub(
        lambda match: _BAD_ESCAPE.sub(_repair_escape, match[1]) if match[1] else " ", script
    )
    plain = _TRAILING_COMMA.sub(lambda match: match[1] or "", plain)
    decoder, values, at = json.JSONDecoder(strict=False), list[Any](), 0
    try:
        # The pattern matches at least the empty text.
        while (at := _BETWEEN.match(plain, at).end()) < len(plain):  # type: ignore[union-attr]
            value, at = decoder.raw_decode(plain, at)
            values.append(value)
    except (RecursionError, ValueError):
        raise BrokenScriptError(reason) from None
    if not values:
        raise BrokenScriptError(reason)
    return values[0] if len(values) == 1 else values


def _repair_escape(escape: re.Match[str]) -> str:
    if escape[1] == "'":
        return "'"
    return escape[0] if escape[1] in '"\\/bfnrt' else f"\\{escape[0]}"


def nodes_of_type(value: Any, wanted: str) -> Iterator[Node]:
    """Yield the objects of a type, in order, at any depth, but no object inside another one of this
    type.

    References are followed until they would copy too many values.
    """
    named = {
        node["@id"]: node
        for node in _objects(value)
        if isinstance(node.get("@id"), str) and len(node) > 1
    }
    left_in_all = _MOST_COPIED_IN_ALL
    left = 0

    def plain(value: Any, depth: int, *, referred: bool = False) -> Any:
        nonlocal left
        left -= referred
        if depth > _DEEPEST:
            return None
        if isinstance(value, list):
            return [plain(part, depth + 1, referred=referred) for part in value]
        if not isinstance(value, dict):
            return value
        name = value["@id"] if value.keys() == {"@id"} else None
        if isinstance(name, str) and name in named and depth < _DEEPEST_LINKED and left > 0:
            value, referred = named[name], True
        elif "@value" in value:
            return value["@value"]
        return {
            _VOCABULARY.sub("", name): plain(part, depth + 1, referred=referred)
            for name, part in value.items()
        }

    for node in _objects(value, wanted):
        before = left = min(_MOST_COPIED, left_in_all)
        copied = plain(node, 0)
        left_in_all -= before - left
        yield copied


def microdata(page: str, wanted: str) -> Iterator[Node]:
    """Yield the items of a type that the elements of a page mark up, in order."""
    from lxml import etree, html  # type: ignore[import-untyped]

    try:
        tree = html.document_fromstring(_DECLARATION.sub("", page))
    except (etree.LxmlError, ValueError):
        return
    yield from _items(tree, wanted)


def _items(tree: Any, wanted: str) -> Iterator[Node]:
    named: dict[str, Any] = {}  # the elements by their ids; the first element with an id wins
    for element in tree.xpath("//*[@id]"):
        named.setdefault(element.get("id"), element)
    left = _MOST_STEPS

    def item(element: Any, depth: int = 0) -> Node:
        """Return an item with the properties below it and in its references, but not those of items
        nested in it.
        """
        nonlocal left
        node: Node = {"@type": next(iter(sorted(_types(element.get("itemtype", "").split()))), "")}
        names = (
            element.get("itemref", "").split()[:_MOST_REFERENCES]
            if depth < _DEEPEST_REFERENCES
            else []
        )
        referred = [named[name] for name in names if name in named]
        waiting, met = [*reversed(referred), *reversed(element)], {element}
        while waiting and left > 0:
            left -= 1
            part = waiting.pop()
            if not isinstance(part.tag, str) or part in met:
                continue
            met.add(part)
            for name in part.get("itemprop", "").split():
                if _is_item(part) and depth < _DEEPEST:
                    value: Any = item(part, depth + 1)
                else:
                    value = _text(part)
                    left -= len(value) // _LETTERS_A_STEP
                node.setdefault(_VOCABULARY.sub("", name), []).append(value)
            if not _is_item(part):
                waiting.extend(reversed(part))
        return node

    for element in tree.iter():
        if _is_item(element) and wanted in _types(element.get("itemtype", "").split()):
            yield item(element)


def _objects(value: Any, wanted: str = "", depth: int = 0) -> Iterator[Node]:
    """Yield all objects in a value, or the outermost ones of the type ``wanted``."""
    if depth > _DEEPEST:
        return
    if isinstance(value, dict) and (not wanted or wanted in _types(value.get("@type"))):
        yield value
        if wanted:
            return
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    for part in inner:
        yield from _objects(part, wanted, depth + 1)


def _types(value: Any) -> set[str]:
    names = value if isinstance(value, list) else [value]
    return {_VOCABULARY.sub("", name) for name in names if isinstance(name, str)}


def _is_item(element: Any) -> bool:
    return isinstance(element.tag, str) and element.get("itemscope") is not None


def _text(element: Any) -> str:
    for name in ("content", _ATTRIBUTES.get(element.tag, "content")):
        if (content := element.get(name)) is not None:
            return str(content)
    parts = (
        f" {part}" if part.getparent().tag in _PARTED else part
        for part in element.xpath(".//text()")
    )
    return " ".join("".join(parts).split())
