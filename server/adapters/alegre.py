"""Meedan's Alegre over one index: ``/text/similarity/`` and ``/similarity/sync/text``.

The model ``elasticsearch`` ranks by words: the threshold is the share of the query's words that a text must have, as
of ``minimum_should_match``. An encoder of the index by its name ranks by meaning: the threshold is a cosine, the score
the cosine and 1. A text is stored and deleted as by the server's own routes, with a key; one that is stored again keeps
its former contexts beside the new one. ``/similarity/sync/text`` stores a text and answers what is similar to it; texts
in bulk and callbacks are not there. Fields, answers, errors as in Alegre's ``similarity_controller.py``, its
``similarity_sync_controller.py`` and ``text_similarity.py``, the errors of flask-restx.
"""

from __future__ import annotations

import re
import secrets
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
from flask import Blueprint, Response, request
from msgspec import UNSET, Meta, UnsetType

from ...retrieval.config import Count
from ...retrieval.errors import NotFoundError
from ...retrieval.search.evidence import Answer
from ...retrieval.store.manifest import now
from ..api.operations import Operation
from ..errors import BadInput, Problem
from ..runtime import ServedIndex
from ..schemas import ForeignFields, from_body, json_answer
from ..search import check_most
from ..writing import writable
from . import configured_index
from ._alegre import (
    WORDS,
    Context,
    Likeness,
    Removed,
    SimilarText,
    StoredText,
    check_vector,
    models_of,
    remove,
    similar_texts,
    store,
)

if TYPE_CHECKING:
    from ...retrieval.search.index import Index

_THRESHOLD, _LIMIT = 0.9, 200
_FAR = 1_000.0
"""Farther than any share or cosine: a threshold beyond it lets in all or nothing, as this does."""
Language = Annotated[str | None, Meta(description="ISO 639-1 code; auto, or left out: that of the index")]
Model = Annotated[str | None, Meta(description=f"{WORDS}, or the encoder of the index")]
Models = Annotated[list[str] | None, Meta(description="several, each searched by in turn")]


class AlegreStore(ForeignFields, kw_only=True):
    """A text to be stored; by whatever model, it is found by all that the index has."""

    text: Annotated[str, Meta(min_length=1)]
    doc_id: Annotated[str | None, Meta(description="left out: a new one")] = None
    context: Annotated[dict[str, Any] | None, Meta(description="what it belongs to, to be searched by")] = None
    language: Language = None
    created_at: Annotated[str | None, Meta(description="a time; left out: now")] = None
    model: Model = None
    models: Models = None


class AlegreDelete(ForeignFields, kw_only=True):
    """A text to be deleted; of one that is stored under several contexts, the context that is named."""

    doc_id: str
    context: dict[str, Any] | None = None
    quiet: Annotated[bool, Meta(description="no error if there is no such text")] = False


class AlegreThreshold(ForeignFields):
    """The threshold of a model."""

    model: str
    value: float


class AlegreSearch(ForeignFields, kw_only=True):
    """A text to which similar ones are looked for."""

    text: str = ""
    model: Model = None
    models: Models = None
    threshold: Annotated[float | None, Meta(description="share of the words, or cosine; left out: 0.9")] = None
    per_model_threshold: Annotated[
        dict[str, float] | list[AlegreThreshold] | None, Meta(description="thresholds by the name of their model")
    ] = None
    min_es_score: Annotated[float | None, Meta(description=f"what scores of {WORDS} must be above")] = None
    context: Annotated[
        dict[str, Any] | None, Meta(description="what a context of a text must hold; one value, or one of a list")
    ] = None
    language: Language = None
    fuzzy: Annotated[bool | None, Meta(description="whether misspelt words are put right")] = None
    limit: Annotated[Count | None, Meta(description="texts by each model, at most; 0: 200")] = None
    vector: Annotated[
        list[float] | None, Meta(description="that of the text, by the encoder of the index; left out: it is made")
    ] = None

    def likeness(self, model: str) -> Likeness:
        """Return how similar a text must be by a model."""
        return Likeness(
            share=self._threshold(model),
            score=self.min_es_score,
            fuzzy=bool(self.fuzzy),
            most=self.limit or _LIMIT,
        )

    def _threshold(self, model: str) -> float:
        own = self.per_model_threshold or {}
        thresholds = own if isinstance(own, dict) else {named.model: named.value for named in reversed(own)}
        common = _THRESHOLD if self.threshold is None else self.threshold
        return max(-_FAR, min(_FAR, thresholds.get(model, common)))


