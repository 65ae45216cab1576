"""The result of a training: the figures of queries that were held out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..scoring.statistics import Interval, PairedTest
from ..tuning.tune import SURE
from .request import TrainingRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedModel:
    """What was trained, and the figures of the judging queries, which it has never seen: before and after.

    ``ranked`` says in words what the figures are of; ``beside`` names the settings that they were measured with;
    ``counts`` holds the number of queries of each part; ``grouped`` says whether no two parts share a relevant
    document.
    """

    request: TrainingRequest
    ranked: str
    beside: Mapping[str, float]
    counts: Mapping[str, int]
    grouped: bool
    before: Interval
    after: Interval
    test: PairedTest

    @property
    def sure(self) -> bool:
        """Whether it is better than before, beyond chance."""
        return self.test.difference.mean > 0 and self.test.p_randomisation < SURE
