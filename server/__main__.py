"""``python -m factseek.server``: serve indexes over HTTP."""

import sys

from ..retrieval.safe_path import leave_current_folder

if __name__ == "__main__":
    leave_current_folder()
    from ..retrieval.terminal import Parser, run
    from .cli import register

    parser = Parser(prog="python -m factseek.server", description=__doc__)
    register(parser.add_subparsers(required=True, metavar="COMMAND"))
    sys.exit(run(parser))
