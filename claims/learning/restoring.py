"""Reading the state of a saved model: every array and setting is checked before anything computes with it.

A file may have been made by anyone. Numpy and scipy believe the indices that they are given, so one out of bounds would
be read from, or ends the process; trees whose nodes form a circle would never end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...retrieval.errors import SourceError
from ..text.ngrams import Analyze, NgramVocabulary
from .model_file import State

_BROKEN = (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError)


@contextmanager
def restored_from(path: Path) -> Iterator[None]:
    """Raise SourceError, naming ``path``, if what a model file holds is not what its kind of model is made of."""
    try:
        with np.errstate(divide="raise", invalid="raise", over="raise"):
            yield
    except _BROKEN:
        raise SourceError("is a model of another version of factseek", place=path, remedy="train it again") from None


def array(state: State, name: str, dtype: Any, *shape: int | None, allow_nan: bool = False) -> NDArray[Any]:
    """Return the array ``name``, of this type and shape; None is any length.

    Raises ValueError if it is of another type or shape, KeyError if it is missing, ValueError if a number in it is not
    finite; with ``allow_nan`` NaN is.
    """
    found = state.tensors[name]
    fits = found.ndim == len(shape) and all(
        length in (None, there) for length, there in zip(shape, found.shape, strict=True)
    )
    if found.dtype != np.dtype(dtype) or not fits:
        raise ValueError(f"{name} is {found.dtype} {found.shape}, not {np.dtype(dtype)} {shape}")
    odd = np.isinf(found) if allow_nan else ~np.isfinite(found)
    if odd.any():
        raise ValueError(f"{name} holds a number that is not finite")
    return found


def number(state: State, name: str, allowed: Callable[[float], bool] = np.isfinite) -> float:
    """Return the setting ``name``, a number that is ``allowed``.

    Raises ValueError if it is not, TypeError if it is no number, KeyError if it is missing.
    """
    value = state.settings[name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} is no number")
    if not (np.isfinite(float(value)) and allowed(float(value))):
        raise ValueError(f"{name} {value} is out of range")
    return float(value)


def vocabulary_of(state: State, names: Any, weights: str, analyze: Analyze, *, sublinear: bool) -> NgramVocabulary:
    """Return a saved vocabulary: its terms, and the array of their weights by its name.

    Raises TypeError if ``names`` is no list of strings, ValueError if a term stands twice or the weights do not fit.
    """
    if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
        raise TypeError("terms are no list of strings")
    if len(set(names)) != len(names):
        raise ValueError("a term stands twice")
    return NgramVocabulary(names, array(state, weights, np.float64, len(names)), analyze, sublinear=sublinear)


def labels(state: State, name: str, count: int | None) -> NDArray[np.int64]:
    """Return the labels of both classes, 0 and 1.

    Raises ValueError if there are other labels, or those of one class only.
    """
    found = array(state, name, np.int8, count)
    if set(found.tolist()) != {0, 1}:
        raise ValueError("labels are not those of both classes")
    return found.astype(np.int64)


def sparse_rows(state: State, prefix: str, width: int) -> Any:
    """Return the scipy CSR matrix of three arrays: values, columns in rising order, and where each row starts.

    Raises ValueError if one of them does not fit the others, or a column is outside of ``width``.
    """
    from scipy.sparse import csr_matrix

    values = array(state, f"{prefix}values", np.float64, None)
    columns = array(state, f"{prefix}columns", np.int32, len(values))
    starts = array(state, f"{prefix}starts", np.int64, None)
    if not len(starts) or starts[0] != 0 or starts[-1] != len(values) or (np.diff(starts) < 0).any():
        raise ValueError("rows do not start one after the other")
    if len(columns) and not 0 <= columns.min() <= columns.max() < width:
        raise ValueError("a column is out of bounds")
    rising = np.diff(columns) > 0
    rising[starts[1:-1][(starts[1:-1] > 0) & (starts[1:-1] < len(columns))] - 1] = True  # a row may begin anywhere
    if not rising.all():
        raise ValueError("columns of a row are not in rising order")
    return csr_matrix((values, columns, starts), shape=(len(starts) - 1, width))
