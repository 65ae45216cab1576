"""The interface of an encoder; :mod:`factseek.retrieval.encoders` implements it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray


class Origin(NamedTuple):
    """The settings that located an encoder and can locate it again."""

    model: str = ""
    max_tokens: int = 0
    query_prompt: str = ""
    document_prompt: str = ""


class Encoder(Protocol):
    """Turns texts into unit vectors, float32, shape (n, dimension), in the order of the texts."""

    name: str
    revision: str
    dimension: int
    languages: tuple[str, ...]
    max_tokens: int
    precision: str
    origin: Origin

    def encode_query(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of queries, shape (n, dimension)."""

    def encode_document(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of passages, shape (n, dimension)."""

    def encode_documents_stream(self, texts: Iterable[str], size: int) -> Iterator[NDArray[np.float32]]:
        """Encode documents as they arrive; yield their vectors in order, ``size`` at a time, fewer at the end."""

    def count_tokens(self, texts: Sequence[str]) -> int:
        """Return how many tokens of the texts the model reads in total, without prompts."""

    def close(self) -> None:
        """Release the model."""


ENTAILS, CONTRADICTS, NEUTRAL = "entailment", "contradiction", "neutral"
LABELS = (ENTAILS, CONTRADICTS, NEUTRAL)  # the labels, in the order of the fields of Entailment
_NAMES = {
    ENTAILS: ("entailment", "entails", "supports", "support", "supported", "true"),
    CONTRADICTS: ("contradiction", "contradicts", "refutes", "refute", "refuted", "contradict", "false"),
    NEUTRAL: ("neutral", "notenoughinfo", "nei", "unknown"),
}


class Entailment(NamedTuple):
    """The probabilities that a text entails a claim, contradicts it, or is neutral."""

    entails: float
    contradicts: float
    neutral: float


class EntailmentModel(Protocol):
    """Judges pairs of a text and a claim; a judgement depends on its pair alone. It is safe for threads."""

    @property
    def name(self) -> str:
        """The name of the model."""

    def judge(self, text: str, claim: str) -> Entailment:
        """Return the probabilities that a text entails or contradicts a claim, or is neutral."""


def label_of(name: str) -> str:
    """Return the label of :data:`LABELS` that a model calls ``name``; ``""`` if there is none."""
    plain = "".join(letter for letter in name.lower() if letter.isalnum())
    return next((label for label, names in _NAMES.items() if plain in names), "")
