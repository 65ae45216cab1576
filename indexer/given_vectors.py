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
    keys = [(key, 0) if isinstance(key, str) else key for key in vectors]
    dimensions = {len(vector) for vector in vectors.values()}
    if len(dimensions) != 1:
        raise UsageError(
            f"the vectors have {len(dimensions)} different dimensions",
            remedy="give vectors of one dimension",
        )
    rows = np.array(list(vectors.values()), dtype=np.float32)
    if not np.isfinite(rows).all():
        raise UsageError("a vector has a number that is not finite")
    return GivenVectors.of(keys, rows, similarity)


def _similarity(folder: Path, settings: EncoderSettings) -> Similarity:
    """Return how the vectors are compared: as configured, else as in the index, else by cosine."""
    if settings.similarity != AUTO:
        return settings.similarity
    try:
        recorded = manifests.read(folder).encoder_of(VECTORS)
    except IndexStateError:
        return "cosine"
    return recorded.similarity if recorded and recorded.is_given else "cosine"
