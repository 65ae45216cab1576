"""``factseek run``: from queries to a submission that check and score accept."""

# A message that is told exactly stands on one line.

import hashlib
import json
from pathlib import Path

import pytest

from factseek.commands import main
from factseek.core.domain import Filter
from factseek.core.errors import QueryError
from factseek.eval.files.answers import TaskQuery
from factseek.eval.run.batch import filtered_queries
from factseek.eval.run.run import RunRequest
from factseek.eval.run.run import run as run_queries
from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.settings import Config
from tests.conftest import overriding


def test_queries_without_hits_are_named(example, tmp_path, command) -> None:
    queries = tmp_path / "queries.tsv"
    queries.write_text("a\tmeasles\n" + "".join(f"q{n}\tzzyzx{n}\n" for n in range(6)))
    output = tmp_path / "run.txt"
    code, _, notes = command(
        "run", "trec", "--queries", queries, "--index", example, "--output", output
    )
    assert (code, notes) == (0, "note: queries without hits: 6 (q0, q1, q2, q3, q4, …)\n")


@pytest.mark.parametrize(
    "case",
    [
        (["trec"], "a\tzzyzx\nb\t!!!\n", "check that it is the right index"),
        (
            ["trec", "--filter", "topic=none"],
            "a\tmeasles\n",
            "check that it is the right index, and that documents match the filter",
        ),
        (
            ["ct2020-evidence"],
            "topic_id\ttweet_id\ttweet_text\nT\t1\tmeasles\n",
            "the documents of the index need the topics of the claims, such as 'T'",
        ),
    ],
)
def test_no_submission_is_written_without_a_hit(case, example, tmp_path, command) -> None:
    asked, content, reason = case
    queries = tmp_path / "queries.tsv"
    queries.write_text(content)
    given = ["--queries", queries, "--index", example, "--output", tmp_path / "run.txt"]
    code, _, err = command("run", *asked, *given)
    assert code == 2
    assert (
        err == f"factseek: {queries}: no query has a hit in {example}, so nothing is written; "
        f"{reason}\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["queries.tsv"]


def test_each_claim_is_answered_from_its_own_topic(example, root, tmp_path) -> None:
    output = tmp_path / "run.tsv"
    request = RunRequest(
        task="ct2020-evidence", queries=root / "examples/claims-en.tsv", output=output
    )
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
            run_queries(
                RunRequest(task="trec", queries=queries, output=output, run_id="mine"), index
            )
        manifest = index.info.id
    assert outputs[0].read_bytes() == outputs[1].read_bytes()
    meta = json.loads((tmp_path / "one.txt.meta.json").read_text("utf-8"))
    assert meta["output"] == {
        "name": "one.txt",
        "sha256": hashlib.sha256(outputs[0].read_bytes()).hexdigest(),
    }
    assert meta["queries"]["sha256"] == hashlib.sha256(queries.read_bytes()).hexdigest()
    assert meta["index"]["manifest"] == manifest
    assert (meta["task"], meta["run_id"], meta["search"]["k"], meta["search"]["retriever"]) == (
        "trec",
        "mine",
        1000,
        "bm25",
    )


@pytest.mark.parametrize(
    ("date", "day"),
    [
        ("2020-03", "2020-03-31"),
        ("2020-03-01T23:30:00-05:00", "2020-03-02"),
        ("Sun Mar 01 23:30:00 +0000 2020", "2020-03-01"),
    ],
)
def test_a_query_of_its_own_date_sees_nothing_newer(date, day) -> None:
    (asked,) = filtered_queries(
        "trec", [TaskQuery("q", "text", date=date)], Search(), 100, as_of_query=True
    )
    assert asked.where == Filter(as_of=day)
    with pytest.raises(QueryError, match="the date of query 'q'"):
        before = TaskQuery("q", "text", date="0001-01-01T00:00:00+05:00")
        filtered_queries("trec", [before], Search(), 100, as_of_query=True)


BAD = [
    (
        ["fever"],
        (
            "factseek: fever: is not a ranking task; the ranking tasks are ct2020-claims, "
            "ct2020-evidence, ct2025-4b, source-retrieval, trec"
        ),
    ),
    (
        ["ct2020-evidence", "-k", "101"],
        "factseek: -k 101: ct2020-evidence accepts at most 100 hits a query",
    ),
    (
        ["trec", "--retriever", "dense"],
        (
            "factseek: {index}: was built without vectors: it supports bm25, not dense; "
            "add them with factseek compact --add vectors"
        ),
    ),
    (
        ["ct2020-evidence", "--filter", "topic=T"],
        (
            "factseek: --filter topic=T: ct2020-evidence already searches only the topic of "
            "each claim; leave the filter out"
        ),
    ),
    (
        ["trec", "--output", "{folder}/queries.tsv"],
        (
            "factseek: {folder}/queries.tsv: is an input of this command and would be "
            "overwritten; give another file"
        ),
    ),
    (
        ["trec", "--ir-metadata", "{folder}/run.txt.meta.json"],
        (
            "factseek: {folder}/run.txt.meta.json: is also another result of this command; "
            "give another file"
        ),
    ),
    (
        ["trec", "--about", "{folder}/long.tsv"],
        "factseek: --about: needs --ir-metadata; give --ir-metadata FILE, which it adds to",
    ),
    (
        ["trec", "--ir-metadata", "{folder}/long.tsv", "--about", "{folder}/long.tsv"],
        (
            "factseek: {folder}/long.tsv: is an input of this command and would be "
            "overwritten; give another file"
        ),
    ),
    (
        ["trec", "--as-of-query"],
        "factseek: query 'q1' has no date; add a date, or leave out --as-of-query",
    ),
    (
        ["trec", "--queries", "{folder}/empty.tsv"],
        "factseek: {folder}/empty.tsv: contains no queries",
    ),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_bad_input(arguments, message, example, tmp_path, command) -> None:
    (tmp_path / "queries.tsv").write_text("q1\tmeasles\nq2\tvaccine\n")
    (tmp_path / "long.tsv").write_text("q1\t" + "a" * 10_001 + "\n")
    (tmp_path / "empty.tsv").write_text("\n")
    usual = [
        "--queries",
        "{folder}/queries.tsv",
        "--index",
        str(example),
        "--output",
        "{folder}/run.txt",
    ]
    task, *more = arguments
    given = [str(part).format(folder=tmp_path) for part in (task, *overriding(usual, more))]
    code, out, err = command("run", *given)
    assert (code, out) == (2, "")
    assert err == message.format(folder=tmp_path, index=example) + "\n"
    assert {path.name for path in tmp_path.iterdir()} == {"queries.tsv", "long.tsv", "empty.tsv"}


NOTE = (
    "note: 2 queries find the document of the same id first, such as 'p1'; use "
    "--ignore-identical-ids to leave it out, "
    "as BEIR does\n"
)


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two arguments with what speaks against each, and each argument as a query; judged and
    indexed.
    """
    folder = tmp_path_factory.mktemp("arguments")
    texts = {
        "p1": "zoos save rare species",
        "c1": "zoos harm species",
        "p2": "exams are fair",
        "c2": "exams scare",
    }
    rows = [{"_id": docid, "text": text} for docid, text in texts.items()]
    (folder / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "queries.jsonl").write_text(
        "".join(json.dumps(row) + "\n" for row in rows if row["_id"][0] == "p")
    )
    (folder / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\np1\tc1\t1\np2\tc2\t1\n")
    source = folder / "corpus.jsonl"
    build(
        BuildRequest(kind="beir", sources=(source,), folder=folder / "index", dense=False), Config()
    )
    return folder


def run(place: Path, tmp_path: Path, *options: str) -> list[str]:
    output = tmp_path / "o.run"
    asked = [
        "--queries",
        str(place / "queries.jsonl"),
        "--index",
        str(place / "index"),
        "--output",
        str(output),
    ]
    assert main(["run", "trec", *asked, *options]) == 0
    return [" ".join(line.split()[:3:2]) for line in output.read_text().splitlines()]


def scored(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], *options: str
) -> tuple[float, str]:
    asked = [
        "--gold",
        str(place / "qrels.tsv"),
        "--run",
        str(tmp_path / "o.run"),
        "--measures",
        "nDCG@10",
        "--json",
    ]
    capsys.readouterr()
    assert main(["score", "trec", *asked, *options]) == 0
    told = capsys.readouterr()
    return json.loads(told.out)["nDCG@10"], told.err


def test_a_run_and_a_score_leave_the_query_out(
    place: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(place, tmp_path) == ["p1 p1", "p1 c1", "p2 p2", "p2 c2"]
    assert NOTE in capsys.readouterr().err
    value, said = scored(place, tmp_path, capsys)
    assert (round(value, 4), NOTE in said) == (0.6309, True)
    assert scored(place, tmp_path, capsys, "--ignore-identical-ids") == (1.0, "")
    assert run(place, tmp_path, "--ignore-identical-ids") == ["p1 c1", "p2 c2"]
    assert "same id" not in capsys.readouterr().err
    assert scored(place, tmp_path, capsys) == (1.0, "")
