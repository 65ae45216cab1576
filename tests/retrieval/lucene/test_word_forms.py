"""Spellings that differ in letters, numbers beside letters, or joiners find each other, in every
language, and exclusions and highlights agree with what is found.
"""

import json
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
from babel import Locale

from factseek.core.domain import Document
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.compaction import compact
from factseek.retrieval.config import JavaSettings
from factseek.retrieval.lucene.analysis import (
    LANGUAGES,
    Analysis,
    analyzer_name,
    highlights,
    terms_of,
)
from factseek.retrieval.lucene.jvm import start
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.retrieval.search.query_syntax import parse_query
from factseek.retrieval.store import manifest as manifests
from factseek.settings import Config, convert

OTHER_LANGUAGES = ("he", "ur", "vi", "pl", "ka", "gu", "ps")
# English words in ASCII stay whole; the dictionary of Japanese splits a word by its neighbours.
TAGS = sorted({*LANGUAGES, *OTHER_LANGUAGES} - {"en", "ja"})


@pytest.fixture(scope="module", autouse=True)
def java() -> None:
    start(JavaSettings().heap)


def words_of_cldr(language: str) -> list[str]:
    """Return twenty words of a language: from the names of months, days and languages."""
    locale = Locale.parse(language)
    months = locale.months["stand-alone"]["wide"].values()
    names = [*months, *locale.days["stand-alone"]["wide"].values(), *locale.languages.values()]
    words = [word for name in names for word in name.split() if len(word) > 2 and word.isalpha()]
    return list(dict.fromkeys(words))[:20]


@pytest.mark.parametrize("language", TAGS)
def test_words_are_found_beside_numbers_and_in_every_spelling(language: str) -> None:
    analysis = Analysis(analyzer_name(language))
    words = words_of_cldr(language)
    if language not in ("hi", "ne", "mr", "bn", "ta", "te", "th", "km", "lo", "my", "gu"):
        assert len(words) == 20  # in the others, words have marks, which are no letters
    digits = Locale.parse(language).default_numbering_system
    native = {"arabext": "۱۹", "beng": "১৯", "deva": "१९", "mymr": "၁၉"}.get(digits, "19")
    forms: list[Callable[[str], str]] = [
        lambda word: unicodedata.normalize("NFD", word),
        lambda word: f"{word}19",
        lambda word: f"19{word}",
        lambda word: f"{word}{native}",
        lambda word: f"{word} {native}",
    ]
    for word in words:
        plain, *others = map(set, terms_of(analysis, [word, *(form(word) for form in forms)]))
        assert others[0] == plain, word
        for found in others[1:]:
            assert found >= plain, word
            assert "19" in found, word


Build = Callable[..., Index]


@pytest.fixture
def indexed(tmp_path: Path) -> Iterator[Build]:
    opened: list[Index] = []

    def build_index(language: str, texts: list[str], parts: str = "auto") -> Index:
        documents = [Document(str(number), text) for number, text in enumerate(texts)]
        write(tmp_path, documents, language, config_of(parts))
        opened.append(Index(tmp_path / "index"))
        return opened[-1]

    yield build_index
    for index in opened:
        index.close()


def config_of(parts: str = "auto") -> Config:
    return convert({"index": {"parts": parts}}, "test")


def write(folder: Path, documents: list[Document], language: str, config: Config) -> None:
    source = folder / "documents.jsonl"
    lines = (json.dumps({"docid": each.docid, "text": each.text}) for each in documents)
    source.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    request = BuildRequest(
        kind="jsonl",
        sources=(source,),
        folder=folder / "index",
        language=language,
        dense=False,
        verb="append" if (folder / "index").exists() else "",
    )
    build(request, config)


def found(index: Index, query: str) -> set[str]:
    parsed = parse_query(query, Search(retriever="bm25"))
    return {hit.docid for hit in index.search([parsed.text], parsed.search)[0]}


