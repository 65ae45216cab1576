"""The programs ``python -m factseek.PACKAGE``.

This module imports only what every Python has already loaded at its start, as :mod:`.entry` does.
"""

import sys

from .entry import enter
from .subprocesses import leave_current_folder

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn


def enter_package(package: str, about: "str | None", *registers: str) -> "NoReturn":
    """Run ``python -m factseek.PACKAGE`` and exit; each of ``registers``, MODULE:FUNCTION, adds
    commands to it.
    """
    root = __name__.removesuffix(".core.programs")

    def load() -> "Callable[[], int]":
        from functools import partial
        from importlib import import_module

        from .terminal import Parser, run

        parser = Parser(prog=f"python -m factseek.{package}", description=about)
        parser.set_defaults(config_type=import_module(f"{root}.settings").Config)
        commands = parser.add_subparsers(required=True, metavar="COMMAND")
        for register in registers:
            module, _, function = register.partition(":")
            getattr(import_module(f"{root}.{module}"), function)(commands)
        return partial(run, parser)

    leave_current_folder()
    sys.exit(enter(load))
