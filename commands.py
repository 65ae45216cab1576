"""The front door: the command line, which alone sees all packages."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .claims.checkworthiness import cli as rank_cli
from .claims.checkworthiness import tuning_cli as encoder_tuning_cli
from .claims.pipeline import cli as pipeline_cli
from .claims.verdicts import cli as verdict_cli
from .cluster import cli as cluster_cli
from .eval import train_cli
from .eval.bench import cli as bench_cli
from .eval.judging import cli as judging_cli
from .eval.running import cli as run_cli
from .eval.tasks import STATEMENTS, VERDICTS
from .eval.tuning import cli as tune_cli
from .indexer import cli as indexer_cli
from .integrations._stand_ins import spelled_out, stand_ins
from .retrieval.index import cli as retrieval_cli
from .retrieval.terminal import DONE, Parser, Subparsers, run, write
from .server import cli as server_cli
from .settings import Config

_COMMANDS = (indexer_cli, retrieval_cli, server_cli, run_cli, judging_cli, tune_cli, train_cli, bench_cli, cluster_cli)


def parser() -> Parser:
    """Return the parser of the command line; what a command needs is imported when it runs."""
    top = Parser(
        prog="factseek",
        description="Find the evidence for a claim.",
        epilog="Documents, queries and judgements may also be those of ir_datasets: index irds:NAME, "
        "run --queries irds:NAME, score --gold irds:NAME.",
    )
    top.set_defaults(config_type=Config)
    top.add_argument("--version", action=_Version, help="print the version and exit")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    for module in _COMMANDS:
        module.register(commands)
    rank_cli.register(commands, STATEMENTS)
    encoder_tuning_cli.register(commands, STATEMENTS)
    verdict_cli.register(commands, VERDICTS)
    pipeline_cli.register(commands, STATEMENTS)
    _register_completion(commands)
    return top


def _register_completion(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "completion",
        help="print what lets a shell complete commands",
        description="Print a script with which a shell completes commands, options and file names.",
        epilog="bash: source <(factseek completion bash)\n"
        "zsh:  factseek completion zsh > a file named _factseek in a folder of $fpath\n"
        "fish: factseek completion fish > ~/.config/fish/completions/factseek.fish",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="bash, zsh or fish")
    parser.set_defaults(command=print_completion)


def print_completion(args: argparse.Namespace) -> int:
    """Print the script with which a shell completes the command line."""
    import shtab

    top = parser()
    for command in (top, *commands_of(top).values()):
        for action in command._actions:
            if action.type is Path:
                action.complete = shtab.FILE  # type: ignore[attr-defined]  # as shtab's manual shows it
    write(shtab.complete(top, args.shell))
    return DONE


def commands_of(top: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each command by its name; those of ``train`` have two words."""
    commands: dict[str, argparse.ArgumentParser] = {}
    for action in top._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, parser in action.choices.items():
                within = commands_of(parser)
                commands |= {f"{name} {word}": other for word, other in within.items()} or {name: parser}
    return commands


class _Version(argparse.Action):
    """Print the version; looking it up takes longer than most parsing, so only when it is asked for."""

    def __init__(self, option_strings: Sequence[str], dest: str, **rest: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, **rest)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        from . import __version__

        write(f"factseek {__version__}\n")
        parser.exit()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code: 0 done, 1 the checked file is bad, 2 a user's error."""
    return run(parser(), spelled_out(sys.argv[1:] if arguments is None else arguments), stand_ins)
