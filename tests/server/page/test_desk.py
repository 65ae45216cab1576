"""The desk around the hits: addresses and forms, views, what is set, reasons, citations, copies,
files.
"""

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from flask.testing import FlaskClient

from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.config import IndexSettings
from factseek.retrieval.search.index import Index
from factseek.server.app import create_app
from factseek.settings import Config

from .test_page import anchors, get, links

SEARCH = "/?index=english&query=measles+vaccine"


def test_a_form_leads_to_the_address_of_its_state(client: FlaskClient) -> None:
    asked = {
        "index": "english",
        "query": "measles vaccine",
        "as_of": "",
        "since": "2019",
        "profile": "",
        "hits": "2",
    }
    response = client.post("/", data=asked)
    assert response.status_code == 303
    assert parse_qs(urlsplit(response.location).query) == {
        "index": ["english"], "query": ["measles vaccine"], "since": ["2019"], "hits": ["2"],
    }  # fmt: skip


def test_a_query_that_is_too_long_for_an_address_is_answered_and_its_links_are_forms(
    client: FlaskClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("factseek.server.page.layout.LONGEST_ADDRESS", 30)
    response = client.post("/", data={"index": "english", "query": "measles vaccine", "lang": "en"})
    assert response.status_code == 200
    assert 'id="hybrid-1"' in response.text
    assert 'name="to" value="?index=english&amp;filter=topic%3Dhealth&amp;lang=en"' in response.text
    narrowed = client.post(
        "/", data={"query": "measles vaccine", "to": "?index=english&filter=topic%3Dhealth&lang=en"}
    )
    assert 'id="hybrid-1"' in narrowed.text
    assert 'id="hybrid-2"' not in narrowed.text


def test_a_query_longer_than_is_searched_is_said_not_cut(client: FlaskClient) -> None:
    response = client.post("/", data={"query": "measles " * 100}, follow_redirects=True)
    assert response.status_code == 400
    assert "The query has 799 characters, but at most 200 are allowed" in response.text
    assert "measles " * 99 in response.text


def test_what_is_set_is_a_chip_and_each_chip_leads_to_the_state_without_it(
    client: FlaskClient,
) -> None:
    address = (
        f"{SEARCH}&since=2019&as_of=2030&undated=keep&retriever=bm25"
        "&stages=per_source%3D1&hits=2&collapse=none"
    )
    page = get(client, address)
    labels = {
        str(a["aria-label"]): str(a["href"])
        for a in page.all("a")
        if str(a.get("aria-label")).startswith("Remove")
    }
    assert list(labels) == [
        "Remove “from 2019”",
        "Remove “published until 2030”",
        "Remove “undated included”",
        "Remove “ranked by Words”",
        "Remove “stage per_source=1”",
        "Remove “near-duplicates shown separately”",
        "Remove “hits per page 2”",
    ]
    for without in labels.values():
        assert len(parse_qs(urlsplit(without).query)) == len(parse_qs(urlsplit(address).query)) - 1
        get(client, without)


def test_what_was_typed_is_a_chip_and_the_counts_follow_it(client: FlaskClient) -> None:
    address = f"/?index=english&query={quote('vaccine before:2024 -moon')}"
    page = get(client, address)
    chips = {
        str(a["aria-label"]): str(a["href"])
        for a in page.all("a")
        if str(a.get("aria-label")).startswith("Remove")
    }
    assert list(chips) == ["Remove “before 2024”", "Remove “leaving out moon”"]
    without = chips["Remove “before 2024”"]
    assert parse_qs(urlsplit(without).query)["query"] == ["vaccine -moon"]
    assert "2024" in get(client, without).text_of("aside")[0]
    assert not any("2024" in facets for facets in page.text_of("aside"))
    tweet = get(client, f"{address}&profile=tweet")
    assert not [a for a in tweet.all("a") if str(a.get("aria-label")).startswith("Remove “before")]


def test_what_a_date_leaves_out_is_counted_and_one_press_away(client: FlaskClient) -> None:
    for dated in (f"{SEARCH}&as_of=2030", f"{SEARCH}%20before:2030"):
        page = get(client, dated)
        (note,) = [
            text for text in page.text_of("p") if text.startswith("Documents without a date")
        ]
        assert note == "Documents without a date, left out by the date filter: 1. Include them"
        (kept,) = links(page, "Include them")
        assert "measles-undated" not in client.get(dated).text
        assert "measles-undated" in client.get(kept).text
        assert "A date is set" not in client.get(kept).text


NOTHING = "Nothing here seems to bear on this."


@pytest.mark.parametrize(
    ("query", "nothing"),
    [
        ("Elon Musk bought Twitter for 44 billion dollars", True),
        ("Two doses of the measles vaccine work", False),
        ("نهر النيل", False),  # an encoder that knows no Arabic cannot tell
    ],
)
@pytest.mark.parametrize("retriever", ["hybrid", "dense"])
def test_a_note_says_that_nothing_bears_on_it(
    client: FlaskClient, query: str, nothing: bool, retriever: str
) -> None:
    address = f"/?index=english&query={quote(query)}&retriever={retriever}"
    text = client.get(address).text
    assert (NOTHING in text) == nothing
    assert text.find(NOTHING) < text.find("<article")
    assert NOTHING not in client.get(f"{address}&offset=1").text


@pytest.mark.real
def test_nothing_bears_on_what_the_examples_do_not_tell_of(example_folder: Path) -> None:
    with Index(example_folder / "indexes" / "example-en") as index:
        client = create_app(Config(), {"example-en": index}).test_client()
        for view in ("list", "side"):
            address = f"/?view={view}&query="
            assert (
                NOTHING
                in client.get(f"{address}{quote('Humans use only 10 % of their brains')}").text
            )
            assert (
                NOTHING
                not in client.get(f"{address}{quote('Two doses of the measles vaccine work')}").text
            )


def test_where_nothing_is_found_each_condition_is_named_and_one_press_away(
    client: FlaskClient,
) -> None:
    query = 'measles source:nowhere.example "made of cheese"'
    page = get(client, f"/?index=english&query={quote(query)}&filter=topic%3Dspace&hits=3")
    named = [text for text in page.text_of("p") if text.startswith("This search has a condition")]
    assert named == [
        "This search has a condition: source “nowhere.example”. Search without it",
        "This search has a condition: word for word “made of cheese”. Search without it",
        "This search has a condition: topic “space”. Search without it",
    ]
    asked = [parse_qs(urlsplit(link).query) for link in links(page, "Search without it")]
    assert asked[0]["query"] == ['measles "made of cheese"']
    assert "filter" not in asked[2]
    alone = get(client, f"/?index=english&query={quote('title:measels')}", 400)
    assert parse_qs(urlsplit(links(alone, "Search without it")[0]).query)["query"] == ["measels"]
    assert "This search has a condition" not in client.get(SEARCH).text


def test_each_hit_says_why_it_is_there(client: FlaskClient) -> None:
    text = client.get(SEARCH).text
    first = text[text.index('id="hybrid-1"') :].split("</li>\n      <li id=")[0]
    assert "Why this?" in first
    assert "<bdi>vaccine</bdi> <meter" in first
    assert "Words: ranked number " in first
    assert "adds " in first


def test_a_search_is_taken_away_in_every_format(client: FlaskClient) -> None:
    page = get(client, f"{SEARCH}&filter=topic%3Dhealth")
    files = {
        label: links(page, label)[0]
        for label in ("CSV", "TSV", "JSON", "NDJSON", "RIS", "BibTeX", "TREC", "JSON-LD")
    }
    for label, address in files.items():
        response = client.get(address)
        assert response.status_code == 200, label
        disposition = response.headers["Content-Disposition"]
        assert re.fullmatch(
            r'attachment; filename="measles vaccine \d{4}-\d\d-\d\d\.[a-z]+"', disposition
        ), disposition
    rows = list(csv.DictReader(io.StringIO(client.get(files["CSV"]).text)))
    assert [row["docid"] for row in rows] == ["measles"]


def test_a_table_of_the_page_is_for_excel_and_one_over_http_is_not(client: FlaskClient) -> None:
    on_page = client.get("/export?format=csv&index=english&query=measles").data
    over_http = client.get("/v1/english/search?format=csv&query=measles").data
    assert on_page.startswith(b"\xef\xbb\xbfrank,docid,")
    assert over_http.startswith(b"rank,docid,")


def test_a_file_over_http_is_named_after_its_query_too(client: FlaskClient) -> None:
    path = f"/v1/arabic/search?format=tsv&query={quote('نهر النيل')}"
    disposition = client.get(path).headers["Content-Disposition"]
    assert re.fullmatch(
        rf"attachment; filename=\"factseek \d{{4}}-\d\d-\d\d\.tsv\"; "
        rf"filename\*=UTF-8''{quote('نهر النيل')}%20\d{{4}}-\d\d-\d\d\.tsv",
        disposition,
    ), disposition


def test_a_file_of_alike_documents_has_the_title(client: FlaskClient) -> None:
    response = client.get("/export?format=csv&index=english&like=measles&lang=en")
    assert 'filename="More like Measles vaccine 2' in response.headers["Content-Disposition"]


def test_the_newest_come_first_where_that_is_chosen(client: FlaskClient) -> None:
    page = get(client, SEARCH)
    (newest,) = links(page, "The newest first")
    dates = get(client, newest).text_of("time")
    assert sorted(dates) == sorted(page.text_of("time"))
    assert dates[0] == max(dates) != page.text_of("time")[0]
    assert links(get(client, newest), "The best first") == [
        SEARCH.replace("+", "%20").replace("%20", "+")
    ]
    several = get(
        client, f"/?index=english&index=arabic&query={quote('measles moon نهر')}&sort=date"
    )
    assert several.text_of("time") == sorted(several.text_of("time"), reverse=True)
    assert client.get(f"{SEARCH}&sort=title").status_code == 400


def test_more_like_a_hit_is_one_press_away(client: FlaskClient) -> None:
    page = get(client, SEARCH)
    addresses = [str(a["href"]) for a in page.all("a") if "like=" in str(a["href"])]
    assert "/?index=english&like=measles" in addresses
    alike = get(client, "/?index=english&like=measles")
    assert alike.text_of("h1") == ["More like Measles vaccine"]
    assert "Measles vaccine" not in alike.text_of("h3 a")
    assert any("measles-later" in str(a["href"]) for a in alike.all("a"))
    assert not any(text.endswith(" Measles vaccine") for text in alike.text_of("h3"))
    answer = client.get(links(alike, "This page as JSON")[0]).get_json()
    assert answer["query"]["like"] == "measles"
    rows = list(csv.DictReader(io.StringIO(client.get(links(alike, "CSV")[0]).text)))
    assert len(rows) == len(anchors(alike))
    assert "/?index=english&like=measles" in client.get("/documents/english/measles").text.replace(
        "&amp;", "&"
    )


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        ("/?index=english&like=none", "There is no document &#39;none&#39;"),
        (
            "/?index=english&like=measles&query=moon",
            "&#39;more like this&#39; searches one index without a query",
        ),
    ],
)
def test_what_nothing_can_be_like(client: FlaskClient, address: str, reason: str) -> None:
    response = client.get(address)
    assert response.status_code == 400
    assert reason in response.text


