"""More like this: a document as the query, for every retriever, and itself left out."""

import json
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from factseek.core.domain import Filter
from factseek.core.order import sort_hits
from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.search.answer import Question
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.server.app import create_app
from factseek.settings import Config
from tests.retrieval.index.conftest import GONE
from tests.retrieval.index.test_whole_rankings import FILTERS, LONGEST, PROPERTY, SEARCHES

DOCIDS = st.sampled_from([f"d{number}" for number in range(72) if f"d{number}" not in GONE])


@PROPERTY
@given(docid=DOCIDS, asked=SEARCHES, offset=st.integers(0, 60), k=st.integers(1, 40))
def test_a_page_is_of_one_list_without_it(
    whole: Index, docid: str, asked: Search, offset: int, k: int
) -> None:
    query, asked = whole.like(docid, asked)
    everything = whole.search([query], replace(asked, k=LONGEST))[0]
    assert (
        whole.search([query], replace(asked, k=k, offset=offset))[0]
        == everything[offset : offset + k]
    )
    assert everything == sort_hits(everything)
    assert docid not in {hit.docid for hit in everything}
    plain = replace(asked, stages=(), collapse=None)
    assert whole.count(query, plain).hits == len(
        whole.search([query], replace(plain, k=LONGEST))[0]
    )


@PROPERTY
@given(docid=DOCIDS, where=FILTERS, group=st.booleans())
def test_bm25_ranks_by_the_words_without_it(
    whole: Index, docid: str, where: Filter | None, group: bool
) -> None:
    asked = Search(retriever="bm25", where=where, group=group, k=LONGEST)
    query, without = whole.like(docid, asked)
    expected = [hit for hit in whole.search([str(query)], asked)[0] if hit.docid != docid]
    assert whole.search([query], without)[0] == expected
    facet = whole.facets(query, {"topic": 9}, replace(without, group=True))["topic"]
    assert (
        sum(count for _, count in facet.values) <= len({hit.docid for hit in expected})
        or asked.where is not None
    )


@cache
def vectors_of(index: Index) -> Any:
    info = index.info
    files = [
        info.place / "segments" / segment.name / "vectors.f32"
        for segment in info.published.segments
    ]
    return np.concatenate(
        [np.fromfile(file, "<f4").reshape(-1, info.encoder.dimension) for file in files]
    )


@PROPERTY
@given(docid=DOCIDS, where=FILTERS)
def test_dense_ranks_by_the_mean_of_the_stored_vectors(
    whole: Index, docid: str, where: Filter | None
) -> None:
    query, asked = whole.like(docid, Search(retriever="dense", where=where, group=False, k=LONGEST))
    snapshot, every = whole._state, vectors_of(whole)
    middle = every[
        [row for row, of_row in enumerate(snapshot.rows.docids) if of_row == docid]
    ].mean(axis=0)
    cosines = every @ (middle / np.linalg.norm(middle))
    for hit in whole.search([query], asked)[0]:
        assert hit.score == pytest.approx(
            cosines[snapshot.rows_of(hit.docid)[hit.passage]], abs=1e-5
        )


COPIES = [
    ("agency", "Nine of ten children in the north had the measles vaccine by Monday."),
    (
        "paper",
        "Nine of ten children in the north had the measles vaccine by Monday, officials said.",
    ),
    ("study", "The measles vaccine reached fewer children in the south."),
    ("bare", "!!!"),
]


@pytest.fixture(scope="module")
def copies(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("like")
    source = folder / "copies.jsonl"
    source.write_text(
        "".join(f'{{"docid": "{docid}", "text": "{text}"}}\n' for docid, text in COPIES)
    )
    build(BuildRequest(kind="jsonl", sources=(source,), folder=folder / "index"), Config())
    return folder / "index"


FOREIGN = "Les vaccins contre la rougeole protègent les enfants, selon une étude récente en France."


def test_the_explanation_names_the_fusion_that_ranked(tmp_path: Path) -> None:
    source = tmp_path / "foreign.jsonl"
    lines = [json.dumps({"docid": docid, "text": FOREIGN}) for docid in ("one", "two")]
    source.write_text("\n".join(lines))
    build(BuildRequest(kind="jsonl", sources=(source,), folder=tmp_path / "index"), Config())
    with Index(tmp_path / "index") as index:
        of_text = index.answer(Question(FOREIGN, explain=True)).explanation
        of_document = index.answer(Question(like="one", explain=True)).explanation
    # Only a text in another language than that of the index is fused by zscore.
    kinds = [each.fusion.kind for each in (of_text, of_document) if each and each.fusion]
    assert kinds == ["zscore", "minmax"]


def ids(answer: Any) -> list[str]:
    return [hit["docid"] for hit in answer["hits"]]


def test_over_http(copies: Path) -> None:
    with Index(copies) as index:
        client = create_app(Config(), {"news": index}).test_client()
        answer = client.post(
            "/v1/news/search", json={"like": "agency", "k": 1, "count": True, "explain": True}
        ).json
        assert (ids(answer), answer["total"]) == (["paper"], {"hits": 3, "of": "rankable"})
        assert answer["query"] == {"text": answer["explanation"]["text"], "like": "agency"}
        again = {"like": "agency", "cursor": answer["cursor"]}
        assert ids(client.post("/v1/news/search", json=again).json)[0] == "study"
        simple = client.get("/v1/news/search?like=agency&collapse=near").json
        assert (ids(simple)[0], simple["query"]["like"]) == ("study", "agency")
        refused(client)


def refused(client: FlaskClient) -> None:
    for body, field, detail in (
        ({"like": "nothing"}, "like", "like: there is no document 'nothing' in this index"),
        (
            {"like": "agency", "query": "x"},
            "like",
            "like: replaces the query; leave out one of them",
        ),
        ({}, "query", "query: is missing; give a query, or the id of a document as like"),
        ({"like": 7}, "like", "like: expected str, got int"),
    ):
        response = client.post("/v1/news/search", json=body)
        assert (response.status_code, response.json["field"], response.json["detail"]) == (
            400,
            field,
            detail,
        )
    other = client.post("/v1/news/search", json={"like": "agency", "k": 1}).json["cursor"]
    problem = client.post("/v1/news/search", json={"like": "paper", "cursor": other}).json
    assert (
        problem["detail"]
        == "cursor: belongs to another search or index; send it with the query and options of the "
        "previous page"
    )


def test_on_the_command_line(copies: Path, command: Callable[..., tuple[int, str, str]]) -> None:
    run = (
        "search",
        "--like",
        "agency",
        "--index",
        copies,
        "--retriever",
        "bm25",
        "--format",
        "trec",
    )
    assert [line.split()[2] for line in command(*run)[1].splitlines()] == ["paper", "study"]
    assert [line.split()[2] for line in command(*run, "--collapse", "near")[1].splitlines()] == [
        "study"
    ]
    for arguments, message in (
        (["--like", "nothing", "--index", copies], "there is no document 'nothing' in this index"),
        (
            ["--index", copies],
            "give a TEXT to search for, or --like DOCID; see factseek search --help",
        ),
        (["x", "--like", "y", "--index", copies], "--like replaces TEXT; leave out one of them"),
    ):
        assert command("search", *arguments) == (2, "", f"factseek: {message}\n")
