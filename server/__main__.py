"""``python -m server``: serve indexes over HTTP."""

import argparse
import sys

from retrieval.terminal import run
from server.cli import register

parser = argparse.ArgumentParser(prog="python -m server", description=__doc__)
register(parser.add_subparsers(required=True, metavar="COMMAND"))
sys.exit(run(parser))
