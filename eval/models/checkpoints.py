"""Checkpoints: what is trained so far, beside the result, until that is written."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ...retrieval.files import write_atomically
from ...retrieval.saving import saving_reported
from ...retrieval.terminal import say
from .request import TrainingRequest

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
        with saving_reported(request.target.parent):
            yield
    except BaseException:
        _drop_cut(request)
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
