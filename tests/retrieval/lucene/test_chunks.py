"""The chunks of a text are found in Java as Python splits the text."""

import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.retrieval.config import JavaSettings
from factseek.retrieval.lucene.chunks import ChunkCache, Place
from factseek.retrieval.lucene.jvm import pack, start

WANTED = pack(["cat"])


@pytest.fixture(scope="module", autouse=True)
def _java() -> None:
    start(JavaSettings().heap)


def test_a_new_chunk_is_unknown_and_a_remembered_one_matches_by_its_terms() -> None:
    chunks = ChunkCache(most=10, longest=10)
    places = [Place(0, "Cats"), Place(5, "dogs")]
    assert chunks.find("Cats dogs", WANTED) == ([], places)
    chunks.remember({"Cats": ["cat"], "dogs": ["dog", "hound"]})
    assert chunks.find("Cats dogs", WANTED) == (places[:1], [])
    assert chunks.find("Cats dogs", pack(["bird", "hound"])) == (places[1:], [])


def test_places_are_in_characters_of_python_whatever_is_blank_to_it() -> None:
    blanks = [chr(code) for code in range(sys.maxunicode + 1) if chr(code).isspace()]
    for blank in blanks:
        text = f"\U0001f600{blank}{blank}a"
        _, unknown = ChunkCache(most=10, longest=10).find(text, WANTED)
        assert unknown == [Place(0, "\U0001f600"), Place(3, "a")], ascii(blank)


@given(st.text(max_size=40))
def test_the_chunks_are_those_that_python_splits(text: str) -> None:
    _, unknown = ChunkCache(most=10, longest=10).find(text, WANTED)
    kept = text.replace("\0", " ")  # no text with this character crosses to Java
    assert [chunk for _, chunk in unknown] == kept.split()
    assert all(text[start : start + len(chunk)] == chunk for start, chunk in unknown)


def test_a_long_chunk_is_not_remembered() -> None:
    chunks = ChunkCache(most=10, longest=3)
    chunks.remember({"cats": ["cat"]})
    assert chunks.find("cats", WANTED) == ([], [Place(0, "cats")])


def test_a_full_cache_is_emptied_and_filled_again() -> None:
    chunks = ChunkCache(most=2, longest=10)
    for chunk in ("one", "two", "cats"):
        chunks.remember({chunk: ["cat"]})
    matching, unknown = chunks.find("one two cats", WANTED)
    assert ([place.chunk for place in matching], len(unknown)) == (["cats"], 2)


def test_chunks_with_the_same_hash_are_told_apart() -> None:
    chunks = ChunkCache(most=10, longest=10)
    chunks.remember({"Aa": ["cat"], "BB": ["dog"]})  # equal by 31 times the first plus the second
    assert chunks.find("BB Aa", WANTED) == ([Place(3, "Aa")], [])


def test_chunks_of_many_terms_do_not_fill_the_memory() -> None:
    chunks = ChunkCache(most=1_000_000, longest=100)
    terms = [f"{number:02}" for number in range(100)]
    weight = 100 + 299 + 24 * 100
    heaviest = int(JavaSettings().heap.removesuffix("m")) * (1 << 20) // 128
    many = [f"{number:0100}" for number in range(heaviest // weight + 100)]
    for first in range(0, len(many), 500):
        chunks.remember(dict.fromkeys(many[first : first + 500], terms))
    _, unknown = chunks.find(many[0], pack(["cat"]))
    assert unknown  # the cache was emptied
    assert chunks.find(many[-1], pack(["07"])) == ([Place(0, many[-1])], [])
