"""Claim verification against scikit-learn, and bad input."""

# A message that is told exactly stands on one line.

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factseek.core.domain import Claim
from factseek.core.errors import CheckFailed
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


def test_every_claim_or_no_score(put):
    gold, run = put("gold", "T\t1\tTRUE\nT\t2\tFALSE\n"), put("run", "T\t1\tTRUE\tr\n")
    with pytest.raises(CheckFailed) as caught:
        TASK.score([gold], [run], ScoreOptions())
    assert caught.value.line == f"{run}: claim 'T/2' of the gold is missing; the file is not scored"
