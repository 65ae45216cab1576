"""The query language: what is understood, what is text, and what is found in an index by every
retriever.
"""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from factseek import parse_query
from factseek.core.domain import Filter
from factseek.core.errors import QueryError
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.deletion import delete
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.retrieval.search.query_syntax import ParsedQuery
from factseek.server.app import create_app
from factseek.settings import Config, convert

DOCUMENTS = [
    {
        "docid": "a",
        "title": "Measles returns",
        "text": "The measles vaccine is safe.",
        "source": "x.org",
        "date": "2019",
    },
    {
        "docid": "b",
        "title": "School",
        "text": "A vaccine against measles and mumps.",
        "source": "y.org",
        "date": "2020-03",
    },
    {
        "docid": "c",
        "text": "The measles vaccine and autism are not linked.",
        "source": "x.org",
        "date": "2020-03-05",
    },
    {
        "docid": "d",
        "title": "Vaccines",
        "text": "Mumps vaccines after measles vaccines.",
        "topic": "t",
    },
]
NO_PLACES = (
    "this index has no word positions: it cannot match phrases, exclude words or search titles; "
    "rebuild it with index.phrases"
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("words") / "index"
    deleted = {"docid": "gone", "text": "The measles vaccine is safe."}
    for verb, rows in (("", [*DOCUMENTS[:2], deleted]), ("append", DOCUMENTS[2:])):
        source = folder.with_name(f"rows{verb}.jsonl")
        source.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        build(BuildRequest(kind="jsonl", sources=(source,), folder=folder, verb=verb), Config())  # type: ignore[arg-type]
    delete(folder, ["gone"])
    return folder


@pytest.fixture(scope="module")
def index(folder: Path) -> Iterator[Index]:
    with Index(folder) as opened:
        yield opened


def understood(query: str) -> dict[str, object]:
    parsed = parse_query(query)
    return {name: value for name, value in parsed.as_json().items() if value}


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("plain words, nothing more", {"text": "plain words, nothing more"}),
        (
            '"measles vaccine" safe',
            {"text": "measles vaccine safe", "phrases": ("measles vaccine",)},
        ),
        ("vaccine -autism", {"text": "vaccine", "without": ("autism",)}),
        ('vaccine -"not linked"', {"text": "vaccine", "without": ("not linked",)}),
        ("x title:measles", {"text": "x", "title": ("measles",)}),
        (
            "x topic:T before:2020-03 after:2019",
            {"text": "x", "topic": ("T",), "before": "2020-03", "after": "2019"},
        ),
        (r"x \-y \"z w\" title\:a \\", {"text": 'x -y "z w" title:a \\'}),
        (
            "http://example.org/a?b=c re: this, note:that",
            {"text": "http://example.org/a?b=c re: this, note:that"},
        ),
        ('5" nails, 6" nails', {"text": '5" nails, 6" nails'}),
        (
            "«measles vaccine» „safe“",
            {"text": "measles vaccine safe", "phrases": ("measles vaccine", "safe")},
        ),
        (
            'source:新华社，疫苗（"口罩"）',
            {"text": "疫苗（口罩）", "source": ("新华社",), "phrases": ("口罩",)},
        ),
        (
            "masks (source:BMJ) (-mumps)",
            {"text": "masks", "without": ("mumps",), "source": ("BMJ",)},
        ),
        (
            "「布マスク」 source：BMJ －mumps",
            {
                "text": "布マスク",
                "phrases": ("布マスク",),
                "without": ("mumps",),
                "source": ("BMJ",),
            },
        ),
        ("masks TITLE:measles.", {"text": "masks", "title": ("measles",)}),
        ("vaccine \u2212autism \u2013mumps", {"text": "vaccine", "without": ("autism", "mumps")}),
        ("iron -25mg -4G, -7월", {"text": "iron", "without": ("25mg", "4G", "7월")}),
        ("iron -1,500mg (-٣غم)", {"text": "iron", "without": ("1,500mg", "٣غم")}),
        (
            "cold -7 -2.5 -3% -4°C -1e-6 \u22128kg 3 \u20139kg",
            {"text": "cold -7 -2.5 -3% -4°C -1e-6 \u22128kg 3 \u20139kg"},
        ),
        (r"iron \-25mg", {"text": "iron -25mg"}),
        ('iron -"25mg" -"25"', {"text": "iron", "without": ("25mg", "25")}),
        ("not before:lunch after:2019", {"text": "not before:lunch", "after": "2019"}),
        (
            r'"the title: x" title\: y',
            {"text": "the title: x title: y", "phrases": ("the title: x",)},
        ),
    ],
)
def test_what_is_understood(query: str, expected: dict[str, object]) -> None:
    assert understood(query) == expected


