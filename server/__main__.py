"""``python -m factseek.server``: serve indexes over HTTP."""

import sys

from ..retrieval.entry import enter
from ..retrieval.safe_path import leave_current_folder

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable


def _loaded() -> "Callable[[], int]":
    from functools import partial

    from ..retrieval.terminal import Parser, run
    from ..settings import Config
    from .cli import register

    parser = Parser(prog="python -m factseek.server", description=__doc__)
    parser.set_defaults(config_type=Config)
    register(parser.add_subparsers(required=True, metavar="COMMAND"))
    return partial(run, parser)


if __name__ == "__main__":
    leave_current_folder()
    sys.exit(enter(_loaded))