def test_a_misspelt_word_is_put_right_by_a_press(client: FlaskClient) -> None:
    page = get(client, f"/?index=english&query={quote('Measels title:vaccine')}")
    (meant,) = links(page, "Measles title:vaccine")
    assert anchors(get(client, meant))
    assert "Did you mean" not in client.get(SEARCH).text


@pytest.mark.parametrize(
    ("parameters", "detail"),
    [
        ("query=measles&format=doc", "here is no format &#39;doc&#39;; the formats are"),
        ("format=csv", "here is nothing to export: search for something first"),
    ],
)
def test_a_file_that_cannot_be_is_named_on_a_page_with_a_box(
    client: FlaskClient, parameters: str, detail: str
) -> None:
    response = client.get(f"/export?{parameters}", headers={"Accept": "text/html"})
    assert response.status_code == 400
    assert detail in response.text
    assert '<textarea id="query"' in response.text


def test_the_same_as_json_is_this_search(client: FlaskClient) -> None:
    page = get(client, f"{SEARCH}&filter=topic%3Dhealth&hits=1")
    answer = client.get(links(page, "This page as JSON")[0]).get_json()
    assert [hit["docid"] for hit in answer["hits"]] == ["measles"]
    several = get(client, f"/?index=english&index=arabic&query={quote('measles نهر')}")
    hits = client.get(links(several, "This page as JSON")[0]).get_json()["hits"]
    assert len(hits) == len(anchors(several))
    for indexes in ("index=english", "index=english&index=arabic"):
        long = client.get(
            f"/?{indexes}&query=measles&{'&'.join(f'filter=topic%3D{i:0900}' for i in range(8))}"
        )
        assert long.status_code == 200
        assert "This page as JSON" not in long.text


