"""CheckThat! 2020 task 2: verified claims for a tweet."""

import re
from pathlib import Path

import ir_measures
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factseek.core.domain import Hit
from factseek.core.errors import SourceError
from factseek.core.order import float32, sort_hits
from factseek.eval.files.answers import ScoreOptions, TaskQuery
from factseek.eval.run.judge import score_files as score
from factseek.eval.tasks import task
from tests.eval.tasks.conftest import write_submission

TASK = task("ct2020-claims")
# What the organisers' checker holds each line to.
OFFICIAL = re.compile(r"[^\t]+\tQ0\t[^\t]+\t1\t-?\d+(?:\.\d+)?\t[^\t]+")


def test_tweets_are_read_with_quoting_and_without_a_name_for_their_ids(put) -> None:
    path = put(
        "tweets", '\ttweet_content\n0\tplain "words"\n11\t"DEFUND. ""CBC"", now\nand here"\n'
    )
    assert TASK.read_queries(path) == [
        TaskQuery("0", 'plain "words"'),
        TaskQuery("11", 'DEFUND. "CBC", now\nand here'),
    ]


def test_a_repeated_judgement_is_noted_and_a_contradiction_refused(put) -> None:
    run = put("run", "1\tQ0\t394\t1\t2.5\tme\n")
    twice = put("twice", "1 0 394 1\n1 0 394 1\n")
    scores = score("ct2020-claims", [twice], [run], ScoreOptions())
    assert scores.values["AP@5"] == 1
    assert f"{twice}:2: repeats a judgement; it counts once (1 such line)" in scores.notes
    with pytest.raises(
        SourceError, match=r":2: docid '394' of query '1' was judged differently on line 1$"
    ):
        TASK.read_gold([put("other", "1 0 394 1\n1 0 394 0\n")])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.floats(-(2.0**100), 2.0**100, width=32), min_size=1, max_size=20))
def test_what_is_written_passes_the_official_checker_and_keeps_its_order(
    tmp_path: Path, drawn: list[float]
) -> None:
    hits = sort_hits(Hit(str(docid), value) for docid, value in enumerate(drawn))
    write_submission(TASK, {"7": hits}, tmp_path / "run")
    lines = (tmp_path / "run").read_text().splitlines()
    assert all(OFFICIAL.fullmatch(line) for line in lines)
    read = sort_hits(Hit(*pair) for pair in TASK.read_scores(tmp_path / "run").table["7"].items())
    assert [hit.docid for hit in read] == [hit.docid for hit in hits]
    assert float32(hit.score for hit in read) == [hit.score for hit in hits]
    assert TASK.check(tmp_path / "run").messages == []


FAULTS = {
    "rank": (
        "1\tQ0\t3\t2\t1.0\tt\n",
        "1: error: rank '2' is refused by the official checker: it must be 1 on every line",
    ),
    "exponent": (
        "1\tQ0\t3\t1\t1e-5\tt\n",
        "1: error: score '1e-5' is refused by the official checker: write it without an exponent",
    ),
    "again": (
        "1\tQ0\t3\t1\t1.0\tt\n1\tQ0\t3\t1\t0.5\tt\n",
        "2: error: claim '3' of tweet '1' is already on line 1",
    ),
    "too many": (
        "".join(f"1\tQ0\t{n}\t1\t1.0\tt\n" for n in range(1_001)),
        "1001: error: is result 1,001 of its tweet; at most 1,000 are allowed",
    ),
}


@pytest.mark.parametrize("case", FAULTS)
def test_faults_are_said_with_their_line(case: str, put) -> None:
    content, message = FAULTS[case]
    path = put("run", content)
    assert TASK.check(path).messages == [f"{path}:{message}"]


@pytest.mark.data
def test_figures_on_dev_are_those_of_ir_measures(data_dir: Path, tmp_path: Path) -> None:
    dev = data_dir / "ct2020-task2" / "dev"
    tweets = TASK.read_queries(dev / "tweets.queries.tsv")
    assert len(tweets) == 197
    assert tweets[1].text.startswith("DEFUND. CBC. NOW.")
    assert '"CBC deletes Trump from' in tweets[1].text
    qrels = TASK.read_gold([dev / "tweet-vclaim-pairs.qrels"])
    # A made-up run: the right claim at a rank that the tweet's id decides, and ties below it.
    run = {
        qid: sort_hits(
            [Hit(docid, 10.0 - int(qid) % 8) for docid in judged]
            + [Hit(str(20_000 + n), 9.5 - n) for n in range(9)]
            + [Hit(str(30_000 + n), 0.5) for n in range(3)]
        )
        for qid, judged in qrels.items()
    }
    write_submission(TASK, run, tmp_path / "run")
    assert not TASK.check(tmp_path / "run", dev / "tweets.queries.tsv").errors
    scores = score(
        "ct2020-claims", [dev / "tweet-vclaim-pairs.qrels"], [tmp_path / "run"], ScoreOptions()
    )
    # What ir_measures takes from pytrec_eval: all but reciprocal ranks with a cut, which have an
    # oracle of their own.
    measures = [
        ir_measures.parse_measure(name) for name in scores.values if not name.startswith("RR@")
    ]
    expected = ir_measures.pytrec_eval.calc_aggregate(
        measures, qrels, {qid: {hit.docid: hit.score for hit in hits} for qid, hits in run.items()}
    )
    assert scores.official == "AP@5"
    assert {str(measure): scores.values[str(measure)] for measure in measures} == pytest.approx(
        {str(measure): value for measure, value in expected.items()}, abs=1e-12
    )
    assert 0.2 < scores.values["AP@5"] < 0.9
