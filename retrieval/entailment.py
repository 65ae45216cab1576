"""The interface of models that say whether a sentence entails a claim, contradicts it, or leaves it open."""

from __future__ import annotations

from typing import NamedTuple, Protocol

ENTAILS, CONTRADICTS, NEUTRAL = "entailment", "contradiction", "neutral"
LABELS = (ENTAILS, CONTRADICTS, NEUTRAL)
"""The labels in the order of a judgement's probabilities."""
_NAMES = {
    ENTAILS: ("entailment", "entails", "supports", "support", "supported", "true"),
    CONTRADICTS: ("contradiction", "contradicts", "refutes", "refute", "refuted", "contradict", "false"),
    NEUTRAL: ("neutral", "notenoughinfo", "nei", "unknown"),
}


class Entailment(NamedTuple):
    """The probabilities that a text entails a claim, contradicts it, and leaves it open."""

    entails: float
    contradicts: float
    neutral: float


class EntailmentModel(Protocol):
    """Judges pairs of a text and a claim; what it says of a pair depends on the pair alone. It is safe for threads."""

    @property
    def name(self) -> str:
        """The name of the model."""
        ...

    def judge(self, text: str, claim: str) -> Entailment:
        """Return what a text says of a claim."""
        ...


def label_of(name: str) -> str:
    """Return the label that a model calls ``name``; ``""`` if it is none of the three."""
    plain = "".join(letter for letter in name.lower() if letter.isalnum())
    return next((label for label, names in _NAMES.items() if plain in names), "")