def test_dates_named_are_not_in() -> None:
    where = parse_query("x before:2020-03 after:2019-02").search.where
    assert where == Filter(as_of="2020-02-29", since="2019-03-01")
    both = parse_query(
        "x before:2020", Search(where=Filter(as_of="2018-05-01", undated=True))
    ).search.where
    assert both == Filter(as_of="2018-05-01", undated=True)


def test_facets_are_counted_within_what_the_query_itself_asks_for(index: Index) -> None:
    def values(query: str, field: str, where: Filter | None = None) -> dict[str, int]:
        parsed = parse_query(query, Search(where=where, retriever="bm25"))
        facets = index.facets(parsed.text, {field: 9}, parsed.search, parsed.condition)
        return dict(facets[field].values)

    assert values("measles", "year") == {"2019": 1, "2020": 2}
    assert values("measles before:2020", "year") == {"2019": 1}
    assert values("measles after:2019 before:2020-03-04", "year") == {}
    assert values("measles source:x.org", "source") == {"x.org": 2}
    assert values("measles", "source", Filter(source=("x.org",))) == {"x.org": 2, "y.org": 1}
    assert values("measles before:2020", "year", Filter(as_of="2019-05-01")) == {"2019": 1}


@pytest.mark.parametrize(
    ("query", "where", "message"),
    [
        (
            "x -source:a",
            None,
            r"-source: only words and phrases can be excluded; write \-source for the word",
        ),
        (
            "x before:2020-13",
            None,
            "before: '2020-13' is not a date of the form 2020-03-01, 2020-03 or 2020",
        ),
        ("x before:2020 before:2021", None, "before: is given 2 times; give it once"),
        (
            "x before:2020 after:2020",
            None,
            "from 2021-01-01 to 2019-12-31 there is no day, so nothing can match",
        ),
        ("x after:9999", None, "there is no day after 9999-12-31"),
        (
            "x topic:a",
            Filter(topic=("b", "c")),
            "topic b, c and a exclude each other: nothing can match",
        ),
    ],
)
def test_what_makes_no_sense(query: str, where: Filter | None, message: str) -> None:
    with pytest.raises(QueryError, match=f"^{re.escape(message)}$"):
        parse_query(query, Search(where=where))


@settings(max_examples=300)
@given(st.text('ab "-:\\\u201c\ue010', max_size=30))
def test_any_text_is_a_query_or_refused_in_words(text: str) -> None:
    parsed = parse_query(text)
    assert isinstance(parsed, ParsedQuery)
    escaped = re.sub(r'([\\"\u201c:-])', r"\\\1", text.replace("\u201c", '"'))
    again = parse_query(escaped)
    assert (again.text.split(), again.search.where) == (
        text.replace("\u201c", '"').translate(SHOWN).split(),
        None,
    )


SHOWN = str.maketrans({"\ue010": '"'})

CASES = {
    'measles "measles vaccine"': {"a", "c"},
    "measles vaccine -autism": {"a", "b", "d"},
    'measles -"measles vaccine"': {"b"},
    "measles title:measles": {"a"},
    'measles title:"returns MEASLES"': {"a"},
    "measles vaccine source:x.org": {"a", "c"},
    'measles "measles vaccine" -autism source:x.org after:2018': {"a"},
    'measles "mumps measles"': set(),
}


@pytest.mark.parametrize("retriever", ["bm25", "dense", "hybrid"])
@pytest.mark.parametrize("query", list(CASES))
def test_every_retriever_finds_no_more(index: Index, retriever: str, query: str) -> None:
    parsed = parse_query(query, Search(retriever=retriever, k=10))
    hits = {hit.docid for hit in index.search([parsed.text], parsed.search)[0]}
    # "measles vaccines" is the same phrase to the English analyzer.
    expected = CASES[query] | (
        {"d"} if query.startswith('measles "measles vaccine"') and len(query) < 30 else set()
    )
    assert hits == expected - ({"d"} if query == 'measles -"measles vaccine"' else set())


