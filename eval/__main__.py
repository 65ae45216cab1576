"""``python -m eval``: run, check, score and compare."""

import sys

from eval import cli, run_cli
from retrieval.terminal import Parser, run

parser = Parser(prog="python -m eval", description=__doc__)
commands = parser.add_subparsers(required=True, metavar="COMMAND")
for module in (run_cli, cli):
    module.register(commands)
sys.exit(run(parser))
