"""Vectors that the user brings: nothing is encoded here."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Self

import numpy as np

from ...core.domain import Passage
from ...core.errors import QueryError, SourceError
from ...core.records.vector_file import Key, read_vector_file, some_of
from ..store.manifest import GIVEN, EncoderInfo, Similarity
from .encoder import Encoder, Vectors, comparable_rows


class GivenVectors(Encoder):
    """The vectors of passages by docid and number.

    Without ``vectors``, it only describes those of an index. ``place`` names their file, or the
    index.
    """

    languages = ()
    query_prompt = ""
    document_prompt = ""

    def __init__(
        self,
        info: EncoderInfo,
        vectors: Mapping[Key, Vectors] | None = None,
        place: object = "",
    ) -> None:
        self.info = info
        self._vectors = vectors or {}
        self._place = place
        self._used: set[Key] = set()

    @classmethod
    def read(cls, path: Path, ids: Path | None, similarity: Similarity) -> Self:
        """Return the vectors in a file; for cosines, at unit length.

        Raises SourceError, naming file and line, if the file cannot be used.
        """
        keys, vectors = read_vector_file(path, ids, "docid")
        return cls.of(keys, vectors, similarity, path)

    @classmethod
    def of(
        cls, keys: Sequence[Key], vectors: Vectors, similarity: Similarity, place: object = ""
    ) -> Self:
        """Return vectors, shape (n, dimension), with the key of each.

        Raises SourceError if a vector has the length 0, and has to have a direction.
        """
        if similarity == "cosine":
            for row in np.flatnonzero(~vectors.any(axis=1))[:1]:
                docid, passage = keys[row]
                raise SourceError(
                    f"the vector of {docid} passage {passage} is 0: it has no direction",
                    place=place,
                )
        info = EncoderInfo(
            name=GIVEN,
            revision=GIVEN,
            dimension=vectors.shape[1],
            precision=GIVEN,
            similarity=similarity,
        )
        compared = comparable_rows(vectors, GIVEN, similarity)
        return cls(info, dict(zip(keys, compared, strict=True)), place)

    def of_passages(self, passages: Iterable[Passage], size: int) -> Iterator[Vectors]:
        """Yield the vectors of passages in their order, ``size`` at a time.

        Raises SourceError, naming some of them, if passages have no vector.
        """
        source = iter(passages)
        while batch := list(islice(source, size)):
            keys = [(passage.docid, passage.number) for passage in batch]
            missing = [key for key in keys if key not in self._vectors]
            if missing:
                raise SourceError(
                    f"there is no vector for {some_of(missing)}",
                    place=self._place,
                    remedy="give a vector for each passage with --vectors: docid, number from 0",
                )
            self._used.update(keys)
            yield np.stack([self._vectors[key] for key in keys])

    @property
    def digest(self) -> str:
        """A digest of the keys and vectors."""
        total = hashlib.sha256(repr(sorted(self._vectors)).encode())
        for key in sorted(self._vectors):
            total.update(self._vectors[key].tobytes())
        return total.hexdigest()

    @property
    def unused(self) -> list[Key]:
        """The keys that no passage had so far."""
        return [key for key in self._vectors if key not in self._used]

    def close(self) -> None:
        """Release nothing."""

    def _encode_all(self, texts: Sequence[str], *, queries: bool) -> Vectors:
        if queries:
            raise QueryError(
                "the vectors of this index were given: factseek cannot make the vector of a text",
                place=self._place,
                remedy="give the vector of the query (run --query-vectors FILE, or vector in the "
                "body of a request), or search with the retriever bm25",
            )
        raise SourceError(
            "the vectors of this index were given, and new documents need vectors too",
            remedy="give them with --vectors FILE",
        )
