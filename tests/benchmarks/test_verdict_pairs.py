"""The pairs of the examples, and how verdicts on pairs are counted."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from benchmarks.verification import counted, read_pairs


def test_the_pairs_of_the_examples_are_whole(examples: Path) -> None:
    pairs = read_pairs(examples / "verdict-pairs.tsv")
    assert len({pair.id for pair in pairs}) == len({pair.claim for pair in pairs}) == len(pairs) == 75
    assert {pair.label for pair in pairs} == {"SUPPORTS", "REFUTES", "NOT ENOUGH INFO"}
    assert all(pair.evidence and pair.kind for pair in pairs)
    assert {pair.label for pair in pairs if pair.kind == "irrelevant"} == {"NOT ENOUGH INFO"}


def test_a_verdict_is_for_or_against_and_wrong_on_an_open_pair() -> None:
    probability = np.array([[0.6, 0.3, 0.1], [0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.2, 0.2, 0.6], [0.5, 0.4, 0.1]])
    labels = np.array([0, 2, 1, 1, 1])
    assert counted(probability, labels, 0.0) == ["4", "50%", "75%"]
    assert counted(probability, labels, 0.65) == ["1", "100%", "25%"]
    assert counted(probability, labels, 0.8) == ["0", "", "0%"]