class AlegreSimilarity(AlegreSearch, kw_only=True):
    """A text to be stored, and to which similar ones are looked for."""

    text: Annotated[str, Meta(min_length=1)]
    doc_id: Annotated[str | None, Meta(description="left out: a new one")] = None
    created_at: Annotated[str | None, Meta(description="a time; left out: now")] = None


class AlegreStored(Answer):
    """Whether a text was stored."""

    success: bool


class AlegreDeleted(Answer, kw_only=True, rename={"index": "_index", "doc_id": "_id"}):
    """What was done: the text deleted, or one of its contexts; ``failed`` says why nothing was, quietly."""

    index: str | UnsetType = UNSET
    doc_id: str | UnsetType = UNSET
    result: Removed | UnsetType = UNSET
    failed: str | UnsetType = UNSET


class AlegreText(Answer, kw_only=True):
    """A similar text, with the model by which it is, and its score by that model."""

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


class AlegreTexts(Answer):
    """The similar texts by each model in turn, best first."""

    result: list[AlegreText]


class AlegreFailure(Answer, kw_only=True):
    """An error as Alegre answers it; ``errors`` says of a field what is wrong with it."""

    message: str
    errors: dict[str, str] | UnsetType = UNSET


HELP = "Meedan's Alegre: /text/similarity/ and /similarity/sync/text"
KEY_PARAMETER = ""
STATUSES = MappingProxyType({415: 400})
CHANGES = ("/text/similarity/", "/similarity/sync/text")
blueprint = Blueprint("alegre", __name__)

_CODE = re.compile(r"[a-z]{2,3}")

_NOT_OFFERED = MappingProxyType(
    {
        "similarity/async/text": "nobody is called back: use POST /similarity/sync/text, which answers what is similar",
        "text/bulk_similarity": "texts are not stored in bulk: use POST /text/similarity/ for each",
    }
)
"""Addresses of the original that are not here, and what to use in their place."""

FAILURE = AlegreFailure


def failure(problem: Problem) -> AlegreFailure:
    """Return an error as Alegre answers it."""
    if problem.error == "not-found":
        address = request.path.strip("/").partition("/")[2]
        return AlegreFailure(message=_NOT_OFFERED.get(address, problem.detail))
    if problem.status != 400 or not isinstance(problem.field, str) or problem.field == "body":
        return AlegreFailure(message=problem.detail)
    reason = problem.detail.removeprefix(f"{problem.field}: ")
    return AlegreFailure(message="Input payload validation failed", errors={problem.field: reason})


@blueprint.post("/text/similarity/search/")
def alegre_search() -> Response:
    """Find similar texts as Alegre does."""
    asked = from_body(request, AlegreSearch)
    served = configured_index()
    check_most("limit", asked.limit, served.index.settings.search.max_k)
    return json_answer(_texts(served, asked))


@blueprint.post("/text/similarity/")
def alegre_store() -> Response:
    """Store a text as Alegre does: it answers when the next search finds it."""
    served = writable(configured_index().name)
    asked = from_body(request, AlegreStore)
    _models(asked, served.index)
    store(served.name, asked.doc_id or _new_id(), _text(asked))
    return json_answer(AlegreStored(success=True))


@blueprint.delete("/text/similarity/")
def alegre_delete() -> Response:
    """Delete a text as Alegre does: it answers when no search finds it."""
    served = writable(configured_index().name)
    asked = from_body(request, AlegreDelete)
    try:
        removed = remove(served.name, asked.doc_id, asked.context or {})
    except NotFoundError:
        missing = f"Doc Not Found for id {asked.doc_id}! No Deletion Occurred"
        if not asked.quiet:
            raise NotFoundError(f"{missing}.") from None
        return json_answer(AlegreDeleted(failed=f"{missing} - quiet failure requested, so 200 code returned."))
    return json_answer(AlegreDeleted(index=served.name, doc_id=asked.doc_id, result=removed))


