"""The public Python API: one face, fetched when it is asked for, and the same figures as the
command line.
"""

import ast
import copy
import json
import pickle
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import pytest

import factseek
from factseek import Config, Filter, Hit, Query, QueryError, Search, Searcher
from factseek.core.errors import UserError
from factseek.retrieval.config import BM25Settings, FusionSettings, IndexSettings, SearchSettings

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def folder(examples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("api") / "index"
    report = factseek.build("snippets", [examples / "snippets-en.tsv"], path, dense=False)
    assert report.documents == 38
    return path


@pytest.fixture
def index(folder: Path) -> Iterator[Searcher]:
    with factseek.open_index(folder) as opened:
        yield opened


def typed_names(root: Path) -> set[str]:
    tree = ast.parse((root / "__init__.py").read_text("utf-8"))
    imports = [
        node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.level == 1
    ]
    return {alias.asname or alias.name for node in imports for alias in node.names}


def test_the_face_is_the_same_for_readers_and_for_checkers(root: Path) -> None:
    fetched = {
        name.partition("=")[0] for names in factseek._HOMES.values() for name in names.split()
    }
    assert set(factseek.__all__) == typed_names(root) | {"__version__"} == fetched | {"__version__"}
    assert len(set(factseek.__all__)) == len(factseek.__all__)


def test_importing_imports_nothing_else() -> None:
    script = (
        "import sys; before = set(sys.modules); import factseek; print(sorted(set(sys.modules) "
        "- before))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout == "['factseek']\n"


def test_each_option_of_a_search_says_what_it_is_and_what_it_changes() -> None:
    of_fields = {field.name: field.type for field in msgspec.inspect.type_info(Search).fields}
    described = {name: kind.extra_json_schema["description"] for name, kind in of_fields.items()}
    assert all(described.values())
    shown = {name for name, kind in of_fields.items() if kind.extra["changes"] == "shown"}
    assert shown == {"k", "offset"}
    assert Search(k=5, retriever="bm25") == msgspec.structs.replace(Search(5), retriever="bm25")


def test_a_run_is_what_the_command_writes(
    index: Searcher, examples: Path, tmp_path: Path, command: Command
) -> None:
    queries = factseek.read_queries(examples / "queries-en.tsv")
    made = factseek.run(index, queries, Search(retriever="bm25"), k=100)
    factseek.write_run(made, tmp_path / "api.run", "factseek-bm25")
    arguments = [
        "--queries",
        examples / "queries-en.tsv",
        "--index",
        index.info.place,
        "-k",
        100,
        "--retriever",
        "bm25",
    ]
    assert command("run", "trec", *arguments, "--output", tmp_path / "command.run")[0] == 0
    assert (tmp_path / "api.run").read_bytes() == (tmp_path / "command.run").read_bytes()
    reread = factseek.read_run(tmp_path / "api.run")
    assert {qid: [hit.docid for hit in hits] for qid, hits in reread.items()} == {
        qid: [hit.docid for hit in hits] for qid, hits in made.items()
    }


def test_an_index_prints_what_it_is(index: Searcher) -> None:
    lines = str(index.info).splitlines()
    assert lines[0] == f"index           {index.info.place} ({index.info.id})"
    assert "bm25" in index.info.retrievers
    assert lines[-2:] == [
        f"retrievers      {', '.join(index.info.retrievers)}",
        "segment 000000  38 snippets from snippets-en.tsv",
    ]


def test_figures_are_those_of_score(
    index: Searcher, examples: Path, tmp_path: Path, command: Command
) -> None:
    qrels = factseek.read_qrels(examples / "qrels-en.txt")
    made = factseek.run(index, factseek.read_queries(examples / "queries-en.tsv"), k=100)
    factseek.write_run(made, tmp_path / "a.run", "a")
    figures = factseek.evaluate(made, qrels, ["nDCG@10", "RR@5"])
    code, out, _ = command(
        "score", "trec", "--gold", examples / "qrels-en.txt", "--run", tmp_path / "a.run",
        "--json",
    )  # fmt: skip
    assert code == 0
    scored = json.loads(out)
    assert figures.means() == {name: scored[name] for name in ("nDCG@10", "RR@5")}
    assert figures.values.shape == (len(qrels), 2)
    assert set(figures.per_query()) == set(qrels)


def test_a_comparison_is_that_of_compare(
    index: Searcher, examples: Path, tmp_path: Path, command: Command
) -> None:
    qrels = factseek.read_qrels(examples / "qrels-en.txt")
    queries = factseek.read_queries(examples / "queries-en.tsv")
    runs = {"deep": factseek.run(index, queries, k=100), "flat": factseek.run(index, queries, k=1)}
    for name, made in runs.items():
        factseek.write_run(made, tmp_path / f"{name}.run", name)
    code, out, _ = command(
        "compare",
        "--qrels",
        examples / "qrels-en.txt",
        tmp_path / "deep.run",
        tmp_path / "flat.run",
        "--measures",
        "AP,P@10",
        "--json",
    )
    assert code == 0
    compared = json.loads(json.dumps(factseek.compare(runs, qrels, ["AP", "P@10"]).as_json()))
    printed = json.loads(out)
    for name in ("queries", "seed", "runs", "means", "pairs", "moved"):
        assert compared[name] == printed[name]


def test_a_document_counts_with_its_best_passage(index: Searcher, tmp_path: Path) -> None:
    run, qrels = {"1": [Hit("a", 3.0), Hit("b", 2.0), Hit("a", 1.0)]}, {"1": {"a": 1}}
    assert factseek.evaluate(run, qrels, ["RR"]).means() == {"RR": 1.0}
    queries = (Query(str(number), "measles") for number in range(2))
    assert set(factseek.run(index, queries, k=1)) == {"0", "1"}  # type: ignore[arg-type]


def test_a_written_run_keeps_the_order_of_scores_that_float32_would_merge(tmp_path: Path) -> None:
    run, qrels = {"1": [Hit("a", 0.12345678901), Hit("b", 0.123456789)]}, {"1": {"a": 1, "b": 0}}
    factseek.write_run(run, tmp_path / "run", "tag")
    for each in (run, factseek.read_run(tmp_path / "run")):
        assert factseek.evaluate(each, qrels, ["RR"]).means() == {"RR": 1.0}


def test_what_makes_no_sense_is_refused_in_words(index: Searcher) -> None:
    with pytest.raises(
        QueryError, match=r"^two queries have the qid 'a'; give each query a qid of its own$"
    ):
        factseek.run(index, [Query("a", "one"), Query("a", "two")])
    with pytest.raises(
        QueryError, match=r"^there are no judgements; read judgements with read_qrels$"
    ):
        factseek.evaluate({}, {}, ["AP"])
    with pytest.raises(QueryError, match=r"^there is nothing to compare; give two runs or more$"):
        factseek.compare({"a": {}}, {"1": {"d": 1}}, ["AP"])
    with pytest.raises(QueryError, match=r"^seed is -1; give 0 or more$"):
        factseek.compare({"a": {}, "b": {}}, {"1": {"d": 1}}, ["AP"], seed=-1)
    with pytest.raises(
        QueryError,
        match=r"^qrels: the relevance 40000 of 'd' for query '1' is not between -1,000 and",
    ):
        factseek.evaluate({}, {"1": {"d": 40_000}}, ["AP"])
    with pytest.raises(
        QueryError, match=r"^run: the score of 'd' for query '1' is not a finite number$"
    ):
        factseek.evaluate({"1": [Hit("d", float("nan"))]}, {"1": {"d": 1}}, ["AP"])
    with pytest.raises(
        QueryError,
        match=r"which is not a query; give factseek.Query\(qid, text\), a pair, or a mapping from "
        r"qid to text$",
    ):
        factseek.run(index, [("1", "one", "more")])
    with pytest.raises(QueryError, match=r"^queries: the qid 1 is not text; give '1'$"):
        factseek.run(index, [Query(1, "one")])  # type: ignore[arg-type]
    with pytest.raises(QueryError, match=r"^run: the qid 1 is not text; give '1'$"):
        factseek.evaluate({1: [Hit("d", 1.0)]}, {"1": {"d": 1}}, ["AP"])  # type: ignore[dict-item]
    with pytest.raises(QueryError, match=r"^unknown measure 'BLEU'"):
        factseek.evaluate({}, {"1": {"d": 1}}, ["BLEU"])
    with pytest.raises(QueryError, match=r"^no measure is given"):
        factseek.evaluate({}, {"1": {"d": 1}}, [])


def test_settings_that_a_file_could_not_have_are_refused(
    index: Searcher, examples: Path, tmp_path: Path
) -> None:
    build = partial(
        factseek.build, "snippets", [examples / "snippets-en.tsv"], tmp_path / "index", dense=False
    )
    fields = Config(index=IndexSettings(fields="titel"))  # type: ignore[arg-type]
    deep = Config(search=SearchSettings(k=20, max_k=10))
    calls: list[tuple[Callable[[], object], str]] = [
        (
            lambda: build(config=fields),
            "index.fields: invalid enum value 'titel'; the values are flat, title_text",
        ),
        (lambda: build(verb="replace"), "unknown verb 'replace'; give append, update or overwrite"),
        (lambda: factseek.open_index(tmp_path, deep), "search.k: 20 is more than search.max_k, 10"),
        (
            lambda: index.search(["a"], Search(fusion=FusionSettings(depth=0))),
            "fusion.depth: expected int >= 1",
        ),
        (
            lambda: index.search(["a"], Search(bm25=BM25Settings(k1=-1))),
            "bm25.k1: expected float >= 0.0",
        ),
        (
            lambda: index.search(["a"], Search(where=Filter(as_of="yesterday"))),
            "as-of 'yesterday' is not a date of",
        ),
    ]
    for call, fault in calls:
        with pytest.raises(UserError) as refused:
            call()
        assert str(refused.value).startswith(fault)
    assert not (tmp_path / "index").exists()


def test_an_error_is_copied_whole(index: Searcher) -> None:
    calls = [
        partial(index.search, ["a"], Search(where=Filter(as_of="yesterday"))),
        partial(index.facets, "a", {"x": 1}),
    ]
    for call in calls:
        with pytest.raises(UserError) as refused:
            call()
        for again in (copy.deepcopy(refused.value), pickle.loads(pickle.dumps(refused.value))):
            assert (type(again), str(again), vars(again)) == (
                type(refused.value),
                str(refused.value),
                vars(refused.value),
            )


def test_one_text_is_not_taken_for_its_letters(
    index: Searcher, examples: Path, tmp_path: Path
) -> None:
    run, qrels = {"1": [Hit("a", 1.0)]}, {"1": {"a": 1}}
    calls: list[Callable[[], object]] = [
        lambda: index.columns("measles vaccine"),
        lambda: index.search(["measles"], Search(stages="rerank")),  # type: ignore[arg-type]
        lambda: factseek.run(index, "measles"),
        lambda: factseek.build("snippets", str(examples / "snippets-en.tsv"), tmp_path / "index"),
        lambda: factseek.build(
            "snippets", [examples / "snippets-en.tsv"], tmp_path / "index", views="signatures"
        ),
        lambda: factseek.evaluate(run, qrels, "AP"),
        lambda: factseek.compare({"a": run, "b": run}, qrels, "AP"),
    ]
    filters: list[dict[str, object]] = [
        *(
            {name: "health"}
            for name in ("topic", "source", "language", "kind", "phrases", "without", "title")
        ),
        {"excluded": "EX-EN-01-0007-001"},
        {"metadata": (("pages", "12"),)},
        {"topic": ["health"]},
    ]
    for fields in filters:
        where = Filter(**fields)  # type: ignore[arg-type]
        calls.append(partial(index.search, ["measles"], Search(where=where)))
        calls.append(partial(index.count, "measles", Search(where=where)))
        calls.append(partial(index.documents, where))
    for call in calls:
        with pytest.raises(
            TypeError,
            match=r"is (one text; give a list, even for one text: \['|not a tuple of texts; give "
            r"\('\S+',\)$)",
        ):
            call()
    assert len(index.search(["measles vaccine"])) == 1


def test_one_text_has_one_list_of_hits(index: Searcher) -> None:
    (hits,) = index.search(["measles vaccine"], Search(retriever="bm25", k=3))
    assert index.search("measles vaccine", retriever="bm25", k=3) == hits
    assert index.search("measles vaccine", Search(retriever="bm25", k=9), k=3) == hits
    assert index.search(["measles vaccine"], retriever="bm25", k=3) == [hits]


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"k": 10.0}, "k is 10.0, not a whole number"),
        ({"k": "10"}, "k is '10', not a whole number"),
        ({"k": True}, "k is True, not a whole number"),
        ({"group": "no"}, "group is 'no', not true or false"),
        ({"retriever": 7}, "retriever is 7, not a text"),
        ({"collapse": "far"}, "collapse is 'far', not 'near'"),
        ({"profile": "loud"}, "profile is 'loud', not 'plain' or 'tweet'"),
    ],
)
def test_an_option_of_another_type_is_refused_and_not_remembered(
    index: Searcher, options: dict[str, Any], fault: str
) -> None:
    with pytest.raises(QueryError) as refused:
        index.search(["measles"], Search(**options))
    assert refused.value.line.startswith(fault)
    assert index.search(["measles"], Search(k=10)) == index.search(["measles"], k=10)


