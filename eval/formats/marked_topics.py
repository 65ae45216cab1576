"""Topics between tags: TREC's ``<top>`` blocks, whose fields end where the next begins, and XML's ``<topic>``.

Read without an XML parser: the blocks of old topics are no XML, and a parser would follow what a file declares.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from ...retrieval.references import unescaped

_BLOCK = re.compile(r"<(?P<tag>top|topic|query)\b(?P<attributes>[^>]*)>(?P<body>.*?)</(?P=tag)\s*>", re.DOTALL | re.I)
_FIELD = re.compile(r"<(?P<name>[a-z_]+)\b[^>]*>(?P<text>[^<]*)", re.I)
_ATTRIBUTE = re.compile(r"(?P<name>[a-z_]+)\s*=\s*[\"'](?P<value>[^\"']*)[\"']", re.I)
_LABEL = re.compile(r"^\s*(?:number|topic|title|description)\s*:\s*", re.I)
_QIDS = ("num", "number", "id", "qid", "topic_id", "query_id")
_TEXTS = ("query", "title", "text", "question", "desc", "description")


class MarkedTopic(NamedTuple):
    """A topic, with the line that it begins on; what it does not say is ``""``."""

    line: int
    qid: str
    text: str


def marked_topics(content: str) -> Iterator[MarkedTopic]:
    """Yield the topics of a file: of each the number and the query, which is its title where there is no query."""
    line = 1
    counted_to = 0
    for block in _BLOCK.finditer(content):
        line += content.count("\n", counted_to, block.start())
        counted_to = block.start()
        fields = {match["name"].lower(): _text(match["text"]) for match in _FIELD.finditer(block["body"])}
        fields |= {match["name"].lower(): _text(match["value"]) for match in _ATTRIBUTE.finditer(block["attributes"])}
        if not fields.keys() & set(_TEXTS) and "<" not in block["body"]:
            fields["text"] = _text(block["body"])
        yield MarkedTopic(line, _first(fields, _QIDS), _first(fields, _TEXTS))


def _first(fields: dict[str, str], names: tuple[str, ...]) -> str:
    return next((fields[name] for name in names if fields.get(name)), "")


def _text(text: str) -> str:
    return " ".join(_LABEL.sub("", unescaped(text)).split())
