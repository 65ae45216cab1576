"""The front door: the command line, which alone sees all packages."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from importlib import metadata

import eval.bench_cli
import eval.cli
import eval.run_cli
import eval.tune_cli
import indexer.cli
import retrieval.cli
import server.cli
from retrieval.terminal import Parser, run

_COMMANDS = (indexer.cli, retrieval.cli, server.cli, eval.run_cli, eval.cli, eval.tune_cli, eval.bench_cli)


def parser() -> Parser:
    """Return the parser of the command line; what a command needs is imported when it runs."""
    top = Parser(prog="factseek", description="Find the evidence for a claim.")
    top.add_argument("--version", action="version", version=f"factseek {metadata.version('factseek')}")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    for module in _COMMANDS:
        module.register(commands)
    return top


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code: 0 done, 1 the checked file is bad, 2 a user's error."""
    return run(parser(), arguments)


if __name__ == "__main__":
    sys.exit(main())
