"""The end of a server that a test has started: bounded, and with its workers."""

import os
import signal
import subprocess
from contextlib import suppress

AT_ONCE = 29.0
"""Seconds in which a server stops that has nothing to wait for: after 30 its master would kill what
does not hear.
"""


def end(process: subprocess.Popen[bytes]) -> None:
    """Stop a server that leads a session of its own: as a supervisor does, and by force if that is
    not enough.
    """
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            process.wait(AT_ONCE)
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