@pytest.mark.parametrize("parts", ["always", "never"])
@pytest.mark.parametrize(
    "case",
    [
        ("ko", ["사스2 유행", "유행", "RNA검사 4명"], "사스", "0"),
        ("ko", ["사스2 유행", "유행", "RNA검사 4명"], "유행 -사스", "1"),
        ("ko", ["사스2 유행", "유행", "RNA검사 4명"], '"사스 2"', "0"),
        ("ko", ["RNA검사 4명", "검사", "4명"], "검사", "01"),
        ("ko", ["RNA검사 4명", "검사", "4 명"], "4명", "02"),
        ("de", ["Sars2 Welle", "Sars 2", "Grippe"], "sars", "01"),
        ("de", ["25kg Mehl", "25 kg Salz", "Mehl"], "25kg", "01"),
        ("de", ["25kg Mehl", "25 kg Salz", "Mehl"], '"25 kg"', "01"),
        ("de", ["Sars2 Welle", "Sars 2 Welle", "Welle"], "Welle -sars", "2"),
        ("de", ["H5N1 Virus", "H 5"], "H5N1", "0"),
        ("de", ["25kg Mehl", "25 kg Mehl", "Mehl"], "Mehl -25kg", "2"),
        ("ro", ["țara", "ţara", "şi"], "ţara și", "01"),
        ("en", ["Botoșani", "Botoşani", "Botosani"], "Botoșani", "01"),
        ("ko", ["유행 4명", "유행 4 명", "유행"], "유행 -4명", "2"),
        ("zh", ["疫情 1984年", "疫情"], "疫情 -1984年", "1"),
        ("en", ["flour 25kg", "flour 30kg"], "flour -25kg", "1"),
        ("en", ["towers 4G", "towers"], 'towers -"4G"', "1"),
        ("vi", ["sars2ở đây", "sars 2", "H5N1"], "sars", "01"),
        ("ar", ["سارس2 خطر", "سارس 2", "خطر"], "سارس", "01"),
        ("ar", ["سارس2 خطر", "سارس 2", "خطر"], "خطر -سارس", "2"),
        ("ar", ["ٱلقمر جميل", "القمر بعيد"], "القمر", "01"),
        ("ar", ["ذٰلك القمر", "البحر"], "ٱلْقَمَر", "0"),
        ("ar", ["إسحٰق هنا", "إسحاق هنا", "إسحق هنا"], "إسحاق", "01"),
        ("ar", ["إسحٰق هنا", "إسحاق هنا", "إسحق هنا"], "إسحٰق", "012"),
        ("ar", ["إسحٰق هنا", "إسحاق هنا", "إسحق هنا"], "هنا -إسحاق", "2"),
        ("ar", ["إسحٰق هنا", "إسحاق هنا", "هنا"], "هنا -إسحٰق", "2"),
        ("ar", ["زكوٰة", "زكاة", "شجرة"], "زكاة", "01"),
        ("ar", ["مصطفَىٰ", "مصطفى", "شجرة"], "مصطفى", "01"),
        ("fr", ["Le bœuf bourguignon", "le boeuf"], "boeuf", "01"),
        ("fr", ["Le nævus", "le naevus"], "nævus", "01"),
        ("ru", ["15мг утром", "15 мг вечером"], "мг", "01"),
        ("hi", ["सार्स2 लहर", "सार्स २"], "सार्स2", "01"),
        ("he", ["שָׁנָה טובה", "שנה רעה"], "שנה", "01"),
        ("he", ['דו"ח מלא', "דו״ח חסר"], "דו״ח", "01"),
        ("ur", ["۱۹۹۰ میں", "1990 كتاب"], "1990", "01"),
        ("ur", ["یہ کتاب", "يه كتاب"], "کتاب", "01"),
    ],
)
def test_spellings_find_each_other(
    parts: str, case: tuple[str, list[str], str, str], indexed: Build
) -> None:
    language, texts, query, docids = case
    index = indexed(language, texts, parts)
    assert found(index, query) == set(docids)
    if "-" not in query:
        for docid in docids:
            assert highlights(query.strip('"'), texts[int(docid)], index.terms), docid


def test_another_spelling_of_a_stop_word_finds_nothing(indexed: Build) -> None:
    index = indexed("ar", ["ذٰلك القمر", "ذلك"])
    assert found(index, "ذٰلك") == set()


@pytest.mark.parametrize("parts", ["always", "never"])
@pytest.mark.parametrize(
    ("language", "texts"),
    [
        ("fa", ["گل\u200cخانه بزرگ", "گلخانه کوچک", "گل خانه"]),
        ("ur", ["گل\u200cخانہ بڑا", "گلخانہ چھوٹا", "گل خانہ"]),
        ("ckb", ["گوڵ\u200cخانە", "گوڵخانە", "گوڵ خانە"]),
    ],
)
def test_words_around_a_joiner_are_found_as_one_word_and_as_two(
    language: str, texts: list[str], parts: str, indexed: Build
) -> None:
    index = indexed(language, texts, parts)
    with_joiner, joined, split = (text.split(" ")[0] for text in texts)
    split = " ".join(texts[2].split(" ")[:2])
    assert found(index, joined) == {"0", "1"}
    assert found(index, with_joiner) == {"0", "1", "2"}
    assert found(index, split) == {"0", "2"}
    assert found(index, f"{split} -{joined}") == {"2"}
    assert found(index, f"{with_joiner} -{with_joiner}") == set()
    assert found(index, f"{joined} {split} -{with_joiner}") == set()
    for query in (with_joiner, joined, split):
        assert highlights(query, texts[0], index.terms), query
    for text in texts:
        assert highlights(with_joiner, text, index.terms), text


