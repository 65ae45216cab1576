"""A trained model in one file: arrays as safetensors, all else as JSON in its header, without
pickle.

The header contains a manifest, which describes the model and its training data, and a checksum of
everything. The same model gives the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..errors import SourceError
from ..files import write_atomically

LAYOUT = 1  # the version of the file's content; readers of another version refuse it
_KEY = "factseek"
_AGAIN = "train it again"
_CHANGED = "was changed after it was written"
M = TypeVar("M", bound=msgspec.Struct)


class State(NamedTuple):
    """The complete state of a trained model: settings for JSON, and arrays."""

    settings: dict[str, Any]
    tensors: dict[str, NDArray[Any]]


class _Header(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    layout: int
    manifest: dict[str, Any]
    state: dict[str, Any]
    checksum: str


class _Layout(msgspec.Struct, frozen=True):
    layout: int


def save(path: Path, manifest: msgspec.Struct, state: State) -> None:
    """Write a model with its manifest.

    Raises MachineError if there is no space or no permission to write.
    """
    from safetensors.numpy import save as packed

    tensors = {name: np.ascontiguousarray(array) for name, array in state.tensors.items()}
    description = msgspec.to_builtins(manifest)
    checksum = _checksum(description, state.settings, tensors)
    header = _Header(layout=LAYOUT, manifest=description, state=state.settings, checksum=checksum)
    encoded = msgspec.json.encode(header, order="deterministic").decode()
    write_atomically(path, packed(tensors, metadata={_KEY: encoded}))


def load(path: Path, kind: type[M]) -> tuple[M, State]:
    """Read a model whose manifest has the type ``kind``.

    Raises SourceError if the file is not such a model.
    """
    raw, tensors = _read(path)
    try:
        layout = msgspec.json.decode(raw, type=_Layout).layout
        header = msgspec.json.decode(raw, type=_Header) if layout == LAYOUT else None
    except (msgspec.DecodeError, RecursionError):
        raise SourceError(f"{_CHANGED}: its header is damaged", place=path, remedy=_AGAIN) from None
    if header is None:
        what = f"is a model of layout {layout}, but this factseek reads layout {LAYOUT}"
        raise SourceError(what, place=path, remedy=_AGAIN)
    if header.checksum != _checksum(header.manifest, header.state, tensors):
        raise SourceError(f"{_CHANGED}: its checksum does not match", place=path, remedy=_AGAIN)
    try:
        manifest = msgspec.convert(header.manifest, kind)
    except msgspec.ValidationError:
        task = header.manifest.get("task", "something else")
        raise SourceError(f"is a model for {task}, not for this task", place=path) from None
    return manifest, State(header.state, tensors)


def _read(path: Path) -> tuple[str, dict[str, NDArray[Any]]]:
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise SourceError(
            "there is no such model file",
            place=path,
            remedy="correct the path, or train a model first",
        )
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in sorted(file.keys())}
    # ValueError: numpy lacks an array's type.
    except (AttributeError, SafetensorError, TypeError, ValueError):
        raise SourceError(
            "is not a complete model of factseek", place=path, remedy=_AGAIN
        ) from None
    if _KEY not in metadata:
        raise SourceError(
            "is not a model of factseek", place=path, remedy="give the file of a trained model"
        )
    return metadata[_KEY], tensors


def _checksum(
    manifest: Mapping[str, Any], settings: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]
) -> str:
    digest = hashlib.sha256(msgspec.json.encode((manifest, settings), order="deterministic"))
    for name in sorted(tensors):
        array = tensors[name]
        digest.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


_BROKEN = (
    ArithmeticError,
    AttributeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)


@contextmanager
def restored_from(path: Path) -> Iterator[None]:
    """Turn an error of the block, which restores a model from the file ``path``, into
    SourceError.
    """
    try:
        with np.errstate(divide="raise", invalid="raise", over="raise"):
            yield
    except _BROKEN:
        raise SourceError(
            "is a model of another version of factseek", place=path, remedy=_AGAIN
        ) from None


def array(
    state: State, name: str, dtype: Any, *shape: int | None, allow_nan: bool = False
) -> NDArray[Any]:
    """Return the array ``name``, of this type and shape; None means any length.

    Raises KeyError if it is missing. Raises ValueError if it has another type or shape, or if a
    number in it is not finite; ``allow_nan`` permits NaN.
    """
    values = state.tensors[name]
    wanted = tuple(
        there if length is None else length
        for length, there in zip(shape, values.shape, strict=False)
    )
    if values.dtype != np.dtype(dtype) or values.ndim != len(shape) or values.shape != wanted:
        raise ValueError(f"{name} is {values.dtype} {values.shape}, not {np.dtype(dtype)} {shape}")
    odd = np.isinf(values) if allow_nan else ~np.isfinite(values)
    if odd.any():
        raise ValueError(f"{name} contains a number that is not finite")
    return values


def number(state: State, name: str, allowed: Callable[[float], bool] = np.isfinite) -> float:
    """Return the setting ``name``, a number that ``allowed`` accepts.

    Raises ValueError if it is not accepted, TypeError if it is not a number, KeyError if it is
    missing.
    """
    value = state.settings[name]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise TypeError(f"{name} is not a number")
    if not (np.isfinite(float(value)) and allowed(float(value))):
        raise ValueError(f"{name} {value} is out of range")
    return float(value)


class Trees(NamedTuple):
    """Many trees, with all their nodes in one list.

    Each node has a feature, or -1 for a leaf. A row goes to the first of the node's ``children`` if
    the row's value of the feature is at most the threshold, else to the second. ``values`` has the
    value of each leaf. ``roots`` has the root node of each tree.
    """

    features: NDArray[np.int16]
    thresholds: NDArray[np.float64]
    children: NDArray[np.int32]
    values: NDArray[np.float64]
    roots: NDArray[np.int32]

    def leaves(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the value of the leaf that each row reaches in each tree, shape (rows, trees)."""
        at = np.tile(self.roots, (len(rows), 1))
        while True:
            feature = self.features[at]
            inner = feature >= 0
            if not inner.any():
                return self.values[at]
            value = np.take_along_axis(rows, np.maximum(feature, 0).astype(np.int64), axis=1)
            side = (value > self.thresholds[at]).astype(np.int64)
            at = np.where(inner, self.children[at, side], at)

    def state(self) -> State:
        """Return the arrays."""
        return State({}, self._asdict())


def restore_trees(state: State, width: int) -> Trees:
    """Return the trees of a state.

    Raises ValueError if its arrays do not fit, or if a path might not end.
    """
    features = array(state, "features", np.int16, None)
    nodes = len(features)
    children = array(state, "children", np.int32, nodes, 2)
    roots = array(state, "roots", np.int32, None)
    inner = np.flatnonzero(features >= 0)
    if features.min() < -1 or features.max() >= width:
        raise ValueError("a node uses a feature that does not exist")
    # Each step leads to a later node, so every walk ends.
    if (children[inner] <= inner[:, None]).any() or (children[inner] >= nodes).any():
        raise ValueError("a node does not precede its children")
    if roots.min() < 0 or roots.max() >= nodes:
        raise ValueError("the root of a tree is not a node")
    thresholds, values = (
        array(state, "thresholds", np.float64, nodes),
        array(state, "values", np.float64, nodes),
    )
    return Trees(features, thresholds, children, values, roots)
