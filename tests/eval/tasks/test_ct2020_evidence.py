"""Evidence retrieval: trec_eval's rules on topic and tweet, means over topics, and bad input."""

# A message that is told exactly stands on one line.

import pytest

from factseek.core.domain import Hit
from factseek.core.errors import SourceError
from factseek.eval.files.answers import ScoreOptions
from factseek.eval.tasks import task
from tests.eval.tasks.conftest import write_submission

TASK = task("ct2020-evidence")
S1, S2, S3 = (f"T-05-0003-00{n}" for n in (1, 2, 3))
INPUT = "topic_id\ttweet_id\ttweet_text\nT-05\t11\tone\nT-06\t12\ttwo\n"
OK = f"T-05\t11\t1\t{S1}\t0.77\tr\n"
JSONL = (
    '{"topic_id": "T-05", "tweet_id": "11", "tweet_text": "one"}\n{"topic_id": "T-06", '
    '"tweet_id": 12, "tweet_text": "two", "date": "2020-03-01"}\n'
)


def test_claims_are_read_from_tsv_and_json_lines(put):
    assert [query[:3] for query in TASK.read_queries(put("input", INPUT))] == [
        ("T-05/11", "one", "T-05"),
        ("T-06/12", "two", "T-06"),
    ]
    queries = TASK.read_queries(put("input", JSONL))
    assert [query.qid for query in queries] == ["T-05/11", "T-06/12"]
    assert queries[1].date == "2020-03-01"


@pytest.mark.parametrize(
    "gold",
    [
        f"T-05\t11\t{S1}\t1\nT-05\t11\t{S2}\t0\n",
        f"topicID\ttweetID\tsnippetID\tlabel\nT-05\t11\t{S1}\t1\nT-05\t11\t{S2}\t0\n",
        f"T-05/11 0 {S1} 1\nT-05/11 0 {S2} 0\n",
        f"T-05/11\tQ0\t{S1}\t1\nT-05/11\tQ0\t{S2}\t0\n",
    ],
    ids=["tsv", "header", "qrels", "qrels-tabs"],
)
def test_gold_is_read_in_both_forms(gold, put):
    assert TASK.read_gold([put("gold", gold)]) == {"T-05/11": {S1: 1, S2: 0}}


def test_means_over_claims_and_over_topics(put):
    gold = "".join(
        f"{topic}\t{tweet}\ts\t1\n" for topic, tweet in (("A", 1), ("A", 2), ("A", 3), ("B", 1))
    )
    run = "A\t1\t1\ts\t1\tr\nB\t1\t1\tx\t2\tr\nB\t1\t2\ts\t1\tr\n"
    scores = TASK.score([put("gold", gold)], [put("run", run)], ScoreOptions())
    assert scores.values["RR"] == pytest.approx((1 + 0 + 0 + 0.5) / 4)
    assert scores.topics["RR"] == pytest.approx((1 / 3 + 0.5) / 2)
    assert scores.values["P@10"] == pytest.approx(0.2 / 4)
    assert scores.notes == ("2 of 4 judged claims have no results and count 0",)
    assert scores.as_json(per_query=False)["RR over topics"] == scores.topics["RR"]


