"""``python -m server``: serve indexes over HTTP."""

import sys

from retrieval.terminal import Parser, run
from server.cli import register

parser = Parser(prog="python -m server", description=__doc__)
register(parser.add_subparsers(required=True, metavar="COMMAND"))
sys.exit(run(parser))
