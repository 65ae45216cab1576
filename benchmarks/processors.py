"""Processes of this machine: the processor time that they take, and the processors that they may run on."""

from __future__ import annotations

import os
import threading
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
LOOK_EVERY = 0.5


def descendants(process: int) -> list[int]:
    """Return the processes that a process has started, and those that these have started."""
    children: dict[int, list[int]] = defaultdict(list)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and (fields := _fields(int(entry.name))):
            children[int(fields[1])].append(int(entry.name))
    started = list(children[process])
    for child in started:
        started += children[child]
    return started


def title(process: int) -> str:
    """Return how a process calls itself, empty if it is gone."""
    with suppress(OSError):
        return Path(f"/proc/{process}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    return ""


def processor_seconds(process: int) -> float:
    """Return the processor seconds that a process has taken, 0 if it is gone."""
    fields = _fields(process)
    return (int(fields[11]) + int(fields[12])) / TICKS if fields else 0.0


def busy_seconds(processors: Iterable[int]) -> float:
    """Return the seconds that processors have not been idle since the machine was started, for whomever they worked."""
    names, busy = {f"cpu{number}" for number in processors}, 0
    for line in Path("/proc/stat").read_text().splitlines():
        name, *ticks = line.split()
        if name in names:
            user, nice, system, _idle, _waiting, *interrupts_and_stolen = map(int, ticks[:8])
            busy += user + nice + system + sum(interrupts_and_stolen)
    return busy / TICKS


def pin(process: int, processors: set[int]) -> None:
    """Let all threads of a process, and those that they start, run on these processors alone."""
    with suppress(OSError):
        for thread in Path(f"/proc/{process}/task").iterdir():
            with suppress(OSError):
                os.sched_setaffinity(int(thread.name), processors)


class ProcessorTimes:
    """The processor time of this process and its descendants while it lasts, by the name of a group.

    Processes that end meanwhile count as far as they were seen.
    """

    def __init__(self, group_of: Callable[[int], str]) -> None:
        """Watch; ``group_of`` names the group of a process, which is asked for as long as that has a title."""
        self._group_of = group_of
        self._before = {each: processor_seconds(each) for each in _family()}
        self._seen: dict[int, tuple[str, float]] = {}

    def look(self) -> None:
        """Take note of what every process has taken by now."""
        for each in _family():
            seconds, named = processor_seconds(each), bool(title(each))
            # A process without a title has ended, and nobody has waited for it yet.
            group = self._group_of(each) if named else self._seen.get(each, ("", 0.0))[0]
            if seconds and group:
                self._seen[each] = group, seconds - self._before.get(each, 0.0)

    @property
    def by_group(self) -> dict[str, float]:
        """The processor seconds of each group."""
        times: dict[str, float] = defaultdict(float)
        for group, seconds in self._seen.values():
            times[group] += seconds
        return times


@contextmanager
def watched(group_of: Callable[[int], str]) -> Iterator[ProcessorTimes]:
    """Watch the processor time of this process and its descendants, by group, until the end of the block."""
    times, ended = ProcessorTimes(group_of), threading.Event()

    def watch() -> None:
        while not ended.wait(LOOK_EVERY):
            times.look()

    watching = threading.Thread(target=watch, daemon=True)
    watching.start()
    try:
        yield times
    finally:
        ended.set()
        watching.join()
        times.look()


def _family() -> list[int]:
    return [os.getpid(), *descendants(os.getpid())]


def _fields(process: int) -> list[str]:
    """Return the fields of a process's state that come after its name, none if it is gone."""
    with suppress(OSError):
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return []