RUN, JUDGED = {"1": [Hit("a", 1.0)]}, {"1": {"a": 1}}


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda _: factseek.compare({"a": RUN, "b": RUN}, JUDGED, ["AP"], correction="fdr"),  # type: ignore[arg-type]
            "correction is 'fdr'; give holm, bonferroni, bh or none",
        ),
        (
            lambda _: factseek.compare({"a": RUN, "b": RUN}, JUDGED, ["AP"], correct_over="x"),  # type: ignore[arg-type]
            "correct_over is 'x'; give measure or all",
        ),
        (
            lambda _: factseek.compare({"a": RUN, "b": RUN}, JUDGED, ["AP"], baseline="c"),
            "there is no run 'c'; the runs are a, b",
        ),
        (
            lambda _: factseek.compare({1: RUN, 2: RUN}, JUDGED, ["AP"]),  # type: ignore[dict-item]
            "runs are {1: {'1': [Hit(docid='a', score=1.0, pa…; give a mapping from name to run",
        ),
        (
            lambda _: factseek.compare({"a": RUN, "b": RUN}, JUDGED, ["AP"], seed=0.5),  # type: ignore[arg-type]
            "seed is 0.5, not a whole number",
        ),
        (
            lambda _: factseek.evaluate(RUN, JUDGED, None),  # type: ignore[arg-type]
            "measures is None; give a list of names",
        ),
        (
            lambda _: factseek.run("index", {"1": "a"}),  # type: ignore[arg-type]
            "index is 'index', not an open index; open it with factseek.open_index",
        ),
        (
            lambda index: factseek.run(index, {"1": "a"}, {"k": 3}),
            "search is {'k': 3}; give factseek.Search(k=…)",
        ),
        (lambda index: index.search(7), "the query 7 is not text"),
        (
            lambda index: factseek.tune(index, {"1": "a"}, JUDGED, seed=-1),
            "seed is -1; give 0 or more",
        ),
        (
            lambda index: factseek.tune(index, {"1": "a"}, JUDGED, sample=0),
            "sample is 0; give 2 or more",
        ),
        (
            lambda index: factseek.bench(index, {"1": "a"}, JUDGED, timed=0),
            "timed is 0; give 1 or more",
        ),
        (
            lambda index: factseek.train_reranker(index, {"1": "a"}, JUDGED, "m", epochs="3"),  # type: ignore[arg-type]
            "epochs is '3', not a whole number",
        ),
        (
            lambda index: factseek.train_combiner(index, {"1": "a"}, JUDGED, None),  # type: ignore[arg-type]
            "output is None, not a path",
        ),
        (
            lambda _: factseek.score("trec", None, "run"),  # type: ignore[arg-type]
            "gold is None; give a path, or a list of paths",
        ),
        (lambda _: factseek.check("trec", None), "file is None, not a path"),  # type: ignore[arg-type]
        (
            lambda _: factseek.check(Path("no.yaml"), "run"),
            "no.yaml: there is no such task description",
        ),
        (
            lambda index: factseek.open_index(index.info.place, {"k": 1}),  # type: ignore[arg-type]
            "config is {'k': 1}; give factseek.Config, or read_config(path)",
        ),
        (
            lambda _: factseek.build("jsonl", [], "x", encoders=3),  # type: ignore[arg-type]
            "encoders is 3; give a list of names",
        ),
        (
            lambda _: factseek.build("jsonl", [], "x", shards="2"),  # type: ignore[arg-type]
            "shards is '2', not a whole number",
        ),
        (
            lambda _: factseek.build("jsonl", [], "x", vectors=[1, 2]),
            "vectors are [1, 2]; give a file, or a mapping from docid to vector",
        ),
        (lambda _: factseek.open_index(None), "folder is None, not a path"),  # type: ignore[arg-type]
        (lambda _: factseek.build(None, [], "x"), "kind is None, not a text"),  # type: ignore[arg-type]
    ],
)
def test_an_argument_of_another_type_or_out_of_range_is_refused(
    index: Searcher, call: Callable[[Any], object], message: str
) -> None:
    with pytest.raises(UserError) as refused:
        call(index)
    assert refused.value.line == message


def test_a_number_of_folds_fits_the_queries(index: Searcher) -> None:
    queries = {"1": "measles vaccine", "2": "warmest year"}
    judged = {qid: {hits[0].docid: 1} for qid, hits in factseek.run(index, queries, k=1).items()}
    with pytest.raises(QueryError) as refused:
        factseek.tune(index, queries, judged, folds=3)
    assert refused.value.line == (
        "folds is 3; give a number from 2 to 2, the number of judged queries"
    )


def test_a_filter_is_a_filter(index: Searcher) -> None:
    with pytest.raises(TypeError, match=r"^where is \{'topic': 'a'\}, not a Filter; give factseek"):
        index.search("measles", where={"topic": "a"})  # type: ignore[arg-type]


def test_measures_of_ir_measures_are_taken_as_they_are() -> None:
    import ir_measures

    measures = [ir_measures.nDCG @ 10, ir_measures.RR]
    assert factseek.evaluate(RUN, JUDGED, measures).names == ["nDCG@10", "RR"]  # type: ignore[arg-type]
