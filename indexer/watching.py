"""Watch a folder: index its files as they appear, and read them again when they change."""

from __future__ import annotations

import os
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from typing import NamedTuple

from ..core.errors import SourceError, UserError
from ..retrieval.store.manifest import NAME, check_whole, read
from .build import BuildReport, BuildRequest, Verb, build, check_fit
from .collections import reader
from .collections._files import FOLDER_OUTSIDE, NOT_REGULAR, OUTSIDE, leads_outside
from .collections._unread import is_lock
from .settings import Config

UNFINISHED = (".tmp", ".part", ".partial", ".crdownload", ".swp", "~")
LOOK_SECONDS = 0.5
RETRY_SECONDS = 5.0
Stamp = tuple[int, int, int]
"""The time of a file's modification, its size and its inode.

If one of them differs, the file has changed.
"""


class WatchOutcome(NamedTuple):
    """The result of a batch of files: the report of its build, or the reason why nothing was
    built.
    """

    files: tuple[Path, ...]
    report: BuildReport | None
    error: str = ""


class Watch:
    """Reads files that are new or have changed; remembers the state in which it read each file."""

    def __init__(
        self,
        request: BuildRequest,
        config: Config,
        pattern: str = "*",
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Watch the only source of ``request``, a folder, for files whose names match
        ``pattern``.
        """
        self._request, self._folder, self._pattern = request, request.sources[0], pattern
        self._config = config
        self._clock = clock
        self._read: dict[Path, Stamp] = {}
        self._waiting: dict[Path, tuple[Stamp, float]] = {}
        self._not_before = 0.0
        self._whole = getattr(reader(request.kind), "WHOLE_FOLDER", False)
        self._irregular: set[Path] = set()
        self._notes: list[WatchOutcome] = []

    def look(self, paths: Sequence[Path] | None = None) -> None:
        """Record which files have appeared or changed, among ``paths`` or in the whole folder."""
        now = self._clock()
        for path in [*self._files(), *self._read] if paths is None else paths:
            if path in self._read and not os.path.lexists(path):
                del self._read[path]
                what, remedy = (
                    "no longer exists; its documents stay in the index",
                    "remove them with factseek delete",
                )
                self._note(path, what, remedy)
            stamp = self._stamp(path)
            if stamp is None or self._read.get(path) == stamp:
                self._waiting.pop(path, None)
            elif leads_outside(path, self._folder):
                self._waiting.pop(path, None)
                self._note_once(path, f"is a {OUTSIDE}; it is left out")
            elif path not in self._waiting or self._waiting[path][0] != stamp:
                self._waiting[path] = stamp, now

    def batches(self, stopped: Callable[[], bool] = lambda: False) -> Iterator[WatchOutcome]:
        """Read the files that no longer change, batch by batch, until ``stopped`` returns true;
        yield the results.
        """
        notes, self._notes = self._notes, []
        yield from notes
        self.look(list(self._waiting))
        if self._clock() < self._not_before:
            return
        latest = self._clock() - self._config.watch.settle_seconds
        ready = sorted(path for path, (_, since) in self._waiting.items() if since <= latest)
        size = max(len(ready), 1) if self._whole else self._config.watch.batch_files
        for start in range(0, len(ready), size):
            if stopped():
                return
            yield from self._batch(ready[start : start + size])

    def _batch(self, files: list[Path]) -> Iterator[WatchOutcome]:
        stamps = {path: self._waiting[path][0] for path in files}
        sources = (self._folder,) if self._whole else tuple(files)
        verb: Verb = "update" if (self._request.folder / NAME).is_file() else ""
        try:
            outcome = WatchOutcome(
                tuple(files),
                build(replace(self._request, sources=sources, verb=verb), self._config),
            )
        except SourceError as error:
            if len(sources) > 1:  # read the files one by one, to find the faulty one
                for path in files:
                    yield from self._batch([path])
                return
            outcome = WatchOutcome(tuple(files), None, error.line)
        except UserError as error:  # the files are not at fault, so they are tried again
            self._not_before = self._clock() + RETRY_SECONDS
            yield WatchOutcome(tuple(files), None, error.line)
            return
        self._read |= stamps
        for path in files:
            self._waiting.pop(path, None)
        yield outcome

    def _files(self) -> Iterator[Path]:
        for parent, folders, names in os.walk(self._folder):
            folders[:] = sorted(name for name in folders if not name.startswith("."))
            for path in (Path(parent, name) for name in folders):
                if path.is_symlink() and leads_outside(path, self._folder):
                    self._note_once(path, f"is a {FOLDER_OUTSIDE}; it is left out")
            yield from (Path(parent, name) for name in sorted(names))

    def _note(self, path: Path, what: str, remedy: str = "") -> None:
        self._notes.append(
            WatchOutcome((path,), None, SourceError(what, place=path, remedy=remedy).line)
        )

    def _note_once(self, path: Path, what: str) -> None:
        if path not in self._irregular:
            self._irregular.add(path)
            self._note(path, what)

    def _stamp(self, path: Path) -> Stamp | None:
        is_hidden = any(part.startswith(".") for part in path.relative_to(self._folder).parts)
        if is_hidden or is_lock(path.name) or path.name.endswith(UNFINISHED):
            return None
        if not fnmatch(path.name, self._pattern):
            return None
        try:
            status = path.stat()
        except OSError:
            status = None
        if not (status and stat.S_IFMT(status.st_mode) in (stat.S_IFREG, stat.S_IFDIR)):
            if os.path.lexists(path):
                self._note_once(path, f"is {NOT_REGULAR}; it is left out")
            return None
        is_filled = stat.S_ISREG(status.st_mode) and status.st_size > 0
        return (status.st_mtime_ns, status.st_size, status.st_ino) if is_filled else None


def check(request: BuildRequest, config: Config) -> None:
    """Raise SourceError if the folder or the kind does not exist, or if the index lies in the
    folder.

    Raises IndexStateError if the index exists, and is in shards or does not fit the request.
    """
    folder, index = request.sources[0], request.folder
    reader(request.kind)
    if not folder.is_dir():
        raise SourceError("there is no such folder to watch", place=folder)
    if Path(os.path.realpath(index)).is_relative_to(os.path.realpath(folder)):
        raise SourceError(
            f"lies in the watched folder {folder}; put the index somewhere else", place=index
        )
    check_index(request, config)


def check_index(request: BuildRequest, config: Config) -> None:
    """Raise IndexStateError if the index exists, and is in shards or does not fit the request."""
    check_whole(request.folder)
    if (request.folder / NAME).is_file():
        check_fit(request, config, read(request.folder))


def watch(
    request: BuildRequest,
    config: Config,
    stop: threading.Event,
    pattern: str = "*",
    beside: Callable[[], object] = lambda: None,
) -> Iterator[WatchOutcome]:
    """Read the files of the folder, then new ones, until ``stop`` is set; yield the result of each
    batch.

    ``beside`` is called several times a minute.
    """
    from watchfiles import watch as changes

    (folder,) = request.sources
    watch = Watch(request, config, pattern)
    # Events name this path, even if the folder was given by another name.
    root = Path(os.path.realpath(folder))
    rounds = changes(
        root,
        watch_filter=None,
        stop_event=stop,
        rust_timeout=int(LOOK_SECONDS * 1000),
        yield_on_timeout=True,
        raise_interrupt=False,
    )
    watch.look()
    looked = time.monotonic()
    for events in rounds:
        changed = (Path(path) for _, path in events)
        watch.look([folder / path.relative_to(root) for path in changed if path != root])
        if time.monotonic() - looked >= config.watch.rescan_seconds:
            watch.look()
            looked = time.monotonic()
        yield from watch.batches(stop.is_set)
        beside()
