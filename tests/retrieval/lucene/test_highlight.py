"""Highlights follow the analyzer."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.core.folding import fold, folded_with_places
from factseek.core.text import marks
from factseek.retrieval.config import JavaSettings
from factseek.retrieval.lucene.analysis import (
    ANALYZERS,
    Analysis,
    Analyze,
    Analyzer,
    TermCache,
    highlighter,
    highlights,
    in_time,
    mark_texts,
)
from factseek.retrieval.lucene.jvm import start

ROOT = Path(__file__).resolve().parents[3]
LETTERS = rf"[^\W_](?:[^\W_]|[{marks()}])*"
WORD = re.compile(rf"{LETTERS}(?:['.]{LETTERS})*")


@pytest.fixture(scope="module", autouse=True)
def _java() -> None:
    start(JavaSettings().heap)


@pytest.fixture(scope="module")
def english() -> Analyzer:
    return Analyzer(Analysis("english"))


def marked(query: str, text: str, terms: Analyzer) -> list[str]:
    return [text[start:end] for start, end in highlights(query, text, terms)]


@pytest.mark.parametrize(
    ("query", "text", "stretches"),
    [
        ("café", "two cafe\u0301s, a caf\u00e9", ["cafe\u0301s", "caf\u00e9"]),
        ("immunization", "The immu\u00adnization pro\u00adgramme", ["immu\u00adnization"]),
        ("in\ufb02uenza", "of influenza", ["influenza"]),
        ("Pfizer", "𝙋𝙛𝙞𝙯𝙚𝙧 says", ["𝙋𝙛𝙞𝙯𝙚𝙧"]),
        ("measles rubella", "BREAKING:Measles in winter.Rubella", ["Measles", "Rubella"]),
        ("polio 657461", "polio_vaccine: 657,461 doses", ["polio", "657,461"]),
    ],
)
def test_lookalikes_are_highlighted_as_written(
    query: str, text: str, stretches: list[str], english: Analyzer
) -> None:
    assert marked(query, text, english) == stretches


def test_a_word_of_pairs_of_letters_is_highlighted_whole() -> None:
    terms = Analyzer(Analysis("cjk"))
    assert marked("독감백신", "올해 독감백신19 접종", terms) == ["독감백신"]
    assert marked("麻疹疫苗", "有麻疹疫苗。麻疹", terms) == ["麻疹疫苗", "麻疹"]


def test_parts_of_numbers_and_words_are_highlighted_if_the_index_has_them() -> None:
    english = Analysis("english")
    with_parts, without = Analyzer(english, parts=True), Analyzer(english)
    assert marked("sars", "The Sars2 wave", with_parts) == ["Sars"]
    assert marked("25kg", "25 kg or 25kg", with_parts) == ["25", "kg", "25kg"]
    assert marked("sars", "The Sars2 wave", without) == []
    assert marked("25kg", "25 kg or 25kg", without) == ["25kg"]


def test_a_word_beside_a_number_is_highlighted_though_its_term_is_another() -> None:
    assert marked("10मिग्रा", "खुराक 10मिग्रा", Analyzer(Analysis("hindi"))) == ["10", "मिग्रा"]
    assert marked("25", "25kg", Analyzer(Analysis("whitespace"))) == []


@given(st.text(max_size=40), st.text(max_size=80))
def test_stretches_are_in_order_and_inside(english: Analyzer, query: str, text: str) -> None:
    last = 0
    for begin, end in highlights(query, text, english):
        assert last <= begin < end <= len(text)
        last = end


PIECES = [
    "a",
    "b",
    "ab",
    "1",
    "é",
    "’",
    "'",
    "e\u0301",
    "_",
    " ",
    "\n",
    "A",
    "ß",
    "\ufb01",
    "\u00ad",
    "\u2003",
    ",",
]
WORDS = st.lists(st.sampled_from(PIECES), max_size=14).map("".join)


def lowered(words: Sequence[str]) -> list[tuple[str, ...]]:
    return [(word.lower(),) for word in words]


def letters(words: Sequence[str]) -> list[tuple[str, ...]]:
    """Make a term of each letter, as analyzers do of scripts without blanks, and none of a word
    that begins with b.
    """
    return [() if word.startswith("b") else tuple(word.lower()) for word in words]


def word_by_word(
    query: str, text: str, terms: Callable[[str], tuple[str, ...]]
) -> list[tuple[int, int]]:
    """The oracle: match one word of the text after the other."""
    wanted = {term for word in WORD.findall(fold(query)) for term in terms(word)}
    form, starts, ends = folded_with_places(text)
    stretches = []
    for word in WORD.finditer(form):
        made, start = terms(word[0]), word.start()
        matching = wanted.intersection(made)
        if matching and len(made) == 1:
            stretches.append(word.span())
        elif matching:
            pattern = "|".join(
                re.escape(term) for term in sorted(matching, key=lambda term: (-len(term), term))
            )
            inside = list[tuple[int, int]]()
            for at in range(len(word[0])):
                if part := re.compile(pattern, re.IGNORECASE).match(word[0], at):
                    begin, end = part.span()
                    if inside and begin < inside[-1][1]:
                        begin, end = inside[-1][0], max(end, inside.pop()[1])
                    inside.append((begin, end))
            inside = inside or [(0, len(word[0]))]
            stretches += [(start + begin, start + end) for begin, end in inside]
    return list(dict.fromkeys((starts[begin], ends[end - 1]) for begin, end in stretches))


def test_a_text_of_more_new_words_than_the_cache_can_contain_keeps_its_matches() -> None:
    found = TermCache(lowered, 3).finder(frozenset({"measles"}))
    assert [found("measles"), found("measles a b c d")] == [[(0, 7)], [(0, 7)]]


@pytest.mark.parametrize("analyze", [lowered, letters])
@pytest.mark.parametrize("most", [1, 20, 400_000])
@given(WORDS, st.lists(WORDS, min_size=1, max_size=4))
def test_stretches_are_those_of_each_word(
    analyze: Analyze, most: int, query: str, texts: list[str]
) -> None:
    vocabulary = TermCache(analyze, most)
    found = highlighter(query, vocabulary)
    for text in [*texts, *texts, *texts]:
        expected = word_by_word(query, text, lambda word: analyze([word])[0])
        assert found(text) == expected
        assert highlights(query, text, vocabulary) == expected


@given(WORDS, WORDS, st.integers(1, 9))
def test_a_text_that_is_read_in_pieces_has_the_same_stretches(
    query: str, text: str, size: int
) -> None:
    found = highlighter(query, TermCache(letters))
    with patch("factseek.retrieval.lucene.analysis.PIECE", size):
        assert in_time(found, lambda: False)(text) == found(text)


@given(WORDS, st.lists(WORDS, max_size=8), st.integers(1, 30))
def test_texts_that_are_read_together_have_the_same_stretches(
    query: str, texts: list[str], size: int
) -> None:
    found = highlighter(query, TermCache(letters))
    with patch("factseek.retrieval.lucene.analysis.PIECE", size):
        assert mark_texts(found, texts) == [found(text) for text in texts]


def lines_of(file: Path) -> list[str]:
    return file.read_text("utf-8").rstrip("\n").split("\n")


def texts_of(file: Path, most: int) -> list[str]:
    return [
        line.split("\t")[2 if file.name.startswith("claims") else 1]
        for line in lines_of(file)[1 : most + 1]
    ]


OTHER_SCRIPTS = [
    "新冠疫苗有效。疫苗安全吗？",
    "日本の首都は東京です",
    "ประเทศไทยอยู่ในเอเชีย",
    "Вакцины от кори безопасны",
    "टीका सुरक्षित है",
]


@pytest.mark.parametrize("analyzer", sorted(ANALYZERS))
def test_every_analyzer_marks_what_it_marks_word_by_word(analyzer: str) -> None:
    terms = Analyzer(Analysis(analyzer))
    examples = ROOT / "examples"
    queries = [
        *texts_of(examples / "claims-en.tsv", 4),
        *texts_of(examples / "claims-ar.tsv", 4),
        *OTHER_SCRIPTS,
    ]
    texts = [
        *texts_of(examples / "snippets-en.tsv", 8),
        *texts_of(examples / "snippets-ar.tsv", 8),
        *OTHER_SCRIPTS,
    ]
    for query in queries:
        found = highlighter(query, terms)
        for text in texts:
            assert found(text) == word_by_word(query, text, terms)
