"""What makes the vectors of queries and of documents: the interface of all encoders."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from ...core.errors import ConfigError, MachineError
from ...core.text import refuse_text
from ..store.manifest import EncoderInfo, Similarity

Vectors = NDArray[np.float32]


class Encoder(ABC):
    """Makes the vector of a text; ``info`` describes it in the manifest of an index.

    Any number of threads may use it. It puts ``query_prompt`` or ``document_prompt`` before each
    text. ``languages`` has ISO 639-1 codes; empty means all languages.
    """

    info: EncoderInfo
    languages: tuple[str, ...]
    query_prompt: str
    document_prompt: str

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.info.name

    @property
    def revision(self) -> str:
        """What tells this version of the model, with the settings of its documents, from others."""
        return self.info.revision

    @property
    def dimension(self) -> int:
        """The number of dimensions of a vector."""
        return self.info.dimension

    def encode_query(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of queries, shape (len(texts), dimension); for cosines, of unit
        length.
        """
        refuse_text("texts", texts)
        return self._encode_all([self.query_prompt + text for text in texts], queries=True)

    def encode_document(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of passages, shape (len(texts), dimension); for cosines, of unit
        length.
        """
        refuse_text("texts", texts)
        return self._encode_all([self.document_prompt + text for text in texts], queries=False)

    def encode_documents_stream(self, texts: Iterable[str], size: int = 256) -> Iterator[Vectors]:
        """Encode documents as they arrive; yield their vectors in order, ``size`` at a time, fewer
        at the end.
        """
        refuse_text("texts", texts)
        source = iter(texts)
        while batch := list(islice(source, self.texts_at_once(size))):
            vectors = self.encode_document(batch)
            for start in range(0, len(vectors), size):
                yield vectors[start : start + size]

    def texts_at_once(self, size: int) -> int:
        """Return how many texts of a stream to encode in one call, at least ``size``."""
        return size

    def count_tokens(self, texts: Sequence[str]) -> int:
        """Return how many tokens of the texts the model reads in total, without prompts; 0 if this
        encoder cannot count them.
        """
        refuse_text("texts", texts)
        return 0

    @abstractmethod
    def close(self) -> None:
        """Release the model; a later call may load it again."""

    @abstractmethod
    def _encode_all(self, texts: Sequence[str], *, queries: bool) -> Vectors:
        """Return the vectors of texts that have their prompts already."""


def comparable_rows(vectors: NDArray[np.floating], name: str, similarity: Similarity) -> Vectors:
    """Return vectors as they are compared: for cosines, at unit length.

    Raises MachineError, naming the encoder, if a vector has no direction.
    """
    exact = vectors.astype(np.float64)
    lengths = np.sqrt((exact * exact).sum(axis=1, keepdims=True))
    if not ((lengths > 0) & np.isfinite(lengths)).all():
        raise MachineError(
            f"encoder {name!r} returned a vector without a direction",
            remedy="choose another encoder",
        )
    compared = exact if similarity == "dot" else exact / lengths
    return compared.astype(np.float32)


def shortened_dimension(dimension: int, truncate_dim: int, name: str) -> int:
    """Return the dimension of vectors of which only the first ``truncate_dim`` numbers are kept; 0
    keeps all.

    Raises ConfigError if the model's vectors are shorter than that.
    """
    if truncate_dim > dimension:
        raise ConfigError(
            f"{truncate_dim} is more than the {dimension} dimensions of {name}",
            place="encoder.truncate_dim",
            remedy=f"set it to at most {dimension}, or to 0 for all dimensions",
        )
    return truncate_dim or dimension
