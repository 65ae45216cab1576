"""Did you mean: the misspelt words of a query, by the words of the index itself, shown and never
applied.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from factseek.core.domain import Filter
from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.config import IndexSettings
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.server.app import create_app
from factseek.settings import Config

DOCUMENTS = [
    {
        "docid": "who",
        "title": "Measles",
        "text": "The measles vaccination of children saves lives: vaccination.",
        "topic": "health",
    },
    {
        "docid": "lancet",
        "text": "Vaccinations against measles were refused; vaccination fell.",
        "topic": "news",
    },
    {
        "docid": "moon",
        "text": "Twelve people walked on the moon, say 2 a b c and vaccinatian.",
        "topic": "space",
    },
]


def built(
    folder: Path,
    documents: list[dict[str, str]],
    config: Config | None = None,
    language: str = "en",
) -> Path:
    folder.parent.mkdir(exist_ok=True)
    source = folder.with_suffix(".jsonl")
    source.write_text("".join(json.dumps(document) + "\n" for document in documents), "utf-8")
    request = BuildRequest(
        kind="jsonl", sources=(source,), folder=folder, language=language, dense=False
    )
    build(request, config or Config())
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = Config(index=IndexSettings(segment_passages=1))
    return built(tmp_path_factory.mktemp("spelt") / "index", DOCUMENTS, config)


@pytest.fixture(scope="module")
def index(folder: Path) -> Iterator[Index]:
    with Index(folder) as opened:
        yield opened


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("measels vacination", {"measels": "measles", "vacination": "vaccination"}),
        # Its stem is nowhere near that of the right word.
        ("Vaccinatoin", {"vaccinatoin": "vaccination"}),
        ("measles vaccinated", {}),  # as it is nowhere written, but a form of it is
        ("mooon", {"mooon": "moon"}),
        ("mon mohn moov", {}),  # so short a word is often a right one
        ("qwertyuiop zxcvbnm", {}),
        ("الحصبة", {}),
        ("vaccinatian", {}),  # somebody wrote it so
        ("aaab aaac aaad aaae aaaf aaag aaah aaai measels", {}),
    ],
)
def test_a_word_that_is_nowhere_is_put_right(
    index: Index, query: str, expected: dict[str, str]
) -> None:
    assert index.spellings(query) == expected


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("smallpx was eradcated", {"smallpx": "smallpox", "eradcated": "eradicated"}),
        ("it was eradicatedd", {}),  # where forms of a word differ
        ("a brexter", {}),  # so short a word is often another one
        ("it was eradikated", {}),  # another letter may make another word
    ],
)
def test_a_small_collection_need_have_a_long_word_only_once(
    tmp_path: Path, query: str, expected: dict[str, str]
) -> None:
    text = "The world was rid of smallpox: it was eradicated, a brexiter said."
    with Index(built(tmp_path / "index", [{"docid": "a", "text": text}])) as small:
        assert small.spellings(query) == expected


CLAIMS = (Path(__file__).parent / "spelling.txt").read_text("utf-8").partition("\n\n")


@pytest.fixture(scope="module")
def bundled(examples: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    folder = tmp_path_factory.mktemp("bundled") / "index"
    words = [line.split("\t")[1] for line in CLAIMS[2].splitlines()]
    built(folder, [{"docid": "words", "text": ", ".join(words * 3)}])
    source = examples / "snippets-en.tsv"
    build(BuildRequest(kind="snippets", sources=(source,), folder=folder, verb="append"), Config())
    with Index(folder) as opened:
        yield opened


def test_claims_that_are_spelt_right_are_left_alone(bundled: Index) -> None:
    claims = CLAIMS[0].splitlines()
    assert len(claims) >= 60
    assert {claim: spelt for claim in claims if (spelt := bundled.spellings(claim))} == {}


def test_most_misspelt_words_are_put_right(bundled: Index) -> None:
    pairs = [line.split("\t")[:2] for line in CLAIMS[2].splitlines()]
    claims = [line.split("\t")[2] for line in CLAIMS[2].splitlines()]
    put_right = [
        bundled.spellings(claim) == {wrong.lower(): right}
        for (wrong, right), claim in zip(pairs, claims, strict=True)
    ]
    assert len(pairs) == 30
    assert sum(put_right) >= 28


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("the Measels spread fast", {}),  # a name
        ("It spreads. Measels do.", {"measels": "measles"}),
        ("Measels Vacination", {"measels": "measles", "vacination": "vaccination"}),  # a title
        ("Measle said so", {}),  # may be the name of somebody
        ("easels weasels teasels", {}),  # they begin otherwise
    ],
)
def test_names_are_left_alone(index: Index, query: str, expected: dict[str, str]) -> None:
    assert index.spellings(query) == expected


def test_it_must_match_more_under_the_filter(index: Index) -> None:
    assert index.spellings("measels", Search(where=Filter(topic=("news",)))) == {
        "measels": "measles"
    }
    assert index.spellings("measels", Search(where=Filter(topic=("space",)))) == {}
    assert index.spellings("measels", Search(where=Filter(phrases=("measels",)))) == {
        "measels": "measles"
    }
    assert index.spellings(*index.like("who")) == {}


@pytest.mark.parametrize(
    ("language", "text", "query", "expected"),
    [
        ("ar", "لقاح الحصبة فعال وآمن للأطفال", "لقاح الحسبة", {"الحسبة": "الحصبة"}),
        ("ru", "Вакцинация детей спасает жизни", "вакценация", {"вакценация": "вакцинация"}),
        ("hi", "खसरा का टीका सुरक्षित है", "टीका खशरा", {"खशरा": "खसरा"}),
        ("zh", "麻疹疫苗很有效", "麻疹役苗", {}),
    ],
)
def test_in_every_language(
    tmp_path: Path, language: str, text: str, query: str, expected: dict[str, str]
) -> None:
    for times in (1, 3):
        place = built(
            tmp_path / f"index{times}",
            [{"docid": "a", "text": f"{text}. " * times}],
            language=language,
        )
        with Index(place) as index:
            # What is written once is not common.
            assert index.spellings(query) == (expected if times == 3 else {})


def test_over_http_it_is_shown_and_not_applied(index: Index) -> None:
    client = create_app(Config(), {"news": index}).test_client()
    answer = client.post(
        "/v1/news/search", json={"query": '"measels" vacination', "syntax": "query"}
    ).json
    assert (answer["suggestion"], answer["hits"]) == ('"measles" vaccination', [])
    simple = client.get("/v1/news/search?query=measels").json
    assert (simple["suggestion"], simple["query"]["text"], simple["hits"]) == (
        "measles",
        "measels",
        [],
    )
    assert "suggestion" not in client.get("/v1/news/search?query=measles").json
    several = client.post("/v1/search", json={"query": "measels"}).json
    assert several["indexes"]["news"]["suggestion"] == "measles"
