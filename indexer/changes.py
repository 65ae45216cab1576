"""Changes of one document, handed by files from whoever was asked for them to the process that writes the index.

A change is ``NAME.change`` until the writer takes it (``NAME.taken``), then ``NAME.outcome`` until the asker reads it.
Each step is one renaming, so that either the asker withdraws a change or the writer takes it, never both.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from ..retrieval.files import os_errors_reported
from .jobs import JOBS, made, new_id

Result = Literal["created", "replaced", "unchanged", "deleted", "absent", "conflict", "unsure", "failed"]
_WAITS, _TAKEN, _OUTCOME = ".change", ".taken", ".outcome"
_log = logging.getLogger("factseek.writer")


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A document to put (``line``, as it is exported, with its ``checksum``) or, without one, to delete.

    ``states`` are those of which the document must have one now (``*``: any), none: whatever it has; ``absent`` says
    that it must not be there.
    """

    docid: str
    line: str = ""
    checksum: str = ""
    states: tuple[str, ...] = ()
    absent: bool = False

    @property
    def conditional(self) -> bool:
        """Whether making it twice may come out otherwise than making it once."""
        return bool(self.states) or self.absent


class _Left(msgspec.Struct, frozen=True, kw_only=True):
    """A change and when it was left: so many ``seconds`` after the machine was started, whatever its clock says."""

    change: Change
    boot: str
    seconds: float


class ChangeOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a change.

    ``conflict``: the document is not in the state that was asked for; ``unsure``: a writer was killed at it;
    ``failed``: ``error`` says why.
    """

    result: Result
    error: str = ""


class Taken(NamedTuple):
    """A change that the writer is at; ``again`` if another writer was before it."""

    name: str
    change: Change
    again: bool = False


def leave(folder: Path, change: Change) -> str:
    """Leave a change for the writer of the index in ``folder``; return the name that it is answered under.

    Raises IndexStateError if there is no index any more, MachineError if it cannot be written.
    """
    place = made(folder)
    with os_errors_reported(place):
        name = new_id(place)
        left_at = _Left(change=change, boot=_boot(), seconds=time.monotonic())
        _write(place / f"{name}{_WAITS}", msgspec.json.encode(left_at))
    return name


def outcome(folder: Path, name: str) -> ChangeOutcome | None:
    """Return what became of a change, once; None while nothing has."""
    path = folder / JOBS / f"{name}{_OUTCOME}"
    try:
        content = path.read_bytes()
    except OSError:
        return None
    path.unlink(missing_ok=True)
    return msgspec.json.decode(content, type=ChangeOutcome)


def withdraw(folder: Path, name: str) -> bool:
    """Take a change back; say no if the writer has taken it."""
    try:
        (folder / JOBS / f"{name}{_WAITS}").unlink()
    except OSError:
        return not (folder / JOBS).is_dir()
    return True


def left(folder: Path) -> bool:
    """Say whether a change waits, or was left by a writer that died."""
    return any(_named(folder, _WAITS)) or any(_named(folder, _TAKEN))


def taken(folder: Path, most: int, patience: float) -> list[Taken]:
    """Take the changes that wait, in the order in which they came, at most so many and one a document.

    One for which nobody waits any more, after ``patience`` seconds, is dropped: its document may have changed since.
    """
    found: dict[str, Taken] = {}
    for path in sorted([*_named(folder, _WAITS), *_named(folder, _TAKEN)]):
        change = _waited_for(path, patience)
        if change is None:
            continue
        if change.docid in found or len(found) == most:
            break  # what comes after it may be about the same document: the order is kept
        try:
            path.rename(path.with_suffix(_TAKEN))
        except FileNotFoundError:
            continue  # it was withdrawn
        found[change.docid] = Taken(path.stem, change, path.suffix == _TAKEN)
    return list(found.values())


def _waited_for(path: Path, patience: float) -> Change | None:
    """Return a change; None if it was withdrawn, or is dropped because it is too old, or damaged by a power cut."""
    try:
        left_at = msgspec.json.decode(path.read_bytes(), type=_Left)
        if left_at.boot == _boot() and 0 <= time.monotonic() - left_at.seconds <= patience:
            return left_at.change
        _log.warning("a change was dropped: nobody waits for it any more")
    except FileNotFoundError:
        return None
    except msgspec.DecodeError:
        _log.warning("a change was dropped: it cannot be read")
    path.unlink(missing_ok=True)
    return None


def answer(folder: Path, name: str, result: ChangeOutcome) -> None:
    """Tell whoever asked what became of a change that was taken."""
    place = folder / JOBS
    _write(place / f"{name}{_OUTCOME}", msgspec.json.encode(result))
    (place / f"{name}{_TAKEN}").unlink(missing_ok=True)


@cache
def _boot() -> str:
    """Return what tells this start of the machine from others, as far as it says: no asker outlives one."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""


def _named(folder: Path, suffix: str) -> Iterator[Path]:
    return (folder / JOBS).glob(f"*{suffix}")


def _write(path: Path, content: bytes) -> None:
    """Write a file in one step. It need not outlive a power cut: who waits for it would not either."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
