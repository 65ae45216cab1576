"""The process that writes one served index.

A worker starts it; it ends with the server, or after a while.
"""

from __future__ import annotations

import os
import select
import signal
import sys
from contextlib import closing, suppress
from pathlib import Path

import msgspec

from ..core.settings import convert
from ..indexer.queue import JOBS, LOCK
from ..indexer.writer import Writer
from .logs import log_to_stderr
from .settings import Config

NICE = 5  # the niceness of this process, which gives searches priority over writing


def main(folder: str, lock: str, lifeline: str) -> int:
    """Write an index and hold ``lock`` until the server closes ``lifeline``; the settings are on
    standard input.
    """
    config = convert(msgspec.json.decode(sys.stdin.buffer.read()), "the server's settings", Config)
    log_to_stderr()
    with suppress(OSError):
        os.nice(NICE)
    signals, path = list[int](), Path(folder) / JOBS / LOCK
    signal.signal(signal.SIGTERM, lambda number, _: signals.append(number))
    # Ctrl-C reaches every process of a terminal. Ignore it: the server ends and so closes the
    # lifeline.
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    def wait_for_stop(seconds: float) -> bool:
        """Wait some seconds, and return True after a signal, or if the server or index is gone."""
        gone = bool(select.select([int(lifeline)], [], [], seconds)[0])
        try:
            return bool(signals) or gone or not os.path.samestat(os.fstat(int(lock)), path.stat())
        except OSError:
            return True

    server = config.server
    with closing(
        Writer(Path(folder), config, server.write_seconds, server.keep_jobs, server.keep_job_days)
    ) as writer:
        writer.run(wait_for_stop)
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
