"""The calibration plot: how often a label is right against the probability that it got."""

from __future__ import annotations

import io
from collections.abc import Sequence

from factseek.claims.learning.figures import Bin


def plot(curves: Sequence[tuple[str, Sequence[Bin]]]) -> bytes:
    """Return a PNG with one curve a collection; the size of a point says how many claims it stands for."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 5), layout="constrained")
    axes = figure.add_subplot(xlabel="probability of the label", ylabel="share that is right", xlim=(0, 1), ylim=(0, 1))
    axes.plot([0, 1], [0, 1], color="0.7", linestyle="--", label="perfectly calibrated")
    for name, found in curves:
        most = max(one.claims for one in found)
        xs, ys = [one.probability for one in found], [one.right for one in found]
        (line,) = axes.plot(xs, ys, label=name)
        axes.scatter(xs, ys, s=[10 + 120 * one.claims / most for one in found], color=line.get_color())
    axes.legend()
    axes.set_title("Calibration of verdicts, out of fold, retrieved evidence")
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=110, metadata={"Software": None})
    return content.getvalue()
