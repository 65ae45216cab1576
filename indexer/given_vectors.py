"""The vectors that the user brings for the passages of an index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from ..core.errors import IndexStateError, UsageError
from ..core.records.vector_file import Key
from ..retrieval.config import AUTO, EncoderSettings
from ..retrieval.encoders.given import GivenVectors
from ..retrieval.store import manifest as manifests
from ..retrieval.store.manifest import VECTORS, Similarity

VectorsByPassage = Mapping[str | Key, Sequence[float]]
"""Vectors by docid, or by docid and number of the passage."""


def read_given_vectors(
    vectors: Path | VectorsByPassage | None,
    ids: Path | None,
    folder: Path,
    settings: EncoderSettings,
) -> GivenVectors | None:
    """Return the vectors in a file or a mapping, for the index in ``folder``; None if there are
    none.

    Raises SourceError, naming file and line, if they cannot be used. Raises UsageError if ``ids``
    are given without vectors.
    """
    if vectors is None:
        if ids is not None:
            raise UsageError("--vector-ids needs --vectors", remedy="name the file of the vectors")
        return None
    similarity = _similarity(folder, settings)
    if isinstance(vectors, Path):
        return GivenVectors.read(vectors, ids, similarity)
    keys = [_key(key) for key in vectors]
    if not keys:
        raise UsageError("vectors are empty", remedy="give a vector for each passage")
    try:
        dimensions = {len(vector) for vector in vectors.values()}
        if len(dimensions) != 1:
            raise UsageError(
                f"the vectors have {len(dimensions)} different dimensions",
                remedy="give vectors of one dimension",
            )
        rows = np.array(list(vectors.values()), dtype=np.float32)
    except (TypeError, ValueError):
        rows = np.empty(0, dtype=np.float32)
    if rows.ndim != 2:
        raise UsageError("a vector is not a list of numbers", remedy="give numbers alone")
    if not np.isfinite(rows).all():
        raise UsageError("a vector has a number that is not finite")
    return GivenVectors.of(keys, rows, similarity)


def _key(key: object) -> Key:
    """Return the docid and the number of a passage, from a key of a mapping.

    Raises UsageError if it is neither a docid nor a pair of both.
    """
    if isinstance(key, str):
        return key, 0
    if isinstance(key, tuple) and len(key) == 2:
        docid, number = key
        if isinstance(docid, str) and isinstance(number, int | np.integer) and number >= 0:
            return docid, int(number)
    raise UsageError(
        f"vectors have the key {key!r:.80}",
        remedy="give the docid as text, or (docid, number of the passage)",
    )


def _similarity(folder: Path, settings: EncoderSettings) -> Similarity:
    """Return how the vectors are compared: as configured, else as in the index, else by cosine."""
    if settings.similarity != AUTO:
        return settings.similarity
    try:
        recorded = manifests.read(folder).encoder_of(VECTORS)
    except IndexStateError:
        return "cosine"
    return recorded.similarity if recorded and recorded.is_given else "cosine"
