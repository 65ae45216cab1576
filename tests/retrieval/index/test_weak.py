"""Weak matches are said to be weak: a floor for each index, and what a date bound leaves out."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from factseek.core.domain import Filter
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.deletion import delete
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.server.app import create_app
from factseek.settings import Config

DOCUMENTS = [
    {
        "docid": "measles",
        "text": "Two doses of the measles vaccine are 97 percent effective.",
        "date": "2019",
    },
    {
        "docid": "moon",
        "text": "Twelve people walked on the moon between 1969 and 1972.",
        "source": "x.org",
    },
    {
        "docid": "sea",
        "text": "The sea level rises by a few millimetres every year.",
        "source": "x.org",
    },
    {"docid": "nile", "text": "The Nile flows north to the Mediterranean.", "date": "2021-03"},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("weak") / "index"
    source = folder.with_suffix(".jsonl")
    rows = [*DOCUMENTS, {"docid": "gone", "text": "Nobody knows when."}]
    source.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    build(BuildRequest(kind="jsonl", sources=(source,), folder=folder), Config())
    delete(folder, ["gone"])
    return folder


@pytest.fixture(scope="module")
def index(folder: Path) -> Iterator[Index]:
    with Index(folder) as opened:
        yield opened


def weak(index: Index, query: str, retriever: str | None = None) -> dict[str, bool]:
    asked = Search(retriever=retriever)
    return {
        hit.docid: bool(hit.weak)
        for hit in index.evidence(query, index.search([query], asked)[0], asked)
    }


@pytest.mark.parametrize("retriever", ["dense", "hybrid"])
def test_made_up_words_find_nothing_but_weakly(index: Index, retriever: str) -> None:
    for query in ("qwertyuiop zxcvbnm", "blorptag fnordwick"):
        assert set(weak(index, query, retriever).values()) == {True}
    marks = weak(index, "Is the vaccination against measles any good?", retriever)
    assert marks["measles"] is False
    assert weak(index, "astronauts on the lunar surface", retriever)["moon"] is False


def test_what_a_date_leaves_out_is_said(index: Index) -> None:
    note = (
        "2 documents have no date and are left out by the date filter; undated: keep "
        "(--undated keep) includes them"
    )
    assert index.note("measles", Search(where=Filter(as_of="2020-12-31"))) == note
    assert (
        index.note("measles", Search(where=Filter(since="2020-01-01", source=("x.org",)))) == note
    )
    assert index.note("measles", Search(where=Filter(as_of="2020-12-31", undated=True))) == ""
    assert index.note("measles", Search(where=Filter(as_of="2020-12-31", kind=("webpages",)))) == ""
    assert index.note("measles", Search(where=Filter(source=("x.org",)))) == ""
    assert (index.undated(Search(where=Filter(as_of="2020-12-31"))), index.undated()) == (2, 0)


def test_over_http_and_on_the_page(index: Index) -> None:
    client = create_app(Config(), {"weak": index}).test_client()
    answer = client.post(
        "/v1/weak/search", json={"query": "qwertyuiop zxcvbnm", "as_of": "2020"}
    ).json
    assert [hit["weak"] for hit in answer["hits"]] == [True]
    assert answer["note"].startswith("2 documents have no date and are left out")
    assert (
        "weak"
        not in client.post("/v1/weak/search", json={"query": "measles vaccine"}).json["hits"][0]
    )
    assert "weak match, by meaning only" in client.get("/?query=qwertyuiop+zxcvbnm").text
