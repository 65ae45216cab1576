"""What looks the same is the same to a search; words of one letter and words inside longer ones are
found.
"""

import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

import factseek
from factseek import Search, parse_query
from factseek.core.domain import Filter
from factseek.retrieval.filters import parse_filter
from factseek.retrieval.search.index import Index
from factseek.settings import convert


def indexed(
    folder: Path,
    texts: dict[str, str],
    language: str = "en",
    settings: Any = None,
    **fields: dict[str, str],
) -> Index:
    lines = [
        {"docid": docid, "text": text, **fields.get(docid, {})} for docid, text in texts.items()
    ]
    source = folder / "documents.jsonl"
    source.write_bytes(b"\n".join(map(msgspec.json.encode, lines)))
    config = convert({"index": settings or {}}, "test")
    factseek.build(
        "jsonl", [source], folder / "index", dense=False, language=language, config=config
    )
    return factseek.open_index(folder / "index")


def found(index: Index, query: str) -> list[str]:
    parsed = parse_query(query, Search(k=50))
    return sorted(hit.docid for hit in index.search([parsed.text], parsed.search)[0])


TEXTS = {
    "nfc": "The mayor of N\u00eemes, M\u00fcller, denied it",
    "nfd": "The mayor of Ni\u0302mes, Mu\u0308ller, denied it",
    "ligature": "The e\ufb00ect of \ufb02uoride is \ufb01ne",
    "letters": "The effect of fluoride is fine",
    "hyphens": "The flu\u00ado\u00adride was added",
    "widths": "chloro\u200bquine \u2067works\u2069",
    "straight": "chloroquine works",
    "styled": "𝓒𝓱𝓵𝓸𝓻𝓸𝓺𝓾𝓲𝓷𝓮 kills",
    "fullwidth": "Ｃｈｌｏｒｏｑｕｉｎｅ, ５０ mg",
    "subscript": "N₂O and CO₂ rise",
    "plain": "N2O and CO2 rise",
    "curly": "They can’t recall the vaccine¹",
    "typed": "They can't recall the vaccine",
    "power": "about 10² cases",
    "arabic": "ﻟﻘﺎﺡ",
    "jamo": "\u1107\u1162\u11a8\u1109\u1175\u11ab",
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    sources = {
        "nfc": {"source": "M\u00fcnchner Zeitung"},
        "nfd": {"source": "Mu\u0308nchner Zeitung"},
    }
    with indexed(tmp_path_factory.mktemp("equivalents"), TEXTS, **sources) as opened:
        yield opened


@pytest.mark.parametrize(
    ("query", "docids"),
    [
        ("N\u00eemes", ["nfc", "nfd"]),
        ("fluoride", ["hyphens", "letters", "ligature"]),
        ("e\ufb00ects", ["letters", "ligature"]),
        ("chloroquine", ["fullwidth", "straight", "styled", "widths"]),
        ("N2O", ["plain", "subscript"]),
        ("can’t recall", ["curly", "typed"]),
        ("50", ["fullwidth"]),
        ("لقاح", ["arabic"]),
        ("백신", ["jamo"]),
        ('"Mu\u0308ller denied"', ["nfc", "nfd"]),
        ('"effect of fluoride"', ["letters", "ligature"]),
        ("mayor -Ni\u0302mes", []),
        ("rise -CO2", []),
        ("works -chloroquine", []),
    ],
)
def test_what_looks_the_same_is_found_and_left_out_together(
    index: Index, query: str, docids: list[str]
) -> None:
    assert found(index, query) == docids


def test_a_source_is_one_however_it_is_written(index: Index) -> None:
    composed = "M\u00fcnchner Zeitung"
    assert index.facets("Müller", {"source": 10}, Search())["source"].values == [(composed, 2)]
    for written in (
        composed,
        unicodedata.normalize("NFD", composed),
        "M\u00fcn\u00adchner\u00a0Zeitung\u200f",
    ):
        for where in (parse_filter([f"source={written}"]), Filter(source=(written,))):
            assert {hit.docid for hit in index.search(["Müller"], Search(where=where))[0]} == {
                "nfc",
                "nfd",
            }
        assert found(index, f'Müller source:"{written}"') == ["nfc", "nfd"]


GLUED = {
    "colon": "UPDATE:Cholera spreads",
    "blank": "UPDATE: Cholera spreads",
    "stop": "It ended in autumn.Typhus followed",
    "score": "see malaria_cases_2020",
    "number": "It cost 1,234,567 euros",
    "swiss": "It cost 1'234'567 francs",
    "digits": "It cost 1234567 dollars",
    "cents": "for 9,876.50 or 1.234.567,25",
    "decimal": "a rate of 12.345 and 3.5",
    "url": "as polio.example.org says",
}


@pytest.fixture(scope="module")
def glued(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    with indexed(tmp_path_factory.mktemp("glued"), GLUED, settings={"parts": "always"}) as opened:
        yield opened


@pytest.mark.parametrize(
    ("query", "docids"),
    [
        ("cholera", ["blank", "colon"]),
        ("UPDATE:Cholera", ["blank", "colon"]),
        ("typhus", ["stop"]),
        ("malaria", ["score"]),
        ("2020", ["score"]),
        ("1234567", ["digits", "number", "swiss"]),
        ("9876.50", ["cents"]),
        ("polio", ["url"]),
        ("spreads -cholera", []),
        ("spreads -UPDATE:Cholera", ["blank"]),
        ('spreads "cholera"', ["blank", "colon"]),
        ('cost -"1234567"', []),
    ],
)
def test_a_word_inside_a_longer_one_is_found_and_left_out(
    glued: Index, query: str, docids: list[str]
) -> None:
    assert found(glued, query) == docids


def test_a_word_inside_a_longer_one_comes_behind_every_word(glued: Index) -> None:
    hits = glued.search(["cholera followed"], Search(k=50))[0]
    assert [hit.docid for hit in hits] == ["stop", "blank", "colon"]
    assert [hit.docid for hit in glued.search(["cholera followed"], Search(k=2))[0]] == [
        "stop",
        "blank",
    ]
    assert glued.count("cholera", Search()).hits == 2
    evidence = glued.evidence("cholera", hits[2:])[0].passage
    assert [evidence.text[start:end] for start, end in evidence.highlights] == ["Cholera"]
    assert list(glued.word_weights("cholera", hits[2:])[0]) == ["cholera"]


def test_titles_are_folded_and_found_by_one_letter(tmp_path: Path) -> None:
    titles = {
        "a": "多喝水有益",
        "b": "5G基站",
        "c": "Mu\u0308ller: winter.Rubella",
        "d": "물을 마시면",
        "e": "ดื่มน้ำ",
        "f": "水",
        "g": "IŞIK",
    }
    fields = {docid: {"title": title} for docid, title in titles.items()}
    queries = {
        "水": "af",
        "喝水": "a",
        "水喝": "",
        "基站 5G": "b",
        "m\u00fcller": "c",
        "rubella": "c",
        "물": "d",
        "น้ำ": "e",
        "ışık": "g",
    }
    with indexed(tmp_path, dict.fromkeys(titles, "report"), "zh", **fields) as opened:
        assert {
            words: "".join(found(opened, f'report title:"{words}"')) for words in queries
        } == queries


@pytest.mark.parametrize(
    ("language", "texts", "queries"),
    [
        (
            "zh",
            {
                "a": "多喝水有益健康",
                "b": "吸烟致癌",
                "c": "茶",
                "d": "癌 症 5G 基站",
                "e": "茶叶 健康",
            },
            {
                "水": "a",
                "癌": "bd",
                "茶": "ce",
                "健康 -水": "e",
                "茶 -叶": "c",
                '"5G 基站"': "d",
                '"致癌"': "b",
                "喝癌": "",
            },
        ),
        (
            "ja",
            {"a": "水を飲む", "b": "胃癌の検診", "c": "お茶が好き", "d": "水道水は安全です"},
            {"水": "ad", "癌": "b", "茶": "c", "安全 -水": "", "飲む -癌": "a"},
        ),
        (
            "ko",
            {
                "a": "물을 마시면 좋다",
                "b": "백신은 암을 일으키지 않는다",
                "c": "서울의 비",
                "d": "비누",
            },
            {"물": "a", "암": "b", "비": "cd", "백신은 -암": "", "서울의 -비": "", "비 -비누": "c"},
        ),
        (
            "th",
            {
                "a": "วัคซีนโควิดปลอดภัยสำหรับเด็ก",
                "b": "ดื่มน้ำวันละแปดแก้ว",
                "c": "น้ำ ท่วม",
                "d": "COVID-19 ๒๕๖๓",
            },
            {
                "วัคซีน": "a",
                "น้ำ": "bc",
                "ท่วม": "c",
                "ปลอดภัย": "a",
                "วัคซีน -เด็ก": "",
                '"แปดแก้ว"': "b",
                "covid": "d",
                "2563": "d",
            },
        ),
        ("my", {"a": "ကာကွယ်ဆေးဘေးကင်းသည်", "b": "ရေသောက်ပါ"}, {"ကာကွယ်ဆေး": "a", "ရေ": "b"}),
        (
            "ar",
            {"a": "عاجل:الحصبة تنتشر", "b": "أعلنت الوزارة.الوضع مستقر", "c": "لقاح_كورونا آمن"},
            {"الحصبة": "a", "الوضع": "b", "كورونا": "c", "عاجل:الوضع": "ab", "تنتشر -الحصبة": ""},
        ),
        (
            "fa",
            {"a": "می\u200cخواهم آب", "b": "می خواهم نان"},
            {"خواهم": "ab", "می\u200cخواهم": "ab"},
        ),
    ],
)
def test_scripts_that_join_words(
    tmp_path: Path, language: str, texts: dict[str, str], queries: dict[str, str]
) -> None:
    with indexed(tmp_path, texts, language) as opened:
        assert {query: "".join(found(opened, query)) for query in queries} == queries
