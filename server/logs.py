"""The log: a line of JSON an event on standard error, and no query in it unless the configuration wants them there."""

from __future__ import annotations

import logging
import sys
from datetime import UTC, datetime
from typing import Any

import msgspec


class JsonLines(logging.Formatter):
    """Writes a record as one line of JSON; what a record carries as ``fields`` stands beside its message."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "process": record.process,
            "message": record.getMessage(),
            **getattr(record, "fields", {}),
        }
        if record.exc_info:
            line["trace"] = self.formatException(record.exc_info)
        return msgspec.json.encode(line, enc_hook=str).decode()


def log_to_stderr() -> None:
    """Send what factseek logs to standard error.

    What no line shows is not looked up for it: the caller's place in the source, its thread and its task.
    """
    logging._srcfile = None  # as Python's own guide to logging shows it
    logging.logThreads = logging.logMultiprocessing = False
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonLines())
    log = logging.getLogger("factseek")
    log.handlers[:] = [handler]
    log.setLevel(logging.INFO)
    log.propagate = False
