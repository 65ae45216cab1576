"""The words of a claim that no document contains: which are named, and which say too little."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.search.absent_words import content_words, nearly_equal
from factseek.retrieval.search.index import Index
from factseek.settings import Config, convert

ENGLISH = [
    "The vaccine reduced influenza deaths among children by 97 percent in 2004.",
    "Vaccinated children were followed for years; 645,832 were enrolled.",
    "The accelerated trial was cold, and hot days were rare. Carbon dioxide was measured.",
]
ARABIC = [
    "خصصت اتفاقية عام 1959 لمصر 55.5 مليار متر مكعب من مياه النيل.",
    "لقاح شلل الأطفال يحمي الأطفال من الفيروس.",
]


def build_index(folder: Path, texts: list[str], language: str, config: Config) -> Index:
    source = folder.with_suffix(".jsonl")
    rows = (json.dumps({"docid": str(number), "text": text}) for number, text in enumerate(texts))
    source.write_text("\n".join(rows) + "\n", "utf-8")
    request = BuildRequest(
        kind="jsonl", sources=(source,), folder=folder, language=language, dense=False
    )
    build(request, config)
    return Index(folder, config)


@pytest.fixture(scope="module")
def english(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with build_index(tmp_path_factory.mktemp("en") / "index", ENGLISH, "en", Config()) as index:
        yield index


@pytest.fixture(scope="module")
def arabic(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with build_index(tmp_path_factory.mktemp("ar") / "index", ARABIC, "ar", Config()) as index:
        yield index


@pytest.mark.parametrize(
    ("claim", "absent"),
    [
        ("Vaccines contain microchips", ("microchips",)),
        ("Bill Gates's vaccine", ("Bill", "Gates")),
        ("the vaccine of the EU", ("EU",)),
        ("trials of 2004 and 1957", ("1957",)),
        ("650,000 children", ("650,000",)),
        ("97% of 96%", ("96",)),
        ("vaccines, vaccination, vaccinating children", ()),  # other forms
        ("an accelerating trial on the hottest day", ()),
        ("the flu killed a kid", ()),  # influenza, children
        ("CO2 in trials", ()),
        ("influensa deaths", ()),  # a misspelling
        ("8 children in 3 trials", ()),  # may be written as words
        ("Hello, how are you? OMG this is fucking stupid, I cant believe it", ()),
        ("#novax @someone https://example.org vaccine", ()),
        ("I can't say what O'Brien’s vaccine can’t do", ("O'Brien",)),
        ("the vaccine pic.example CsHG8R9cHp", ("pic", "example")),
        ("microchips Microchips MICROCHIPS", ("microchips",)),
    ],
)
def test_the_words_that_are_named(english: Index, claim: str, absent: tuple[str, ...]) -> None:
    assert english.plan().absent_words(claim) == absent


def test_at_most_eight_words_are_named(english: Index) -> None:
    claim = "apples pears plums grapes melons cherries lemons oranges figs dates"
    assert english.plan().absent_words(claim) == tuple(claim.split()[:8])


def test_one_absent_word_of_a_long_text_is_not_named(english: Index) -> None:
    long = "vaccine influenza deaths children vaccinated followed enrolled accelerated trial cold"
    assert english.plan().absent_words(f"microchips {long}") == ()
    assert english.plan().absent_words(f"microchips antennas {long}") == ("microchips", "antennas")


@pytest.mark.parametrize(
    ("claim", "absent"),
    [
        ("لقاح شلل الأطفال يسبب السرطان", ("السرطان",)),  # a noun with the article
        ("اختفى اللقاح وتوقفت الأطفال", ()),  # verbs, and forms of words that occur
        ("بالفيروس وللأطفال", ()),  # prefixes
        ("الطفل واللقاحات", ()),  # other forms, also by letters inside
        ("اتفاقية عام 1977", ("1977",)),
        ("الحقيقة اليوم", ()),  # everyday words
    ],
)
def test_in_arabic_only_nouns_with_the_article_and_numbers_are_named(
    arabic: Index, claim: str, absent: tuple[str, ...]
) -> None:
    assert arabic.plan().absent_words(claim) == absent


def test_a_language_without_everyday_words_names_nothing() -> None:
    assert content_words("Impfstoffe enthalten Mikrochips", "de") == []


def test_an_index_without_stored_words_names_nothing(tmp_path: Path) -> None:
    config = convert({"index": {"words": False}}, Config)
    with build_index(tmp_path / "index", ENGLISH, "en", config) as index:
        assert index.plan().absent_words("Vaccines contain microchips") == ()


@pytest.mark.parametrize(
    ("number", "text", "other"),
    [
        ("650,000", "Of 12 groups, 645,832 and 657,461 were enrolled.", "645,832"),
        ("55", "It has 55.5 billion cubic metres.", "55.5"),
        ("420", "The air held 421 parts, and 397 in 2013.", "421"),
        ("2004", "It was in 2005.", ""),  # another year is another year
        ("100", "It was 90.", ""),
        ("1.000.000", "1,005,000 people", "1,005,000"),
    ],
)
def test_nearly_equal_numbers(number: str, text: str, other: str) -> None:
    assert nearly_equal(number, [text]) == other


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("The dam is 145.5m high, they said", ["145.5"]),
        ("5G causes coronavirus", ["5G"]),
    ],
)
def test_a_number_with_its_unit_is_the_number(text: str, named: list[str]) -> None:
    words = [each.written for each in content_words(text, "en")]
    assert [word for word in words if any(map(str.isdigit, word))] == named
