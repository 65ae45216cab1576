"""The calibration plot: the share of right labels against the probability of the label."""

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
    for name, bins in curves:
        most = max(in_bin.claims for in_bin in bins)
        xs, ys = [in_bin.probability for in_bin in bins], [in_bin.right for in_bin in bins]
        (line,) = axes.plot(xs, ys, label=name)
        axes.scatter(xs, ys, s=[10 + 120 * in_bin.claims / most for in_bin in bins], color=line.get_color())
    axes.legend()
    axes.set_title("Calibration of verdicts, out of fold, retrieved evidence")
    content = io.BytesIO()
    figure.savefig(content, format="png", dpi=110, metadata={"Software": None})
    return content.getvalue()
