"""A trained ranker in one file: arrays as safetensors, all else as JSON in its header, no pickle.

The header says what the ranker is and what it learned from, and holds a checksum of everything. The same ranker gives
the same bytes.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from claims.rankers import State
from retrieval.errors import SourceError
from retrieval.files import write_atomically

LAYOUT = 1
"""The version of what is in the file; a reader of another one refuses it."""

_KEY = "factseek"
_AGAIN = "train it again"


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """A training file: its name, its checksum and what was in it."""

    name: str
    sha256: str
    statements: int
    positives: int


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What a ranker is and where it comes from.

    ``languages`` are those it learned from; empty is any. ``figures`` are cross-validated on the training files.
    """

    task: str
    model: str
    languages: tuple[str, ...]
    sources: tuple[Source, ...]
    settings: dict[str, Any]
    versions: dict[str, str]
    figures: dict[str, Any] = {}


class _Header(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    layout: int
    manifest: Manifest
    state: dict[str, Any]
    checksum: str


class _Layout(msgspec.Struct, frozen=True):
    layout: int


def save(path: Path, manifest: Manifest, state: State) -> None:
    """Write a ranker.

    Raises MachineError if there is no room or no right to write.
    """
    from safetensors.numpy import save as packed

    tensors = {name: np.ascontiguousarray(array) for name, array in state.tensors.items()}
    header = _Header(
        layout=LAYOUT,
        manifest=manifest,
        state=state.settings,
        checksum=_checksum(manifest, state.settings, tensors),
    )
    encoded = msgspec.json.encode(header, order="deterministic").decode()
    write_atomically(path, packed(tensors, metadata={_KEY: encoded}))


def load(path: Path) -> tuple[Manifest, State]:
    """Read a ranker.

    Raises SourceError if the file is no ranker, of another layout, or not what was written.
    """
    raw, tensors = _read(path)
    try:
        layout = msgspec.json.decode(raw, type=_Layout).layout
    except msgspec.DecodeError:
        raise SourceError(f"{path}: was changed after it was written: its header is damaged; {_AGAIN}") from None
    if layout != LAYOUT:
        raise SourceError(f"{path}: is a model of layout {layout}, this factseek reads layout {LAYOUT}; {_AGAIN}")
    try:
        header = msgspec.json.decode(raw, type=_Header)
    except msgspec.DecodeError:
        raise SourceError(f"{path}: was changed after it was written: its header is damaged; {_AGAIN}") from None
    if header.checksum != _checksum(header.manifest, header.state, tensors):
        raise SourceError(f"{path}: was changed after it was written: its checksum does not agree; {_AGAIN}")
    return header.manifest, State(header.state, tensors)


def _read(path: Path) -> tuple[str, dict[str, NDArray[Any]]]:
    from safetensors import SafetensorError, safe_open

    if not path.is_file():
        raise SourceError(f"{path}: there is no such model file; write one with --save")
    try:
        with safe_open(path, framework="numpy") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in sorted(file.keys())}
    except SafetensorError:
        raise SourceError(f"{path}: is not a model of factseek's, or not whole; {_AGAIN}") from None
    if _KEY not in metadata:
        raise SourceError(f"{path}: is not a model of factseek's; write one with --save")
    return metadata[_KEY], tensors


def _checksum(manifest: Manifest, settings: Mapping[str, Any], tensors: Mapping[str, NDArray[Any]]) -> str:
    found = hashlib.sha256(msgspec.json.encode((manifest, settings), order="deterministic"))
    for name in sorted(tensors):
        array = tensors[name]
        found.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
        found.update(np.ascontiguousarray(array).tobytes())
    return found.hexdigest()
