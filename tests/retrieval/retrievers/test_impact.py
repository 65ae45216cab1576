"""The retriever ``impact``: beside a matrix of scipy, with filters, deletions, fusion, counts."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from msgspec.structs import replace
from scipy.sparse import csr_matrix, vstack

from factseek.core.domain import Filter, Hit
from factseek.core.errors import MachineError, QueryError
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.deletion import delete
from factseek.retrieval.config import FusionSettings, ImpactSettings
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.retrieval.sparse.encoder import SparseEncoder, open_sparse_encoder
from factseek.retrieval.sparse.impacts import rounded_impacts
from factseek.settings import Config, convert
from tests.small_models import small_sparse_model

QUERIES = [
    "measles vaccination prevents deaths",
    "sea ice melts",
    "the nile of the water",
    "zebra",
    "日本",
]
GONE = ("plain-2", "007-3")
IMPACT = Search(retriever="impact", k=10)


def config(queries: str = "auto") -> Config:
    raw = {
        "index": {"segment_passages": 30},
        "passages": {"words": 40, "split": {"jsonl": True}},
        "impact": {"model": str(small_sparse_model()), "queries": queries},
    }
    made: Config = convert(raw, "test")
    return made


@pytest.fixture(scope="module")
def folder(written: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    pytest.importorskip("torch", reason="the small sparse model is made by torch")
    folder = tmp_path_factory.mktemp("impact") / "index"
    request = BuildRequest(
        kind="jsonl", sources=(written,), folder=folder, views=("impacts",), dense=False
    )
    build(request, config())
    delete(folder, GONE)
    return folder


@pytest.fixture(scope="module")
def index(folder: Path) -> Iterator[Index]:
    with Index(folder, config()) as index:
        yield index


@pytest.fixture(scope="module")
def model() -> Iterator[SparseEncoder]:
    encoder = open_sparse_encoder(config().impact)
    yield encoder
    encoder.close()


def scored_by_matrix(
    index: Index, model: SparseEncoder, terms: np.ndarray, weights: np.ndarray
) -> list[Hit]:
    """Return all passages with a score, in the total order, from a matrix of all live passages."""
    passages = [
        (document, passage)
        for document in index.documents()
        for passage in index.passages(document.docid)
    ]
    texts = [f"{document.title}\n{passage.text}" for document, passage in passages]
    rows = []
    for chunk in model.weigh_documents_stream(texts):
        for vector in chunk:
            of_row, impacts = rounded_impacts(vector)
            places = (np.zeros(len(of_row), dtype=int), of_row)
            shape = (1, model.info.vocabulary)
            rows.append(csr_matrix((impacts.astype(float), places), shape=shape))
    query = np.zeros(model.info.vocabulary)
    query[terms] = weights
    scores = (vstack(rows, format="csr") @ query).astype(np.float32)
    hits = [
        Hit(document.docid, float(score), passage.number)
        for score, (document, passage) in zip(scores, passages, strict=True)
        if score > 0
    ]
    hits.sort(key=lambda hit: hit.passage)
    hits.sort(key=lambda hit: hit.docid, reverse=True)
    return sorted(hits, key=lambda hit: -hit.score)


def assert_same(hits: list[Hit], expected: list[Hit]) -> None:
    assert [(hit.docid, hit.passage) for hit in hits] == [
        (hit.docid, hit.passage) for hit in expected
    ]
    np.testing.assert_allclose(
        [hit.score for hit in hits], [hit.score for hit in expected], rtol=1e-6
    )


@pytest.mark.parametrize("query", QUERIES)
def test_queries_by_the_model_are_those_of_a_matrix(
    index: Index, model: SparseEncoder, query: str
) -> None:
    expected = scored_by_matrix(index, model, *model.weigh_query(query))
    (hits,) = index.search([query], replace(IMPACT, group=False))
    assert_same(hits, expected[:10])
    first: dict[str, Hit] = {}
    for hit in expected:
        first.setdefault(hit.docid, hit)
    (grouped,) = index.search([query], IMPACT)
    assert_same(grouped, list(first.values())[:10])


@pytest.mark.parametrize("query", QUERIES)
def test_queries_without_a_model_are_words_with_their_idf(
    folder: Path, model: SparseEncoder, query: str
) -> None:
    with Index(folder, config("idf")) as index:
        every = list(index.docids())
        state = index._state
        terms = model.word_pieces()(query)
        counts = state.count_impacts("impacts", terms)
        # Deleted passages count as long as they are in the index.
        assert counts.passages == len(every) > index.info.passages
        weights = np.log((counts.passages + 1) / (counts.having + 1)).astype(np.float32)
        (hits,) = index.search([query], replace(IMPACT, group=False))
        assert_same(hits, scored_by_matrix(index, model, terms, weights)[:10])


def test_a_filter_and_deletions_leave_hits_out(index: Index) -> None:
    (everything,) = index.search([QUERIES[0]], replace(IMPACT, k=100))
    assert len(everything) > 30
    assert not {hit.docid for hit in everything} & set(GONE)
    where = Filter(source=("who.int",))
    (filtered,) = index.search([QUERIES[0]], replace(IMPACT, k=100, where=where))
    kept = {document.docid for document in index.documents(where)}
    assert filtered == [hit for hit in everything if hit.docid in kept]
    assert index.count(QUERIES[0], replace(IMPACT, where=where)).hits == len(filtered)


def test_a_query_without_a_known_term_has_no_hits(folder: Path) -> None:
    with Index(folder, config("idf")) as index:
        assert index.search(["日本"], IMPACT) == [[]]
        assert index.count("日本", IMPACT).hits == 0


def test_a_fusion_has_it_only_if_a_weight_names_it(index: Index) -> None:
    assert index.info.retrievers == ("bm25", "impact")
    assert "impact" not in index.settings.search.fusion.weights
    fusion = FusionSettings(kind="rrf", weights={"bm25": 0.5, "impact": 0.5})
    hybrid = Search(retriever="hybrid", fusion=fusion)
    (hits,) = index.search([QUERIES[0]], hybrid)
    assert {part.retriever for hit in hits for part in hit.parts} == {"bm25", "impact"}


def test_an_index_without_impacts_says_how_to_add_them(small: Index) -> None:
    with pytest.raises(QueryError) as raised:
        small.search([QUERIES[0]], IMPACT)
    assert raised.value.line.endswith(
        "has no impacts: it supports hybrid, bm25 and dense, not impact; name a sparse model as "
        "impact.model, and add it with factseek compact --add impacts"
    )
    assert "impact" not in small.info.retrievers


def test_its_footprint_has_its_files_and_the_time_of_encoding(index: Index) -> None:
    words, weighed = index.footprint("bm25"), index.footprint("impact")
    segments = index.info.published.segments
    sizes = [
        file.bytes
        for segment in segments
        for name, file in segment.files.items()
        if name.startswith("impacts.") or name == "documents.sqlite"
    ]
    assert weighed.bytes == sum(sizes)
    assert weighed.seconds > words.seconds


def test_a_query_is_the_same_alone_and_in_a_batch(index: Index) -> None:
    alone = [index.search([query], IMPACT)[0] for query in QUERIES]
    assert index.search(QUERIES, IMPACT) == alone


def marked_words(index: Index, retriever: str) -> list[str]:
    search = Search(retriever=retriever, k=10)
    (hits,) = index.search(["sea ice melts"], search)
    evidence = index.evidence("sea ice melts", hits, search)
    (passage,) = (hit.passage for hit in evidence if hit.docid == "one")
    return [passage.text[start:end] for start, end in passage.highlights]


def test_words_that_the_model_expects_are_highlighted(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the small sparse model is made by torch")
    source = tmp_path / "texts.jsonl"
    source.write_text(
        '{"id": "one", "text": "Is there ice in the world, on the Nile?"}\n'
        '{"id": "two", "text": "Measles spreads in a school."}\n'
    )
    request = BuildRequest(
        kind="jsonl",
        sources=(source,),
        folder=tmp_path / "index",
        views=("impacts",),
        dense=False,
    )
    build(request, config())
    with Index(tmp_path / "index", config()) as by_model:
        assert marked_words(by_model, "impact") == ["ice", "world", "Nile"]
        assert marked_words(by_model, "bm25") == ["ice"]
    with Index(tmp_path / "index", config("idf")) as by_words:
        assert marked_words(by_words, "impact") == ["ice"]


def test_its_model_may_move(tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the small sparse model is made by torch")
    model = Path(shutil.copytree(small_sparse_model(), tmp_path / "model"))
    source = tmp_path / "texts.jsonl"
    source.write_text('{"docid": "a", "text": "measles vaccine"}\n', "utf-8")
    request = BuildRequest(
        kind="jsonl", sources=(source,), folder=tmp_path / "ix", views=("impacts",), dense=False
    )
    build(request, replace(Config(), impact=ImpactSettings(model=str(model))))
    moved = model.rename(tmp_path / "elsewhere")
    with Index(tmp_path / "ix", Config()) as index, pytest.raises(MachineError) as refused:
        index.search(["measles"], IMPACT)
    assert refused.value.line.endswith(
        f": sparse model '{model}': there is no such folder; if the model is in another folder by "
        "now, set impact.model to it"
    )
    there = replace(Config(), impact=ImpactSettings(model=str(moved)))
    with Index(tmp_path / "ix", there) as index:
        assert [hit.docid for hit in index.search(["measles"], IMPACT)[0]] == ["a"]
