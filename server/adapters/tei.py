"""Hugging Face's Text Embeddings Inference: ``POST /rerank`` over the model of the stage ``rerank``.

A pair that is longer than the model reads is cut, as TEI does by default (``auto_truncate``), or refused with
``truncate: false``. Fields and errors as in TEI's ``router/src/http``; ``truncation_direction`` can only be ``Right``.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Annotated, Literal

from flask import Blueprint, Response, request
from msgspec import UNSET, Meta, UnsetType

from ...retrieval.search.evidence import Answer
from ...retrieval.search.retriever import ReRanker
from ..api.operations import Operation
from ..errors import BadInput, Problem, RefusedError
from ..runtime import registry
from ..schemas import ForeignFields, from_body, json_answer
from ._shared import NoReRankerError, RerankedText, ranked, re_ranker

HELP = "Text Embeddings Inference: POST /rerank"
KEY_PARAMETER = ""
STATUSES: MappingProxyType[int, int] = MappingProxyType({})
blueprint = Blueprint("tei", __name__)
ErrorType = Literal["Unhealthy", "Backend", "Overloaded", "Validation", "Tokenizer", "Empty"]

_TYPES: MappingProxyType[int, ErrorType] = MappingProxyType(
    {422: "Tokenizer", 424: "Backend", 429: "Overloaded", 500: "Backend", 503: "Unhealthy"}
)


class TeiRerank(ForeignFields):
    """The body of TEI's re-ranking."""

    query: str
    texts: list[str]
    raw_scores: Annotated[bool, Meta(description="scores without bounds instead of those between 0 and 1")] = False
    return_text: bool = False
    truncate: Annotated[bool | None, Meta(description="false: a pair that is too long is refused")] = None
    truncation_direction: Literal["Right", "right"] = "Right"


class TeiRank(Answer):
    """A text by its place in the request."""

    index: int
    score: float
    text: str | UnsetType = UNSET


class TeiFailure(Answer):
    """An error as TEI answers it."""

    error: str
    error_type: ErrorType


FAILURE = TeiFailure


class NotDeserializedError(RefusedError):
    """A field of the request is missing or of another type."""

    status, slug = 422, "bad-input"


class TooMuchError(RefusedError):
    """There are more texts than one request may have re-ranked, or a pair is too long and is not to be cut."""

    status, slug = 413, "too-large"


class NotAReRankerError(RefusedError):
    """The server has no model that re-ranks."""

    status, slug = 424, "unavailable"


def failure(problem: Problem) -> TeiFailure:
    """Return an error as TEI answers it."""
    kind = "Empty" if problem.field == "texts" else _TYPES.get(problem.status, "Validation")
    return TeiFailure(error=problem.detail, error_type=kind)


@blueprint.post("/rerank")
def tei_rerank() -> Response:
    """Re-rank texts as TEI does."""
    asked = _asked()
    model = _model()
    _check(asked, model)
    return json_answer([_rank(text, asked) for text in ranked(model, asked.query, asked.texts, None)])


def _asked() -> TeiRerank:
    """Return the request.

    Raises BadInput if it is no JSON or has no texts, NotDeserializedError if it does not fit, TooMuchError.
    """
    try:
        asked = from_body(request, TeiRerank)
    except BadInput as error:
        if error.field == "body":
            raise
        raise NotDeserializedError(error.line) from None
    if not asked.texts:
        raise BadInput("texts", "cannot be empty")
    most = registry().config.server.max_batch
    if len(asked.texts) > most:
        raise TooMuchError(f"batch size {len(asked.texts)} > maximum allowed batch size {most}")
    return asked


def _model() -> ReRanker:
    """Return the re-ranker.

    Raises NotAReRankerError if none is configured.
    """
    try:
        return re_ranker()
    except NoReRankerError as error:
        raise NotAReRankerError(f"model is not a re-ranker model: {error.line}") from None


def _check(asked: TeiRerank, model: ReRanker) -> None:
    if asked.truncate is not False:
        return
    for number, text in enumerate(asked.texts):
        if not model.reads_all(asked.query, text):
            raise TooMuchError(f"texts[{number}]: the model does not read all of it with the query; truncate it")


def _rank(text: RerankedText, asked: TeiRerank) -> TeiRank:
    return TeiRank(
        index=text.place,
        text=asked.texts[text.place] if asked.return_text else UNSET,
        score=text.score if asked.raw_scores else text.probability,
    )


OPERATIONS = MappingProxyType(
    {
        "tei_rerank": Operation(
            "",
            TeiRank,
            body=TeiRerank,
            problems=(400, 413, 415, 422, 424),
            answers_list=True,
            example=MappingProxyType(
                {
                    "query": "Is the measles vaccine effective?",
                    "texts": ["The moon is 384,400 km away.", "Two doses of the vaccine are 97 percent effective."],
                }
            ),
        )
    }
)
