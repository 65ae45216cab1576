"""The first step of ``python -m factseek``, before other imports: files of the current folder are not its modules.

``python -m`` puts the current folder in front of everything that is imported, so that a ``json.py`` there would be
imported instead of Python's. This module imports nothing but what every Python has loaded when it starts.
"""

import os
import sys


def leave_current_folder() -> None:
    """Take the current folder from the front of ``sys.path``; put it last if this package lies in it.

    Does nothing where Python was told not to put it there (``-P``, ``-I``, ``PYTHONSAFEPATH``).
    """
    if sys.flags.safe_path or not sys.path or sys.path[0] not in ("", _current()):
        return
    sys.path.pop(0)
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))  # noqa: PTH100, PTH120  pathlib is not loaded
    above = os.path.dirname(package)  # noqa: PTH120
    if above == _current() and above not in sys.path:
        sys.path.append(above)


def _current() -> str:
    try:
        return os.getcwd()  # noqa: PTH109
    except FileNotFoundError:
        return ""
