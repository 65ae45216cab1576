"""Broken inputs by the thousand: real files mutated with an eye to their structure, the same ones for the same seed."""

from __future__ import annotations

import gzip
import json
import random
import re
from collections.abc import Callable, Sequence
from typing import Any

MOST_BYTES = 60_000
"""A seed is cut to so many bytes, so that ten thousand inputs take minutes."""

_TOKENS = (
    b"", b"\0", b"\xff", b"\xfe\xff", b"\xff\xfe", b"\xef\xbb\xbf", b"\xed\xa0\x80", b"\xf0\x9f\x92\x89", b'"', b'""',
    b"'", b"\t", b"\t\t", b"\r", b"\r\n", b"\n\n", b"\x0b\x0c\x1c\x85", "\u2028\u202e".encode(), b",", b";", b"{",
    b"}", b"[", b"]", b"{}", b"[]", b"null", b"NaN", b"-Infinity", b"1e999", b"-0", b"1_0", "٣".encode(),
    b"9" * 5_000, b"0x10", b"true", b"\\u0000", b"\\ud800", b"\\", b"<", b">", b"</", b"<!--", b"-->", b"<![CDATA[",
    b"&#999999999;", b"&amp;#99999999;", b"&", b"%s%n", b"../../etc/passwd", b"<DOC>", b"</DOC>", b"<DOCNO>",
    b"<TEXT>", b"<p>", b"<table>", b"<script>", b"<meta charset=utf-7>", b"<html lang=x>", b"<!DOCTYPE html>",
    b"WARC/1.0\r\n", b"Content-Length: -1\r\n", b"Content-Length: 99999999999\r\n", b"\x1f\x8b\x08", b"PK\x03\x04",
    b"!!python/object/apply:os.system", b"&a [*a]", b"0", b"1", b"-1", b"2020-02-30", b"9999-99-99", b"True", b"nan",
    b"inf",
)  # fmt: skip
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 1e308, 2**63, 10**400, "", " ", "\0", "\ud800", "a\nb", "x" * 3_000, "é", [], {},
    [[]], [None], {"": ""}, {"a": {"b": []}}, "2020-13-45", "NaN", ["a", 1], [["a", 0]],
)  # fmt: skip
_ENCODINGS = ("utf-16", "utf-16-le", "utf-32", "utf-8-sig", "latin-1", "cp1256", "utf-7", "cp037")
_LINKED_DATA = re.compile(rb"<script[^>]*ld\+json[^>]*>([^<]+)")
Mutation = Callable[[random.Random, bytes, Sequence[bytes]], bytes]


def mutated(chance: random.Random, seeds: Sequence[bytes]) -> bytes:
    """Return one of the seeds after one to six mutations; now and then the seed as it is, or none of it."""
    content = chance.choice(seeds)[:MOST_BYTES]
    for _ in range(chance.choice((0, 1, 1, 1, 2, 2, 3, 4, 6))):
        content = chance.choice(_MUTATIONS)(chance, content, seeds)[: 4 * MOST_BYTES]
    return content


def mutated_json(chance: random.Random, value: Any) -> Any:
    """Return a JSON value in which one part, at any depth, is another, is missing, or comes again elsewhere."""
    if isinstance(value, dict) and value and chance.random() < 0.8:
        key = chance.choice(sorted(value))
        part = {**value}
        match chance.randrange(6):
            case 0:
                del part[key]
            case 1:
                part[chance.choice(("", "x", key.upper(), "docid", "metadata", "\ud800"))] = part[key]
            case 2:
                part[key] = chance.choice(_VALUES)
            case _:
                part[key] = mutated_json(chance, part[key])
        return part
    if isinstance(value, list) and value and chance.random() < 0.8:
        at = chance.randrange(len(value))
        match chance.randrange(4):
            case 0:
                return value[:at] + value[at + 1 :]
            case 1:
                return value * chance.choice((2, 50))
            case _:
                return [*value[:at], mutated_json(chance, value[at]), *value[at + 1 :]]
    if chance.random() < 0.02:
        return _nested(chance.choice((30, 200, 3_000)))
    return chance.choice(_VALUES)


def encoded(value: Any) -> bytes:
    """Return a value as JSON; half a surrogate pair stays an escape."""
    return json.dumps(value).encode()


def _nested(depth: int) -> Any:
    value: Any = "x"
    for level in range(depth):
        value = [value] if level % 2 else {"a": value}
        if level > 900:  # what Python's own writer can still write
            break
    return value


