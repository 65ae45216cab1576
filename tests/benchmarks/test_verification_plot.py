"""The plots of verdicts are pictures, the same for the same figures."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.verification import plot, risk_plot
from factseek.claims.learning.figures import bins, risk_curve

pytestmark = pytest.mark.inner

PNG = b"\x89PNG\r\n\x1a\n"


def judged() -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    probability = random.dirichlet((1, 1, 1), 200)
    return random.integers(0, 3, 200), probability


def test_a_picture_is_the_same_for_the_same_figures() -> None:
    classes, probability = judged()
    curve = risk_curve(classes, probability)
    assert risk_plot([("A", curve)], 0.15) == risk_plot([("A", curve)], 0.15)
    assert risk_plot([("A", curve)], 0.15) != risk_plot([("A", curve)], 0.3)
    assert risk_plot([("A", curve)], 0.15).startswith(PNG)
    assert plot([("A", bins(classes, probability))]).startswith(PNG)
