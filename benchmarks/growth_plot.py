"""The plot of the growth curve."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.growth_kept import Grown

PANELS = (("p50", "p50, ms"), ("build_seconds", "build without encoding, s"), ("peak_mb", "peak memory, MB"))


def plot(grown: Sequence[Grown], path: Path) -> None:
    """Draw latency, build time and memory of each method against the number of passages."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4), layout="constrained")
    for axes, (field, label) in zip(figure.subplots(1, len(PANELS)), PANELS, strict=True):
        for method in dict.fromkeys(row.method for row in grown):
            points = [(row.passages, getattr(row, field)) for row in grown if row.method == method]
            axes.plot(*zip(*points, strict=True), marker="o", label=method)
        axes.set(xscale="log", yscale="log", xlabel="passages", title=label)
        axes.grid(visible=True, which="major", alpha=0.3)
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    figure.savefig(path, dpi=110, metadata={"Software": None})
