"""Weak matches are said to be weak: a floor for each index, and what a date bound leaves out."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from factseek.indexer.build import BuildRequest, build
from factseek.indexer.deletion import delete
from factseek.retrieval.domain import Filter
from factseek.retrieval.floor import QUERIES, SHARE, made_up_queries
from factseek.retrieval.index.local import Index
from factseek.retrieval.searcher import Search
from factseek.server.app import create_app
from factseek.settings import Config

DOCUMENTS = [
    {"docid": "measles", "text": "Two doses of the measles vaccine are 97 percent effective.", "date": "2019"},
    {"docid": "moon", "text": "Twelve people walked on the moon between 1969 and 1972.", "source": "x.org"},
    {"docid": "sea", "text": "The sea level rises by a few millimetres every year.", "source": "x.org"},
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
    return {hit.docid: bool(hit.weak) for hit in index.evidence(query, index.search([query], asked)[0], asked)}


@pytest.mark.parametrize("retriever", ["dense", "hybrid"])
def test_made_up_words_find_nothing_but_weakly(index: Index, retriever: str) -> None:
    for query in ("qwertyuiop zxcvbnm", "blorptag fnordwick"):
        assert set(weak(index, query, retriever).values()) == {True}
    marks = weak(index, "Is the vaccination against measles any good?", retriever)
    assert marks["measles"] is False
    assert weak(index, "astronauts on the lunar surface", retriever)["moon"] is False


def test_a_hit_that_shares_a_word_is_not_weak(index: Index) -> None:
    assert weak(index, "zxcvbnm flows", "hybrid")["nile"] is False
    assert not any(weak(index, "zxcvbnm flows", "bm25").values())


def test_the_floor_is_the_same_for_ever(folder: Path, index: Index) -> None:
    queries = made_up_queries()
    assert (len(set(queries)), queries[0]) == (QUERIES, "mike zamo zara rozi")
    floor = index._floor("vectors")
    with Index(folder) as again:
        assert again._floor("vectors") == floor
    best = sorted(hits[0].score for hits in index.search(queries, Search(k=1, retriever="dense")))
    assert floor == pytest.approx(best[int(SHARE * (QUERIES - 1))], abs=1e-6)


def test_what_a_date_leaves_out_is_said(index: Index) -> None:
    note = "2 documents without a date are left out by the date; undated: keep takes them in"
    assert index.note("measles", Search(where=Filter(as_of="2020-12-31"))) == note
    assert index.note("measles", Search(where=Filter(since="2020-01-01", source=("x.org",)))) == note
    assert index.note("measles", Search(where=Filter(as_of="2020-12-31", undated=True))) == ""
    assert index.note("measles", Search(where=Filter(as_of="2020-12-31", kind=("webpages",)))) == ""
    assert index.note("measles", Search(where=Filter(source=("x.org",)))) == ""


def test_over_http_and_on_the_page(index: Index) -> None:
    client = create_app(Config(), {"weak": index}).test_client()
    answer = client.post("/v1/weak/search", json={"query": "qwertyuiop zxcvbnm", "as_of": "2020"}).json
    assert [hit["weak"] for hit in answer["hits"]] == [True]
    assert answer["note"].startswith("2 documents without a date are left out")
    assert "weak" not in client.post("/v1/weak/search", json={"query": "measles vaccine"}).json["hits"][0]
    assert "found only by its meaning, weakly" in client.get("/?query=qwertyuiop+zxcvbnm").text


def test_on_the_command_line(folder: Path, command: Callable[..., tuple[int, str, str]]) -> None:
    code, printed, said = command("search", "qwertyuiop zxcvbnm", "--index", folder, "--as-of", "2020")
    assert (code, "dense 1 · found only by its meaning, weakly)" in printed) == (0, True)
    assert said.startswith("note: 2 documents without a date are left out by the date; undated: keep takes them in\n")
