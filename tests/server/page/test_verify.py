"""The tab Verify: headings, sentences in context, citations, downloads, and several indexes."""

import csv
import io
import json
from collections.abc import Iterator

import pytest
from flask.testing import FlaskClient

from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.search.index import Index
from factseek.server.app import create_app
from factseek.settings import Config

from .test_page import get

ADDRESS = "/verify"
SEA = (
    "From 1901 to 2018 the mean level of the sea rose by about 20 centimetres. "
    "The rise has become faster, too. Satellites have measured it since 1993."
)
DOCUMENTS = {
    "sea": [
        {"docid": "sea", "title": "The sea", "text": SEA, "date": "2021-09-15"},
        {"docid": "pox", "text": "Smallpox was eradicated in 1980.", "url": "https://who.example/"},
        {"docid": "moon", "text": "Twelve people walked on the moon between 1969 and 1972."},
    ],
    "health": [
        {"docid": "last", "text": "The last case of smallpox occurred in Somalia in 1977."},
        {"docid": "salt", "text": "Too much salt raises the blood pressure of adults."},
    ],
}


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Index]]:
    root = tmp_path_factory.mktemp("verify")
    indexes = {}
    for name, documents in DOCUMENTS.items():
        source = root / f"{name}.jsonl"
        source.write_text("".join(json.dumps(row) + "\n" for row in documents), "utf-8")
        build(BuildRequest(kind="jsonl", sources=(source,), folder=root / name), Config())
        indexes[name] = Index(root / name)
    yield indexes
    for index in indexes.values():
        index.close()


@pytest.fixture(scope="module")
def client(opened: dict[str, Index]) -> FlaskClient:
    return create_app(Config(), opened).test_client()


def verify(client: FlaskClient, claim: str, *indexes: str, path: str = ADDRESS) -> str:
    response = client.get(path, query_string={"claim": claim, "index": indexes or ["sea"]})
    assert response.status_code == 200
    return response.text


@pytest.mark.parametrize(
    ("claim", "heading"),
    [
        ("The sea level rose by 20 centimetres", "Sentences that bear on the claim, best first"),
        ("The prime minister raised the minimum wage", "Closest sentences"),  # unrelated
        ("El presidente subió los impuestos este año", "Closest sentences"),  # nobody can tell
        ("Plague and cholera killed many in Peru", "Closest sentences"),  # absent words
    ],
)
def test_the_heading_says_what_the_sentences_are(
    client: FlaskClient, claim: str, heading: str
) -> None:
    page = get(client, f"{ADDRESS}?index=sea&claim={claim}")
    assert [text.rpartition(" ")[0] for text in page.text_of("h2")] == [heading]


def test_absent_words_are_named(client: FlaskClient) -> None:
    text = verify(client, "Plague and cholera killed many in Peru")
    assert "No document contains:" in text
    assert "<strong><bdi>Peru</bdi></strong>" in text


def test_a_sentence_is_shown_with_the_one_that_has_its_subject(client: FlaskClient) -> None:
    text = verify(client, "The rise has become faster, too.")
    lead = "From 1901 to 2018 the mean level of the sea rose by about 20 centimetres."
    assert f'<span class="lead-in">{lead}</span>' in text


def test_each_sentence_has_its_neighbours_and_a_citation(client: FlaskClient) -> None:
    page = get(client, f"{ADDRESS}?index=sea&claim=The+rise+has+become+faster")
    paragraphs = page.text_of("p")
    assert SEA in paragraphs
    summaries = page.text_of("summary")
    assert "Sentences around it The sea" in summaries
    assert "Cite The sea" in summaries
    cited = verify(client, "Smallpox was eradicated in 1980")
    assert "https://who.example/" in cited


def test_the_sentences_of_several_indexes_are_one_list(client: FlaskClient) -> None:
    text = verify(client, "The last case of smallpox occurred in 1977", "sea", "health")
    assert "in Somalia in 1977" in text.replace("<mark>", "").replace("</mark>", "")
    for name in DOCUMENTS:
        assert f'<span class="index"><bdi>{name}</bdi></span>' in text
    assert text.count("<article>") <= 10


def test_the_sentences_can_be_downloaded(client: FlaskClient) -> None:
    claim = "Smallpox was eradicated in 1980"
    asked = {"claim": claim, "index": ["sea", "health"]}
    table = client.get("/verify/export", query_string={**asked, "format": "csv"})
    rows = list(csv.DictReader(io.StringIO(table.text)))
    assert (rows[0]["docid"], rows[0]["passage"], rows[0]["index"]) == (
        "pox",
        "Smallpox was eradicated in 1980.",
        "sea",
    )
    assert {row["index"] for row in rows} == {"sea", "health"}
    content = client.get("/verify/export", query_string={**asked, "format": "json"}).json
    assert content["related"] is True
    assert content["absent_words"] == []
    assert [hit["docid"] for hit in content["hits"]] == [row["docid"] for row in rows]
    page = verify(client, claim, "sea", "health")
    assert "/verify/export?claim=Smallpox+was+eradicated+in+1980&amp;" in page


@pytest.mark.parametrize(
    ("query", "reason"),
    [
        ({"claim": "a b", "format": "pdf"}, "there is no format 'pdf'"),
        ({"claim": "", "format": "csv"}, "there is nothing to export: type a claim first"),
        ({"claim": "?!", "format": "csv"}, "the claim contains no words to search for"),
    ],
)
def test_a_download_that_makes_no_sense_is_refused(
    client: FlaskClient, query: dict[str, str], reason: str
) -> None:
    response = client.get("/verify/export", query_string=query)
    assert response.status_code == 400
    assert reason in response.json["detail"]
