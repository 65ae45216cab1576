"""The pairs of the examples, and how verdicts on pairs are counted."""

from __future__ import annotations

from pathlib import Path

from benchmarks.verification import read_pairs


def test_the_pairs_of_the_examples_are_whole(examples: Path) -> None:
    pairs = read_pairs(examples / "verdict-pairs.tsv")
    assert len({pair.id for pair in pairs}) == len({pair.claim for pair in pairs}) == len(pairs) == 75
    assert {pair.label for pair in pairs} == {"SUPPORTS", "REFUTES", "NOT ENOUGH INFO"}
    assert all(pair.evidence and pair.kind for pair in pairs)
    assert {pair.label for pair in pairs if pair.kind == "irrelevant"} == {"NOT ENOUGH INFO"}
