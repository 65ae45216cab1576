"""The end of a server that a test has started: bounded, with its workers, and with what they left in memory."""

import os
import shutil
import signal
import subprocess
from contextlib import suppress
from pathlib import Path

AT_ONCE = 29.0
"""Seconds in which a server stops that has nothing to wait for: after 30 its master would kill what does not hear."""


def end(process: subprocess.Popen[bytes]) -> None:
    """Stop a server that leads a session of its own: as a supervisor does, and by force if that is not enough."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(AT_ONCE)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    for folder in counted(process.pid):
        shutil.rmtree(folder, ignore_errors=True)


def counted(master: int) -> list[Path]:
    roots = [Path("/dev/shm"), Path("/tmp")]
    return [path for root in roots if root.is_dir() for path in root.glob(f"factseek-metrics-{master}-*")]
