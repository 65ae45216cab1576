"""The whole text of HTML that is no web page, such as an e-mail: nothing in it is a menu."""

from __future__ import annotations

from typing import Any

_UNSEEN = frozenset("head noscript script style template title".split())
_INLINE = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark q s samp "
    "small span strike strong sub sup time tt u var wbr".split()
)


def text_of_html(markup: str) -> str:
    """Return the text of HTML, one line for each block."""
    from lxml import etree, html  # type: ignore[import-untyped]

    parser = html.HTMLParser(encoding="utf-8", remove_comments=True, remove_pis=True)
    content = markup.replace("\0", " ").encode("utf-8", "replace")
    try:
        tree = html.document_fromstring(content, parser=parser)
    except etree.ParserError:  # it contains nothing but comments
        return ""
    parts: list[str] = []
    walk = etree.iterwalk(tree, events=("start", "end"))
    for event, element in walk:
        if event == "start":
            if element.tag in _UNSEEN or not isinstance(element.tag, str):
                walk.skip_subtree()
                continue
            parts += [_break(element), " ".join((element.text or " ").split("\n"))]
        else:
            parts += [_break(element), " ".join((element.tail or "").split("\n"))]
    return joined_lines("".join(parts))


def _break(element: Any) -> str:
    if element.tag in ("td", "th"):
        return " "
    return "" if element.tag in _INLINE or not isinstance(element.tag, str) else "\n"


def joined_lines(text: str) -> str:
    """Return the lines of a text that are not blank, each with single blanks."""
    lines = (" ".join(line.split()) for line in text.splitlines())
    return "\n".join(line for line in lines if line)
