"""Evaluate retrieval with ``python -m factseek.eval``: run, check, score, compare, tune and bench."""

import sys

from ..retrieval.entry import enter
from ..retrieval.subprocesses import leave_current_folder

TYPE_CHECKING = False

if TYPE_CHECKING:
    from collections.abc import Callable


def _load_command() -> "Callable[[], int]":
    from ..retrieval.terminal import program
    from ..settings import Config
    from .bench import bench
    from .learn import cli as learn_cli
    from .run import judge, run

    return program("eval", __doc__, Config, [run.register, judge.register, learn_cli.register_tune, bench.register])


if __name__ == "__main__":
    leave_current_folder()
    sys.exit(enter(_load_command))
