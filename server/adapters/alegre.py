"""Meedan's Alegre over one index: ``/text/similarity/`` and ``/similarity/sync/text``.

The model ``elasticsearch`` ranks by words. Its threshold is the share of the query's words that a
text must contain, as in ``minimum_should_match``. An encoder of the index, selected by name, ranks
by meaning. Its threshold is a cosine, and its score is the cosine plus 1. Storing and deleting need
a key, as on the server's own routes. A text that is stored again keeps its earlier contexts next to
the new one. ``/similarity/sync/text`` stores a text and returns similar texts. Bulk texts and
callbacks are not available. Fields, answers and errors follow Alegre's
``similarity_controller.py``, ``similarity_sync_controller.py`` and ``text_similarity.py``, and
flask-restx.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from math import floor, hypot, isfinite
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple, Self

import msgspec
from flask import request
from msgspec import UNSET, Meta, UnsetType
from msgspec.structs import replace

from ...core.deadline import CutOffError
from ...core.domain import Document, Hit
from ...core.errors import NotFoundError, QueryError
from ...core.settings import Count
from ...indexer.queue import Change
from ...retrieval.filters import metadata_values
from ...retrieval.lucene.analysis import words_of
from ...retrieval.lucene.spelling import respelt
from ...retrieval.search.evidence import AnswerPart
from ...retrieval.search.options import FilterRequest, Search, check_whole
from ...retrieval.search.prepared_query import PreparedQuery
from ...retrieval.store.manifest import now
from ..api.routes import document_state
from ..call import current_call
from ..errors import BadInput, Problem
from ..memory import charged_document
from ..runtime import ServedIndex, index_named, registry
from ..schemas import DocumentRequest, ForeignFields, SearchOptions, says
from ..search import TimedOutError, check_most, search_of
from ..writing import ConditionError, NotWrittenError, document_at, perform, put_change
from . import Adapter, configured_index
from ._shared import EXAMPLE

if TYPE_CHECKING:
    from ...retrieval.search.index import Index

Context = dict[str, Any]
WORDS = "elasticsearch"  # Alegre's name for the ranking by words
_CONTEXTS, _CREATED = "contexts", "created_at"
# Alegre does not search by these.
_OF_ONE_ITEM = frozenset({"project_media_id", "has_custom_id", "field"})
_THRESHOLD, _LIMIT = 0.9, 200
# A value beyond every share or cosine: thresholds are limited to it, which changes no result.
_FAR = 1_000.0
_FIRST_SLICE = 200  # the number of hits to check first; it doubles until enough hits are similar
_TRIES = 4  # one try, and three more if others change the text meanwhile
_CODE = re.compile(r"[a-z]{2,3}")
_NOT_OFFERED = MappingProxyType(
    {
        "similarity/async/text": (
            "there are no callbacks: use POST /similarity/sync/text, which returns similar texts"
        ),
        "text/bulk_similarity": "texts are not stored in bulk: use POST /text/similarity/ for each",
    }
)
"""Addresses of the original that are not available, and what to use instead."""
Language = Annotated[
    str | None, says("ISO 639-1 code (without one or with auto: the language of the index)")
]
Model = Annotated[str | None, says(f"{WORDS}, or the name of an encoder of the index")]
Models = Annotated[list[str] | None, says("several models, each searched in turn")]
Docid = Annotated[str | None, says("the id of the text (default: a new id)")]
Created = Annotated[str | None, says("the time of creation (default: now)")]


class AlegreFailure(AnswerPart, kw_only=True):
    """An error in Alegre's format; ``errors`` gives the reason for each invalid field."""

    message: str
    errors: dict[str, str] | UnsetType = UNSET

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Return an error in this shape."""
        if problem.error == "not-found":
            address = request.path.strip("/").partition("/")[2]
            return cls(message=_NOT_OFFERED.get(address, problem.detail))
        if problem.status != 400 or not isinstance(problem.field, str) or problem.field == "body":
            return cls(message=problem.detail)
        reason = problem.detail.removeprefix(f"{problem.field}: ")
        return cls(message="Input payload validation failed", errors={problem.field: reason})


adapter = Adapter(__name__, AlegreFailure, {415: 400})


class AlegreStore(ForeignFields, kw_only=True):
    """A text to store. Every model of the index finds it, whichever model the request names."""

    text: Annotated[str, Meta(min_length=1)]
    doc_id: Docid = None
    context: Annotated[Context | None, says("a context that searches can filter by")] = None
    language: Language = None
    created_at: Created = None
    model: Model = None
    models: Models = None


class AlegreDelete(ForeignFields, kw_only=True):
    """A text to delete.

    If ``context`` is one of several contexts of the text, only that context is deleted.
    """

    doc_id: str
    context: Context | None = None
    quiet: Annotated[bool, says("true: no error if the text does not exist")] = False


class AlegreThreshold(ForeignFields):
    """The threshold of a model."""

    model: str
    value: float


class AlegreSearch(ForeignFields, kw_only=True):
    """A text to find similar texts for."""

    text: str = ""
    model: Model = None
    models: Models = None
    threshold: Annotated[
        float | None, says("the minimum share of the words, or the minimum cosine (default: 0.9)")
    ] = None
    per_model_threshold: Annotated[
        dict[str, float] | list[AlegreThreshold] | None,
        says("the threshold of each model, by its name"),
    ] = None
    min_es_score: Annotated[float | None, says(f"scores of {WORDS} must be higher than this")] = (
        None
    )
    context: Annotated[
        Context | None,
        says("values that one context of a text must contain; for a list, any one of its values"),
    ] = None
    language: Language = None
    fuzzy: Annotated[bool | None, says("true: correct misspelled words")] = None
    limit: Annotated[
        Count | None, says("the maximum number of texts of each model (default or 0: 200)")
    ] = None
    vector: Annotated[
        list[float] | None,
        says("the vector of the text by the index's encoder (default: computed by the server)"),
    ] = None


class AlegreSimilarity(AlegreSearch, kw_only=True):
    """A text to store, and to find similar texts for."""

    text: Annotated[str, Meta(min_length=1)]
    doc_id: Docid = None
    created_at: Created = None


class AlegreStored(AnswerPart):
    """Whether a text was stored."""

    success: bool


class AlegreDeleted(AnswerPart, kw_only=True, rename={"index": "_index", "doc_id": "_id"}):
    """What was deleted: the text, or one of its contexts.

    ``failed`` says why a quiet request deleted nothing.
    """

    index: str | UnsetType = UNSET
    doc_id: str | UnsetType = UNSET
    result: Literal["deleted", "updated"] | UnsetType = UNSET
    failed: str | UnsetType = UNSET


class AlegreText(AnswerPart, kw_only=True):
    """A similar text, with the model that found it and its score by that model."""

    content: str
    context: Context
    contexts: list[Context]
    created_at: str
    language: str
    title: str
    url: str
    model: str
    id: str
    index: str
    score: float
    document_id: str = msgspec.field(name="_id")
    es_score: float = msgspec.field(name="_score")


class AlegreTexts(AnswerPart):
    """The similar texts of each model in turn, best first."""

    result: list[AlegreText]


@adapter.route("POST", "/text/similarity/search/", {"text": EXAMPLE, "threshold": 0.5, "limit": 3})
def alegre_search(body: AlegreSearch) -> AlegreTexts:
    """Find similar texts as Alegre does."""
    served = configured_index()
    check_most("limit", body.limit, served.index.settings.search.max_k)
    models = _models(body, served.index)
    return AlegreTexts(result=[text for model in models for text in _similar(served, model, body)])


_CLAIM = {"text": "The measles vaccine is dangerous.", "doc_id": "claim-1"}


@adapter.route("POST", "/text/similarity/", {**_CLAIM, "context": {"team_id": 7}}, changes=True)
def alegre_store(body: AlegreStore) -> AlegreStored:
    """Store a text as Alegre does; answer only when a search can find the text."""
    _models(body, configured_index().index)
    _store(body)
    return AlegreStored(success=True)


@adapter.route("POST", "/similarity/sync/text", {**_CLAIM, "limit": 3}, changes=True)
def alegre_similarity_sync(body: AlegreSimilarity) -> AlegreTexts:
    """Store a text as Alegre does, and return similar texts, including the text itself."""
    index = configured_index().index
    check_most("limit", body.limit, index.settings.search.max_k)
    for model in _models(body, index):
        _unit_vector(index, model, body.vector)
    _store(body)
    return alegre_search(body)


@adapter.route(
    "DELETE",
    "/text/similarity/",
    {"doc_id": "claim-1", "quiet": True},
    problems=(404,),
    changes=True,
)
def alegre_delete(body: AlegreDelete) -> AlegreDeleted:
    """Delete a text as Alegre does; answer only when no search finds the text any more."""
    name, context = configured_index().name, body.context or {}
    registry().refresh(name)  # another worker may just have stored it

    def take_away(index: Index, before: Document | None, states: tuple[str, ...]) -> Change:
        if before is None:
            raise NotFoundError(f"there is no document {body.doc_id!r} in this index")
        text = StoredText.of(before)
        others = [other for other in text.contexts if other != context]
        if not (others and context in text.contexts):
            return Change(docid=body.doc_id, states=states)
        return put_change(text._replace(contexts=others).document(index, body.doc_id), states)

    try:
        change = _change(name, body.doc_id, take_away)
    except NotFoundError:
        missing = f"Doc Not Found for id {body.doc_id}! No Deletion Occurred"
        if not body.quiet:
            raise NotFoundError(f"{missing}.") from None
        return AlegreDeleted(failed=f"{missing} - quiet failure requested, so 200 code returned.")
    return AlegreDeleted(
        index=name, doc_id=body.doc_id, result="updated" if change.line else "deleted"
    )


class StoredText(NamedTuple):
    """A text with its data; the newest of its contexts comes first."""

    text: str
    contexts: list[Context]
    created_at: str
    language: str

    @staticmethod
    def of(document: Document) -> StoredText:
        """Return the text of a document; a document that did not come through Alegre has no
        context.
        """
        contexts, created = document.metadata.get(_CONTEXTS), document.metadata.get(_CREATED)
        kept = (
            [one for one in contexts if isinstance(one, dict)] if isinstance(contexts, list) else []
        )
        return StoredText(
            document.text, kept, created if isinstance(created, str) else "", document.language
        )

    def document(self, index: Index, docid: str) -> Document:
        """Return the document, with the filter fields of the contexts; raise BadInput with Alegre's
        field name.
        """
        metadata: dict[str, Any] = {_CONTEXTS: self.contexts, _CREATED: self.created_at}
        for name in set(index.info.filter_fields) - metadata.keys():
            if values := [
                value for context in self.contexts for value in metadata_values(context.get(name))
            ]:
                metadata[name] = list(dict.fromkeys(values))
        body = DocumentRequest(text=self.text, language=self.language, metadata=metadata)
        try:
            return document_at(docid, body, index.info.published)
        except BadInput as error:
            raise BadInput("doc_id" if error.field == "docid" else "text", error.unnamed) from None


def _store(body: AlegreStore | AlegreSimilarity) -> None:
    """Store a text.

    If it replaces another, keep the old contexts, and the old language if no new one is given.
    """
    docid = body.doc_id or secrets.token_urlsafe(15)
    language = body.language if body.language and _CODE.fullmatch(body.language) else ""
    text = StoredText(
        body.text, [body.context] if body.context else [], body.created_at or now(), language
    )

    def put(index: Index, before: Document | None, states: tuple[str, ...]) -> Change:
        whole = text
        if before is not None:
            former = StoredText.of(before)
            contexts = text.contexts + [
                context for context in former.contexts if context not in text.contexts
            ]
            whole = text._replace(contexts=contexts, language=text.language or former.language)
        return put_change(whole.document(index, docid), states, absent=before is None)

    _change(configured_index().name, docid, put)


def _change(
    name: str, docid: str, change_of: Callable[[Index, Document | None, tuple[str, ...]], Change]
) -> Change:
    """Make the change that ``change_of`` derives from the current document; retry if the document
    changed meanwhile.
    """
    for _ in range(_TRIES):
        served = index_named(name)
        before: Document | None = None
        states: tuple[str, ...] = ()
        with suppress(NotFoundError):
            before, states = served.index.document(docid), (document_state(served.index, docid),)
        try:
            perform(served, change := change_of(served.index, before, states))
            return change
        except ConditionError:
            registry().refresh(name)
    raise NotWrittenError(
        "other requests change this text at the same time; nothing was changed; try again"
    )


def _retrievers(index: Index) -> dict[str, str]:
    models = {WORDS: "bm25"}
    for view, encoder in index.info.encoders.items():
        variant = view.partition(":")[2]
        models.setdefault(encoder.name, f"dense:{variant}" if variant else "dense")
    return models


def _models(body: AlegreSearch | AlegreStore, index: Index) -> list[str]:
    there, models = _retrievers(index), list[str]()
    names = [("model", body.model)] if body.model is not None else []
    names += [(f"models[{number}]", name) for number, name in enumerate(body.models or [])]
    for field, name in names:
        model = WORDS if name.lower() == WORDS else name
        if model not in there:
            raise BadInput(
                field, f"there is no model {model[:80]!r}; the models are {', '.join(there)}"
            )
        models += [model] if model not in models else []
    return models or [WORDS]


def _unit_vector(
    index: Index, model: str, vector: Sequence[float] | None
) -> tuple[float, ...] | None:
    """Return the client's own vector with length 1, None if there is none or if the model ranks by
    words; raise BadInput if it is invalid.
    """
    if vector is None or model == WORDS:
        return None
    dimension = next(
        encoder.dimension for encoder in index.info.encoders.values() if encoder.name == model
    )
    if len(vector) != dimension:
        raise BadInput(
            "vector", f"has {len(vector)} numbers, but vectors of {model} have {dimension}"
        )
    length = hypot(*vector)
    if not (length and isfinite(length)):
        raise BadInput(
            "vector", "has no direction: all of its numbers are 0, or they are too large"
        )
    return tuple(number / length for number in vector)


def _similar(served: ServedIndex, model: str, body: AlegreSearch) -> Iterator[AlegreText]:
    began, index, text, by_words = monotonic(), served.index, body.text, model == WORDS
    vector = _unit_vector(index, model, body.vector)
    context = {
        name: value for name, value in (body.context or {}).items() if name not in _OF_ONE_ITEM
    }
    wanted = {name: _as_texts(value) for name, value in context.items()}
    # The index itself filters by the fields that it declares.
    declared = set(index.info.filter_fields) - {_CONTEXTS, _CREATED}
    filters = {
        name: values
        for name in context
        if name in declared and (values := metadata_values(context[name]))
    }
    most = body.limit or _LIMIT
    options = SearchOptions(
        k=min(most, index.settings.search.max_k),
        retriever=_retrievers(index)[model],
        group=True,
        stages=(),
        filter=FilterRequest(metadata=dict(filters)),
    )
    call = current_call()
    search = search_of(call, options, index, k_name="limit")
    resolved = index.resolve(search)
    if not resolved.has_words(text):
        return
    if body.fuzzy and by_words:
        text = respelt(text, index.spellings(text, search))
    call.note(text)
    try:
        (query,) = resolved.prepare_all([text])
    except QueryError as error:
        raise BadInput("text", error.line) from None
    query = replace(query, vector=vector)
    hits = _near(index, query, search, model, body)

    def is_admitted(context: Context) -> bool:
        return all(
            not set(_as_texts(context.get(name))).isdisjoint(values)
            for name, values in wanted.items()
        )

    admitted = (
        hit
        for hit in hits
        if not wanted or any(map(is_admitted, StoredText.of(index.document(hit.docid)).contexts))
    )
    for hit in islice(admitted, most):
        document = charged_document(call.memory, index, hit.docid)
        score = hit.score + (0.0 if by_words else 1.0)
        stored = StoredText.of(document)
        yield AlegreText(
            content=stored.text,
            context=stored.contexts[0] if stored.contexts else {},
            contexts=stored.contexts,
            created_at=stored.created_at,
            language=stored.language,
            title=document.title,
            url=document.url,
            model=model,
            id=document.docid,
            index=served.name,
            score=score,
            document_id=document.docid,
            es_score=score,
        )
    check_whole(index, began)


def _as_texts(value: object) -> list[str]:
    return [
        str(part) for part in (value if isinstance(value, list) else [value]) if part is not None
    ]


def _near(
    index: Index, query: PreparedQuery, search: Search, model: str, body: AlegreSearch
) -> Iterator[Hit]:
    """Yield the hits that reach the threshold, best first.

    Search in growing slices, up to ``max_k`` hits in all.

    By words, a hit must contain the threshold's percentage of the analysed words, rounded down as
    in Elasticsearch.
    """
    own = body.per_model_threshold or {}
    thresholds = (
        own if isinstance(own, dict) else {named.model: named.value for named in reversed(own)}
    )
    common = _THRESHOLD if body.threshold is None else body.threshold
    share = max(-_FAR, min(_FAR, thresholds.get(model, common)))
    words: dict[str, str] = {}
    if model == WORDS:
        for word in words_of(query.text):
            for term in index.terms(word):
                words.setdefault(term, word)
    needed = max(1, floor(len(set(words.values())) * round(share * 100) / 100))
    limit = current_call().limit()
    least = float("-inf") if body.min_es_score is None else body.min_es_score
    most, begin, size = index.settings.search.max_k, 0, _FIRST_SLICE
    while begin < most:
        size = min(size, most - begin)
        try:
            (hits,) = index.search([query], replace(search, k=size, offset=begin), limit)
        except QueryError as error:
            raise BadInput("text", error.line) from None
        except CutOffError as error:
            raise TimedOutError(error.line) from None
        if limit.is_over("texts") or limit.missing:
            reason = (
                "the time was too short to compare all texts: set a lower limit, or filter by "
                "a context"
            )
            raise TimedOutError(reason)
        if model == WORDS:
            have = zip(hits, index.word_weights(query, hits, search), strict=True)
            near = [hit for hit, held in have if len(held) >= needed and hit.score > least]
        else:
            near = [hit for hit in hits if hit.score >= share]
        yield from near
        if len(hits) < size or (model != WORDS and len(near) < len(hits)):
            return
        begin, size = begin + size, 2 * size
