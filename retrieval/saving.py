"""Report what libraries raise when a model cannot be saved: one line for each of their own errors."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .errors import FactseekError, MachineError
from .files import disk_full, os_errors_reported

_ROOM = 64 << 20
"""Bytes that have to be free; with fewer, whatever failed to be written failed for want of room."""
_NO_ROOM = ("No space left on device", "Disk quota exceeded")
_NOT_WRITTEN = ("inline_container", "PytorchStreamWriter", "SafetensorError", "I/O error", "Parent directory")
"""What the libraries say when they could not write: they hide the error of the system."""
_LONGEST = 200


@contextmanager
def saving_reported(folder: Path) -> Iterator[None]:
    """Raise MachineError for what could not be written in ``folder``, whatever the library that writes made of it."""
    with os_errors_reported(folder), _libraries_errors_reported(folder):
        yield


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
