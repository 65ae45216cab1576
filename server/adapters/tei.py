"""Hugging Face's Text Embeddings Inference: ``POST /rerank`` over the model of the stage
``rerank``.

A pair that is too long for the model is cut, as TEI does by default (``auto_truncate``), or refused
with ``truncate: false``. Fields and errors follow TEI's ``router/src/http``;
``truncation_direction`` can only be ``Right``.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self

from msgspec import UNSET, UnsetType

from ...retrieval.search.evidence import AnswerPart
from ..errors import BadInput, Problem, RefusedError
from ..runtime import registry
from ..schemas import ForeignFields, says
from . import Adapter
from ._shared import EXAMPLE, TEXTS, rank_texts, re_ranker

ErrorType = Literal["Unhealthy", "Backend", "Overloaded", "Validation", "Tokenizer", "Empty"]
_TYPES: dict[int, ErrorType] = {
    422: "Tokenizer",
    424: "Backend",
    429: "Overloaded",
    500: "Backend",
    503: "Unhealthy",
}


class TeiFailure(AnswerPart):
    """An error in TEI's format."""

    error: str
    error_type: ErrorType

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Return an error in this shape."""
        kind = "Empty" if problem.field == "texts" else _TYPES.get(problem.status, "Validation")
        return cls(error=problem.detail, error_type=kind)


adapter = Adapter(__name__, TeiFailure)


class TeiRerank(ForeignFields):
    """The body of TEI's re-ranking."""

    query: str
    texts: list[str]
    raw_scores: Annotated[
        bool, says("true: scores without bounds; false: scores between 0 and 1")
    ] = False
    return_text: bool = False
    truncate: Annotated[bool | None, says("false: refuse a pair that is too long")] = None
    truncation_direction: Literal["Right", "right"] = "Right"


class TeiRank(AnswerPart):
    """A text's position in the request, from 0, with its score."""

    index: int
    score: float
    text: str | UnsetType = UNSET


@adapter.route(
    "POST",
    "/rerank",
    {"query": EXAMPLE, "texts": TEXTS},
    problems=(422, 424),
    misfit=lambda error: (
        error if error.field == "body" else RefusedError(error.line, 422, "bad-input")
    ),
)
def tei_rerank(body: TeiRerank) -> list[TeiRank]:
    """Re-rank texts as TEI does."""
    if not body.texts:
        raise BadInput("texts", "cannot be empty")
    most = registry().config.server.max_batch
    if len(body.texts) > most:
        reason = f"batch size {len(body.texts)} > maximum allowed batch size {most}"
        raise RefusedError(reason, 413, "too-large")
    try:
        model = re_ranker()
    except RefusedError as error:
        raise RefusedError(f"model is not a re-ranker model: {error.line}", 424) from None
    for number, text in enumerate(body.texts):
        if body.truncate is False and not model.reads_all(body.query, text):
            reason = (
                f"texts[{number}]: is too long for the model together with the query; truncate it"
            )
            raise RefusedError(reason, 413, "too-large")
    return [
        TeiRank(
            index=text.place,
            text=body.texts[text.place] if body.return_text else UNSET,
            score=text.score if body.raw_scores else text.probability,
        )
        for text in rank_texts(model, body.query, body.texts)
    ]
