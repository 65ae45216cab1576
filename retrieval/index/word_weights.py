"""The words of a query that passages hold, and what BM25 counts each as."""

from __future__ import annotations

from collections.abc import Sequence

from ..config import BM25Settings
from ..domain import Hit
from ..index_state import IndexState
from ..lucene.analysis import words_of
from ..lucene.index import Weights


def word_weights(state: IndexState, text: str, hits: Sequence[Hit], settings: BM25Settings) -> list[dict[str, float]]:
    """Return of each hit the words of ``text`` that its passage holds, each with its weight.

    Of several words with the same term the first stands for all; a term of no word stands for itself.
    """
    weights = Weights(settings.k1, settings.b, settings.title_weight, settings.text_weight)
    places = [(hit.docid, hit.passage) for hit in hits]
    words: dict[str, str] = {}
    for word in words_of(text):
        for term in state.terms(word):
            words.setdefault(term, word)
    return [_by_word(terms, words) for terms in state.term_weights(text, places, weights)]


def _by_word(terms: dict[str, float], words: dict[str, str]) -> dict[str, float]:
    weights: dict[str, float] = {}
    for term, weight in sorted(terms.items()):
        word = words.get(term, term)
        weights[word] = weights.get(word, 0.0) + weight
    return weights
