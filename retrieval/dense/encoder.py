"""The judgements of an entailment model."""

from __future__ import annotations

from typing import NamedTuple

ENTAILS, CONTRADICTS, NEUTRAL = "entailment", "contradiction", "neutral"
LABELS = (ENTAILS, CONTRADICTS, NEUTRAL)  # the labels, in the order of the fields of Entailment
_NAMES = {
    ENTAILS: ("entailment", "entails", "supports", "support", "supported", "true"),
    CONTRADICTS: (
        "contradiction",
        "contradicts",
        "refutes",
        "refute",
        "refuted",
        "contradict",
        "false",
    ),
    NEUTRAL: ("neutral", "notenoughinfo", "nei", "unknown"),
}


class Entailment(NamedTuple):
    """The probabilities that a text entails a claim, contradicts it, or is neutral."""

    entails: float
    contradicts: float
    neutral: float


def label_of(name: str) -> str:
    """Return the label of :data:`LABELS` that a model calls ``name``; ``""`` if there is none."""
    plain = "".join(letter for letter in name.lower() if letter.isalnum())
    return next((label for label, names in _NAMES.items() if plain in names), "")
