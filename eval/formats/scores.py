"""The figures of a submission and the options of a score; the official measure comes first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreOptions:
    """The options of a score.

    ``max_evidence`` is how many sentences of a prediction count, ``measures`` the names of ir-measures to give instead
    of the task's own.
    """

    max_evidence: int = 5
    measures: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Scores:
    """The figures of one submission, each by its measure's name.

    ``values`` begins with the official measure. ``unit`` is what ``per_query`` is keyed by; ``topics`` holds the means
    over topics where a task has both. ``ties`` holds the least and the greatest value of each measure that another
    order of equal scores would change. ``notes`` say what a reader of the figures should know: ties that decide,
    queries without results.
    """

    official: str
    unit: str
    values: Mapping[str, float]
    per_query: Mapping[str, Mapping[str, float]]
    topics: Mapping[str, float] = field(default_factory=dict)
    ties: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def as_json(self, *, per_query: bool) -> dict[str, Any]:
        """Return the figures as ``score --json`` prints them: measure name to value, with the means over topics.

        ``ties`` holds the bounds of the measures that ties can change, ``notes`` the notes.
        """
        figures: dict[str, Any] = dict(self.values)
        figures.update({f"{name} over topics": value for name, value in self.topics.items()})
        figures["ties"] = {name: list(bounds) for name, bounds in self.ties.items()}
        figures["notes"] = list(self.notes)
        if per_query:
            figures["per_query"] = {key: dict(values) for key, values in self.per_query.items()}
        return figures
