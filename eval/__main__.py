"""``python -m eval``: check, score and compare."""

import argparse
import sys

from eval.cli import register
from retrieval.terminal import run

parser = argparse.ArgumentParser(prog="python -m eval", description=__doc__)
register(parser.add_subparsers(required=True, metavar="COMMAND"))
sys.exit(run(parser))