BAD = {
    "header": (
        "topicID\ttweetID\trank\tsnippetID\tscore\trunID\n",
        "{run}:1: error: rank 'rank' is not a whole number; a run has no header",
    ),
    "spaces": (
        f"T-05 11 1 {S1} 0.77 r\n",
        (
            "{run}:1: error: has 1 columns between tabs, but 6 are expected (topicID tweetID "
            "rank snippetID score runID); this line separates them by white space"
        ),
    ),
    "gap": (
        OK + f"T-05\t11\t3\t{S2}\t0.7\tr\n",
        "{run}:2: error: rank 3, expected 2: ranks of a claim run 1, 2, 3 … without a gap",
    ),
    "twice": (
        OK + f"T-05\t11\t2\t{S1}\t0.7\tr\n",
        "{run}:2: error: snippet 'T-05-0003-001' of claim 'T-05/11' is already on line 1",
    ),
    "two runs": (
        OK + f"T-05\t11\t2\t{S2}\t0.7\ts\n",
        "{run}:2: error: run id 's' differs from 'r' above: a file contains one run",
    ),
    "nan": (
        f"T-05\t11\t1\t{S1}\tnan\tr\n",
        "{run}:1: error: score 'nan' is not a finite float32 number",
    ),
    "arabic rank": (
        f"T-05\t11\t\u0661\t{S1}\t3\tr\n",
        "{run}:1: error: rank '\u0661' is not a whole number",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_line_is_said_exactly(case, put):
    content, message = BAD[case]
    path = put("run", content)
    assert message.format(run=path) in TASK.check(path).messages


def test_equal_scores_that_are_scored_in_another_order_are_told_once(put):
    rows = ((S1, "0.7"), (S3, "0.70"), (S2, "0.70000000001"))
    path = put(
        "run",
        "".join(f"T-05\t11\t{n}\t{one}\t{value}\tr\n" for n, (one, value) in enumerate(rows, 1)),
    )
    assert TASK.check(path).messages == [
        (
            f"{path}:2: warning: equal scores with ascending snippet ids: 1; scoring sorts "
            "them in descending order"
        ),
        f"{path}:3: error: score 0.70000000001 rises above the score of the rank before",
    ]


def test_more_than_a_hundred(put):
    path = put("run", "".join(f"A\t1\t{n}\tA-0001-{n:03}\t{-n}\tr\n" for n in range(1, 103)))
    assert TASK.check(path).messages == [
        f"{path}:101: error: is result 101 of its claim; at most 100 are allowed",
        f"{path}:102: error: is result 102 of its claim; at most 100 are allowed",
    ]


def test_coverage_of_the_input(put):
    run, given = put("run", OK + f"T-05\t011\t1\t{S2}\t0.7\tr\n"), put("input", INPUT)
    assert TASK.check(run, given).messages == [
        (
            f"{run}:2: error: claim 'T-05/011' is not in {given}; 'T-05/11' and 'T-05/011' "
            "differ by a leading zero alone: ids are compared letter by letter"
        ),
        f"{run}: error: claim 'T-06/12' of {given} is missing",
    ]


BAD_INPUT = {
    "no topic": (
        "topic_id\ttweet_id\ttweet_text\n\t11\tone\n",
        "input:2: tweet '11' has no topic_id",
    ),
    "twice": (INPUT + "T-05\t11\tone\n", "input:4: claim 'T-05/11' is already on line 2"),
    "surrogate in JSON": (
        '{"id_str": "\\udc00", "full_text": "x"}\n',
        "input:1: tweet_id '\\udc00' cannot be encoded as UTF-8",
    ),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_said_exactly(case, put):
    content, message = BAD_INPUT[case]
    with pytest.raises(SourceError) as caught:
        TASK.read_queries(put("input", content))
    assert caught.value.line.endswith("/" + message)


BAD_GOLD = {
    "label": (
        f"T-05\t11\t{S1}\t-1\n",
        "gold:1: label '-1' is neither 0 nor a positive whole number",
    ),
    "a letter for a digit": (
        f"T-05\t11\t{S1}\tl\n",
        (
            "gold:1: label 'l' is neither 0 nor a positive whole number; a header has the "
            "names topicID tweetID snippetID label"
        ),
    ),
    "large label": (
        f"T-05\t11\t{S1}\t1001\n",
        "gold:1: label '1001' is not between -1,000 and 1,000; scale the labels down",
    ),
    "padded": (
        f"A\t1\t{S1} \t1\n",
        "gold:1: topic, tweet or snippet is empty or contains white space",
    ),
    "twice": (
        f"A\t1\t{S1}\t1\nA\t1\t{S1}\t0\n",
        f"gold:2: snippet '{S1}' of claim 'A/1' is already judged",
    ),
}


@pytest.mark.parametrize("case", BAD_GOLD)
def test_bad_gold_is_said_exactly(case, put):
    content, message = BAD_GOLD[case]
    with pytest.raises(SourceError) as caught:
        TASK.read_gold([put("gold", content)])
    assert caught.value.line.endswith("/" + message)


def test_a_header_says_the_order_of_the_columns(put):
    gold = put("gold", f"tweet_id\ttopic_id\tsnippet_id\tlabel\n11\tT-05\t{S1}\t1\n")
    qrels = put("qrels", f"qid\t0\tdocid\trel\nT-05/11\t0\t{S1}\t1\n")
    assert TASK.read_gold([gold]) == TASK.read_gold([qrels]) == {"T-05/11": {S1: 1}}


def test_writes_a_hundred_without_exponents(tmp_path):
    hits = [Hit(f"T-05-0001-{n:03}", 1e-7 * n) for n in range(150)]
    write_submission(TASK, {"T-05/11": hits}, tmp_path / "run", "team")
    lines = (tmp_path / "run").read_text().splitlines()
    assert len(lines) == 100
    assert lines[0] == "T-05\t11\t1\tT-05-0001-149\t0.0000149\tteam"
    assert TASK.check(tmp_path / "run").messages == []
