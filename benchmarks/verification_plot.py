"""The plots of verdicts: how often a label is right against its probability, and how often it is wrong by coverage."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

from factseek.claims.learning.figures import Bin
from factseek.claims.verdicts.confidence import RiskPoint


def plot(curves: Sequence[tuple[str, Sequence[Bin]]]) -> bytes:
    """Return a PNG with one curve a collection; the size of a point says how many claims it stands for."""
    figure, axes = _axes("probability of the label", "share that is right")
    axes.plot([0, 1], [0, 1], color="0.7", linestyle="--", label="perfectly calibrated")
    for name, bins in curves:
        most = max(in_bin.claims for in_bin in bins)
        xs, ys = [in_bin.probability for in_bin in bins], [in_bin.right for in_bin in bins]
        (line,) = axes.plot(xs, ys, label=name)
        axes.scatter(xs, ys, s=[10 + 120 * in_bin.claims / most for in_bin in bins], color=line.get_color())
    axes.set_title("Calibration of verdicts, out of fold, retrieved evidence")
    return _png(figure, axes)


def risk_plot(curves: Sequence[tuple[str, Sequence[RiskPoint]]], most_wrong: float) -> bytes:
    """Return a PNG with the curve of risk and coverage of each collection, the surest verdicts first."""
    figure, axes = _axes("verdicts given, of all claims", "share of them that is wrong")
    axes.axhline(most_wrong, color="0.7", linestyle="--", label=f"most_wrong: {most_wrong:g}")
    for name, points in curves:
        axes.plot([point.share for point in points], [point.wrong for point in points], label=name)
    axes.set_ylim(0, 0.6)
    axes.set_title("Risk and coverage of verdicts, out of fold, retrieved evidence")
    return _png(figure, axes)


def _axes(across: str, up: str) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 5), layout="constrained")
    return figure, figure.add_subplot(xlabel=across, ylabel=up, xlim=(0, 1), ylim=(0, 1))


def _png(figure: Any, axes: Any) -> bytes:
    axes.legend()
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=110, metadata={"Software": None})
    return content.getvalue()
