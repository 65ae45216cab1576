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
from typing import TYPE_CHECKING

from flask import Blueprint, Response, request

from ...retrieval.errors import NotFoundError
from ...retrieval.manifest import now
from ..api.operations import Operation
from ..contract.answers import json_answer
from ..contract.errors import BadInput, Problem
from ..contract.requests import from_body
from ..contract.search import check_most
from ..upkeep.service import Served
from ..writing.changing import writable
from . import configured_index
from ._alegre_messages import (
    AlegreDelete,
    AlegreDeleted,
    AlegreFailure,
    AlegreSearch,
    AlegreSimilarity,
    AlegreStore,
    AlegreStored,
    AlegreText,
    AlegreTexts,
)
from ._alegre_search import WORDS, SimilarText, check_vector, models_of, similar_texts
from ._alegre_texts import StoredText, remove, store

if TYPE_CHECKING:
    from ...retrieval.index.local import Index

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


def _texts(served: Served, asked: AlegreSearch) -> AlegreTexts:
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
