"""``python -m indexer``: make and describe indexes."""

import sys

from indexer.cli import register
from retrieval.terminal import Parser, run

parser = Parser(prog="python -m indexer", description=__doc__)
register(parser.add_subparsers(required=True, metavar="COMMAND"))
sys.exit(run(parser))
