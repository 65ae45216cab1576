"""OpenAI's ``POST /v1/embeddings`` with the encoder of a served index, ``GET /v1/models`` and ``GET
/v1/models/NAME``.

There are two models, because an encoder may have one prompt for documents and another for queries.
The model with the encoder's name makes the vectors of documents. The model with ``:query`` after
this name makes the vectors of queries. Fields and errors follow OpenAI's API reference.
"""

from __future__ import annotations

import base64
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Literal, Self

import numpy as np
from msgspec import UnsetType

from ...core.errors import NotFoundError
from ...core.settings import Positive
from ...retrieval.search.evidence import AnswerPart
from ..call import current_call
from ..errors import BadInput, Problem, RefusedError
from ..schemas import ForeignFields, says
from ..search import TimedOutError
from . import Adapter, configured_index
from ._shared import EXAMPLE, check_count

if TYPE_CHECKING:
    from ...retrieval.encoders.encoder import Encoder

_QUERY = ":query"
_AT_ONCE = 16  # the number of texts to encode between two checks of the time limit
_TYPES = MappingProxyType({429: "requests", 500: "server_error", 503: "server_error"})
_CODES = MappingProxyType(
    {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
)


class OpenAIFault(AnswerPart):
    """What is wrong with a request."""

    message: str
    type: str
    param: str | None
    code: str | None


class OpenAIFailure(AnswerPart):
    """An error in OpenAI's format."""

    error: OpenAIFault

    @classmethod
    def of(cls, problem: Problem) -> Self:
        """Return an error in this shape."""
        kind = _TYPES.get(problem.status, "invalid_request_error")
        param = None if isinstance(problem.field, UnsetType) else problem.field
        code = None if problem.error == "not-found" else _CODES.get(problem.status)
        return cls(error=OpenAIFault(message=problem.detail, type=kind, param=param, code=code))


adapter = Adapter(__name__, OpenAIFailure, {415: 400})


class OpenAIEmbedding(ForeignFields):
    """The body of OpenAI's embeddings."""

    input: Annotated[str | list[str], says("a text, or a list of texts")]
    model: Annotated[str, says("a name from GET /v1/models (default: the model for documents)")] = (
        ""
    )
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: Annotated[
        Positive | None, says("the number of dimensions; only the encoder's own number works")
    ] = None


class OpenAIVector(AnswerPart, kw_only=True):
    """The vector of a text: numbers, or float32 in little-endian order as base64."""

    object: Literal["embedding"] = "embedding"
    embedding: list[float] | str
    index: int


class OpenAIUsage(AnswerPart):
    """The number of tokens that the encoder read."""

    prompt_tokens: int
    total_tokens: int


class OpenAIVectors(AnswerPart, kw_only=True):
    """The vectors of all texts, of unit length, in the order of the request."""

    object: Literal["list"] = "list"
    data: list[OpenAIVector]
    model: str
    usage: OpenAIUsage


class OpenAIModel(AnswerPart):
    """A model by its name."""

    id: str
    object: Literal["model"] = "model"
    created: int = 0
    owned_by: str = "factseek"


class OpenAIModels(AnswerPart, kw_only=True):
    """The available models."""

    object: Literal["list"] = "list"
    data: list[OpenAIModel]


def _misfit(error: BadInput) -> Exception:
    if not error.field.startswith("input["):
        return error
    return BadInput(
        error.field, "is not text; send texts, because this model does not accept token ids"
    )


@adapter.route("POST", "/v1/embeddings", {"input": EXAMPLE}, problems=(404,), misfit=_misfit)
def openai_embeddings(body: OpenAIEmbedding) -> OpenAIVectors:
    """Encode texts as OpenAI does."""
    encoder = _encoder()
    model = _listed(body.model or encoder.name)
    if body.dimensions not in (None, encoder.dimension):
        raise BadInput("dimensions", f"this model has only {encoder.dimension}")
    texts = [body.input] if isinstance(body.input, str) else body.input
    check_count("input", texts, "texts can be encoded")
    for number, text in enumerate(texts):
        if not text.strip():
            raise BadInput(
                "input" if isinstance(body.input, str) else f"input[{number}]", "is empty"
            )
    encode = encoder.encode_query if model.endswith(_QUERY) else encoder.encode_document
    limit = current_call().limit()
    parts = []
    for start in range(0, len(texts), _AT_ONCE):
        if limit.is_over("encoding"):
            raise TimedOutError(
                f"only {start} of {len(texts)} texts were encoded in time: send fewer at once"
            )
        parts.append(encode(texts[start : start + _AT_ONCE]))
    packed = body.encoding_format == "base64"
    data = []
    for number, vector in enumerate(np.concatenate(parts)):
        numbers = (
            base64.b64encode(vector.astype("<f4").tobytes()).decode() if packed else vector.tolist()
        )
        data.append(OpenAIVector(embedding=numbers, index=number))
    tokens = encoder.count_tokens(texts)
    return OpenAIVectors(
        data=data, model=model, usage=OpenAIUsage(prompt_tokens=tokens, total_tokens=tokens)
    )


@adapter.route("GET", "/v1/models")
def openai_models() -> OpenAIModels:
    """List the models as OpenAI does."""
    return OpenAIModels(data=[OpenAIModel(id=name) for name in _names()])


@adapter.route("GET", "/v1/models/<docid:model>", problems=(404,))
def openai_model(model: str) -> OpenAIModel:
    """Return a model by its name as OpenAI does."""
    return OpenAIModel(id=_listed(model))


def _names() -> tuple[str, str]:
    name = _encoder().name
    return name, name + _QUERY


def _listed(model: str) -> str:
    """Return the name of a model if it is listed: no other model may answer under it.

    Raise NotFoundError.
    """
    names = _names()
    if model not in names:
        raise NotFoundError(
            f"there is no model {model[:80]!r}; the models are {' and '.join(names)}"
        )
    return model


def _encoder() -> Encoder:
    served = configured_index()
    if served.index.info.encoder is None:
        raise RefusedError(f"the index {served.name!r} has no vectors, so it has no encoder")
    return served.index.encoder
