"""Claim verification against scikit-learn, and bad input."""

# A message that is told exactly stands on one line.

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factseek.core.domain import Claim
from factseek.core.errors import CheckFailed, SourceError
from factseek.eval.files.answers import ScoreOptions
from factseek.eval.tasks import task

TASK = task("ct2020-verification")
labels = st.sampled_from(["TRUE", "FALSE"])


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60, deadline=None
)
@given(st.lists(st.tuples(labels, labels), min_size=1, max_size=20))
def test_figures_are_those_of_scikit_learn(put, pairs):
    from sklearn.metrics import accuracy_score, precision_recall_fscore_support

    gold = put("gold", "".join(f"T\t{n}\t{right}\n" for n, (right, _) in enumerate(pairs)))
    verdicts = ((Claim(f"T/{n}", "", topic="T"), found, []) for n, (_, found) in enumerate(pairs))
    TASK.write_verdicts(verdicts, gold.with_name("run"), "r")
    values = TASK.score([gold], [gold.with_name("run")], ScoreOptions()).values
    right, found = [a for a, _ in pairs], [b for _, b in pairs]
    figures = precision_recall_fscore_support(
        right, found, labels=["TRUE", "FALSE"], zero_division=0.0
    )
    expected = {"macro_f1": figures[2].mean(), "accuracy": accuracy_score(right, found)}
    for at, label in enumerate(["TRUE", "FALSE"]):
        expected |= {
            f"precision_{label}": figures[0][at],
            f"recall_{label}": figures[1][at],
            f"f1_{label}": figures[2][at],
        }
    assert values == pytest.approx(expected)


def test_a_class_that_is_nowhere_is_told(put):
    scores = TASK.score(
        [put("gold", "T\t1\tTRUE\n")], [put("run", "T\t1\tTRUE\tr\n")], ScoreOptions()
    )
    assert scores.values["macro_f1"] == 0.5
    assert scores.notes == (
        "FALSE is neither in the gold nor in the submission: its F1 counts as 0",
    )


BAD = {
    "header": (
        "topicID\ttweetID\tlabel\trunID\n",
        "{run}:1: error: label 'label' is neither TRUE nor FALSE; a submission has no header",
    ),
    "case": (
        "T\t1\ttrue\tr\n",
        "{run}:1: error: label 'true' is neither TRUE nor FALSE; write it in capitals",
    ),
    "twice": (
        "T\t1\tTRUE\tr\nT\t1\tFALSE\tr\n",
        "{run}:2: error: claim 'T/1' is already on line 1",
    ),
    "no run id": (
        "T\t1\tTRUE\n",
        (
            "{run}:1: error: has 3 columns between tabs, but 4 are expected (topicID tweetID "
            "label runID)"
        ),
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_line_is_said_exactly(case, put):
    content, message = BAD[case]
    path = put("run", content)
    assert TASK.check(path).messages == [message.format(run=path)]


GOLDS = {
    "no header": "T\t1\tTRUE\nU\t1\tFALSE\n",
    "the official header": "topicID\ttweetID\tlabel\nT\t1\tTRUE\nU\t1\tFALSE\n",
    "another order": "label\ttweet_id\ttopic_id\nTRUE\t1\tT\nFALSE\t1\tU\n",
    "more columns": (
        'topic\turl\tid\ttext\tverdict\nT\ta\t1\tHe said: "x"\tTRUE\nU\tb\t1\ty\tFALSE\n'
    ),
    "quotes": '"Tweet ID"\t"Label"\t"Topic ID"\n"1"\t"TRUE"\t"T"\n"1"\t"FALSE"\t"U"\n',
    "semicolons": "sep=;\nlabel;topicID;tweetID\nTRUE;T;1\nFALSE;U;1\n",
    "JSON lines": (
        '{"label": "TRUE", "tweet_id": 1, "topic_id": "T"}\n{"topic_id": "U", "tweet_id": "1", '
        '"label": "FALSE"}\n'
    ),
}


@pytest.mark.parametrize("how", GOLDS)
def test_the_header_of_the_gold_says_what_its_columns_are(how, put):
    run = put("run", "T\t1\tTRUE\tr\nU\t1\tFALSE\tr\n")
    scores = TASK.score([put("gold", GOLDS[how])], [run], ScoreOptions())
    assert (scores.values["accuracy"], set(scores.per_query)) == (1.0, {"T/1", "U/1"})


BAD_GOLDS = {
    "no topic": (
        "label\ttweet_id\nTRUE\t1\n",
        "2: there is no topicID: the columns are 'label tweet_id'",
    ),
    "unknown label": (
        "topicID\ttweetID\tgrade\nT\t1\tTRUE\n",
        "1: label 'grade' is neither TRUE nor FALSE",
    ),
    "twice": ("label\ttopic\ttweet\tlabel\nTRUE\tT\t1\tFALSE\n", "2: the header has label twice"),
    "no value": (
        "label\ttopic\ttweet\nTRUE\t\t1\n",
        "2: topicID '' is empty or contains white space",
    ),
    "small letters": (
        "label\ttopic\ttweet\ntrue\tT\t1\n",
        "2: label 'true' is neither TRUE nor FALSE; write it in capitals",
    ),
    "repeated": (
        "label\ttopic\ttweet\nTRUE\tT\t1\nFALSE\tT\t1\n",
        "3: claim 'T/1' is already on line 2",
    ),
    "empty": ("", " is empty"),
    "only a header": ("label\ttopic\ttweet\n", " contains no labels"),
}


@pytest.mark.parametrize("how", BAD_GOLDS)
def test_a_bad_gold_is_said_exactly(how, put):
    content, message = BAD_GOLDS[how]
    gold = put("gold", content)
    with pytest.raises(SourceError) as caught:
        TASK.score([gold], [put("run", "T\t1\tTRUE\tr\n")], ScoreOptions())
    assert caught.value.line == f"{gold}:{message}"


def test_every_claim_or_no_score(put):
    gold, run = put("gold", "T\t1\tTRUE\nT\t2\tFALSE\n"), put("run", "T\t1\tTRUE\tr\n")
    with pytest.raises(CheckFailed) as caught:
        TASK.score([gold], [run], ScoreOptions())
    assert caught.value.line == f"{run}: claim 'T/2' of the gold is missing; the file is not scored"
