"""Similar texts as Alegre counts them: by the share of words that they have in common, or by the angle of vectors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import floor, hypot, isfinite
from time import monotonic
from typing import TYPE_CHECKING, NamedTuple

from ...retrieval.domain import Document, Hit, VectorQuery
from ...retrieval.errors import QueryError
from ...retrieval.limit import CutOffError
from ...retrieval.lucene.analysis import words_of
from ...retrieval.lucene.spelling import respelt
from ...retrieval.searcher import Search, check_whole
from ..contract.errors import BadInput
from ..contract.requests import FilterRequest, SearchOptions
from ..contract.search import TimedOutError, limit_of, note_query, search_of
from ..memory import charged_document
from ._alegre_texts import Context, StoredText, declared_values, is_admitted, wanted

if TYPE_CHECKING:
    from ...retrieval.index.local import Index

WORDS = "elasticsearch"
"""The name that Alegre gives to the ranking by words."""
_FIRST_SLICE = 200
"""Hits that are looked at together at first; each time twice as many, until enough are similar."""


class Likeness(NamedTuple):
    """How similar a text must be: ``share`` is of the words of the query, or the cosine of two vectors."""

    share: float
    score: float | None
    """What the score of words must be above."""
    fuzzy: bool
    """Whether words that are nowhere in the index are taken for those that are meant."""
    most: int


class SimilarText(NamedTuple):
    """A text that is similar, with its score: BM25's, or the cosine and 1."""

    document: Document
    score: float


def models_of(index: Index) -> dict[str, str]:
    """Return the models that an index can be asked by, each with the retriever that answers."""
    models = {WORDS: "bm25"}
    for view, encoder in index.info.encoders.items():
        variant = view.partition(":")[2]
        models.setdefault(encoder.name, f"dense:{variant}" if variant else "dense")
    return models


def check_vector(index: Index, model: str, vector: Sequence[float] | None) -> None:
    """Raise BadInput if a vector cannot be one that the model has made."""
    if vector is None or model == WORDS:
        return
    dimension = next(encoder.dimension for encoder in index.info.encoders.values() if encoder.name == model)
    if len(vector) != dimension:
        raise BadInput("vector", f"has {len(vector)} numbers, those of {model} have {dimension}")
    length = hypot(*vector)
    if not (length and isfinite(length)):
        raise BadInput("vector", "has no direction: all of its numbers are 0, or they are too large")


def similar_texts(
    index: Index, text: str, model: str, like: Likeness, context: Context, *, vector: Sequence[float] | None = None
) -> list[SimilarText]:
    """Return the texts that are similar to ``text`` by a model and lie in a context, best first.

    ``vector``, if it is given, stands for the one that a model of meaning makes of the text.
    Raises BadInput, naming the field, if the text cannot be searched for, TimedOutError if there was no time,
    PartMissingError if a shard did not answer.
    """
    began = monotonic()
    check_vector(index, model, vector)
    search = _search(index, models_of(index)[model], like, context)
    if not index.resolve(search).has_words(text):
        return []
    if like.fuzzy and model == WORDS:
        text = respelt(text, index.spellings(text, search))
    note_query(text)
    if vector is not None and model != WORDS:
        length = hypot(*vector)
        text = VectorQuery(text, tuple(number / length for number in vector))
    values, texts, above = wanted(context), list[SimilarText](), 0.0 if model == WORDS else 1.0
    for hit in _near(index, text, search._replace(limit=limit_of()), like, by_words=model == WORDS):
        if is_admitted(StoredText.of(index.document(hit.docid)).contexts, values):
            texts.append(SimilarText(charged_document(index, hit.docid), hit.score + above))
        if len(texts) == like.most:
            break
    check_whole(index, began)
    return texts


def _search(index: Index, retriever: str, like: Likeness, context: Context) -> Search:
    values = declared_values(context, index.info.filter_fields)
    options = SearchOptions(
        k=min(like.most, index.settings.search.max_k),
        retriever=retriever,
        group=True,
        stages=[],
        filter=FilterRequest(metadata=dict(values)),
    )
    return search_of(options, index, k_name="limit")


def _near(index: Index, text: str, search: Search, like: Likeness, *, by_words: bool) -> Iterator[Hit]:
    """Yield the hits that are near enough, best first: of as many as may be asked for, more and more at a time."""
    most, begin, size = index.settings.search.max_k, 0, _FIRST_SLICE
    while begin < most:
        size = min(size, most - begin)
        hits = _hits(index, text, search._replace(k=size, offset=begin))
        near = _by_words(index, text, search, hits, like) if by_words else [h for h in hits if h.score >= like.share]
        yield from near
        if len(hits) < size or not (by_words or len(near) == len(hits)):
            return
        begin, size = begin + size, 2 * size


def _hits(index: Index, text: str, search: Search) -> list[Hit]:
    try:
        hits = index.search([text], search)[0]
    except QueryError as error:
        raise BadInput("text", error.line) from None
    except CutOffError as error:
        raise TimedOutError(error.line) from None
    if search.limit is not None and (search.limit.is_over("texts") or search.limit.missing):
        raise TimedOutError("there was no time to look at all texts: ask for fewer, or for those of a context")
    return hits


def _by_words(index: Index, text: str, search: Search, hits: Sequence[Hit], like: Likeness) -> list[Hit]:
    """Return the hits that have enough of the words, as Elasticsearch counts a percentage: rounded down, at least 1."""
    needed = max(1, floor(_words(index, text, search) * round(like.share * 100) / 100))
    have = index.word_weights(text, hits, search)
    return [
        hit
        for hit, words in zip(hits, have, strict=True)
        if len(words) >= needed and (like.score is None or hit.score > like.score)
    ]


def _words(index: Index, text: str, search: Search) -> int:
    """Return how many words are searched for; those that the analyzer takes for the same are one."""
    words: dict[str, str] = {}
    for word in words_of(index.resolve(search).text(text)):
        for term in index.terms(word):
            words.setdefault(term, word)
    return len(set(words.values()))
