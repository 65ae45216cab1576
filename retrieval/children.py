"""Child processes: the one place that says how this program starts another copy of itself.

A child imports the same factseek as its parent and nothing from the folder that it is started in, whatever the names
of the files there: ``-P`` keeps the current folder off ``sys.path``, and the folder that holds this package is
appended, so that a checkout that is not installed is found too.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

PACKAGE = Path(__file__).resolve().parent.parent
_START = (
    "import runpy, sys; sys.path.append(sys.argv.pop(1)); "
    "runpy.run_module(sys.argv.pop(1), alter_sys=True, run_name='__main__')"
)


def command(module: str, *arguments: str) -> list[str]:
    """Return the command line that runs ``module``, named below the package (``server.writing.writer``)."""
    return [sys.executable, "-P", "-c", _START, str(PACKAGE.parent), f"factseek.{module}", *arguments]


def environment(**more: str) -> dict[str, str]:
    """Return this process's environment for a child, with ``more`` in it."""
    return {**os.environ, **more}
