"""The report of a training, for the terminal and as JSON."""

from __future__ import annotations

from typing import Any

import msgspec

from ..reports.tables import figure, table
from ..scoring.statistics import PairedTest
from .combiner import TrainedCombiner


def as_text(trained: TrainedCombiner) -> str:
    """Return a training as a table with its verdict."""
    learned = trained.combiner.model.KIND
    rows = [
        ("before", trained.before),
        *((f"{kind} alone", interval) for kind, interval in trained.kinds.items() if kind != learned),
        (f"trained ({learned})", trained.after),
    ]
    lines = [
        (name, figure(interval.mean), f"{figure(interval.low)} to {figure(interval.high)}") for name, interval in rows
    ]
    return f"{table(('', trained.measure, '95 % interval'), lines)}\n{verdict(trained)}\n"


def verdict(trained: TrainedCombiner) -> str:
    """Return a sentence on what training gained."""
    return difference_in_words(trained.test, trained.sure, f"cross-validated {trained.measure}")


def difference_in_words(test: PairedTest, sure: bool, measure: str) -> str:
    """Return whether something is better than before, with the evidence for that."""
    difference = test.difference
    evidence = (
        f"{measure} {difference.mean:+.4f} (95 % interval {difference.low:+.4f} to "
        f"{difference.high:+.4f}, randomisation test p = {test.p_randomisation:.4f})"
    )
    return f"better than before: {evidence}" if sure else f"no better than before: {evidence}"


def as_json(trained: TrainedCombiner) -> dict[str, Any]:
    """Return the manifest of what was trained, with its figures, and whether it is better."""
    manifest: dict[str, Any] = msgspec.to_builtins(trained.combiner.manifest)
    return {"better": trained.sure, **manifest}
