"""Totals of requests and answers over all workers, for Prometheus."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate
from mmap import mmap
from struct import Struct

import msgspec

from .memory import SharedMemory

_SLOTS, _LONGEST = 2_048, 254  # the most combinations of labels, and bytes of one
_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
# Name and labels as JSON, the sum, the number of amounts up to each bound.
_SLOT = Struct(f"<255p{2 + len(_BOUNDS)}d")
_METRICS = {
    "requests_total": ("Answers.", "method", "route", "status"),
    "errors_total": ("Answers of status 400 and above.", "route", "status"),
    "writes_total": ("Documents put and deleted.", "index", "result"),
    "refused_total": ("Requests refused because the server was full.", "status"),
    "request_seconds": ("Time from request to answer.", "route"),
    "stage_seconds": ("Time of each stage of a search or ranking.", "retriever", "route", "stage"),
}
"""What each metric says, and its labels in alphabetical order; totals are counters, times are
histograms.
"""


class Counts:
    """The counts of all workers.

    Create it before the workers fork. Safe for threads and processes.
    """

    def __init__(self) -> None:
        self._shared = SharedMemory(_SLOTS * _SLOT.size)
        self._places: dict[bytes, int] = {}

    def add(self, *amounts: tuple[Sequence[object], float]) -> None:
        """Add amounts, each to the metric whose name and label values it has; without room, some
        are not counted.
        """
        with self._shared.lock() as memory:
            for labels, amount in amounts:
                key = msgspec.json.encode(labels)
                if key not in self._places:
                    self._find_slots(memory, key)
                if (place := self._places.get(key)) is None:
                    continue
                _, total, *times = _SLOT.unpack_from(memory, place)
                times[bisect_left(_BOUNDS, amount)] += 1
                _SLOT.pack_into(memory, place, key, total + amount, *times)

    def _find_slots(self, memory: mmap, key: bytes = b"") -> None:
        """Find the slots that other workers took and, if none of them is for ``key``, take one."""
        for place in range(len(self._places) * _SLOT.size, len(memory), _SLOT.size):
            if taken := _SLOT.unpack_from(memory, place)[0]:
                self._places[taken] = place
                continue
            if key and key not in self._places and len(key) <= _LONGEST:
                self._places[key] = place
            return

    def lines(self) -> list[str]:
        """Return all metrics in Prometheus' text format."""
        with self._shared.lock() as memory:
            self._find_slots(memory)
            slots = [_SLOT.unpack_from(memory, place) for place in self._places.values()]
        rows = [(*msgspec.json.decode(key), total, times) for key, total, *times in slots]
        lines = []
        for metric, (says, *labels) in _METRICS.items():
            name, is_counter = f"factseek_{metric}", metric.endswith("_total")
            lines += [
                f"# HELP {name} {says}",
                f"# TYPE {name} {'counter' if is_counter else 'histogram'}",
            ]
            for _, *values, total, times in (row for row in rows if row[0] == metric):
                pairs = ",".join(
                    f'{label}="{value}"' for label, value in zip(labels, values, strict=True)
                )
                if is_counter:
                    lines.append(f"{name}{{{pairs}}} {total}")
                    continue
                bounds = zip([*_BOUNDS, "+Inf"], accumulate(times), strict=True)
                lines += [
                    f'{name}_bucket{{le="{bound}",{pairs}}} {count}' for bound, count in bounds
                ]
                lines += [f"{name}_count{{{pairs}}} {sum(times)}", f"{name}_sum{{{pairs}}} {total}"]
        return lines