def _stretch(chance: random.Random, content: bytes, most: int = 400) -> tuple[int, int]:
    begin = chance.randrange(len(content) + 1)
    return begin, min(len(content), begin + chance.randrange(1, most))


def _flip(chance: random.Random, content: bytes, _: Sequence[bytes]) -> bytes:
    flipped = bytearray(content)
    for _ in range(min(len(flipped), chance.choice((1, 3, 20)))):
        flipped[chance.randrange(len(flipped))] = chance.randrange(256)
    return bytes(flipped)


def _cut(chance: random.Random, content: bytes, _: Sequence[bytes]) -> bytes:
    return content[: chance.randrange(len(content) + 1)]


def _drop(chance: random.Random, content: bytes, _: Sequence[bytes]) -> bytes:
    begin, end = _stretch(chance, content)
    return content[:begin] + content[end:]


def _repeat(chance: random.Random, content: bytes, _: Sequence[bytes]) -> bytes:
    begin, end = _stretch(chance, content, 60)
    return content[:end] + content[begin:end] * chance.choice((1, 3, 1_000)) + content[end:]


def _insert(chance: random.Random, content: bytes, _: Sequence[bytes]) -> bytes:
    begin, end = _stretch(chance, content, 20)
    kept = end if chance.random() < 0.5 else begin
    return content[:begin] + chance.choice(_TOKENS) * chance.choice((1, 1, 1, 2, 500)) + content[kept:]


def _splice(chance: random.Random, content: bytes, seeds: Sequence[bytes]) -> bytes:
    other = chance.choice(seeds)[:MOST_BYTES]
    return content[: chance.randrange(len(content) + 1)] + other[chance.randrange(len(other) + 1) :]


def _recode(chance: random.Random, content: bytes, _: Sequence[bytes]) -> bytes:
    return content.decode("utf-8", "replace").encode(chance.choice(_ENCODINGS), "replace")


def _pack(chance: random.Random, content: bytes, _: Sequence[bytes]) -> bytes:
    packed = gzip.compress(content, 1, mtime=0)
    return packed if chance.random() < 0.5 else packed[: chance.randrange(len(packed))]


def _lines(chance: random.Random, content: bytes, _: Sequence[bytes]) -> bytes:
    """Swap, drop, double or join lines, or end them another way."""
    lines = content.split(b"\n")
    first, second = chance.randrange(len(lines)), chance.randrange(len(lines))
    match chance.randrange(5):
        case 0:
            lines[first], lines[second] = lines[second], lines[first]
        case 1:
            del lines[first]
        case 2:
            lines.insert(second, lines[first])
        case 3:
            return content.replace(b"\n", chance.choice((b"\r\n", b"\r", b" ", b"\n\n")))
        case _:
            lines[first : first + 2] = [b" ".join(lines[first : first + 2])]
    return b"\n".join(lines)


def _cells(chance: random.Random, content: bytes, _: Sequence[bytes]) -> bytes:
    """Change one cell of a line, or what separates all of them."""
    separator = next((mark for mark in (b"\t", b",", b" ") if mark in content), b"\t")
    if chance.random() < 0.2:
        return content.replace(separator, chance.choice((b"\t", b",", b";", b" ", b"\t\t")))
    lines = content.split(b"\n")
    at = chance.randrange(len(lines))
    cells = lines[at].split(separator)
    cells[chance.randrange(len(cells))] = chance.choice((*_TOKENS, *cells))
    lines[at] = separator.join(cells)
    return b"\n".join(lines)


def _json(chance: random.Random, content: bytes, _: Sequence[bytes]) -> bytes:
    """Change one value of a line of JSON, of the whole, or of JSON that stands in a page."""
    if scripts := list(_LINKED_DATA.finditer(content)):
        begin, end = chance.choice(scripts).span(1)
        return content[:begin] + _json(chance, content[begin:end], ()) + content[end:]
    lines = content.split(b"\n")
    at = chance.randrange(len(lines))
    for whole in (False, True):
        try:
            value = json.loads(content if whole else lines[at])
        except (ValueError, RecursionError):
            continue
        changed = encoded(mutated_json(chance, value))
        return changed if whole else b"\n".join([*lines[:at], changed, *lines[at + 1 :]])
    return _insert(chance, content, ())


_MUTATIONS: tuple[Mutation, ...] = (
    _flip, _cut, _drop, _repeat, _insert, _insert, _splice, _recode, _pack, _lines, _lines, _cells, _cells, _json,
    _json,
)  # fmt: skip
