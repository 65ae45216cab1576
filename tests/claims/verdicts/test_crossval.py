"""Cross-validation: what is judged was never learned from, nor was anything like it."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from factseek.claims.evidence.features import NAMES
from factseek.claims.settings import VerdictSettings
from factseek.claims.verdicts.models import Cases
from factseek.claims.verdicts.training import out_of_fold, split

SETTINGS = VerdictSettings()
TWO = ("SUPPORTS", "REFUTES")


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 2), st.integers(0, 12)), min_size=3, max_size=60), st.integers(0, 5))
def test_folds_keep_groups_whole_and_hold_every_claim_once(rows: list[tuple[int, int]], seed: int) -> None:
    numbers = {label: number for number, label in enumerate(sorted({label for label, _ in rows}))}
    classes = np.array([numbers[label] for label, _ in rows])
    groups = [group for _, group in rows]
    found = split([str(number) for number in numbers], classes, groups, VerdictSettings(seed=seed))
    if not found.parts:
        return
    assert sorted(row for part in found.parts for row in part.tolist()) == list(range(len(rows)))
    for part in found.parts:
        inside = {groups[row] for row in part}
        assert not inside & {groups[row] for row in range(len(rows)) if row not in part.tolist()}
        assert set(np.delete(classes, part).tolist()) == set(classes.tolist())


def test_fewer_folds_where_a_class_is_rare_and_none_where_it_is_single() -> None:
    assert len(split(TWO, np.array([0] * 9 + [1] * 3), range(12), SETTINGS).parts) == 3
    assert split(TWO, np.array([0] * 9 + [1]), range(10), SETTINGS).parts == []


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
