"""Changes of single documents, which a server hands by files to the process that writes the index.

A change is ``NAME.change`` until the writer takes it (``NAME.taken``), then ``NAME.outcome`` until the asker reads it.
Each step is one renaming, so that either the asker withdraws a change or the writer takes it, never both.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Literal, NamedTuple

import msgspec

from ..retrieval.files import os_errors_reported, read_regular, temporary_beside
from .jobs import DAMAGED, JOBS, made_folder, new_id

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
        """Whether to make it twice may end otherwise than to make it once."""
        return bool(self.states) or self.absent


class _Submitted(msgspec.Struct, frozen=True, kw_only=True):
    """A change and when it was submitted: so many ``seconds`` after the machine started, whatever its clock says."""

    change: Change
    boot: str
    seconds: float


class ChangeOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """The outcome of a change.

    ``conflict``: the document is not in the state that was asked for; ``unsure``: a writer was killed at it;
    ``failed``: ``error`` says why.
    """

    result: Result
    error: str = ""


class Taken(NamedTuple):
    """A change that the writer has taken; ``again`` says that another writer had taken it before."""

    name: str
    change: Change
    again: bool = False


def submit(folder: Path, change: Change) -> str:
    """Submit a change to the writer of the index in ``folder``; return the name that it is answered under.

    Raises IndexStateError if there is no index any more, MachineError if it cannot be written.
    """
    place = made_folder(folder)
    with os_errors_reported(place):
        name = new_id(place)
        submitted = _Submitted(change=change, boot=_boot_id(), seconds=time.monotonic())
        _write(place / f"{name}{_WAITS}", msgspec.json.encode(submitted))
    return name


def outcome(folder: Path, name: str) -> ChangeOutcome | None:
    """Return the outcome of a change, once; None while it waits."""
    path = folder / JOBS / f"{name}{_OUTCOME}"
    try:
        content = read_regular(path)
    except OSError:
        return None
    path.unlink(missing_ok=True)
    return msgspec.json.decode(content, type=ChangeOutcome)


def withdraw(folder: Path, name: str) -> bool:
    """Take a change back; return False if the writer has taken it."""
    try:
        (folder / JOBS / f"{name}{_WAITS}").unlink()
    except OSError:
        return not (folder / JOBS).is_dir()
    return True


def any_waiting(folder: Path) -> bool:
    """Return whether a change waits, or was taken by a writer that died."""
    return any(_named(folder, _WAITS)) or any(_named(folder, _TAKEN))


def take_waiting(folder: Path, most: int, patience: float) -> list[Taken]:
    """Take and return the changes that wait, in the order in which they came: at most ``most``, and one a document.

    One for which nobody waits any more, after ``patience`` seconds, is dropped: its document may have changed since.
    """
    changes: dict[str, Taken] = {}
    for path in sorted([*_named(folder, _WAITS), *_named(folder, _TAKEN)]):
        change = _waited_for(path, patience)
        if change is None:
            continue
        if change.docid in changes or len(changes) == most:
            break  # what comes after it may be about the same document: the order is kept
        try:
            path.rename(path.with_suffix(_TAKEN))
        except FileNotFoundError:
            continue  # it was withdrawn
        changes[change.docid] = Taken(path.stem, change, path.suffix == _TAKEN)
    return list(changes.values())


def _waited_for(path: Path, patience: float) -> Change | None:
    """Return a change; None if it was withdrawn, is too old and dropped, or was damaged by a power cut."""
    try:
        submitted = msgspec.json.decode(read_regular(path), type=_Submitted)
        if submitted.boot == _boot_id() and 0 <= time.monotonic() - submitted.seconds <= patience:
            return submitted.change
        _log.warning("a change was dropped: nobody waits for it any more")
    except FileNotFoundError:
        return None
    except DAMAGED:
        _log.warning("a change was dropped: it cannot be read")
    path.unlink(missing_ok=True)
    return None


def answer(folder: Path, name: str, result: ChangeOutcome) -> None:
    """Leave the outcome of a taken change for whoever asked for the change."""
    place = folder / JOBS
    _write(place / f"{name}{_OUTCOME}", msgspec.json.encode(result))
    (place / f"{name}{_TAKEN}").unlink(missing_ok=True)


@cache
def _boot_id() -> str:
    """Return an id of this start of the machine, as far as it has one: nobody waits across a restart."""
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
    except OSError:
        return ""


def _named(folder: Path, suffix: str) -> Iterator[Path]:
    return (folder / JOBS).glob(f"*{suffix}")


def _write(path: Path, content: bytes) -> None:
    """Write a file in one step. It need not outlive a power cut: who waits for it would not either."""
    temporary = temporary_beside(path)
    try:
        temporary.write_bytes(content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