def test_error_pages_have_the_box(client: FlaskClient) -> None:
    for address in ("/nothing", "/documents/english/none", "/?index=none&query=moon"):
        assert '<textarea id="query"' in client.get(address, headers={"Accept": "text/html"}).text


@pytest.fixture(scope="module")
def example(
    config: Config, indexes: dict[str, Index], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[FlaskClient]:
    """The small index under the name of a bundled one, and fact-checks and papers by many
    publishers.
    """
    folder = tmp_path_factory.mktemp("checked") / "index"
    rows: list[dict[str, object]] = [
        {
            "docid": f"check{n}",
            "title": f"Check {n}",
            "text": f"No, masks do not rob you of oxygen ({n}).",
            "date": f"2020-01-{n + 1:02}",
            "source": f"site{n:02}.example",
            "rating": ("Pants on fire", "Half true")[n % 2],
            "verdict": ("false", "mixed")[n % 2],
            "publisher": f"Checkers {n}",
            "doi": "10.1000/real",
        }
        for n in range(20)
    ]
    source = folder.with_suffix(".jsonl")
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    declaring = Config(index=IndexSettings(filter_fields=("verdict",)))
    build(BuildRequest(kind="jsonl", sources=(source,), folder=folder, dense=False), declaring)
    with Index(folder) as checks:
        served = {"example-en": indexes["english"], "example-checks": checks, "checks": checks}
        yield create_app(config, served).test_client()


def test_example_data_is_marked_on_each_card_document_and_citation(example: FlaskClient) -> None:
    for name, marked in (("example-checks", True), ("checks", False)):
        page = get(example, f"/?index={name}&query=masks&hits=3&collapse=none")
        assert page.text_of("span").count("example data") == 3 * marked
        citations = page.text_of("textarea")[1:]
        assert sum("10.1000/real" in text for text in citations) == (0 if marked else 6)
        assert sum("example data of factseek" in text for text in citations) == 6 * marked
        document = example.get(f"/documents/{name}/check1").text
        assert ("This is example data of factseek" in document) == marked
        for format in ("ris", "bibtex", "csv", "jsonld"):
            exported = example.get(f"/export?index={name}&query=masks&format={format}").text
            assert ("10.1000/real" in exported) == (not marked), format
    assert "example data" in example.get("/?index=example-en&index=checks&query=masks+measles").text


def test_a_rating_is_a_label_with_publisher_and_date_and_narrows(example: FlaskClient) -> None:
    page = get(example, "/?index=checks&query=masks&collapse=none")
    labels = [
        (item["class"], text)
        for item, text in zip(page.all("strong"), page.text_of("strong"), strict=True)
    ]
    assert {("rating false", "Pants on fire"), ("rating mixed", "Half true")} == set(labels)
    review = next(text for text in page.text_of("p") if text.startswith("Rated"))
    assert re.fullmatch(r"Rated (Pants on fire|Half true)\s+by Checkers \d+, 2020-01-\d\d", review)
    assert page.text_of("time").count(review[-10:]) == 1
    (narrowed,) = links(page, "False")
    assert "filter=verdict%3Dfalse" in narrowed
    assert {str(item["class"]) for item in get(example, narrowed).all("strong")} == {"rating false"}
    assert any(
        str(a.get("aria-label")) == "Remove “verdict False”"
        for a in get(example, narrowed).all("a")
    )


def test_the_rest_of_a_facet_opens(example: FlaskClient) -> None:
    page = get(example, "/?index=checks&query=masks")
    assert "and 12 more" in page.text_of("summary")
    sources = [text for text in page.text_of("bdi") if text.startswith("site")]
    assert len(set(sources)) == 20
    assert "Documents" not in page.text_of("bdi")  # one kind alone narrows nothing
    both = get(example, "/?index=checks&index=example-en&query=masks+measles")
    assert "Documents" not in both.text_of("bdi")


def test_several_indexes_keep_their_fields_and_their_rankings(tmp_path: Path, root: Path) -> None:
    """A field that one of them has narrows the list to it; both rankings stand beside each
    other.
    """
    for name, kind, source in (
        ("reviews", "claimreview", "reviews-en.json"),
        ("snippets", "snippets", "snippets-en.tsv"),
    ):
        request = BuildRequest(
            kind=kind, sources=(root / "examples" / source,), folder=tmp_path / name
        )
        build(request, Config())
    with Index(tmp_path / "reviews") as reviews, Index(tmp_path / "snippets") as snippets:
        _check_several(
            create_app(Config(), {"reviews": reviews, "snippets": snippets}).test_client()
        )


def _check_several(client: FlaskClient) -> None:
    address = "/?index=reviews&index=snippets&query=measles+vaccine"
    narrowed = next(one for one in links(get(client, address), "True") if "verdict" in one)
    page = get(client, narrowed)
    assert "health-check.example.org" in page.text_of("span")
    assert "www.who.int" not in page.text_of("span")
    side = {anchor.partition("-")[0] for anchor in anchors(get(client, f"{address}&view=side"))}
    assert side >= {"bm25", "dense", "hybrid"}


def test_quotation_marks_are_text_where_the_phrase_finds_nothing(client: FlaskClient) -> None:
    query = "“Two doses of the measles vaccine work perfectly,” the minister said."
    page = client.get(f"/?index=english&query={quote(query)}").text
    assert "work perfectly,” word for word. The quotation marks were ignored." in page
    assert "Two</mark>" in page
    assert "quotation marks were ignored" not in client.get(f"{SEARCH}%20%22measles%22").text
    first = get(client, f"/?index=english&query={quote(query)}&hits=1")
    second = get(client, links(first, "Next hits")[0])
    assert [anchors(page) for page in (first, second)] == [["hybrid-1"], ["hybrid-2"]]
    rows = list(csv.DictReader(io.StringIO(client.get(links(first, "CSV")[0]).text)))
    hits = client.get(links(first, "This page as JSON")[0]).get_json()["hits"]
    assert [
        str(a["href"])
        for a in first.all("a")
        if f"/documents/english/{rows[0]['docid']}?" in str(a["href"])
    ]
    assert hits[0]["docid"] == rows[0]["docid"]
    assert len(rows) > 1
    after = client.get(
        f"{SEARCH}&offset=40".replace("measles+vaccine", "%22measles+vaccine%22")
    ).text
    assert "quotation marks were ignored" not in after


def test_a_year_counts_what_it_leads_to(client: FlaskClient) -> None:
    page = get(client, f"{SEARCH}&undated=keep")
    (year,) = [str(a["href"]) for a in page.all("a") if "since=2019" in str(a["href"])]
    assert len(anchors(get(client, year))) == 1
    kept = f"{SEARCH}&since=2019&as_of=2019&undated=keep"
    assert "Remove “undated included”" in client.get(kept).text


def test_a_document_marks_the_words_that_were_searched_for(client: FlaskClient) -> None:
    for query, marked in (
        ("two -doses title:vaccine", {"Two", "vaccine"}),
        ("two before:x -source:doses", {"Two", "doses"}),
        ('"two doses" before:2030', {"Two", "doses"}),
    ):
        page = client.get(f"/documents/english/measles?query={quote(query)}").text
        assert set(re.findall("<mark>(.*?)</mark>", page)) == marked, query


def test_verify_says_if_nothing_bears(folders: dict[str, Path]) -> None:
    with Index(folders["english"]) as index:
        client = create_app(Config(), {"english": index}).test_client()
        assert (
            NOTHING
            in client.get(
                "/verify?index=english&claim=flurb+wexel+gronk+zibble+elon+musk+twitter"
            ).text
        )
        assert (
            NOTHING
            not in client.get(
                "/verify?index=english&claim=Two+doses+of+the+measles+vaccine+work"
            ).text
        )
