"""``python -m indexer``: make and describe indexes."""

import argparse
import sys

from indexer.cli import register
from retrieval.terminal import run

parser = argparse.ArgumentParser(prog="python -m indexer", description=__doc__)
register(parser.add_subparsers(required=True, metavar="COMMAND"))
sys.exit(run(parser))
