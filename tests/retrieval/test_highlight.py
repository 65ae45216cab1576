"""Highlights follow the analyzer."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.retrieval.config import JavaSettings
from factseek.retrieval.highlight import highlights
from factseek.retrieval.java import start
from factseek.retrieval.lucene import TermFinder

WORD = re.compile(r"[^\W_]+(?:['’.][^\W_]+)*")


@pytest.fixture(scope="module")
def english() -> TermFinder:
    start(JavaSettings().heap)
    return TermFinder("english")


def marked(query: str, text: str, terms: TermFinder) -> list[str]:
    return [text[start:end] for start, end in highlights(query, text, terms)]


def test_inflected_words_match_and_stop_words_do_not(english: TermFinder) -> None:
    assert marked("the vaccines and infections", "A vaccine against the infection, and vacuum.", english) == [
        "vaccine",
        "infection",
    ]


def test_possessives_numbers_and_case(english: TermFinder) -> None:
    assert marked("WHO's 95% in 2020", "The WHO said 95 % in 2020.", english) == ["WHO", "95", "2020"]


def test_a_script_without_blanks_marks_the_matching_part() -> None:
    start(JavaSettings().heap)
    assert marked("疫苗", "新冠疫苗有效。", TermFinder("cjk")) == ["疫苗"]


def test_arabic_words_match_with_their_prefixes() -> None:
    start(JavaSettings().heap)
    assert marked("لقاح كورونا", "أعلنت الوزارة أن اللقاح ضد كورونا آمن", TermFinder("arabic")) == ["اللقاح", "كورونا"]


@given(st.text(max_size=40), st.text(max_size=80))
def test_stretches_are_in_order_and_inside(english: TermFinder, query: str, text: str) -> None:
    last = 0
    for begin, end in highlights(query, text, english):
        assert last <= begin < end <= len(text)
        last = end


PIECES = ["a", "b", "ab", "1", "é", "’", "'", ".", "_", " ", "\n", "A", "ß"]
WORDS = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


@given(WORDS, WORDS)
def test_places_are_those_of_whole_words(query: str, text: str) -> None:
    def itself(word: str) -> tuple[str, ...]:
        return (word.lower(),)

    wanted = {word.lower() for word in WORD.findall(query)}
    assert highlights(query, text, itself) == [word.span() for word in WORD.finditer(text) if word[0].lower() in wanted]
