"""Checkpoints: what is trained so far, beside the result, until that is written."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...retrieval.errors import FactseekError, MachineError
from ...retrieval.files import disk_full, os_errors_reported, write_atomically
from ...retrieval.terminal import say
from .request import TrainingRequest

_ROOM = 64 << 20
"""Bytes that have to be free; with fewer, whatever failed to be written failed for want of room."""
_NO_ROOM = ("No space left on device", "Disk quota exceeded")
_NOT_WRITTEN = ("inline_container", "PytorchStreamWriter", "SafetensorError", "I/O error", "Parent directory")
"""What the libraries say when they could not write: they hide the error of the system."""
_LONGEST = 200
_REQUEST = "request.sha256"
_STATE = "trainer_state.json"
"""The file of a checkpoint that is written last."""


def last_checkpoint(request: TrainingRequest) -> Path | None:
    """Return the newest whole checkpoint of the same training; those of another one are removed."""
    folder = request.checkpoints
    if _is_of(folder, request):
        return max(_whole(folder), key=lambda path: int(path.name.rpartition("-")[2]), default=None)
    if folder.exists():
        if any(folder.iterdir()):
            say(f"note: {folder} held the checkpoints of another training; they were removed")
        shutil.rmtree(folder)
    folder.mkdir()
    write_atomically(folder / _REQUEST, request.digest().encode())
    return None


def forget(request: TrainingRequest) -> None:
    """Remove the checkpoints."""
    shutil.rmtree(request.checkpoints, ignore_errors=True)


@contextmanager
def kept(request: TrainingRequest) -> Iterator[None]:
    """Keep the whole checkpoints of a training that ends before its time, and nothing else of it.

    Raises MachineError if there is no room, or no right to write.
    """
    try:
        with os_errors_reported(request.target.parent), _libraries_errors_reported(request.target.parent):
            yield
    except BaseException:
        _drop_cut(request)
        raise


@contextmanager
def _libraries_errors_reported(folder: Path) -> Iterator[None]:
    """Raise MachineError for what failed to be written: each library has an error of its own for that."""
    try:
        yield
    except (FactseekError, OSError):
        raise
    except Exception as error:
        words = f"{type(error).__name__}: {error}"
        if any(sign in words for sign in _NO_ROOM) or shutil.disk_usage(folder).free < _ROOM:
            raise disk_full(folder) from None
        if any(sign in words for sign in _NOT_WRITTEN):
            line = str(error).strip().partition("\n")[0][:_LONGEST]
            raise MachineError(f"cannot be written: {line}", place=folder) from error
        raise


def _drop_cut(request: TrainingRequest) -> None:
    """Remove the checkpoints that were not written to their end, and the folder if none is left."""
    folder = request.checkpoints
    if not folder.is_dir() or (any(folder.iterdir()) and not _is_of(folder, request)):
        return
    whole = _whole(folder)
    for path in folder.glob("checkpoint-*"):
        if path not in whole:
            shutil.rmtree(path, ignore_errors=True)
    if not whole:
        forget(request)


def _is_of(folder: Path, request: TrainingRequest) -> bool:
    noted = folder / _REQUEST
    return noted.is_file() and noted.read_text("utf-8") == request.digest()


def _whole(folder: Path) -> list[Path]:
    return [path for path in folder.glob("checkpoint-*") if _is_whole(path)]


def _is_whole(checkpoint: Path) -> bool:
    try:
        json.loads((checkpoint / _STATE).read_text("utf-8"))
    except (OSError, ValueError):
        return False
    return True
