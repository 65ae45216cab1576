"""Serve indexes over HTTP with ``python -m factseek.server``."""

import sys

from ..retrieval.entry import enter
from ..retrieval.subprocesses import leave_current_folder

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable


def _load_command() -> "Callable[[], int]":
    from ..retrieval.terminal import program
    from ..settings import Config
    from .cli import register

    return program("server", __doc__, Config, [register])


if __name__ == "__main__":
    leave_current_folder()
    sys.exit(enter(_load_command))