WORDS = st.sampled_from(["red", "blue", "green", "moon", "river"])
TEXTS = st.lists(st.lists(WORDS, min_size=1, max_size=6), min_size=1, max_size=6)


@settings(max_examples=25)
@given(texts=TEXTS, phrase=st.lists(WORDS, min_size=1, max_size=3), unwanted=WORDS)
def test_phrases_are_what_a_reader_sees(
    texts: list[list[str]],
    phrase: list[str],
    unwanted: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    folder = tmp_path_factory.mktemp("property") / "index"
    source = folder.with_suffix(".jsonl")
    rows = [{"docid": str(number), "text": " ".join(words)} for number, words in enumerate(texts)]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    build(BuildRequest(kind="jsonl", sources=(source,), folder=folder, dense=False), Config())
    parsed = parse_query(f'red blue green moon river "{" ".join(phrase)}" -{unwanted}')
    with Index(folder) as index:
        hits = {hit.docid for hit in index.search([parsed.text], parsed.search)[0]}
    wanted = f" {' '.join(phrase)} "
    assert hits == {
        str(number)
        for number, words in enumerate(texts)
        if wanted in f" {' '.join(words)} " and unwanted not in words
    }


def test_over_http(index: Index) -> None:
    client = create_app(Config(), {"words": index}).test_client()
    body = {"query": '"measles vaccine" -autism source:x.org', "syntax": "query"}
    answer = client.post("/v1/words/search", json=body).json
    assert [hit["docid"] for hit in answer["hits"]] == ["a"]
    assert answer["query"] == {
        "text": body["query"],
        "parsed": {
            "text": "measles vaccine",
            "phrases": ["measles vaccine"],
            "without": ["autism"],
            "title": [],
            "source": ["x.org"],
            "topic": [],
            "before": "",
            "after": "",
        },
    }
    plain = client.post("/v1/words/search", json={"query": body["query"]}).json
    assert len(plain["hits"]) == len(DOCUMENTS)
    assert "query" not in plain
    simple = client.get("/v1/words/search", query_string=body).json
    assert (simple["query"], simple["hits"]) == (answer["query"], answer["hits"])
    for query, detail in (
        (
            "x before:2020-13",
            "query: before: '2020-13' is not a date of the form 2020-03-01, 2020-03 or 2020",
        ),
        (
            '"of the"',
            'query: "of the" contains only words that the analyzer drops, so it matches nothing; '
            "remove the quotes or the minus",
        ),
        ("-autism", "query: the query has only conditions; add words to search for"),
    ):
        refused = client.post("/v1/words/search", json={"query": query, "syntax": "query"})
        assert (refused.status_code, refused.json["detail"]) == (400, detail)
    batch = {"queries": [{"qid": "1", "text": body["query"]}], "syntax": "query"}
    assert (
        client.post("/v1/words/search/batch", json=batch).json["detail"]
        == "syntax: there is no such field"
    )


def test_an_index_without_places_says_so(
    tmp_path: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    source, config = tmp_path / "rows.jsonl", tmp_path / "config.yaml"
    source.write_text("".join(json.dumps(row) + "\n" for row in DOCUMENTS), "utf-8")
    config.write_text("index: {phrases: false}\n", "utf-8")
    settings = convert({"index": {"phrases": False}}, "test")
    build(
        BuildRequest(kind="jsonl", sources=(source,), folder=tmp_path / "index", dense=False),
        settings,
    )
    for query in ('"measles vaccine"', "x -autism", "x title:school"):
        code, _, said = command("search", query, "--index", tmp_path / "index", "--syntax", "query")
        assert (code, said) == (2, f"factseek: {NO_PLACES}\n")
    code, printed, _ = command(
        "search",
        "measles source:x.org",
        "--index",
        tmp_path / "index",
        "--syntax",
        "query",
        "--json",
    )
    assert (code, len(json.loads(printed)["hits"])) == (0, 2)
