"""How this program finds its modules: the first step of ``python -m factseek``, and the start of
child processes.

``python -m`` searches the current folder first for every import, so that a ``json.py`` there would
replace Python's. A child process imports the same factseek as its parent and nothing from its
current folder, which ``-P`` keeps off ``sys.path``. The folder that contains this package comes
last, so that an uninstalled checkout is found too. This module imports only what every Python has
already loaded at its start.
"""

import os
import sys

# Pathlib is not loaded.
PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120
_START = (
    "import runpy, sys; sys.path.append(sys.argv.pop(1)); "
    "runpy.run_module(sys.argv.pop(1), alter_sys=True, run_name='__main__')"
)


def command(module: str, *arguments: str) -> list[str]:
    """Return the command line that runs a module of this package, for example ``server.writer``."""
    above = os.path.dirname(PACKAGE)  # noqa: PTH120
    return [sys.executable, "-P", "-c", _START, above, f"factseek.{module}", *arguments]


def environment(**more: str) -> dict[str, str]:
    """Return this process's environment for a child, with the variables ``more`` added."""
    return {**os.environ, **more}


def leave_current_folder() -> None:
    """Remove the current folder from the front of ``sys.path``; append it at the end if this
    package is in it.
    """
    if sys.flags.safe_path or not sys.path or sys.path[0] not in ("", _current()):
        return
    sys.path.pop(0)
    above = os.path.dirname(PACKAGE)  # noqa: PTH120
    if above == _current() and above not in sys.path:
        sys.path.append(above)


def _current() -> str:
    try:
        return os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        return ""
