"""Read Markdown files: their text without marks, and what their front matter says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ._formats import FileText
from ._pages import decode
from ._plain_html import joined_lines, text_of_html

if TYPE_CHECKING:
    from markdown_it.token import Token

_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?\n)(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.S)
_DATES = ("date", "published", "created")
_ADDRESSES = ("url", "canonical_url", "link", "source")
_CODE = ("fence", "code_block")


def read_markdown(content: bytes) -> FileText:
    """Return what a Markdown file says; its title is that of the front matter, else its first line
    if this is a heading.
    """
    from markdown_it import MarkdownIt

    text = decode(content).replace("\r\n", "\n").replace("\r", "\n").replace("\0", " ")
    front = _FRONT_MATTER.match(text)
    fields = _fields(front[1]) if front else {}
    if fields and front:
        text = text[front.end() :]
    tokens = MarkdownIt("commonmark").enable(["table", "strikethrough"]).parse(text)
    title = _first(fields, ("title",))
    if not title and [token.type for token in tokens[:2]] == ["heading_open", "inline"]:
        title = _plain(tokens[1].children or [])
    addresses = (_first(fields, (name,)) for name in _ADDRESSES)
    url = next((url for url in addresses if re.match(r"https?://", url)), "")
    body = joined_lines("".join(_pieces(tokens)))
    first, _, rest = body.partition("\n")
    if rest and first == title:  # the title is indexed separately
        body = rest
    return FileText(text=body, title=title, date=_first(fields, _DATES), url=url)


def _fields(front: str) -> Mapping[str, Any]:
    """Return the fields of a front matter in YAML, none if it is something else."""
    import yaml

    try:
        fields = yaml.safe_load(front)
    except (yaml.YAMLError, ValueError, RecursionError):
        return {}
    if not isinstance(fields, dict):
        return {}
    return {str(name).lower(): value for name, value in fields.items()}


def _first(fields: Mapping[str, Any], names: Sequence[str]) -> str:
    """Return the first value that a field of ``names`` has, on one line."""
    values = (fields.get(name) for name in names)
    texts = (" ".join(str(value).split()) for value in values if not isinstance(value, dict | list))
    return next((text for text in texts if text and text != "None"), "")


def _pieces(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the text of blocks: a line for each paragraph and for each row of a table."""
    previous = ""
    for token in tokens:
        if token.type == "inline":
            yield _plain(token.children or [])
        elif token.type in _CODE:
            yield f"\n{token.content}\n"
        elif token.type == "html_block":
            yield f"\n{text_of_html(token.content)}\n"
        elif token.type in ("th_open", "td_open") and previous != "tr_open":
            yield " | "
        elif token.block and token.tag not in ("th", "td"):
            yield "\n"
        previous = token.type


def _plain(tokens: Sequence[Token]) -> str:
    """Return the text within a block; an image has the text that stands for it."""
    pieces = []
    for token in tokens:
        is_break = token.type == "html_inline" and token.content.lower().startswith("<br")
        if is_break or token.type in ("softbreak", "hardbreak"):
            pieces.append(" ")
        elif token.type in ("text", "text_special", "code_inline", "image"):
            pieces.append(token.content)
    return " ".join("".join(pieces).split())
