"""Runs: queries in, a submission out that its own task finds no fault with; killed, they go on."""

# A message that is told exactly stands on one line.
# ruff: noqa: E501

from __future__ import annotations

import hashlib
import json
import os
import resource
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

import pytest

from factseek import commands
from factseek.eval.formats.queries import TaskQuery
from factseek.eval.running.batch import asked_of, search_of
from factseek.eval.running.partial import Partial, WrittenQuery
from factseek.eval.running.run import RunRequest
from factseek.eval.running.run import run as run_queries
from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.domain import Filter
from factseek.retrieval.errors import MachineError, QueryError
from factseek.retrieval.files import sha256
from factseek.retrieval.index.local import Index
from factseek.retrieval.java import java_class
from factseek.retrieval.searcher import Search
from factseek.settings import Config
from tests.conftest import ROOT, overriding

WORDS = "measles vaccine sea level ice melts mask trial river ocean heat virus death year study risk".split()


@pytest.fixture(scope="module")
def example(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The English snippets of the bundled example, indexed for BM25."""
    folder = tmp_path_factory.mktemp("example") / "index"
    source = root / "examples" / "snippets-en.tsv"
    build(BuildRequest(kind="snippets", sources=(source,), folder=folder, dense=False), Config())
    return folder


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
        attached.append(java_class("java.lang.Thread").activeCount())
    assert len(set(attached)) == 1


def test_a_run_goes_on_only_after_the_same_question(example, root, tmp_path) -> None:
    queries, output = root / "examples/queries-en.tsv", tmp_path / "run.txt"
    request = RunRequest(task="trec", queries=queries, output=output)
    part = tmp_path / ".run.txt.part"
    with Index(example) as index:
        run_queries(request, index)
        whole = output.read_bytes()
        _interrupted(request, index, part, 5)
        with part.open("ab") as file:
            file.write(b'{"answered":{"qid":"cut')
        assert run_queries(request, index).resumed == 5
        assert output.read_bytes() == whole
        _interrupted(request, index, part, 5)
        other = RunRequest(task="trec", queries=queries, output=output, search=Search(k=3))
        assert run_queries(other, index).resumed == 0
    assert {path.name for path in tmp_path.iterdir()} == {"run.txt", "run.txt.meta.json"}


def test_a_run_whose_sidecar_finds_no_room_goes_on(example: Path, tmp_path: Path) -> None:
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
        assert not output.exists()
        assert run_queries(request, index).resumed == 2
    assert output.read_text("utf-8").count("\n") == 2
    assert {path.name for path in tmp_path.iterdir()} == {"queries.tsv", "run.txt", "run.txt.meta.json"}


def _interrupted(request: RunRequest, index: Index, part: Path, count: int) -> None:
    """Leave what a run leaves that is interrupted after ``count`` queries."""

    class Stopped(Exception):
        pass

    class Stop:
        done = 0

        def update(self, n: int = 1) -> None:
            self.done += n
            if self.done >= count:
                raise Stopped

        def close(self) -> None:
            pass

    with pytest.raises(Stopped):
        run_queries(request, index, lambda *_: Stop())
    part.write_bytes(b"".join(part.read_bytes().splitlines(keepends=True)[: 1 + count]))


@pytest.mark.deep
@pytest.mark.parametrize("share", [0.1, 0.5, 0.9])
def test_a_killed_run_goes_on_and_ends_with_the_same_bytes(share, example, tmp_path) -> None:
    queries = tmp_path / "queries.tsv"
    count = 4_000
    queries.write_text(
        "".join(f"q{n}\t{' '.join(WORDS[(n * step) % len(WORDS)] for step in range(1, 7))}\n" for n in range(count))
    )

    def arguments(output: str) -> list[str]:
        files = ["--queries", str(queries), "--index", str(example), "--output", str(tmp_path / output)]
        return [sys.executable, "-m", "factseek", "run", "trec", *files, "-k", "20"]

    part = tmp_path / ".killed.txt.part"
    process = subprocess.Popen(arguments("killed.txt"), stdout=subprocess.DEVNULL)
    while process.poll() is None and (not part.exists() or part.read_bytes().count(b'{"answered"') < share * count):
        time.sleep(0.005)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (tmp_path / "killed.txt").exists()
    again = subprocess.run(arguments("killed.txt"), capture_output=True, text=True, check=True)
    assert ": went on after " in again.stdout
    subprocess.run(arguments("fresh.txt"), capture_output=True, check=True)
    assert (tmp_path / "killed.txt").read_bytes() == (tmp_path / "fresh.txt").read_bytes()


def test_one_run_at_a_time_writes_an_output(tmp_path) -> None:
    output = tmp_path / "run.txt"
    with Partial(output, "same") as first, pytest.raises(QueryError) as raised, Partial(output, "same"):
        first.add([])
    assert str(raised.value) == f"{output}: is being written by another run; wait for it, or name another output"


def test_who_holds_an_output_holds_the_file_that_others_see(tmp_path) -> None:
    """A file may be removed between its opening and its locking: two runs would then hold two of the same name."""
    there: list[bool] = []

    def hold() -> None:
        for _ in range(300):
            with suppress(QueryError), Partial(tmp_path / "run.txt", "same"):
                there.append((tmp_path / ".run.txt.part").exists())

    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(4) as pool:
            for held in [pool.submit(hold) for _ in range(4)]:
                held.result()
    finally:
        sys.setswitchinterval(usual)
    assert set(there) == {True}


def test_what_was_done_is_read_back_exactly(tmp_path) -> None:
    output = tmp_path / "run.txt"
    answers = [
        (WrittenQuery("q 1\u2028é", 2), "a é\nb\n"),
        (WrittenQuery("q2", 0, empty=True), ""),
        (WrittenQuery("q3", 1), "c\n"),
    ]
    with Partial(output, "same", "first\n") as partial:
        partial.add(answers[:2])
    with Partial(output, "same", "first\n") as partial:
        assert partial.done == [answered for answered, _ in answers[:2]]
        partial.add(answers[2:])
        partial.finish()
        assert output.read_text("utf-8") == "first\na é\nb\nc\n"
        assert partial.sha256 == sha256(output)


@pytest.mark.parametrize("name", [".run.txt.part", ".run.txt.lines"])
@pytest.mark.parametrize("cut", range(1, 42, 5))
def test_an_answer_that_was_cut_is_asked_again(name, cut, tmp_path) -> None:
    answers = [(WrittenQuery("q1", 2), "a\nb\n"), (WrittenQuery("q2", 1), "c" * 40 + "\n")]
    with Partial(tmp_path / "run.txt", "same") as partial:
        partial.add(answers)
    cut_off = tmp_path / name
    cut_off.write_bytes(cut_off.read_bytes()[:-cut])
    with Partial(tmp_path / "run.txt", "same") as partial:
        assert partial.done == [answers[0][0]]
        partial.add(answers[1:])
        partial.finish()
    assert (tmp_path / "run.txt").read_text("utf-8") == "".join(text for _, text in answers)


def test_lines_that_are_not_what_was_written_are_asked_again(tmp_path) -> None:
    answers = [(WrittenQuery("q1", 1), "a\n"), (WrittenQuery("q2", 1), "b\n"), (WrittenQuery("q3", 1), "c\n")]
    with Partial(tmp_path / "run.txt", "same") as partial:
        partial.add(answers)
    (tmp_path / ".run.txt.lines").write_bytes(b"a\n\0\0c\n")
    with Partial(tmp_path / "run.txt", "same") as partial:
        assert partial.done == [WrittenQuery("q1", 1)]
        partial.add(answers[1:])
        partial.finish()
        assert partial.sha256 == sha256(tmp_path / "run.txt")
    assert (tmp_path / "run.txt").read_text("utf-8") == "a\nb\nc\n"


@pytest.mark.parametrize("damaged", [b"\0\0\0\n", b"{}\n", b'{"answered":{"qid":"\xff","hits":0},"size":0,"crc":0}\n'])
def test_what_the_journal_cannot_say_is_asked_again(damaged: bytes, tmp_path: Path) -> None:
    with Partial(tmp_path / "run.txt", "same") as partial:
        partial.add([(WrittenQuery("q1", 1), "a\n")])
    with (tmp_path / ".run.txt.part").open("ab") as file:
        file.write(damaged)
    with Partial(tmp_path / "run.txt", "same") as partial:
        assert partial.done == [WrittenQuery("q1", 1)]


def test_a_journal_that_the_disk_does_not_take_is_named(tmp_path: Path) -> None:
    answers = [(WrittenQuery(f"q{at}", 0, empty=True), "") for at in range(20)]
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, before[1]))
    try:
        with pytest.raises(MachineError) as raised, Partial(tmp_path / "run.txt", "same") as partial:
            for answer in answers:
                partial.add([answer])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert str(raised.value) == f"{tmp_path / '.run.txt.part'}: File too large"
    with Partial(tmp_path / "run.txt", "same") as partial:
        assert 0 < len(partial.done) < 20
        assert partial.done == [answered for answered, _ in answers[: len(partial.done)]]


def test_an_output_has_the_rights_that_new_files_have(tmp_path: Path) -> None:
    usual = os.umask(0o002)
    try:
        with Partial(tmp_path / "run.txt", "same") as partial:
            partial.add([(WrittenQuery("q1", 1), "a\n")])
            partial.finish()
    finally:
        os.umask(usual)
    assert (tmp_path / "run.txt").stat().st_mode & 0o777 == 0o664


@pytest.mark.parametrize("name", [".run.txt.part", ".run.txt.lines"])
def test_one_file_of_two_is_nothing_to_go_on_from(name, tmp_path) -> None:
    with Partial(tmp_path / "run.txt", "same", "first\n") as partial:
        partial.add([(WrittenQuery("q1", 1), "a\n")])
    (tmp_path / name).unlink()
    with Partial(tmp_path / "run.txt", "same", "first\n") as partial:
        assert partial.done == []
        partial.add([(WrittenQuery("q2", 1), "b\n")])
        partial.finish()
        partial.remove()
    assert (tmp_path / "run.txt").read_text("utf-8") == "first\nb\n"
    assert [path.name for path in tmp_path.iterdir()] == ["run.txt"]


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
    (asked,) = asked_of("trec", [TaskQuery("q", "text", date=date)], Search(), 100, as_of_query=True)
    assert asked.where == Filter(as_of=day)


BAD = [
    (["fever"], "factseek: fever: is not a ranking task; the ranking tasks are ct2020-claims, ct2020-evidence, ct2025-4b, source-retrieval, trec"),
    (["nothing"], "factseek: nothing: is not a ranking task; the ranking tasks are ct2020-claims, ct2020-evidence, ct2025-4b, source-retrieval, trec"),
    (["ct2020-evidence", "-k", "101"], "factseek: -k 101: ct2020-evidence takes at most 100 hits a query"),
    (["ct2025-4b", "-k", "6"], "factseek: -k 6: ct2025-4b takes at most 5 hits a query"),
    (["trec", "-k", "0"], "factseek: -k 0: ask for at least 1 hit"),
    (["trec", "-k", "10001"], "factseek: k 10001 is out of range: ask for 1 to 10000 hits"),
    (["trec", "--retriever", "dense"], "factseek: {index}: was built without vectors: it answers bm25, not dense; rebuild it without --no-dense"),
    (
        ["ct2020-evidence", "--filter", "topic=T"],
        "factseek: --filter topic=T: ct2020-evidence ranks each claim's own topic; leave it out",
    ),
    (
        ["trec", "--run-id", "a b"],
        "factseek: --run-id 'a b' is empty or holds white space: it cannot stand in a column of a file",
    ),
    (
        ["trec", "--run-id", "\udcff"],
        "factseek: --run-id '\\udcff' is not text that UTF-8 can write: it cannot stand in a column of a file",
    ),
    (["trec", "--output", "{folder}/queries.tsv"], "factseek: {folder}/queries.tsv: is read by this command and would be written over; name another file"),
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


def test_a_task_takes_what_is_asked_before_its_own_habit() -> None:
    assert search_of("ct2025-4b", Search()) == Search(k=5, profile="tweet")
    assert search_of("ct2025-4b", Search(k=1, profile="plain")) == Search(k=1, profile="plain")
    assert search_of("trec", Search()) == Search(k=1000)
