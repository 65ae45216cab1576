"""Member that scores a statement by its words and runs of characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ....retrieval.domain import Statement
from ....retrieval.records.model_file import State
from ...learning.models import LinearModel, fit_linear, restore_linear, restore_vocabulary
from ...settings import Config
from ...text.words import NgramVocabulary, characters, learn_ngrams, words
from . import Floats, Labels, MemberReader

_ANALYZERS = {"words": words, "characters": characters}
_LEAST = {"words": 1, "characters": 2}
"""A term counts if so many statements hold it."""
FORWARDS = False


class Lexical:
    """TF-IDF of words and pairs, and of runs of characters, side by side; each half has unit length."""

    def __init__(self, vocabularies: dict[str, NgramVocabulary], strengths: tuple[float, ...] = ()) -> None:
        self.strengths = strengths
        self._vocabularies = vocabularies

    @property
    def width(self) -> int:
        """The number of columns."""
        return sum(len(vocabulary.terms) for vocabulary in self._vocabularies.values())

    def features(self, statements: Sequence[Statement]) -> Any:
        """Return a scipy CSR matrix, a column for each term."""
        from scipy.sparse import hstack

        texts = [read(statement) for statement in statements]
        return hstack([self._vocabularies[name].vectors(texts) for name in _ANALYZERS], format="csr")

    def fit(self, features: Any, labels: Labels, weights: Floats, strength: float, seed: int) -> LinearModel:
        """Fit a weight for each term."""
        return fit_linear(features, labels, weights, strength, seed)

    def state(self) -> State:
        """Return the terms and their weights."""
        terms = {name: list(vocabulary.terms) for name, vocabulary in self._vocabularies.items()}
        return State({"terms": terms}, {name: vocabulary.weights for name, vocabulary in self._vocabularies.items()})


def reads(statements: Sequence[Statement], config: Config) -> bool:
    """Return True: it reads every language."""
    return True


def make(statements: Sequence[Statement], config: Config) -> Lexical:
    """Return the member whose terms are those of the statements; their labels are not looked at."""
    texts = [read(statement) for statement in statements]
    vocabularies = {
        name: learn_ngrams(texts, analyze, sublinear=True, least=_LEAST[name]) for name, analyze in _ANALYZERS.items()
    }
    return Lexical(vocabularies, config.claims.best.strengths)


def restore(member: State, model: State, config: Config) -> MemberReader:
    """Return the reader of its states."""
    vocabularies = {
        name: restore_vocabulary(member, member.settings["terms"][name], name, analyze, sublinear=True)
        for name, analyze in _ANALYZERS.items()
    }
    terms = Lexical(vocabularies)
    return MemberReader(terms, restore_linear(model, terms.width))


def read(statement: Statement) -> str:
    """Return the text, after a word that names the speaker where there is one."""
    if not statement.speaker:
        return statement.text
    speaker = "".join(char if char.isalnum() else "_" for char in statement.speaker.lower())
    return f"speaker_{speaker} {statement.text}"
