"""The learning curve, of queries whose relevant document the first feature tells."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks import learning_curve
from factseek.eval.training import combiner
from factseek.eval.training.pools import Pool

pytestmark = pytest.mark.inner


def test_what_is_learned_from_more_queries_stands_below(monkeypatch) -> None:
    monkeypatch.setattr(learning_curve, "SIZES", (4,))
    drawn = np.random.default_rng(0)
    qrels = {f"q{at}": {f"{at}-9": 1} for at in range(20)}
    pools = [
        Pool(
            qid=qid,
            docids=tuple(f"{at}-{place}" for place in range(10)),
            features=np.column_stack([np.arange(10) == 9, drawn.normal(size=10)]).astype(np.float64),
            relevance=(np.arange(10) == 9).astype(np.int64),
        )
        for at, qid in enumerate(qrels)
    ]
    request = combiner.CombinerRequest(files=())

    header, _, none, some, everything = learning_curve.table(
        combiner.TestBed(pools, qrels, request), qrels, request
    ).splitlines()

    assert header.startswith("| queries learned from | weights | trees |")
    assert none.startswith("| none | 0.289 | 0.289 |")
    assert some.startswith("| 4 | 1.000 |")
    assert everything.startswith("| all, 16 or more | 1.000 |")
