"""Hugging Face's Text Embeddings Inference: ``POST /rerank`` over the model of the stage ``rerank``.

A pair that is too long for the model is cut, as TEI does by default (``auto_truncate``), or refused with ``truncate:
false``. Fields and errors follow TEI's ``router/src/http``; ``truncation_direction`` can only be ``Right``.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import Annotated, Literal, Self

from msgspec import UNSET, Meta, UnsetType

from ...retrieval.search.evidence import Answer
from ..errors import BadInput, Problem, RefusedError
from ..runtime import registry
from ..schemas import ForeignFields
from . import Adapter
from ._shared import EXAMPLE, TEXTS, NoReRankerError, ranked, re_ranker

ErrorType = Literal["Unhealthy", "Backend", "Overloaded", "Validation", "Tokenizer", "Empty"]
_TYPES: MappingProxyType[int, ErrorType] = MappingProxyType(
    {422: "Tokenizer", 424: "Backend", 429: "Overloaded", 500: "Backend", 503: "Unhealthy"}
)


class TeiFailure(Answer):
    """An error in TEI's format."""

    error: str
    error_type: ErrorType

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Return an error in this shape."""
        kind = "Empty" if problem.field == "texts" else _TYPES.get(problem.status, "Validation")
        return cls(error=problem.detail, error_type=kind)


adapter = Adapter(__name__, "Text Embeddings Inference: POST /rerank", TeiFailure)


class NotDeserializedError(RefusedError):
    """A field of the request is missing or has another type."""

    status, slug = 422, "bad-input"


class TooMuchError(RefusedError):
    """A request has too many texts, or a pair is too long and must not be cut."""

    status, slug = 413, "too-large"


class NotAReRankerError(RefusedError):
    """The server has no re-ranking model."""

    status, slug = 424, "unavailable"


class TeiRerank(ForeignFields):
    """The body of TEI's re-ranking."""

    query: str
    texts: list[str]
    raw_scores: Annotated[bool, Meta(description="true: scores without bounds; false: scores between 0 and 1")] = False
    return_text: bool = False
    truncate: Annotated[bool | None, Meta(description="false: refuse a pair that is too long")] = None
    truncation_direction: Literal["Right", "right"] = "Right"


class TeiRank(Answer):
    """A text's position in the request, from 0, with its score."""

    index: int
    score: float
    text: str | UnsetType = UNSET


def _misfit(error: BadInput) -> Exception:
    return error if error.field == "body" else NotDeserializedError(error.line)


@adapter.route("POST", "/rerank", {"query": EXAMPLE, "texts": TEXTS}, problems=(422, 424), misfit=_misfit)
def tei_rerank(asked: TeiRerank) -> list[TeiRank]:
    """Re-rank texts as TEI does."""
    if not asked.texts:
        raise BadInput("texts", "cannot be empty")
    most = registry().config.server.max_batch
    if len(asked.texts) > most:
        raise TooMuchError(f"batch size {len(asked.texts)} > maximum allowed batch size {most}")
    try:
        model = re_ranker()
    except NoReRankerError as error:
        raise NotAReRankerError(f"model is not a re-ranker model: {error.line}") from None
    for number, text in enumerate(asked.texts):
        if asked.truncate is False and not model.reads_all(asked.query, text):
            raise TooMuchError(f"texts[{number}]: is too long for the model together with the query; truncate it")
    return [
        TeiRank(
            index=text.place,
            text=asked.texts[text.place] if asked.return_text else UNSET,
            score=text.score if asked.raw_scores else text.probability,
        )
        for text in ranked(model, asked.query, asked.texts)
    ]
