"""Topics between tags: TREC's ``<top>`` blocks, whose fields end where the next begins, and XML's ``<topic>``.

Read without an XML parser: the blocks of old topics are no XML, and a parser would follow what a file declares.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ...retrieval.references import unescaped

_TAGS: tuple[str, ...] = ("top", "topic", "query")
_TAG = re.compile(r"<(?P<name>[a-z_]++)\b", re.I)
_ATTRIBUTE = re.compile(r"(?<![a-z_])(?P<name>[a-z_]++)\s*+=\s*+[\"'](?P<value>[^\"']*+)[\"']", re.I)
_LABEL = re.compile(r"^\s*(?:number|topic|title|description)\s*:\s*", re.I)
_QIDS = ("num", "number", "id", "qid", "topic_id", "query_id")
_TEXTS = ("query", "title", "text", "question", "desc", "description")


class _Block(NamedTuple):
    start: int
    attributes: str
    body: str


class MarkedTopic(NamedTuple):
    """A topic, with the line that it begins on; what it does not say is ``""``."""

    line: int
    qid: str
    text: str


def marked_topics(content: str) -> Iterator[MarkedTopic]:
    """Yield the topics of a file: of each the number and the query, which is its title where there is no query."""
    line = 1
    counted_to = 0
    for block in _blocks(content):
        line += content.count("\n", counted_to, block.start)
        counted_to = block.start
        fields = {name.lower(): _text(text) for name, text in _fields(block.body)}
        fields |= {match["name"].lower(): _text(match["value"]) for match in _ATTRIBUTE.finditer(block.attributes)}
        if not fields.keys() & set(_TEXTS) and "<" not in block.body:
            fields["text"] = _text(block.body)
        yield MarkedTopic(line, _first(fields, _QIDS), _first(fields, _TEXTS))


def _blocks(content: str) -> Iterator[_Block]:
    """Yield the blocks, each up to the first end of its tag; an end that was not found once is not looked for again."""
    tags, position = _TAGS, 0
    while tags and (start := re.compile(rf"<({'|'.join(tags)})\b", re.I).search(content, position)):
        inner = content.find(">", start.end()) + 1
        if not inner:
            return
        end = re.compile(rf"</{re.escape(start[1])}\s*+>", re.I).search(content, inner)
        if end:
            yield _Block(start.start(), content[start.end() : inner - 1], content[inner : end.start()])
        else:
            tags = tuple(tag for tag in tags if tag != start[1].lower())
        position = end.end() if end else start.end()


def _fields(body: str) -> Iterator[tuple[str, str]]:
    """Yield the names of the tags in a block, each with the text up to the next tag."""
    position = 0
    while tag := _TAG.search(body, position):
        inner = body.find(">", tag.end()) + 1
        if not inner:
            return
        following = body.find("<", inner)
        position = len(body) if following < 0 else following
        yield tag["name"], body[inner:position]


def _first(fields: dict[str, str], names: tuple[str, ...]) -> str:
    return next((fields[name] for name in names if fields.get(name)), "")


def _text(text: str) -> str:
    return " ".join(_LABEL.sub("", unescaped(text)).split())
