"""``python -m eval``: run, check, score, compare, tune and bench."""

import sys

from eval import bench_cli, cli, run_cli, tune_cli
from retrieval.terminal import Parser, run

parser = Parser(prog="python -m eval", description=__doc__)
commands = parser.add_subparsers(required=True, metavar="COMMAND")
for module in (run_cli, cli, tune_cli, bench_cli):
    module.register(commands)
sys.exit(run(parser))
