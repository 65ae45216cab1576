"""Vectors that the user brings: for the passages of an index, and for queries."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

import factseek
from factseek import commands
from factseek.core.domain import Query
from factseek.core.errors import QueryError, SourceError, UsageError
from factseek.core.records.vector_file import read_vector_file
from factseek.eval.bench.bench import choose_retrievers
from factseek.retrieval.config import FusionSettings, SearchSettings
from factseek.retrieval.search.answer import Question
from factseek.retrieval.search.index import open_index
from factseek.retrieval.search.options import Search
from factseek.retrieval.store import manifest as manifests
from factseek.server.app import create_app
from factseek.settings import Config

TEXTS = {"a": "measles vaccine", "b": "sea level rise", "c": "longest river"}
VECTORS = {"a": [3.0, 0.0, 0.0], "b": [0.0, 2.0, 0.0], "c": [0.0, 1.0, 1.0]}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    path = tmp_path / "texts.tsv"
    path.write_text("".join(f"{docid}\t{text}\n" for docid, text in TEXTS.items()), "utf-8")
    return path


def json_lines(path: Path, vectors: dict[str, Any], id_name: str = "docid") -> Path:
    lines = [json.dumps({id_name: key, "vector": vector}) for key, vector in vectors.items()]
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def written(form: str, folder: Path) -> list[str]:
    """Write the vectors in a form; return the arguments that name them."""
    if form == "jsonl":
        return ["--vectors", str(json_lines(folder / "vectors.jsonl", VECTORS))]
    if form == "parquet":
        table = pyarrow.table({"docid": list(VECTORS), "vector": list(VECTORS.values())})
        parquet.write_table(table, folder / "vectors.parquet")
        return ["--vectors", str(folder / "vectors.parquet")]
    np.save(folder / "vectors.npy", np.array(list(VECTORS.values()), dtype=np.float16))
    (folder / "ids.tsv").write_text("a\nb\t0\nc\t0\n", "utf-8")
    return ["--vectors", str(folder / "vectors.npy"), "--vector-ids", str(folder / "ids.tsv")]


@pytest.mark.parametrize("form", ["jsonl", "parquet", "npy"])
def test_vectors_of_any_form_are_indexed_and_searched(
    form: str, source: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "index"
    places = ["index", "snippets", str(source), "--index", str(folder)]
    assert commands.main([*places, *written(form, tmp_path)]) == 0
    with open_index(folder) as index:
        query = index.query_with_vector("anything", [0.0, 1.0, 0.0])
        (hits,) = index.search([query], Search(retriever="dense"))
        assert [(hit.docid, round(hit.score, 6)) for hit in hits] == [
            ("b", 1.0),
            ("c", round(2**-0.5, 6)),
            ("a", 0.0),
        ]
        assert index.info.retrievers[0] == "bm25"
        assert {"dense", "hybrid"} <= set(index.info.retrievers)
        evidence = index.evidence(query, hits, Search(retriever="dense"))
        assert not any(hit.weak for hit in evidence)


@pytest.fixture
def folder(source: Path, tmp_path: Path) -> Path:
    factseek.build("snippets", [source], tmp_path / "index", vectors=VECTORS)
    return tmp_path / "index"


def test_auto_needs_no_vector_and_dense_says_what_it_needs(folder: Path) -> None:
    with open_index(folder) as index:
        assert index.resolve(Search()).retriever == "bm25"
        for retriever in ("dense", "hybrid"):
            with pytest.raises(QueryError) as refused:
                index.search(["sea"], Search(retriever=retriever))
            assert refused.value.line == (
                "index: the vectors of this index were given: factseek cannot make the vector of a "
                "text; give the vector of the query (run --query-vectors FILE, or vector in the "
                "body of a request), or search with the retriever bm25"
            )
        assert index.retriever_for_vectors() == "hybrid"
        with pytest.raises(QueryError) as unread:
            index.retriever_for_vectors("bm25")
        assert unread.value.line == "bm25 reads no vectors; leave out the vector"


def test_a_run_brings_the_vectors_of_its_queries(folder: Path, tmp_path: Path) -> None:
    queries = tmp_path / "queries.tsv"
    queries.write_text("q1\tmeasles\nq2\triver\n", "utf-8")
    vectors = {"q1": [0.0, 1.0, 0.0], "q2": [1.0, 0.0, 0.0]}
    given = json_lines(tmp_path / "queries.jsonl", vectors, "qid")
    output = tmp_path / "run.txt"
    command = ["run", "trec", "--queries", str(queries), "--index", str(folder)]
    command += ["--output", str(output), "--query-vectors", str(given)]
    assert commands.main([*command, "--retriever", "dense"]) == 0
    first = [line.split()[:3] for line in output.read_text("utf-8").splitlines() if " 1 " in line]
    assert [(qid, docid) for qid, _, docid in first] == [("q1", "b"), ("q2", "a")]
    described = json.loads(Path(f"{output}.meta.json").read_text("utf-8"))
    assert described["query_vectors"]["name"] == "queries.jsonl"
    with open_index(folder) as index:
        run = factseek.run(
            index, [Query("q1", "measles"), Query("q2", "river")], query_vectors=vectors
        )
        # Hybrid: words find the one, and vectors the other.
        firsts = [{hit.docid for hit in hits[:2]} for hits in run.values()]
        assert firsts == [{"a", "b"}, {"c", "a"}]
        with pytest.raises(QueryError) as refused:
            factseek.run(index, [Query("q3", "sea")], query_vectors=vectors)
        assert refused.value.line == "query_vectors: 1 of 1 queries have no vector: q3"
        with pytest.raises(QueryError) as short:
            factseek.run(index, [Query("q3", "sea")], query_vectors={"q3": [1.0]})
        assert short.value.line == (
            "query_vectors: query 'q3': the vector has 1 numbers, but the vectors of this index "
            "have 3"
        )


def test_a_request_brings_its_vector_in_the_body_alone(folder: Path) -> None:
    with open_index(folder) as index:
        client = create_app(Config(), {"given": index}).test_client()
        body = {"query": "anything", "vector": [0, 1, 0], "retriever": "dense"}
        answer = client.post("/v1/given/search", json=body).json
        assert [hit["docid"] for hit in answer["hits"]] == ["b", "c", "a"]
        answer = client.post("/v1/given/search", json={"query": "river", "vector": [0, 1, 1]}).json
        assert answer["retriever"] == "hybrid"
        assert client.post("/v1/given/search", json={"query": "river"}).json["retriever"] == "bm25"
        short = client.post("/v1/given/search", json={**body, "vector": [0, 1]})
        assert (short.status_code, short.json["detail"]) == (
            400,
            "vector: the vector has 2 numbers, but the vectors of this index have 3",
        )
        in_address = client.get("/v1/given/search?q=river&vector=1")
        assert in_address.status_code == 400


def test_an_answer_takes_the_vector_of_a_question(folder: Path) -> None:
    with open_index(folder) as index:
        question = Question("anything", Search(retriever="dense", k=1), vector=(0.0, 5.0, 5.0))
        answer = index.answer(question)
    assert [hit.docid for hit in answer.hits] == ["c"]


def test_given_vectors_are_added_to_an_index(source: Path, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    factseek.build("snippets", [source], folder, dense=False)
    given = json_lines(tmp_path / "vectors.jsonl", VECTORS | {"z": [1.0, 1.0, 1.0]})
    compact = ["compact", "--index", str(folder), "--add", "vectors:mine", "--vectors", str(given)]
    assert commands.main(compact) == 0
    with open_index(folder) as index:
        query = index.query_with_vector("x", [0.0, 1.0, 0.0])
        (hits,) = index.search([query], Search(retriever="dense:mine", k=1))
    assert hits[0].docid == "b"


@pytest.fixture
def both(source: Path, tmp_path: Path) -> Path:
    """Return an index with the vectors of an encoder and given ones."""
    folder = tmp_path / "both"
    factseek.build("snippets", [source], folder)
    with open_index(folder) as index:
        (hits,) = index.search(["measles"], Search(retriever="hybrid"))
    (folder.parent / "before.json").write_text(json.dumps([[hit.docid, hit.score] for hit in hits]))
    given = json_lines(tmp_path / "vectors.jsonl", VECTORS)
    compact = ["compact", "--index", str(folder), "--add", "vectors:mine", "--vectors", str(given)]
    assert commands.main(compact) == 0
    return folder


def test_a_query_without_a_vector_is_fused_without_the_given_vectors(both: Path) -> None:
    before = json.loads((both.parent / "before.json").read_text())
    with open_index(both) as index:
        assert index.resolve(Search()).retriever == "hybrid"
        for search in (Search(), Search(retriever="hybrid")):
            (hits,) = index.search(["measles"], search)
            assert [[hit.docid, hit.score] for hit in hits] == before
        answer = index.answer(Question("measles", Search(), explain=True))
        assert answer.explanation is not None and answer.explanation.fusion is not None
        assert answer.explanation.fusion.weights == {"bm25": 0.5, "dense": 0.5}
        with pytest.raises(QueryError):
            index.search(["measles"], Search(retriever="dense:mine"))


def test_a_query_with_a_vector_is_fused_with_both_kinds_of_vectors(both: Path) -> None:
    with open_index(both) as index:
        search = Search(retriever="hybrid")
        query = index.query_with_vector("measles", [0.0, 1.0, 0.0], search)
        alone, brought = index.search(["measles", query], search)
        assert {part.retriever for hit in alone for part in hit.parts} == {"bm25", "dense"}
        assert {part.retriever for hit in brought for part in hit.parts} == {
            "bm25",
            "dense",
            "dense:mine",
        }
        scores = {(hit.docid, part.retriever): part.score for hit in brought for part in hit.parts}
        own = index.search("measles", Search(retriever="dense"))
        for hit in own:
            assert scores[hit.docid, "dense"] == hit.score
        assert scores["b", "dense:mine"] == 1.0
        with pytest.raises(QueryError) as short:
            index.query_with_vector("measles", [1.0], search)
        assert short.value.line == (
            "the vector has 1 numbers, but the vectors of vectors:mine have 3"
        )


def test_a_bench_leaves_out_what_needs_a_vector(both: Path, folder: Path) -> None:
    with open_index(both) as index:
        assert index.retrievers_of_texts == ("hybrid", "bm25", "dense")
        assert choose_retrievers(None, index) == ("bm25", "dense", "hybrid")
    with open_index(folder) as index:
        assert choose_retrievers(None, index) == ("bm25",)


def test_tune_tries_no_ranking_that_needs_a_vector(both: Path, tmp_path: Path) -> None:
    (tmp_path / "queries.tsv").write_text("q1\tmeasles\nq2\triver\nq3\tsea\n", "utf-8")
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq2 0 c 1\nq3 0 b 1\n", "utf-8")
    command = ["tune", "--index", str(both), "--queries", str(tmp_path / "queries.tsv")]
    command += ["--qrels", str(tmp_path / "qrels.txt"), "--output", str(tmp_path / "tuned.yaml")]
    command += ["--folds", "2"]
    assert commands.main(command) == 0


def test_info_lists_all_views_of_vectors(both: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert commands.main(["info", "--index", str(both)]) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("vectors")]
    assert lines == [
        "vectors         all-MiniLM-L6-v2 (384 dimensions, int8)",
        "vectors:mine    given (3 dimensions, cosine)",
    ]


def test_a_run_of_both_kinds_of_vectors_takes_the_file_for_the_given_ones(
    both: Path, tmp_path: Path
) -> None:
    queries = tmp_path / "queries.tsv"
    queries.write_text("q1\tmeasles\n", "utf-8")
    given = json_lines(tmp_path / "queries.jsonl", {"q1": [0.0, 1.0, 0.0]}, "qid")
    command = ["run", "trec", "--queries", str(queries), "--index", str(both)]
    command += ["--output", str(tmp_path / "run.txt"), "--query-vectors", str(given)]
    assert commands.main([*command, "--retriever", "hybrid"]) == 0


def test_a_query_has_one_vector_for_one_kind_of_given_vectors(both: Path, tmp_path: Path) -> None:
    given = json_lines(tmp_path / "more.jsonl", VECTORS)
    compact = ["compact", "--index", str(both), "--add", "vectors:more", "--vectors", str(given)]
    assert commands.main(compact) == 0
    with open_index(both) as index:
        with pytest.raises(QueryError) as several:
            index.query_with_vector("x", [1.0, 0.0, 0.0], Search(retriever="hybrid"))
        assert several.value.line == (
            "a query has one vector, and this search reads several kinds of given vectors: "
            "dense:mine and dense:more; search with one of them, such as dense:mine"
        )
        search = Search(retriever="dense:more", k=1)
        query = index.query_with_vector("x", [0.0, 1.0, 0.0], search)
        assert index.search(query, search)[0].docid == "b"


def test_vectors_survive_a_deletion_and_a_compaction(folder: Path) -> None:
    assert commands.main(["delete", "--index", str(folder), "b"]) == 0
    assert commands.main(["compact", "--index", str(folder)]) == 0
    assert commands.main(["verify-index", "--index", str(folder)]) == 0
    with open_index(folder) as index:
        query = index.query_with_vector("x", [0.0, 1.0, 0.0])
        assert index.search([query], Search(retriever="dense", k=1))[0][0].docid == "c"


def test_additions_need_vectors_too(folder: Path, tmp_path: Path) -> None:
    more = tmp_path / "more.tsv"
    more.write_text("d\tcold water\n", "utf-8")
    with pytest.raises(SourceError) as refused:
        factseek.build("snippets", [more], folder, verb="append")
    assert refused.value.line == (
        "there is no vector for d passage 0; give a vector for each passage with --vectors: "
        "docid, number from 0"
    )
    report = factseek.build(
        "snippets", [more], folder, verb="append", vectors={"d": [1.0, 1.0, 0.0], "e": [1, 0, 0]}
    )
    assert report.notes[-1] == "there are vectors of passages that were not indexed: e passage 0"
    recorded = manifests.read(folder).encoder
    assert recorded is not None
    assert (recorded.is_given, recorded.dimension) == (True, 3)


def test_the_lengths_of_vectors_count_in_a_dot_product(source: Path, tmp_path: Path) -> None:
    config = factseek.Config(encoder=factseek.EncoderSettings(similarity="dot"))
    folder = tmp_path / "index"
    factseek.build("snippets", [source], folder, vectors=VECTORS, config=config)
    with open_index(folder) as index:
        query = index.query_with_vector("x", [1.0, 1.0, 1.0])
        (hits,) = index.search([query], Search(retriever="dense"))
    assert [(hit.docid, hit.score) for hit in hits] == [("a", 3.0), ("c", 2.0), ("b", 2.0)]


BAD: dict[str, tuple[str, str]] = {
    "not JSON": ("{", ":1: Input data was truncated; "),
    "no docid": ('{"vector": [1]}', ":1: has no docid"),
    "empty": ('{"docid": "a", "vector": []}', ":1: the vector has 0 dimensions"),
    "another dimension": (
        '{"docid": "a", "vector": [1]}\n{"docid": "b", "vector": [1, 2]}',
        ":2: the vector has 2 dimensions, and the first one 1",
    ),
    "twice": (
        '{"docid": "a", "vector": [1]}\n{"docid": "a", "passage": 0, "vector": [2]}',
        ":2: docid 'a', passage 0, is there twice",
    ),
    "not finite": (
        '{"docid": "a", "vector": [1e39]}',
        ":1: the vector has a number that is not finite",
    ),
    "negative": (
        '{"docid": "a", "passage": -1, "vector": [1]}',
        ":1: the number of a passage is negative",
    ),
    "nothing": ("\n", ": contains no vectors"),
}


@pytest.mark.parametrize("fault", BAD)
def test_a_bad_line_is_named(fault: str, tmp_path: Path) -> None:
    content, message = BAD[fault]
    path = tmp_path / "vectors.jsonl"
    path.write_text(content + "\n", "utf-8")
    with pytest.raises(SourceError) as refused:
        read_vector_file(path, None, "docid")
    assert refused.value.line.removeprefix(str(path)).startswith(message)


def npy_with_header(path: Path, header: dict[str, Any], content: bytes) -> Path:
    with path.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        file.write(content)
    return path


def bad_arrays(folder: Path) -> Iterator[tuple[Path, str]]:
    huge = {"descr": "<f4", "fortran_order": False, "shape": (1 << 40, 1000)}
    yield (
        npy_with_header(folder / "huge.npy", huge, b"\0" * 8),
        ": its header says 1,099,511,627,776 vectors of 1,000 dimensions, and 8 bytes follow; ",
    )
    np.save(folder / "flat.npy", np.zeros(3))
    yield folder / "flat.npy", ": has an array of float64, shape (3,), instead of rows of floats; "
    np.save(folder / "pickled.npy", np.array([[{}]], dtype=object), allow_pickle=True)
    yield folder / "pickled.npy", ": has an array of object, shape (1, 1), instead of rows"
    (folder / "damaged.npy").write_bytes(b"\x93NUMPY\x01\x00\x10\x00{'descr': ('<f4'" + b" " * 64)
    yield folder / "damaged.npy", ": is not an .npy file; "
    (folder / "text.npy").write_bytes(b"docid,vector\n")
    yield folder / "text.npy", ": is not an .npy file; "
    np.save(folder / "nan.npy", np.array([[np.nan]], dtype=np.float32))
    yield folder / "nan.npy", ": vector 0 has a number that is not finite"


def test_a_bad_array_is_refused_before_memory_is_reserved(tmp_path: Path) -> None:
    ids = tmp_path / "ids.tsv"
    ids.write_text("a\n", "utf-8")
    for path, message in bad_arrays(tmp_path):
        with pytest.raises(SourceError) as refused:
            read_vector_file(path, ids, "docid")
        assert refused.value.line.removeprefix(str(path)).startswith(message)


def test_an_array_in_the_order_of_fortran_is_read(tmp_path: Path) -> None:
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    np.save(tmp_path / "v.npy", np.asfortranarray(rows))
    (tmp_path / "ids.tsv").write_text("a\nb\n", "utf-8")
    read = read_vector_file(tmp_path / "v.npy", tmp_path / "ids.tsv", "docid")
    assert read.vectors.tolist() == rows.tolist()


def test_ids_must_fit_the_array(tmp_path: Path) -> None:
    np.save(tmp_path / "v.npy", np.ones((2, 3)))
    with pytest.raises(SourceError) as without:
        read_vector_file(tmp_path / "v.npy", None, "docid")
    assert without.value.line.endswith(
        ": an .npy file has no ids; name the file with an id a line in --vector-ids"
    )
    with pytest.raises(SourceError) as without_qids:
        read_vector_file(tmp_path / "v.npy", None, "qid")
    assert without_qids.value.line.endswith("in --query-vector-ids")
    ids = tmp_path / "ids.tsv"
    ids.write_text("a\n", "utf-8")
    with pytest.raises(SourceError) as few:
        read_vector_file(tmp_path / "v.npy", ids, "docid")
    assert few.value.line == f"{ids}: has 1 ids for 2 vectors"
    ids.write_text("a\nb\tx\n", "utf-8")
    with pytest.raises(SourceError) as wrong:
        read_vector_file(tmp_path / "v.npy", ids, "docid")
    assert wrong.value.line == f"{ids}:2: 'x' is not the number of a passage; count from 0"


BAD_MAPPINGS: list[tuple[Any, str]] = [
    (np.ones((3, 2)), "give a file, or a mapping from docid to vector"),
    (
        {7: [1.0]},
        "vectors have the key 7; give the docid as text, or (docid, number of the passage)",
    ),
    ({("a", -1): [1.0]}, "vectors have the key ('a', -1); give the docid as text"),
    ({"a": 1.0}, "a vector is not a list of numbers; give numbers alone"),
    ({"a": ["x"]}, "a vector is not a list of numbers; give numbers alone"),
    ({}, "vectors are empty; give a vector for each passage"),
]


@pytest.mark.parametrize(("vectors", "message"), BAD_MAPPINGS, ids=range(len(BAD_MAPPINGS)))
def test_bad_vectors_in_python_are_one_line(
    vectors: Any, message: str, source: Path, tmp_path: Path
) -> None:
    with pytest.raises(UsageError) as refused:
        factseek.build("snippets", [source], tmp_path / "index", vectors=vectors)
    assert message in refused.value.line
    assert "\n" not in refused.value.line


def test_a_view_of_given_vectors_needs_their_file(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert commands.main(["compact", "--index", str(folder), "--add", "vectors:mine"]) == 2
    assert capsys.readouterr().err.endswith(
        "--add vectors:mine needs --vectors FILE; name the file of the vectors\n"
    )


def test_a_vector_without_a_direction_is_refused(source: Path, tmp_path: Path) -> None:
    given = json_lines(tmp_path / "vectors.jsonl", VECTORS | {"c": [0.0, 0.0, 0.0]})
    with pytest.raises(SourceError) as refused:
        factseek.build("snippets", [source], tmp_path / "index", vectors=given)
    assert refused.value.line == (f"{given}: the vector of c passage 0 is 0: it has no direction")


def test_the_guide_shows_how_to_encode_passages(
    source: Path, root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guide = (root / "docs/guides/encoders.md").read_text("utf-8")
    code = guide.partition("```python\n")[2].partition("```")[0]
    monkeypatch.chdir(tmp_path)
    factseek.build("snippets", [source], "indexes/notes", dense=False)
    encoded: list[str] = []

    def encode(text: str) -> list[float]:
        encoded.append(text)
        return [1.0, float(len(encoded))]

    exec(code, {"encode": encode})
    assert sorted(encoded) == sorted(TEXTS.values())
    compact = ["compact", "--index", "indexes/notes", "--add", "vectors"]
    assert commands.main([*compact, "--vectors", "vectors.jsonl"]) == 0
    with open_index(tmp_path / "indexes/notes") as index:
        assert {"dense", "hybrid"} <= set(index.info.retrievers)


def test_a_fusion_leaves_out_configured_rankings_that_the_index_lacks(
    both: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def config_of(weights: dict[str, float]) -> Config:
        return Config(search=SearchSettings(fusion=FusionSettings(weights=weights)))

    with open_index(both, config_of({"bm25": 0.4, "dense": 0.4, "impact": 0.2})) as index:
        resolved = index.resolve(Search())
        assert (resolved.retriever, resolved.rankings) == ("hybrid", ("bm25", "dense"))
    with open_index(both, config_of({"bm25": 0.8, "impact": 0.2})) as index:
        assert index.resolve(Search()).retriever == "bm25"
    begins = f"{both}: search.fusion.weights names impact, which the index lacks; "
    assert [record.getMessage() for record in caplog.records] == [
        f"{begins}hybrid fuses the others",
        f"{begins}auto searches without a fusion",
    ]
