"""Single vectors of a file, read where they lie."""

from __future__ import annotations

import os
from pathlib import Path
from weakref import finalize

import numpy as np
from numpy.typing import NDArray

from .errors import IndexStateError
from .integrity import REMEDY


class VectorRows:
    """Reads scattered rows of a file of vectors without mapping it. Safe for threads.

    Whoever touches a byte of a mapped file is given the pages around it as well, sixteen of them on Linux: a few
    hundred rows a query would soon hold the whole file in the memory of the process.
    """

    def __init__(self, path: Path, dimension: int) -> None:
        """Open the file, for as long as this object is kept.

        Raises IndexStateError if it cannot be opened.
        """
        self._path = path
        self._dimension = dimension
        try:
            self._file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except OSError as error:
            raise IndexStateError(f"cannot be read: {error.strerror}", place=path, remedy=REMEDY) from None
        finalize(self, os.close, self._file)

    def __call__(self, rows: NDArray[np.int64]) -> NDArray[np.float32]:
        """Return the vectors of ``rows``, of shape (rows, dimension), in that order.

        Raises IndexStateError if the file has become shorter.
        """
        vectors = np.empty((len(rows), self._dimension), dtype="<f4")
        size = 4 * self._dimension
        for vector, row in zip(vectors, rows.tolist(), strict=True):
            if os.preadv(self._file, [vector.data], row * size) != size:
                raise IndexStateError(f"ends before vector {row}", place=self._path, remedy=REMEDY)
        return vectors
