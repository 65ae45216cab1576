"""The machine that measurements ran on."""

from __future__ import annotations

import os
import platform
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class Machine:
    """A machine; ``cores`` is the number that this process may use, ``memory_gb`` is 0 if it is
    unknown.
    """

    processor: str
    cores: int
    memory_gb: float
    system: str
    python: str

    def __str__(self) -> str:
        memory = f", {self.memory_gb:.0f} GB" if self.memory_gb else ""
        cores = "1 core" if self.cores == 1 else f"{self.cores} cores"
        return f"{cores} of {self.processor}{memory}, {self.system}, Python {self.python}"


def this_machine() -> Machine:
    """Return the description of this machine."""
    return Machine(
        processor=_value(Path("/proc/cpuinfo"), "model name")
        or platform.processor()
        or platform.machine(),
        cores=len(os.sched_getaffinity(0)),
        memory_gb=round(_kilobytes(Path("/proc/meminfo"), "MemTotal") / 2**20, 1),
        system=platform.system(),
        python=platform.python_version(),
    )


def peak_megabytes() -> float:
    """Return the peak resident memory of this process, in MB (one million bytes)."""
    # Do not use getrusage: it gives a new process the peak of the process that started it.
    return _kilobytes(Path("/proc/self/status"), "VmHWM") * 1024 / 1e6


def _kilobytes(path: Path, name: str) -> int:
    return int((_value(path, name) or "0").split()[0])


def _value(path: Path, name: str) -> str:
    try:
        with path.open(encoding="utf-8") as lines:
            return next(
                (line.partition(":")[2].strip() for line in lines if line.startswith(name)), ""
            )
    except OSError:
        return ""
