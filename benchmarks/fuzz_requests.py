"""Thousands of broken requests to every route of an application; the same number gives the same request."""

from __future__ import annotations

import gzip
import random
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import quote

from flask import Flask

from benchmarks.fuzz_inputs import encoded, mutated, mutated_json

TYPES = (
    "application/json", "application/json", "application/json; charset=utf-16", "application/x-ndjson", "text/plain",
    "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "image/png", "", "a/b;;=",
)  # fmt: skip
ACCEPTED = (
    "application/json", "application/x-ndjson", "text/plain", "text/html", "text/csv", "text/tab-separated-values",
    "application/x-bibtex", "application/x-research-info-systems;q=0.9, */*", "*/*;q=0.1", "", "a/b;q=x",
)  # fmt: skip
VALUES = (
    "", "1", "0", "-1", "1e9", "nan", "٣", "true", "bm25", "dense", "hybrid", "measles vaccine", "نهر النيل", "\0",
    "\ud800", "a" * 300, "2020-02-30", "9999", "topic=health", "topic=", "date>=x", "rrf", "keep", "\u202e", "<b>",
    "*", "title:measles", "AND OR (", "english", "csv", "bibtex", "near", "per_source=1",
    '"measles vaccine" -moon before:2024 source:', "2020-03-01T00:00:00+25:00", "10000000000000000000000", "{}", "[]",
)  # fmt: skip
PARAMETERS = (
    "query", "q", "hits", "k", "retriever", "filter", "as_of", "undated", "fusion", "explain", "highlight", "group",
    "mode", "language", "index", "from", "page", "offset", "facets", "fields", "passages", "depth", "format",
    "syntax", "cursor", "count", "collapse", "stages", "since", "like", "qid", "pageToken", "pageSize", "key", "x",
    "",
)  # fmt: skip
DOCIDS = (
    "measles", "moon", "amazon", "nobody", "a/b", "..", "../../etc/passwd", "%00", "\0", "é" * 300, " ", "a?b#c", "+",
    "\ud800",
)  # fmt: skip


CURSORS = ("cursor", "pageToken")
"""Fields that hold a value from the answer for the page before."""


class Request(NamedTuple):
    """A request to send."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


def routes(app: Flask) -> list[tuple[str, str, str]]:
    """Return method, rule and endpoint of every route, in order."""
    return sorted(
        (method, rule.rule, rule.endpoint)
        for rule in app.url_map.iter_rules()
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    )


def request_of(
    route: tuple[str, str, str], number: int, names: Sequence[str], examples: Sequence[Mapping[str, Any]]
) -> Request:
    """Return a request by its number; ``names`` are the existing indexes, ``examples`` are valid bodies."""
    method, rule, _ = route
    chance = random.Random(f"{method} {rule}:{number}")  # noqa: S311  a test's chance
    example = {name: _token(chance, name, value) for name, value in chance.choice(examples).items()}
    path = "/".join(_part(chance, part, names) for part in rule.split("/"))
    asked = [(chance.choice(PARAMETERS), chance.choice(VALUES)) for _ in range(chance.choice((0, 0, 1, 2, 4)))]
    if method == "GET":
        kept = [(name, value) for name, value in example.items() if chance.random() < 0.7]
        parts = [(name, part) for name, value in kept for part in (value if isinstance(value, list) else [value])]
        asked += [(name, chance.choice(VALUES) if chance.random() < 0.4 else str(part)) for name, part in parts]
    query = "&".join(f"{_quoted(name)}={_quoted(value)}" for name, value in asked)
    headers, body = _headers(chance), b"" if method == "GET" and chance.random() < 0.9 else _body(chance, example)
    if chance.random() < 0.05:
        headers["Content-Encoding"], body = "gzip", gzip.compress(body, mtime=0)[: chance.choice((10, 10**6))]
    return Request(method, f"{path}?{query}" if query else path, headers, body)


def _part(chance: random.Random, part: str, names: Sequence[str]) -> str:
    if not part.startswith("<"):
        return part
    if "docid" in part:
        return _quoted(chance.choice(DOCIDS)) or "x"
    if part == "<name>" and chance.random() < 0.9:
        return chance.choice(names)
    return _quoted(chance.choice(("x", "jobs", "indexes", "..", "é", "0" * 32, "\0", "a" * 300)))


def _token(chance: random.Random, name: str, value: Any) -> Any:
    """Return the value of a field; in half of the cases, change, cut or lengthen a cursor, decoded or encoded."""
    if name not in CURSORS or chance.random() < 0.5:
        return value
    content = bytearray(urlsafe_b64decode(value + "=" * (-len(value) % 4)))
    match chance.randrange(4):
        case 0:
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        case 1:
            del content[chance.randrange(len(content)) :]
        case 2:
            content += content[: chance.randrange(1, 9)]
        case _:
            return value[: chance.randrange(len(value))] + chance.choice(("", "=", "é", "\0", "+/", "====="))
    return urlsafe_b64encode(content).decode().rstrip("=")


def _quoted(text: str) -> str:
    return quote(text.encode("utf-8", "surrogatepass"), safe="")


def _headers(chance: random.Random) -> dict[str, str]:
    headers = {"Content-Type": chance.choice(TYPES), "Accept": chance.choice(ACCEPTED)}
    for name, values in (
        ("If-Match", ("*", '"x"', 'W/"x"', "x", "")),
        ("If-None-Match", ("*", '"x"', ",,")),
        ("Range", ("bytes=0-", "x")),
        ("X-Request-Id", ("a" * 500, "é", "a b")),
        ("Accept-Language", ("ar", "x;q=", "*")),
        ("Authorization", ("", "Bearer x", "Basic é", "Bearer")),
        ("Cookie", ("a=b; c", "=")),
        ("Host", ("x", "[", "a:b:c")),
    ):
        if chance.random() < 0.07:
            headers[name] = chance.choice(values)
    return {name: value for name, value in headers.items() if value}


def _body(chance: random.Random, example: Mapping[str, Any]) -> bytes:
    """Return a body: the example with a change, several examples, or no JSON."""
    value: Any = dict(example)
    for _ in range(chance.choice((0, 1, 1, 2, 3))):
        value = mutated_json(chance, value)
    match chance.randrange(8):
        case 0:
            return b"\n".join(encoded(mutated_json(chance, dict(example))) for _ in range(chance.choice((1, 3, 40))))
        case 1:
            return encoded([value] * chance.choice((0, 1, 7)))
        case 2:
            return mutated(chance, [encoded(value)])
        case _:
            return encoded(value)
