"""Alegre's texts as documents of an index, stored, deleted and admitted by a context, and how it finds similar ones.

They are similar by the share of words that they have in common, or by the angle of vectors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import floor, hypot, isfinite
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from ...indexer.queue import Change
from ...retrieval.deadline import CutOffError
from ...retrieval.domain import Document, Hit, VectorQuery
from ...retrieval.errors import NotFoundError, QueryError
from ...retrieval.filters import metadata_values
from ...retrieval.lucene.analysis import words_of
from ...retrieval.lucene.spelling import respelt
from ...retrieval.search.options import Search, check_whole
from ..api.routes import document_state
from ..errors import BadInput
from ..memory import charged_document
from ..runtime import index_named, registry
from ..schemas import DocumentRequest, FilterRequest, SearchOptions
from ..search import TimedOutError, limit_of, note_query, search_of
from ..writing import (
    ConditionError,
    NotWrittenError,
    delete_change,
    document_at,
    perform,
    put_change,
)

if TYPE_CHECKING:
    from ...retrieval.search.index import Index

Context = dict[str, Any]
Removed = Literal["deleted", "updated"]

CONTEXTS, CREATED = "contexts", "created_at"
_TRIES = 4
"""Once, and thrice more while others change the text."""
_OWN = frozenset({CONTEXTS, CREATED})
_OF_ONE_ITEM = frozenset({"project_media_id", "has_custom_id", "field"})
"""Words of a context that name the item that was stored, and that Alegre does not search by."""


class StoredText(NamedTuple):
    """A text with what belongs to it."""

    text: str
    contexts: list[Context]
    created_at: str
    language: str

    @staticmethod
    def of(document: Document) -> StoredText:
        """Return the text of a document; one that came otherwise than through Alegre has no context."""
        known = document.metadata
        contexts, created = known.get(CONTEXTS), known.get(CREATED)
        listed = contexts if isinstance(contexts, list) else []
        return StoredText(
            text=document.text,
            contexts=[context for context in listed if isinstance(context, dict)],
            created_at=created if isinstance(created, str) else "",
            language=document.language,
        )

    @property
    def context(self) -> Context:
        """The context that it was stored under last."""
        return self.contexts[0] if self.contexts else {}

    def after(self, before: StoredText) -> StoredText:
        """Return it with the contexts, and the language if it has none, that the text had before."""
        former = [context for context in before.contexts if context not in self.contexts]
        return self._replace(contexts=self.contexts + former, language=self.language or before.language)

    def request(self, declared: Iterable[str]) -> DocumentRequest:
        """Return the document that holds it; by ``declared`` fields of its contexts the index itself can filter."""
        metadata: dict[str, Any] = {CONTEXTS: self.contexts, CREATED: self.created_at}
        for name in frozenset(declared) - _OWN:
            if values := [value for context in self.contexts for value in metadata_values(context.get(name))]:
                metadata[name] = list(dict.fromkeys(values))
        return DocumentRequest(text=self.text, language=self.language, metadata=metadata)


def _document_of(index: Index, docid: str, text: StoredText) -> Document:
    """Return the document of an index that holds a text.

    Raises BadInput, naming Alegre's own field, if it makes no sense.
    """
    try:
        return document_at(docid, text.request(index.info.filter_fields), index.info.published)
    except BadInput as error:
        raise BadInput("doc_id" if error.field == "docid" else "text", error.unnamed) from None


def store(name: str, docid: str, text: StoredText) -> None:
    """Store a text in the index of this name, in the place of the one of its id, whose contexts it takes over.

    Raises BadInput, NotWrittenError.
    """

    def put(index: Index, before: Document | None, states: tuple[str, ...]) -> Change:
        whole = text.after(StoredText.of(before)) if before is not None else text
        return put_change(_document_of(index, docid, whole), states, absent=before is None)

    _changed(name, docid, put)


def remove(name: str, docid: str, context: Context) -> Removed:
    """Delete a text or, where it is stored under others as well, this context of it; return which of them was done.

    Raises NotFoundError if there is no such text, NotWrittenError.
    """
    removed: Removed = "deleted"
    registry().refresh(name)  # another worker may have stored it a moment ago

    def take_away(index: Index, before: Document | None, states: tuple[str, ...]) -> Change:
        nonlocal removed
        if before is None:
            raise NotFoundError(f"there is no document {docid!r} in this index")
        text = StoredText.of(before)
        others = [other for other in text.contexts if other != context]
        removed = "updated" if context in text.contexts and others else "deleted"
        if removed == "deleted":
            return delete_change(docid, states)
        return put_change(_document_of(index, docid, text._replace(contexts=others)), states)

    _changed(name, docid, take_away)
    return removed


def _changed(name: str, docid: str, change_of: Callable[[Index, Document | None, tuple[str, ...]], Change]) -> None:
    """Make the change that follows from a document as it is now, anew if it was changed meanwhile.

    Raises NotWrittenError if it always was.
    """
    for _ in range(_TRIES):
        served = index_named(name)
        try:
            before: Document | None = served.index.document(docid)
        except NotFoundError:
            before = None
        states = () if before is None else (document_state(served.index, docid),)
        try:
            perform(served, change_of(served.index, before, states))
        except ConditionError:
            registry().refresh(name)
        else:
            return
    raise NotWrittenError("others change this text at the same time; nothing was changed, ask again")


def wanted(context: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the values that each word of a context admits, as texts; without the words that are not searched by."""
    return {name: _texts(value) for name, value in context.items() if name not in _OF_ONE_ITEM}


def declared_values(context: Mapping[str, Any], declared: Sequence[str]) -> dict[str, list[str]]:
    """Return the part of a context that the index itself can filter by."""
    values = {name: metadata_values(context[name]) for name in wanted(context) if name in declared}
    return {name: several for name, several in values.items() if several and name not in _OWN}


def is_admitted(contexts: Iterable[Context], values: Mapping[str, Sequence[str]]) -> bool:
    """Return whether one of these contexts has, of each word that is asked for, a value that is."""
    if not values:
        return True
    return any(
        all(not set(_texts(context.get(name))).isdisjoint(several) for name, several in values.items())
        for context in contexts
    )


def _texts(value: object) -> list[str]:
    several = value if isinstance(value, list) else [value]
    return [str(part) for part in several if part is not None]


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
