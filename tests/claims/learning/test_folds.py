"""Near-duplicates, folds, samples and stacks."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import average_precision_score

from factseek.claims.learning.folds import average_precision, folds
from factseek.claims.text.words import groups, repeated
from factseek.retrieval.domain import Statement

pytestmark = pytest.mark.inner

TEXT = "The ministry counted 412 new cases of the virus in the capital on Monday"


def _statements(labels: list[int], speaker: str = "") -> list[Statement]:
    drawn = np.random.default_rng(3)
    words = ["".join(drawn.choice(list("abcdefghij"), 7)) for _ in range(400)]
    return [
        Statement(str(n), " ".join(drawn.choice(words, 8)), topic=f"d{n % 7}", speaker=speaker, label=label)
        for n, label in enumerate(labels)
    ]


def test_what_nearly_says_the_same_is_one_group_also_through_others() -> None:
    texts = [TEXT, f"RT @somebody: {TEXT} https://t.co/x", "Good morning to all of you, dear friends", TEXT.upper()]
    found = groups([Statement(str(n), text) for n, text in enumerate(texts)]).tolist()
    assert found[0] == found[1] == found[3] != found[2]
    said = repeated([Statement("1", texts[1]), Statement("2", texts[2])], [Statement("0", TEXT)])
    assert said.tolist() == [True, False]


def test_folds_keep_groups_together_and_share_out_what_is_worth_checking() -> None:
    statements = _statements([int(n % 4 == 0) for n in range(200)])
    statements += [one._replace(qid=f"again {one.qid}", text=f"{one.text} !") for one in statements[:20]]
    found = folds(statements, 5, seed=0)
    assert (found == folds(statements, 5, seed=0)).all()
    assert (found[:20] == found[200:]).all()
    labels = np.array([one.label for one in statements])
    assert [abs(labels[found == fold].mean() - 0.25) < 0.05 for fold in range(5)] == [True] * 5


def test_tweets_of_a_topic_are_in_one_fold_where_there_are_enough_topics() -> None:
    statements = _statements([int(n % 3 == 0) for n in range(140)])
    apart, mixed = folds(statements, 5, seed=0), folds([one._replace(topic="covid") for one in statements], 5, seed=0)
    for topic in {one.topic for one in statements}:
        rows = [one.topic == topic for one in statements]
        assert len(set(apart[rows].tolist())) == 1
        assert len(set(mixed[rows].tolist())) > 1


def test_average_precision_is_scikit_learns_where_nothing_ties() -> None:
    drawn = np.random.default_rng(0)
    labels, scores = drawn.integers(0, 2, 50), drawn.permutation(50).astype(float)
    assert average_precision(labels, scores) == pytest.approx(average_precision_score(labels, scores))
    assert average_precision(np.zeros(3, dtype=np.int64), np.zeros(3)) == 0.0
