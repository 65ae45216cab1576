"""The terminal: the one place that turns an error into an exit code, and the options that commands share."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeAlias

from retrieval.config import Config, load
from retrieval.errors import CheckFailed, FactseekError

DONE, BAD_FILE, USER_ERROR, INTERRUPTED = 0, 1, 2, 130

Subparsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
Command = Callable[[argparse.Namespace], int]


def write(text: str) -> None:
    """Write results to standard output."""
    sys.stdout.write(text)


def say(text: str) -> None:
    """Write a line of progress or explanation to standard error."""
    sys.stderr.write(text + "\n")


def run(parser: argparse.ArgumentParser, arguments: Sequence[str] | None = None) -> int:
    """Run the command that the arguments name; return its exit code.

    0 is done, 1 a checked file that is bad, 2 a user's error, said in one line on standard error.
    """
    args = parser.parse_args(arguments)
    try:
        command: Command = args.command
        code = command(args)
        sys.stdout.flush()
    except CheckFailed as error:
        say(f"factseek: {error.line}")
        return BAD_FILE
    except FactseekError as error:
        say(f"factseek: {error.line}")
        return USER_ERROR
    except KeyboardInterrupt:
        say("factseek: interrupted; what was published is whole, the same command goes on")
        return INTERRUPTED
    except BrokenPipeError:
        # The reader of our output has gone (``| head``): nobody is left to write to.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    return code


def add_config(parser: argparse.ArgumentParser) -> None:
    """Add ``--config``."""
    parser.add_argument(
        "--config",
        type=Path,
        metavar="FILE",
        help="settings (default: $FACTSEEK_CONFIG, else ./config.yaml, else the defaults)",
    )


def add_index(parser: argparse.ArgumentParser) -> None:
    """Add ``--index`` and ``--config``."""
    parser.add_argument("--index", type=Path, required=True, metavar="DIR", help="the index directory")
    add_config(parser)


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")


def config_of(args: argparse.Namespace) -> Config:
    """Read the configuration that ``--config`` names."""
    return load(args.config)
