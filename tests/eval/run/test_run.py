"""Runs: queries in, a submission out that its own task finds no fault with."""

# A message that is told exactly stands on one line.
# ruff: noqa: E501

from __future__ import annotations

import hashlib
import json
import resource
from pathlib import Path

import pytest

from factseek import commands
from factseek.eval.files.answers import TaskQuery
from factseek.eval.run.batch import filtered_queries
from factseek.eval.run.run import RunRequest
from factseek.eval.run.run import run as run_queries
from factseek.retrieval.domain import Filter
from factseek.retrieval.errors import MachineError
from factseek.retrieval.files import sha256
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from tests.conftest import ROOT, overriding

WORDS = "measles vaccine sea level ice melts mask trial river ocean heat virus death year study risk".split()


def test_the_help_says_how_each_ranking_task_is_searched(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        commands.main(["run", "--help"])
    told = capsys.readouterr().out
    for line in (
        "  ct2020-evidence  100 hits a claim, which is the most it takes, of the claim's own topic; profile tweet\n",
        "  ct2020-claims    100 hits a tweet, at most 1000; profile tweet\n",
        "  ct2025-4b        5 hits a tweet, which is the most it takes; profile tweet\n",
        "  trec             1000 hits a query\n",
    ):
        assert line in told


@pytest.mark.parametrize(
    ("name", "files"),
    [
        ("ct2020-evidence", ("claims-en.tsv", "evidence-gold-en.tsv", "P@10")),
        ("trec", ("queries-en.tsv", "qrels-en.txt", "AP")),
    ],
)
def test_run_check_and_score_the_example(name, files, example, command, tmp_path) -> None:
    output, examples = tmp_path / "run.txt", ROOT / "examples"
    queries, gold, official = files
    code, said, _ = command("run", name, "--queries", examples / queries, "--index", example, "--output", output)
    assert code == 0
    assert said.startswith(f"{output}: ")
    assert " hits for 22 queries in " in said
    assert command("check", name, output, "--input", examples / queries)[0] == 0
    code, said, _ = command("score", name, "--gold", examples / gold, "--run", output, "--json")
    assert code == 0
    assert json.loads(said)[official] > 0.1
    assert [path.name for path in sorted(tmp_path.iterdir())] == ["run.txt", "run.txt.meta.json"]


def test_a_tweet_is_answered_by_five_papers(example, tmp_path, command) -> None:
    queries = tmp_path / "tweets.tsv"
    queries.write_text('post_id\ttweet_text\n7\t"measles\nvaccine @who https://t.co/x"\n8\t@nobody https://t.co/y\n')
    output = tmp_path / "preds.tsv"
    code, _, notes = command("run", "ct2025-4b", "--queries", queries, "--index", example, "--output", output)
    assert code == 0
    assert notes == "note: queries without words to search for, and so without hits: 1 (8)\n"
    header, seven, eight = output.read_text("utf-8").splitlines()
    assert header == "post_id\tpreds"
    assert seven.startswith("7\t['")
    assert len(seven.split(", ")) == 5
    assert eight == "8\t[]"


def test_queries_without_hits_are_named(example, tmp_path, command) -> None:
    queries = tmp_path / "queries.tsv"
    queries.write_text("a\tmeasles\n" + "".join(f"q{n}\tzzyzx{n}\n" for n in range(6)))
    output = tmp_path / "run.txt"
    code, _, notes = command("run", "trec", "--queries", queries, "--index", example, "--output", output)
    assert (code, notes) == (0, "note: queries without hits: 6 (q0, q1, q2, q3, q4, …)\n")


@pytest.mark.parametrize(
    "case",
    [
        (["trec"], "a\tzzyzx\nb\t!!!\n", "is it the right index?"),
        (["trec", "--filter", "topic=none"], "a\tmeasles\n", "is it the right index, and does anything pass the filter?"),
        (["ct2025-4b"], "post_id\ttweet_text\n1\tzzyzx\n", "is it the right index?"),
        (["ct2020-evidence"], "topic_id\ttweet_id\ttweet_text\nT\t1\tmeasles\n", "its documents need the topics of the claims, such as 'T'"),
    ],
)  # fmt: skip
def test_no_submission_is_written_without_a_hit(case, example, tmp_path, command) -> None:
    asked, content, reason = case
    queries = tmp_path / "queries.tsv"
    queries.write_text(content)
    given = ["--queries", queries, "--index", example, "--output", tmp_path / "run.txt"]
    code, _, err = command("run", *asked, *given)
    assert code == 2
    assert err == f"factseek: {queries}: no query has a hit in {example}, nothing is written; {reason}\n"
    assert [path.name for path in tmp_path.iterdir()] == ["queries.tsv"]


def test_each_claim_is_answered_from_its_own_topic(example, root, tmp_path) -> None:
    output = tmp_path / "run.tsv"
    request = RunRequest(task="ct2020-evidence", queries=root / "examples/claims-en.tsv", output=output)
    with Index(example) as index:
        run_queries(request, index)
        topic = {docid: index.document(docid).topic for docid in index.docids()}
    rows = [line.split("\t") for line in output.read_text("utf-8").splitlines()]
    assert len({row[0] for row in rows}) > 1
    assert all(topic[row[3]] == row[0] for row in rows)


def test_two_runs_write_the_same_bytes_and_the_sidecar_names_them(example, root, tmp_path) -> None:
    queries = root / "examples/queries-en.tsv"
    outputs = [tmp_path / "one.txt", tmp_path / "two.txt"]
    with Index(example) as index:
        for output in outputs:
            run_queries(RunRequest(task="trec", queries=queries, output=output, run_id="mine"), index)
        manifest = index.info.id
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    meta = json.loads((tmp_path / "one.txt.meta.json").read_text("utf-8"))
    assert meta["output"] == {"name": "one.txt", "sha256": hashlib.sha256(outputs[0].read_bytes()).hexdigest()}
    assert meta["queries"]["sha256"] == hashlib.sha256(queries.read_bytes()).hexdigest()
    assert meta["index"]["manifest"] == manifest
    assert (meta["task"], meta["run_id"], meta["search"]["k"], meta["search"]["retriever"]) == (
        "trec",
        "mine",
        1000,
        "bm25",
    )


def test_a_run_leaves_no_thread_in_java(example, root, tmp_path) -> None:
    attached = []
    for number in range(3):
        with Index(example) as index:
            run_queries(
                RunRequest(task="trec", queries=root / "examples/queries-en.tsv", output=tmp_path / str(number)), index
            )
        from jnius import autoclass  # which would start Java

        attached.append(autoclass("java.lang.Thread").activeCount())
    assert len(set(attached)) == 1


@pytest.mark.parametrize(
    ("date", "day"),
    [
        ("2020-03-01", "2020-03-01"),
        ("2020-03", "2020-03-31"),
        ("2020-03-01T23:30:00-05:00", "2020-03-02"),
        ("2020-03-01 10:00:00", "2020-03-01"),
        ("Sun Mar 01 23:30:00 +0000 2020", "2020-03-01"),
    ],
)
def test_a_query_of_its_own_date_sees_nothing_newer(date, day) -> None:
    (asked,) = filtered_queries("trec", [TaskQuery("q", "text", date=date)], Search(), 100, as_of_query=True)
    assert asked.where == Filter(as_of=day)


BAD = [
    (["fever"], "factseek: fever: is not a ranking task; the ranking tasks are ct2020-claims, ct2020-evidence, ct2025-4b, source-retrieval, trec"),
    (["nothing"], "factseek: nothing: is not a ranking task; the ranking tasks are ct2020-claims, ct2020-evidence, ct2025-4b, source-retrieval, trec"),
    (["ct2020-evidence", "-k", "101"], "factseek: -k 101: ct2020-evidence takes at most 100 hits a query"),
    (["ct2025-4b", "-k", "6"], "factseek: -k 6: ct2025-4b takes at most 5 hits a query"),
    (["trec", "-k", "0"], "factseek: -k 0: give a number of hits, 1 or more"),
    (["trec", "-k", "10001"], "factseek: k 10001 is out of range: ask for 1 to 10000 hits"),
    (["trec", "--retriever", "dense"], "factseek: {index}: was built without vectors: it answers bm25, not dense; rebuild it without --no-dense"),
    (
        ["ct2020-evidence", "--filter", "topic=T"],
        "factseek: --filter topic=T: ct2020-evidence ranks each claim's own topic; leave it out",
    ),
    (
        ["trec", "--run-id", "a b"],
        "factseek: --run-id 'a b' is empty or holds white space: it cannot be written to a column of a file",
    ),
    (
        ["trec", "--run-id", "\udcff"],
        "factseek: --run-id '\\udcff' is not text that UTF-8 can write: it cannot be written to a column of a file",
    ),
    (["trec", "--output", "{folder}/queries.tsv"], "factseek: {folder}/queries.tsv: is an input of this command and would be overwritten; name another file"),
    (["trec", "--output", "/dev/null"], "factseek: /dev/null: is not a regular file; name one that is, or a new one"),
    (["trec", "--queries", "/dev/null"], "factseek: /dev/null: is not a regular file; save it to one first"),
    (["trec", "--as-of-query"], "factseek: query 'q1' has no date; --as-of-query needs one for each"),
    (["trec", "--output", "{folder}/no/run.txt"], "factseek: {folder}/no/run.txt: there is no folder {folder}/no; make it first"),
    (["trec", "--output", "{folder}"], "factseek: {folder}: is a folder; name a file"),
    (["trec", "--queries", "{folder}/none"], "factseek: {folder}/none: there is no such file"),
    (["trec", "--queries", "{folder}/long.tsv"], "factseek: query 'q1' has 10001 characters, at most 10000 are searched (search.max_query_chars)"),
    (["trec", "--queries", "{folder}/empty.tsv"], "factseek: {folder}/empty.tsv: holds no queries"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_input(arguments, message, example, tmp_path, command) -> None:
    (tmp_path / "queries.tsv").write_text("q1\tmeasles\nq2\tvaccine\n")
    (tmp_path / "long.tsv").write_text("q1\t" + "a" * 10_001 + "\n")
    (tmp_path / "empty.tsv").write_text("\n")
    usual = ["--queries", "{folder}/queries.tsv", "--index", str(example), "--output", "{folder}/run.txt"]
    task, *more = arguments
    given = [str(part).format(folder=tmp_path) for part in (task, *overriding(usual, more))]
    code, out, err = command("run", *given)
    assert (code, out) == (2, "")
    assert err == message.format(folder=tmp_path, index=example) + "\n"
    assert {path.name for path in tmp_path.iterdir()} == {"queries.tsv", "long.tsv", "empty.tsv"}


@pytest.mark.parametrize("after", [1, 9])
def test_an_interrupted_run_leaves_what_was_there(after: int, example: Path, root: Path, tmp_path: Path) -> None:
    output = tmp_path / "run.txt"
    output.write_text("before\n")
    request = RunRequest(task="trec", queries=root / "examples/queries-en.tsv", output=output)

    class Stop:
        done = 0

        def update(self, n: int = 1) -> None:
            self.done += n
            if self.done >= after:
                raise KeyboardInterrupt

        def close(self) -> None:
            pass

    with Index(example) as index:
        with pytest.raises(KeyboardInterrupt):
            run_queries(request, index, lambda *_: Stop())
        assert output.read_text() == "before\n"
        assert list(tmp_path.iterdir()) == [output]
        run_queries(request, index)
    meta = json.loads((tmp_path / "run.txt.meta.json").read_text("utf-8"))
    assert meta["output"]["sha256"] == sha256(output)


def test_a_run_whose_sidecar_finds_no_room_writes_nothing(example: Path, tmp_path: Path) -> None:
    queries, output = tmp_path / "queries.tsv", tmp_path / "run.txt"
    queries.write_text("a\tmeasles\nb\tsea level\n")
    request = RunRequest(task="trec", queries=queries, output=output, search=Search(k=1))
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Index(example) as index:
        index.search(["measles"])  # Java has begun
        resource.setrlimit(resource.RLIMIT_FSIZE, (400, before[1]))
        try:
            with pytest.raises(MachineError) as raised:
                run_queries(request, index)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        assert str(raised.value) == f"{output}.meta.json: File too large"
        assert list(tmp_path.iterdir()) == [queries]
        run_queries(request, index)
    assert output.read_text("utf-8").count("\n") == 2