@blueprint.post("/similarity/sync/text")
def alegre_similarity_sync() -> Response:
    """Store a text as Alegre does, and answer what is similar to it, itself included."""
    served = writable(configured_index().name)
    asked = from_body(request, AlegreSimilarity)
    check_most("limit", asked.limit, served.index.settings.search.max_k)
    for model in _models(asked, served.index):
        check_vector(served.index, model, asked.vector)
    store(served.name, asked.doc_id or _new_id(), _text(asked))
    return json_answer(_texts(configured_index(), asked))


def _texts(served: ServedIndex, asked: AlegreSearch) -> AlegreTexts:
    """Return the texts that are similar by each model in turn.

    Raises BadInput, naming the field, if the request makes no sense.
    """
    index, context = served.index, asked.context or {}
    texts = [
        _similar(served.name, model, text)
        for model in _models(asked, index)
        for text in similar_texts(index, asked.text, model, asked.likeness(model), context, vector=asked.vector)
    ]
    return AlegreTexts(result=texts)


def _models(asked: AlegreSearch | AlegreStore, index: Index) -> list[str]:
    """Return the models that a request names, each once; by words if it names none.

    Raises BadInput if the index has no such model: the vectors of another could not be compared with its own.
    """
    there = models_of(index)
    names = [("model", asked.model)] if asked.model is not None else []
    names += [(f"models[{number}]", name) for number, name in enumerate(asked.models or [])]
    wanted: dict[str, str] = {}
    for field, name in names:
        wanted.setdefault(WORDS if name.lower() == WORDS else name, field)
    for name, field in wanted.items():
        if name not in there:
            raise BadInput(field, f"there is no model {name[:80]!r}; there are {', '.join(there)}")
    return [*wanted] or [WORDS]


def _text(asked: AlegreStore | AlegreSimilarity) -> StoredText:
    return StoredText(
        text=asked.text,
        contexts=[asked.context] if asked.context else [],
        created_at=asked.created_at or now(),
        language=asked.language if asked.language and _CODE.fullmatch(asked.language) else "",
    )


def _new_id() -> str:
    return secrets.token_urlsafe(15)


def _similar(name: str, model: str, similar: SimilarText) -> AlegreText:
    document = similar.document
    stored = StoredText.of(document)
    return AlegreText(
        content=stored.text,
        context=stored.context,
        contexts=stored.contexts,
        created_at=stored.created_at,
        language=stored.language,
        title=document.title,
        url=document.url,
        model=model,
        id=document.docid,
        index=name,
        score=similar.score,
        document_id=document.docid,
        es_score=similar.score,
    )


OPERATIONS = MappingProxyType(
    {
        "alegre_search": Operation(
            "",
            AlegreTexts,
            body=AlegreSearch,
            problems=(400, 413, 415),
            example=MappingProxyType({"text": "Is the measles vaccine effective?", "threshold": 0.5, "limit": 3}),
        ),
        "alegre_store": Operation(
            "",
            AlegreStored,
            body=AlegreStore,
            problems=(400, 403, 413, 415),
            example=MappingProxyType(
                {"text": "The measles vaccine is dangerous.", "doc_id": "claim-1", "context": {"team_id": 7}}
            ),
        ),
        "alegre_similarity_sync": Operation(
            "",
            AlegreTexts,
            body=AlegreSimilarity,
            problems=(400, 403, 413, 415),
            example=MappingProxyType({"text": "The measles vaccine is dangerous.", "doc_id": "claim-1", "limit": 3}),
        ),
        "alegre_delete": Operation(
            "",
            AlegreDeleted,
            body=AlegreDelete,
            problems=(400, 403, 404, 413, 415),
            example=MappingProxyType({"doc_id": "claim-1", "quiet": True}),
        ),
    }
)
