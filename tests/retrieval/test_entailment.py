"""Labels of entailment by the names that models have for them, and what tells claims apart."""

from __future__ import annotations

import pytest

from factseek.retrieval.dense.encoder import CONTRADICTS, ENTAILS, NEUTRAL, label_of

pytestmark = pytest.mark.inner


@pytest.mark.parametrize(
    ("names", "label"),
    [
        ("entailment ENTAILMENT SUPPORTS Supported TRUE", ENTAILS),
        ("contradiction Contradiction REFUTES refuted CONTRADICT", CONTRADICTS),
        ("neutral NEUTRAL NOT_ENOUGH_INFO NEI", NEUTRAL),
        ("LABEL_0 LABEL_1 not_entailment positive", ""),
    ],
)
def test_labels_go_by_many_names(names: str, label: str) -> None:
    assert {label_of(name) for name in names.split()} == {label}
    assert label_of("not enough info") == NEUTRAL