def test_english_words_in_ascii_are_split_only_into_parts(indexed: Build) -> None:
    texts = ["25kg of flour", "kg", "Sars2"]
    index = indexed("en", texts, "always")
    hits = index.search(["kg", "sars"], Search(retriever="bm25"))
    assert [[hit.docid for hit in each] for each in hits] == [["1", "0"], ["2"]]
    assert index.search(["kg"], Search(retriever="bm25"))[0][1].score < 1e-6


def test_a_title_is_found_in_each_spelling(tmp_path: Path) -> None:
    source = tmp_path / "documents.jsonl"
    row = {"docid": "0", "title": "Bœuf 25kg", "text": "x"}
    source.write_text(json.dumps(row) + "\n", "utf-8")
    request = BuildRequest(
        kind="jsonl", sources=(source,), folder=tmp_path / "index", language="fr", dense=False
    )
    build(request, config_of())
    with Index(tmp_path / "index") as index:
        for query in ("x title:boeuf", "x title:Bœuf", "x title:kg", "x title:25"):
            assert found(index, query) == {"0"}, query


@pytest.mark.parametrize(
    ("language", "titles", "queries"),
    [
        ("fa", ["گل\u200cخانه", "گلخانه", "گل خانه", "خانه"], {0: "012", 1: "01", 2: "02"}),
        ("ur", ["گل\u200cخانہ", "گلخانہ", "گل خانہ", "خانہ"], {0: "012", 1: "01", 2: "02"}),
        ("ar", ["إسحٰق", "إسحاق", "إسحق", "يعقوب"], {0: "012", 1: "01", 2: "02"}),
    ],
)
def test_a_title_is_found_in_other_spellings(
    language: str, titles: list[str], queries: dict[int, str], tmp_path: Path
) -> None:
    source = tmp_path / "documents.jsonl"
    rows = ({"docid": str(at), "title": title, "text": "7"} for at, title in enumerate(titles))
    source.write_text("".join(f"{json.dumps(row)}\n" for row in rows), "utf-8")
    request = BuildRequest(
        kind="jsonl", sources=(source,), folder=tmp_path / "index", language=language, dense=False
    )
    build(request, config_of())
    with Index(tmp_path / "index") as index:
        for at, docids in queries.items():
            assert found(index, f'7 title:"{titles[at]}"') == set(docids), titles[at]


def test_an_older_index_is_searched_as_it_was_built_until_it_is_compacted(tmp_path: Path) -> None:
    with patch("factseek.retrieval.views.lucene.ANALYSIS", 1):
        write(tmp_path, [Document("0", "Le bœuf Sars2")], "fr", config_of())
    folder = tmp_path / "index"
    assert manifests.read(folder).analysis == Analysis("french", 1)
    write(tmp_path, [Document("1", "un œuf Sars2")], "fr", config_of())
    assert manifests.read(folder).analysis.version == 1  # all segments have one analysis
    with Index(folder) as index:
        assert found(index, "bœuf") == {"0"}
        assert found(index, "œuf") == {"1"}
        assert found(index, "Sars2") == {"0", "1"}
    compact(folder, config_of())
    assert manifests.read(folder).analysis.version == 2
    with Index(folder) as index:
        assert found(index, "boeuf") == {"0"}
        assert found(index, "bœuf") == {"0"}
        assert found(index, "sars") == {"0", "1"}


def test_an_index_with_one_large_segment_is_renewed_too(tmp_path: Path) -> None:
    with patch("factseek.retrieval.views.lucene.ANALYSIS", 1):
        write(tmp_path, [Document("0", "Le bœuf")], "fr", config_of())
    config = convert({"index": {"segment_passages": 1}}, "test")
    assert compact(tmp_path / "index", config).manifest.analysis.version == 2
    with Index(tmp_path / "index") as index:
        assert found(index, "boeuf") == {"0"}
