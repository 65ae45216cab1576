"""The open index: the same hits in any company, filters before ranking, and words for what cannot be."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factseek.retrieval.config import FusionSettings
from factseek.retrieval.domain import Document, Filter, Hit, ScoredDocids
from factseek.retrieval.errors import IndexStateError, MachineError, NotFoundError, QueryError
from factseek.retrieval.filters import last_day, matches
from factseek.retrieval.records.runs import best_documents
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.retrieval.search.order import float32, ordered
from factseek.retrieval.store import manifest as manifests
from factseek.settings import convert
from tests.retrieval.conftest import DATES, SENTENCES, documents

RETRIEVERS = ["bm25", "dense", "hybrid"]
BY_ID = {document.docid: document for document in documents()}


def test_what_went_in_comes_out(small: Index) -> None:
    for document in documents():
        assert small.document(document.docid) == document
        passages = small.passages(document.docid)
        assert all(document.text[p.start : p.end] == p.text for p in passages)
    assert small.info.published.documents == 48
    assert len(small.info.published.segments) == 6
    assert any(segment.passages > segment.documents for segment in small.info.published.segments)


def test_a_document_that_is_not_there(small: Index) -> None:
    with pytest.raises(NotFoundError, match=r"^there is no document '0' in this index$"):
        small.document("0")


@pytest.mark.parametrize("retriever", RETRIEVERS)
@pytest.mark.parametrize("group", [True, False])
def test_hits_are_in_the_total_order_and_smaller_k_is_a_prefix(small: Index, retriever: str, group: bool) -> None:
    deep = small.search(SENTENCES, Search(k=60, retriever=retriever, group=group))
    for hits in deep:
        assert hits == ordered(hits)
        if group:
            assert len({hit.docid for hit in hits}) == len(hits)
    for k in (1, 2, 3, 7, 20):
        assert small.search(SENTENCES, Search(k=k, retriever=retriever, group=group)) == [h[:k] for h in deep]


@pytest.mark.parametrize("retriever", RETRIEVERS)
@pytest.mark.parametrize("group", [True, False])
def test_columns_are_the_documents_of_the_hits(small: Index, retriever: str, group: bool) -> None:
    asked = Search(k=20, retriever=retriever, group=group)
    found = [ScoredDocids(docids, float32(scores)) for docids, scores in small.columns(SENTENCES, asked)]
    assert found == [best_documents(hits) for hits in small.search(SENTENCES, asked)]


@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_a_query_has_the_same_hits_in_any_company_and_on_any_thread(small: Index, retriever: str) -> None:
    asked = Search(k=20, retriever=retriever)
    together = small.search(SENTENCES * 5, asked)
    assert together == [small.search([query], asked)[0] for query in SENTENCES] * 5
    with ThreadPoolExecutor(4) as pool:
        apart = list(pool.map(lambda query: small.search([query], asked)[0], SENTENCES * 5))
    assert apart == together


FILTERS = st.builds(
    Filter,
    topic=st.lists(st.sampled_from(["T0", "T1", "T2", "nowhere"]), max_size=2, unique=True).map(tuple),
    source=st.lists(st.sampled_from(["who.int", "a b", "a"]), max_size=2, unique=True).map(tuple),
    language=st.lists(st.sampled_from(["en", "de"]), max_size=1).map(tuple),
    kind=st.lists(st.sampled_from(["jsonl", "cord19"]), max_size=2, unique=True).map(tuple),
    as_of=st.sampled_from(["", "2018-12-31", "2019-12-31", "2020-02-29", "2020-03-01", "2022-01-01"]),
    since=st.sampled_from(["", "2019-01-01", "2020-03-01", "2020-03-02"]),
    undated=st.booleans(),
    # Words and declared fields have properties of their own.
    phrases=st.just(()),
    without=st.just(()),
    title=st.just(()),
    metadata=st.just(()),
)


@pytest.mark.parametrize("retriever", RETRIEVERS)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=FILTERS, query=st.sampled_from(SENTENCES))
def test_filters_are_applied_before_ranking(small: Index, retriever: str, where: Filter, query: str) -> None:
    asked = Search(k=48, retriever=retriever, where=where)
    (hits,) = small.search([query], asked)
    everything = small.search([query], asked._replace(where=None))[0]
    passing = {docid for docid, document in BY_ID.items() if matches(where, document, "jsonl")}
    assert {document.docid for document in small.documents(where)} == passing
    assert {hit.docid for hit in hits} == {hit.docid for hit in everything} & passing
    if retriever != "hybrid":  # fused scores depend on the ranks among what passes
        assert hits == [hit for hit in everything if hit.docid in passing]
    few = small.search([query], asked._replace(k=5))[0]
    assert len(few) == min(5, len(hits))


def test_the_last_day_of_a_partial_date_decides(small: Index) -> None:
    hits = small.search([SENTENCES[0]], Search(k=48, retriever="dense", where=Filter(as_of="2020-02-29")))[0]
    assert {BY_ID[hit.docid].date for hit in hits} == {"2019", "2020-02"}
    assert [last_day(date) for date in DATES[:2]] == ["2019-12-31", "2020-02-29"]


def test_evidence_of_many_hits_of_all_segments_is_each_hits_own(small: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("factseek.retrieval.store.documents._AT_ONCE", 7)
    hits = small.search(["measles ice"], Search(k=100, retriever="bm25", group=False))[0]
    evidence = small.evidence("measles ice", [*hits, hits[0]])
    assert len(hits) > 40
    for hit, shown in zip([*hits, hits[0]], evidence, strict=True):
        document = BY_ID[hit.docid]
        passage = next(one for one in small.passages(hit.docid) if one.number == hit.passage)
        assert (shown.docid, shown.title, shown.metadata) == (hit.docid, document.title, document.metadata)
        assert shown.passage.text == passage.text == document.text[shown.passage.start : shown.passage.end]
    with pytest.raises(NotFoundError, match=r"^there is no passage 99 of a document '7-0' in this index$"):
        small.evidence("measles", [Hit("7-0", 1.0, 99)])


def test_evidence_shows_passage_highlights_and_each_retrievers_rank(small: Index) -> None:
    query = "measles vaccine"
    (hits,) = small.search([query], Search(k=5))
    evidence = small.evidence(query, hits)
    assert [entry.rank for entry in evidence] == [1, 2, 3, 4, 5]
    for entry in evidence:
        document = BY_ID[entry.docid]
        passage = entry.passage
        assert document.text[passage.start : passage.end] == passage.text
        marked = {passage.text[start:end].lower() for start, end in passage.highlights}
        assert marked <= {"measles", "vaccine", "vaccination"}
        assert set(entry.retrievers) <= {"bm25", "dense"}
        assert (entry.kind, entry.topic, entry.metadata) == ("jsonl", document.topic, document.metadata)
    bm25 = small.search([query], Search(k=100, retriever="bm25"))[0]
    ranks = {hit.docid: (rank, hit.score) for rank, hit in enumerate(bm25, 1)}
    for entry in evidence:
        part = entry.retrievers.get("bm25")
        assert (part and (part.rank, part.score)) == ranks.get(entry.docid)


@pytest.mark.parametrize("query", ["", "   ", "!!! … —", "https://t.co/x"])
def test_a_query_without_words_is_refused(small: Index, query: str) -> None:
    with pytest.raises(QueryError, match=r"holds no words to search for$"):
        small.search([query], Search(profile="tweet"))


def test_a_query_of_stop_words_finds_nothing_by_bm25(small: Index) -> None:
    assert small.search(["the of and"], Search(retriever="bm25")) == [[]]


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        (Search(k=0), "k 0 is out of range: ask for 1 to 10000 hits"),
        (Search(k=10_001), "k 10001 is out of range: ask for 1 to 10000 hits"),
        (Search(retriever="magic"), "unknown retriever 'magic'; there are bm25, dense, hybrid"),
    ],
)
def test_what_cannot_be_asked(small: Index, asked: Search, message: str) -> None:
    with pytest.raises(QueryError) as error:
        small.search(["measles"], asked)
    assert str(error.value) == message


def test_a_query_that_is_too_long(small: Index) -> None:
    with pytest.raises(QueryError, match=r"^the query has 10001 characters, at most 10000 are searched"):
        small.search(["x" * 10_001])
    long = " ".join(f"w{i}" for i in range(1700))
    assert small.search([long + " measles"], Search(retriever="bm25"))[0]


def test_an_index_without_vectors_answers_bm25_only(tmp_path: Path, written: Path) -> None:
    from factseek.indexer.build import BuildRequest, build
    from factseek.settings import Config

    build(BuildRequest(kind="jsonl", sources=(written,), folder=tmp_path / "sparse", dense=False), Config())
    with Index(tmp_path / "sparse") as index:
        assert index.resolve().retriever == "bm25"
        assert index.search(["measles"])[0]
        with pytest.raises(QueryError) as error:
            index.search(["measles"], Search(retriever="hybrid"))
    assert str(error.value) == (
        f"{tmp_path / 'sparse'}: was built without vectors: it answers bm25, not hybrid; rebuild it without --no-dense"
    )


def test_a_language_that_the_encoder_does_not_know_gets_a_note(small: Index) -> None:
    note = small.note("هل اللقاح آمن للأطفال؟")
    assert note == (
        "the encoder all-MiniLM-L6-v2 knows only en, the query looks like Arabic; "
        "trust bm25 more than dense or hybrid, or build the index with a multilingual encoder"
    )
    assert small.note("Is the vaccine safe?") == ""
    assert small.note("هل اللقاح آمن؟", Search(retriever="bm25")) == ""
    assert "looks like es" in small.note("¿Son seguras las vacunas contra el sarampión para los niños pequeños?")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda raw: raw.update(layout=99),
            "has layout 99, this factseek reads layout 3; rebuild it with: factseek index KIND SOURCE --overwrite",
        ),
        (lambda raw: raw.pop("layout"), "is not the manifest of a factseek index"),
        (lambda raw: raw.pop("segments"), "is damaged (Object missing required field `segments`)"),
        (lambda raw: raw.update(extra=1), "is damaged (Object contains unknown field `extra`)"),
    ],
)
def test_a_manifest_that_does_not_fit_is_refused(tmp_path: Path, small: Index, change: object, message: str) -> None:
    raw = json.loads(manifests.encode(small.info.published))
    change(raw)  # type: ignore[operator]
    (tmp_path / "manifest.json").write_text(json.dumps(raw), "utf-8")
    with pytest.raises(IndexStateError) as error:
        Index(tmp_path)
    assert str(error.value).startswith(f"{tmp_path / 'manifest.json'}: {message}")


def test_folders_that_are_no_index(tmp_path: Path) -> None:
    with pytest.raises(IndexStateError, match="there is no index; build one with: factseek index KIND SOURCE"):
        Index(tmp_path / "nothing")
    with pytest.raises(IndexStateError, match="there is no index; build one with"):
        Index(tmp_path)
    (tmp_path / "file").write_text("x")
    with pytest.raises(IndexStateError, match="is not a factseek index"):
        Index(tmp_path)
    with pytest.raises(IndexStateError, match="is a file, not an index directory"):
        Index(tmp_path / "file")
    (tmp_path / "manifest.json").write_text("{cut")
    with pytest.raises(IndexStateError, match="is damaged"):
        Index(tmp_path)


@pytest.mark.parametrize(
    "encoder", [{"precision": "fp32"}, {"model": "multilingual-e5-small"}, {"model": "no-such-model"}]
)
def test_an_index_is_searched_with_the_encoder_of_its_manifest(small: Index, encoder: dict[str, str]) -> None:
    expected = small.search(["measles"], Search(retriever="dense"))
    with Index(small.info.place, convert({"encoder": encoder}, "test")) as index:
        assert index.search(["measles"], Search(retriever="dense")) == expected


def test_an_encoder_that_is_not_found_as_it_was_is_refused(small: Index, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    shutil.copytree(small.info.place, folder)
    manifest = json.loads((folder / "manifest.json").read_bytes())
    for encoder, error, message in [
        ({"revision": "0123456789abcdef"}, IndexStateError, "what is found of that name is all-MiniLM-L6-v2 (int8, "),
        ({"name": "gone", "model": "/no/such/folder"}, MachineError, "there is no such folder"),
        (
            {"name": "gone", "model": "a/gone"},
            MachineError,
            "is not on this machine; fetch it with: hf download a/gone",
        ),
    ]:
        manifest["views"]["vectors"] |= encoder
        (folder / "manifest.json").write_text(json.dumps(manifest))
        with Index(folder) as index:
            assert index.search(["measles"], Search(retriever="bm25"))[0]
            with pytest.raises(error, match=re.escape(message)) as caught:
                index.search(["measles"], Search(retriever="dense"))
        assert caught.value.line.startswith(f"{folder}: its vectors were made by ")


@pytest.mark.real
def test_the_same_bytes_for_any_hash_seed_and_thread_count(small: Index, tmp_path: Path) -> None:
    outputs = set()
    for seed, threads in [("0", 1), ("1", 2), ("4711", 3)]:
        config = tmp_path / f"{seed}.yaml"
        config.write_text(f"encoder: {{threads: {threads}}}\n", "utf-8")
        environment = {**os.environ, "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": str(threads)}
        command = ["search", "measles vaccine trials", "--index", str(small.info.place), "--json", "-k", "40"]
        ran = subprocess.run(
            [sys.executable, "-m", "factseek", *command, "--config", str(config)],
            env=environment,
            capture_output=True,
            check=True,
        )
        outputs.add(ran.stdout)
    assert len(outputs) == 1
    assert len(json.loads(outputs.pop())["hits"]) == 40


def test_searching_imports_neither_torch_nor_pyserini(small: Index) -> None:
    script = (
        "import sys; from factseek import Search, open_index\n"
        f"with open_index({str(small.info.place)!r}) as index:\n"
        "    assert index.search(['measles'], Search(retriever='hybrid'))[0]\n"
        "print([name for name in ('torch', 'transformers', 'pyserini', 'pandas') if name in sys.modules])"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.strip() == "[]"


def test_documents_survive_any_text(tmp_path: Path) -> None:
    from factseek.retrieval.domain import Span
    from factseek.retrieval.store.documents import DocumentWriter, SegmentDocuments, checksum

    odd = Document(
        "id", 'quote " back\\slash \x01 \u2028 😀', "t\tt", metadata={"list": [1, None], "nested": {"a": "ب"}}
    )
    writer = DocumentWriter(tmp_path / "d.sqlite")
    writer.add(odd, [Span(3, 0, 5), Span(9, 5, 9)], checksum(odd), "here:1")
    writer.finish()
    documents = SegmentDocuments(tmp_path / "d.sqlite")
    assert documents.document("id") == odd
    assert documents.spans("id") == [Span(3, 0, 5), Span(9, 5, 9)]
    assert documents.seen("id") == (checksum(odd), "here:1")
    assert checksum(odd) == checksum(odd._replace(metadata={"nested": {"a": "ب"}, "list": [1, None]}))
    assert checksum(odd) != checksum(odd._replace(title="t t"))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ({"bm25": 0, "dense": 0}, "search.fusion.weights: all weights are 0: no ranking would count"),
        ({"hybrid": 1}, "search.fusion.weights: name rankings other than hybrid, each with its weight"),
    ],
)
def test_weights_that_make_no_sense_are_said_where_they_count(small: Index, weights: dict, message: str) -> None:
    fusion = FusionSettings(weights=weights)
    assert small.search(["measles"], Search(retriever="bm25", fusion=fusion))[0]
    for retriever in ("hybrid", "auto"):
        with pytest.raises(QueryError) as raised:
            small.search(["measles"], Search(retriever=retriever, fusion=fusion))
        assert str(raised.value) == message
