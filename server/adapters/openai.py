"""OpenAI's ``POST /v1/embeddings`` from the encoder of a served index, and ``GET /v1/models``.

There are two models: the encoder by its name makes the vectors of documents, by its name with ``:query`` those of
queries; an encoder may have a prompt of its own for each. Fields and errors as in OpenAI's API reference.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from types import MappingProxyType
from typing import Annotated, Literal

import numpy as np
from flask import Blueprint, Response, request
from msgspec import Meta, UnsetType
from numpy.typing import NDArray

from ...retrieval.config import Positive
from ...retrieval.deadline import Deadline
from ...retrieval.dense.encoder import Encoder
from ...retrieval.errors import NotFoundError
from ...retrieval.search.evidence import Answer
from ..api.operations import Operation
from ..errors import BadInput, Problem, RefusedError
from ..runtime import registry
from ..schemas import ForeignFields, from_body, json_answer
from ..search import TimedOutError, limit_of
from . import configured_index

HELP = "OpenAI's embeddings: POST /v1/embeddings"
KEY_PARAMETER = ""
STATUSES = MappingProxyType({415: 400})
blueprint = Blueprint("openai", __name__)

_QUERY = ":query"
_AT_ONCE = 16
"""Texts that are encoded between two looks at the clock."""
_TYPES = MappingProxyType({401: "invalid_request_error", 429: "requests", 500: "server_error", 503: "server_error"})
_CODES = MappingProxyType({401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"})


class OpenAIEmbedding(ForeignFields):
    """The body of OpenAI's embeddings."""

    input: Annotated[str | list[str], Meta(description="a text, or several")]
    model: Annotated[str, Meta(description="as GET /v1/models names them; left out: that of documents")] = ""
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: Annotated[Positive | None, Meta(description="only the encoder's own can be had")] = None


class OpenAIVector(Answer, kw_only=True):
    """The vector of a text: numbers, or float32 in little-endian order as base64."""

    object: Literal["embedding"] = "embedding"
    embedding: list[float] | str
    index: int


class OpenAIUsage(Answer):
    """How many tokens were read."""

    prompt_tokens: int
    total_tokens: int


class OpenAIVectors(Answer, kw_only=True):
    """The vectors of all texts, in order, of unit length."""

    object: Literal["list"] = "list"
    data: list[OpenAIVector]
    model: str
    usage: OpenAIUsage


class OpenAIModel(Answer):
    """A model by its name."""

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "factseek"


class OpenAIModels(Answer, kw_only=True):
    """The models that can be asked for."""

    object: Literal["list"] = "list"
    data: list[OpenAIModel]


class OpenAIFault(Answer):
    """What is wrong with a request."""

    message: str
    type: str
    param: str | None
    code: str | None


class OpenAIFailure(Answer):
    """An error as OpenAI answers it."""

    error: OpenAIFault


FAILURE = OpenAIFailure


class NoEncoderError(RefusedError):
    """The index has no vectors, so that there is no encoder."""

    status, slug = 503, "unavailable"


def failure(problem: Problem) -> OpenAIFailure:
    """Return an error as OpenAI answers it."""
    field = None if isinstance(problem.field, UnsetType) else problem.field
    kind = _TYPES.get(problem.status, "invalid_request_error")
    code = None if problem.error == "not-found" else _CODES.get(problem.status)
    return OpenAIFailure(error=OpenAIFault(message=problem.detail, type=kind, param=field, code=code))


@blueprint.post("/v1/embeddings")
def openai_embeddings() -> Response:
    """Encode texts as OpenAI does."""
    asked = _asked()
    encoder = _encoder()
    model = _model(asked.model, encoder)
    if asked.dimensions not in (None, encoder.dimension):
        raise BadInput("dimensions", f"this model has {encoder.dimension} and no other")
    texts = _texts(asked)
    vectors = _encoded(encoder, texts, limit_of(), query=model.endswith(_QUERY))
    tokens = encoder.count_tokens(texts)
    return json_answer(
        OpenAIVectors(
            data=[_vector(number, vector, asked.encoding_format) for number, vector in enumerate(vectors)],
            model=model,
            usage=OpenAIUsage(prompt_tokens=tokens, total_tokens=tokens),
        )
    )


@blueprint.get("/v1/models")
def openai_models() -> Response:
    """Name the models as OpenAI does."""
    name = _encoder().name
    return json_answer(OpenAIModels(data=[OpenAIModel(id=name), OpenAIModel(id=name + _QUERY)]))


def _asked() -> OpenAIEmbedding:
    """Return the request.

    Raises BadInput if it makes no sense; token ids are those of another model's words.
    """
    try:
        return from_body(request, OpenAIEmbedding)
    except BadInput as error:
        if error.field.startswith("input["):
            raise BadInput(error.field, "is no text; token ids mean nothing to this model, send the texts") from None
        raise


def _encoder() -> Encoder:
    """Return the encoder of the configured index.

    Raises NoEncoderError if it has no vectors.
    """
    served = configured_index()
    if served.index.info.encoder is None:
        raise NoEncoderError(f"the index {served.name!r} has no vectors, and so no encoder")
    return served.index.encoder


def _model(asked: str, encoder: Encoder) -> str:
    """Return the model that is asked for.

    Raises NotFoundError if there is none of that name: vectors of another would be taken for its own.
    """
    name = asked or encoder.name
    if name not in (encoder.name, encoder.name + _QUERY):
        raise NotFoundError(f"there is no model {name[:80]!r}; there are {encoder.name} and {encoder.name}{_QUERY}")
    return name


def _texts(asked: OpenAIEmbedding) -> list[str]:
    texts = [asked.input] if isinstance(asked.input, str) else asked.input
    most = registry().config.server.max_batch
    if not 1 <= len(texts) <= most:
        raise BadInput("input", f"1 to {most} texts are encoded at once, these are {len(texts)}")
    for number, text in enumerate(texts):
        if not text.strip():
            raise BadInput("input" if isinstance(asked.input, str) else f"input[{number}]", "is empty")
    return texts


def _encoded(encoder: Encoder, texts: Sequence[str], limit: Deadline, *, query: bool) -> NDArray[np.float32]:
    """Return the vectors of texts.

    Raises TimedOutError if there is no time for all.
    """
    encode = encoder.encode_query if query else encoder.encode_document
    parts = []
    for start in range(0, len(texts), _AT_ONCE):
        if limit.is_over("encoding"):
            raise TimedOutError(f"only {start} of {len(texts)} texts were encoded in time: send fewer at once")
        parts.append(encode(texts[start : start + _AT_ONCE]))
    return np.concatenate(parts)


def _vector(number: int, vector: NDArray[np.float32], form: str) -> OpenAIVector:
    if form == "base64":
        return OpenAIVector(embedding=base64.b64encode(vector.astype("<f4").tobytes()).decode(), index=number)
    return OpenAIVector(embedding=vector.tolist(), index=number)


OPERATIONS = MappingProxyType(
    {
        "openai_embeddings": Operation(
            "",
            OpenAIVectors,
            body=OpenAIEmbedding,
            problems=(400, 404, 413, 415),
            example=MappingProxyType({"input": "Is the measles vaccine effective?"}),
        ),
        "openai_models": Operation("", OpenAIModels),
    }
)
