"""The requests and answers of Alegre, with the names of its own fields."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, UnsetType

from ...retrieval.config import Count
from ...retrieval.evidence import Answer
from ..contract.requests import ForeignFields
from ._alegre_search import WORDS, Likeness
from ._alegre_texts import Context, Removed

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
