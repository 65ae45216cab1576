"""Stop a command of its own process: by Ctrl-C at a moment, or by a limit to the size of its files."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

LONGEST = 200


def stopped(
    arguments: Sequence[object], *, when: Callable[[], bool] | None = None, largest: int | None = None
) -> tuple[int, str, str]:
    """Run a command; send SIGINT when something holds, or let no file grow beyond so many bytes."""

    def before() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if largest is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))

    program = str(Path(sys.executable).with_name("factseek"))
    process = subprocess.Popen(
        [program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=before,  # noqa: PLW1509  no threads here
    )
    ends = time.monotonic() + LONGEST
    while when is not None and process.poll() is None and time.monotonic() < ends:
        if when():
            process.send_signal(signal.SIGINT)
            break
        time.sleep(0.001)
    out, err = process.communicate(timeout=LONGEST)
    return process.returncode, out, err
