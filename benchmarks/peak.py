"""The peak memory of another process."""

from __future__ import annotations

import threading
from pathlib import Path


class Peak:
    """The most memory that a process has had resident, watched while it lives."""

    def __init__(self, process: int) -> None:
        self._status = Path(f"/proc/{process}/status")
        self._kilobytes = 0
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        done = threading.Event()
        while not done.wait(0.05):
            try:
                text = self._status.read_text("utf-8")
            except OSError:
                return
            kilobytes = next((line.split()[1] for line in text.splitlines() if line.startswith("VmHWM:")), "0")
            if kilobytes == "0":
                return
            self._kilobytes = int(kilobytes)

    def megabytes(self) -> float:
        """Return the peak in megabytes of 10**6 bytes, once the process has ended."""
        self._thread.join(5)
        return self._kilobytes * 1024 / 1e6
