"""``python -m factseek``: the command line."""

import sys

from .core.entry import enter
from .core.subprocesses import leave_current_folder

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable


def main() -> int:
    """Run the command line; return its exit code."""
    return enter(_load_command)


def _load_command() -> "Callable[[], int]":
    from .commands import main as run

    return run


if __name__ == "__main__":
    leave_current_folder()
    sys.exit(main())
