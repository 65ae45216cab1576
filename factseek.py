"""The front door: the command line, which alone sees all packages."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any

import claims.cli
import claims.pipeline_cli
import claims.tuning_cli
import claims.verdict_cli
import eval.bench_cli
import eval.cli
import eval.run_cli
import eval.statements
import eval.tune_cli
import eval.verdicts
import indexer.cli
import retrieval.cli
import server.cli
from retrieval.terminal import Parser, run, write

_COMMANDS = (indexer.cli, retrieval.cli, server.cli, eval.run_cli, eval.cli, eval.tune_cli, eval.bench_cli)


def parser() -> Parser:
    """Return the parser of the command line; what a command needs is imported when it runs."""
    top = Parser(prog="factseek", description="Find the evidence for a claim.")
    top.add_argument("--version", action=_Version, help="print the version and exit")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    for module in _COMMANDS:
        module.register(commands)
    claims.cli.register(commands, eval.statements)
    claims.tuning_cli.register(commands, eval.statements)
    claims.verdict_cli.register(commands, eval.verdicts)
    claims.pipeline_cli.register(commands, eval.statements)
    return top


class _Version(argparse.Action):
    """Print the version; looking it up takes longer than most parsing, so only when it is asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str, **rest: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, **rest)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from importlib import metadata

        write(f"factseek {metadata.version('factseek')}\n")
        parser.exit()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code: 0 done, 1 the checked file is bad, 2 a user's error."""
    return run(parser(), arguments)


if __name__ == "__main__":
    sys.exit(main())
