"""Cross-validation: what is judged was never learned from, nor was anything like it."""

from __future__ import annotations

import numpy as np

from factseek.claims.evidence.features import NAMES
from factseek.claims.settings import VerdictSettings
from factseek.claims.verdicts.models import Cases
from factseek.claims.verdicts.training import out_of_fold, split

SETTINGS = VerdictSettings()
TWO = ("SUPPORTS", "REFUTES")


def test_twins_teach_nothing_of_each_other() -> None:
    """Claims come in pairs of the same words with chance labels: only one who saw a twin could know."""
    draw = np.random.default_rng(0)
    labels = draw.integers(0, 2, size=60)
    texts = [f"word{number} thing{number}" for number in range(60) for _ in range(2)]
    classes = np.repeat(labels, 2)
    cases = Cases(texts, np.zeros((120, len(NAMES))))

    def right(groups: list[int]) -> float:
        found = out_of_fold("hypothesis", split(TWO, classes, groups, SETTINGS), SETTINGS, cases)
        return float(np.mean(found.argmax(axis=1) == classes))

    assert right([row // 2 for row in range(120)]) < 0.65
    assert right(list(range(120))) > 0.75
