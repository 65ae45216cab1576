"""The organisers' n-gram baseline, against scikit-learn's own pipeline; ``golden.yaml`` holds the published figures."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from factseek.claims.checkworthiness.rankers import kind
from factseek.claims.settings import Config
from factseek.retrieval.domain import Statement
from factseek.retrieval.progress import silent


def test_scores_are_those_of_the_organisers_pipeline(train: list[Statement], dev: list[Statement]) -> None:
    ranker = kind("ngram").train(train, Config(), silent).ranker
    theirs = make_pipeline(TfidfVectorizer(), SVC(C=1, gamma=0.75, random_state=0))
    theirs.fit([one.text for one in train], [one.label for one in train])
    odd = [Statement("1", text) for text in ("", "?!", "ünïcödé Straße", "a b c")]
    asked = [*dev, *train, *odd]
    expected = theirs.decision_function([one.text for one in asked])
    assert ranker.score(asked) == pytest.approx(np.asarray(expected), abs=1e-9)
