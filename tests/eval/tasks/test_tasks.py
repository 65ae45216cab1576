"""The contract of every task: what it writes passes its check, reads back, and scores."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factseek.core.domain import Claim, Statement
from factseek.core.errors import CheckFailed, FactseekError, QueryError, SourceError
from factseek.core.records.lines import Strict
from factseek.eval.files.answers import ScoreOptions
from factseek.eval.run.judge import score_files as score
from factseek.eval.tasks import RANKING, STATEMENTS, VERDICTS, task
from tests.eval.tasks.conftest import write_submission


def test_what_it_writes_passes_its_check_reads_back_and_scores(sample, put, tmp_path):
    of_task = task(sample.task)
    for name in ("run", "again"):
        write_submission(of_task, sample.records, tmp_path / name)
    content = (tmp_path / "run").read_bytes()
    assert content == (tmp_path / "again").read_bytes()
    assert b"\r" not in content and content.endswith(b"\n")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["again", "run"]
    assert of_task.check(tmp_path / "run", put("input", sample.input)).messages == []
    assert of_task.check(tmp_path / "run").messages == []
    assert len(of_task.read_submission(tmp_path / "run", Strict(tmp_path / "run"))) == len(
        sample.records
    )
    if sample.task in RANKING.names():
        table = of_task.read_scores(tmp_path / "run").table
        assert {qid: sorted(docs, key=docs.get, reverse=True) for qid, docs in table.items()} == {
            qid: [hit.docid for hit in hits] for qid, hits in sample.records.items()
        }
    scores = of_task.score([put("gold", sample.gold)], [tmp_path / "run"], ScoreOptions())
    assert next(iter(scores.values)) == scores.official == of_task.OFFICIAL
    assert scores.values[of_task.OFFICIAL] == pytest.approx(sample.official)
    assert scores.as_json(per_query=True)[of_task.OFFICIAL] == scores.values[of_task.OFFICIAL]
    assert scores.per_query


def test_failed_write_leaves_what_was_there(sample, put, tmp_path):
    path = put("run", "old")
    bad = (
        {"no slash ": []} if sample.task not in ("ct2025-4b", "source-retrieval") else {"a\tb": []}
    )
    records = bad if sample.task in RANKING.names() else [("a b", "c d", "neither")]
    records = [(Claim("a b", "c d"), "neither", [])] if sample.task in VERDICTS.names() else records
    with pytest.raises(QueryError):
        write_submission(task(sample.task), records, path, "team run")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_byte_order_mark_is_read_and_warned_of(sample, put, tmp_path, encoding):
    of_task = task(sample.task)
    write_submission(of_task, sample.records, tmp_path / "run")
    marked = put("marked", (tmp_path / "run").read_text("utf-8").encode(encoding))
    report = of_task.check(marked, put("input", sample.input.encode(encoding)))
    assert (report.errors, report.warnings) == (0, 1)
    scores = of_task.score([put("gold", sample.gold.encode(encoding))], [marked], ScoreOptions())
    assert scores.values[of_task.OFFICIAL] == pytest.approx(sample.official)


def test_swapped_files_are_recognised(sample, put, tmp_path):
    write_submission(task(sample.task), sample.records, tmp_path / "run")
    gold = put("gold", sample.gold)
    with pytest.raises((CheckFailed, SourceError), match=r"; --gold and --run seem to be swapped$"):
        score(sample.task, [tmp_path / "run"], [gold], ScoreOptions())


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff\xfe1\x00\n\x00",
        b"\x1f\x8b\x08\x00",
        b"\x00\x01\x02\n",
        b"\xe9t\xe9\t1\n",
        b"{" * 100_000 + b"\n",
        b"x" * 10_000_000,
    ],
    ids=[
        "empty",
        "utf-16",
        "gzip",
        "binary",
        "latin-1",
        "deep",
        "10-mb-line",
    ],
)
def test_nonsense_is_refused_in_words_and_never_scored(sample, put, content):
    of_task = task(sample.task)
    path = put("run", content)
    try:
        report = of_task.check(path)
    except SourceError as error:  # what is packed and cut is refused before its lines are looked at
        messages = [error.line]
    else:
        assert report.errors
        messages = list(report.messages)
    assert all("\n" not in line and len(line) < 400 + len(str(path)) for line in messages)
    with pytest.raises((CheckFailed, SourceError)) as caught:
        of_task.score([put("gold", sample.gold)], [path], ScoreOptions())
    assert caught.value.line.startswith(str(path))
    for read in (
        lambda path: of_task.read_gold([path]),
        lambda path: of_task.read_submission(path, Strict(path)),
    ):
        with pytest.raises(SourceError, match="run"):
            read(path)


PIECES = [
    *(b"\t", b"\n", b"\r", b" ", b'"', b"'", b",", b"[", b"]", b"{", b"}", b"\\", b"/", b"#"),
    *(b"\x00", b"\xff", b"\x0b", b"\x1c"),
    *(
        b"nan",
        b"-inf",
        b"1e999",
        b"-1",
        b"0",
        b"1.5",
        b"9" * 30,
        b"null",
        b"true",
        b"Q0",
        b"\\ud800",
        b"",
    ),
    *(text.encode() for text in ("\u2028", "\u00a0", "\u0085", "\u0663", "\ufeff")),
]
edits = st.lists(
    st.tuples(st.integers(0, 500), st.integers(0, 8), st.sampled_from(PIECES)),
    min_size=1,
    max_size=3,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=50)
@given(st.sampled_from(["run", "gold", "input"]), edits)
def test_a_damaged_file_is_scored_or_refused_in_words(sample, put, tmp_path, damaged, made):
    of_task = task(sample.task)
    write_submission(of_task, sample.records, tmp_path / "run")
    contents = {
        "run": (tmp_path / "run").read_bytes(),
        "gold": sample.gold.encode(),
        "input": sample.input.encode(),
    }
    for at, length, piece in made:
        content = contents[damaged]
        start = at % (len(content) + 1)
        contents[damaged] = content[:start] + piece + content[start + length :]
    paths = {kind: put(kind, content) for kind, content in contents.items()}
    with suppress(FactseekError):
        of_task.check(paths["run"], paths["input"]).as_json()
    with suppress(FactseekError):
        values = score(sample.task, [paths["gold"]], [paths["run"]], ScoreOptions()).values.values()
        assert all(0 <= value <= 2 for value in values)  # an id that is repeated may count twice


def test_half_a_file_has_no_figure(sample, put, tmp_path):
    of_task = task(sample.task)
    write_submission(of_task, sample.records, tmp_path / "run")
    content = (tmp_path / "run").read_bytes()
    half = put("half", content[: len(content) - len(content.splitlines()[-1]) // 2])
    report = of_task.check(half, put("input", sample.input))
    assert report.errors + report.warnings, "a file that ends within a line is remarked on"


HEADER = "topic_id\ttweet_id\ttweet_url\ttweet_text\tclaim\tclaim-worthiness\n"


def test_tweets_with_their_labels(tmp_path: Path) -> None:
    path = tmp_path / "tweets.tsv"
    path.write_text(HEADER + 't1\t007\tu\ta "stray quote\t1\t1\nt2\t7\tu\tother\t0\t0\n')
    found = STATEMENTS.load("ct2021-1a").read_statements(path, labelled=True)
    assert found[0] == Statement("007", 'a "stray quote', topic="t1", label=1, place=f"{path}:2")
    assert [(one.qid, one.label) for one in found] == [("007", 1), ("7", 0)]
    assert [
        one.label for one in STATEMENTS.load("ct2021-1a").read_statements(path, labelled=False)
    ] == [None, None]


def test_a_stream_gives_what_the_file_gives(tmp_path: Path) -> None:
    tweets, debate = tmp_path / "tweets.tsv", tmp_path / "debate.tsv"
    tweets.write_text(HEADER + "t1\t1\tu\tone\t1\t1\r\n\nt2\t2\tu\ttwo\t0\t0\n")
    debate.write_text("1\tA\tone\n2\tB\ttwo\n")
    for name, path in (("ct2021-1a", tweets), ("ct2021-1b", debate)):
        of_task = STATEMENTS.load(name)
        with path.open("rb") as file:
            streamed = list(of_task.stream_statements(file, str(path)))
        assert streamed == of_task.read_statements(path, labelled=False)


def test_fever_claims_come_with_label_and_groups(root: Path) -> None:
    path = root / "examples" / "fever-dev.jsonl"
    first, second, *_ = VERDICTS.load("fever").read_claims(path, labelled=True)
    groups = ((("EX-EN-01-0001-002", 0),), (("en-vaccines-measles", 12),))
    assert first == Claim(
        "537",
        "More than 100,000 people died of measles in 2023.",
        label="SUPPORTS",
        groups=groups,
        place=f"{path}:1",
    )
    assert (second.label, second.groups) == ("NOT ENOUGH INFO", ())
    bare = VERDICTS.load("fever").read_claims(path, labelled=False)
    assert bare[0] == first._replace(label="", groups=())
    assert len(bare) == 18
