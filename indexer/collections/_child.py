"""Ask a separate process about a file that may crash it, or take all memory or hours."""

from __future__ import annotations

import resource
import subprocess
from pathlib import Path
from typing import TypeVar

import msgspec

from ...core.errors import SourceError
from ...core.subprocesses import command, environment

Answer = TypeVar("Answer")
MEMORY, SECONDS = 3 << 30, 120
"""The bytes of memory and the seconds of the processor that a separate process may use to read a
file.
"""
PATIENCE = 3 * SECONDS
"""The seconds on the clock after which such a process is ended; it may share a processor."""


class BadFileError(SourceError):
    """A file, or the rest of it, cannot be read; ``place`` and ``what`` are arguments for
    ``BadLines.report``.
    """

    def __init__(self, place: Path | str, reason: str) -> None:
        super().__init__(reason, place=place)


def ask_child(
    path: Path, module: str, *arguments: str, content: bytes = b"", kind: type[Answer], damaged: str
) -> Answer:
    """Ask a module of this package, in a separate process that a bad file may crash, about a file.

    The process writes a value of ``kind``, or the reason why the file cannot be read. Raises
    BadFileError if the module refuses the file or, for the reason ``damaged``, if the process
    crashes.
    """
    line = command(f"indexer.collections.{module}", *arguments)
    # Each thread of numpy's library reserves memory, which counts towards the limit of the process.
    one_thread = environment(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")
    try:
        child = subprocess.run(  # noqa: S603
            line, input=content, capture_output=True, env=one_thread, check=False, timeout=PATIENCE
        )
    except subprocess.TimeoutExpired:
        raise BadFileError(path, damaged) from None
    answer = (
        msgspec.msgpack.decode(child.stdout, type=kind | str) if child.returncode == 0 else damaged
    )
    if isinstance(answer, str):
        raise BadFileError(path, answer)
    return answer


def limit_process() -> None:
    """Limit the memory and the time of this process, which reads a file that may take all memory or
    hours.
    """
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
