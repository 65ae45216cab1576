"""The command line. No other module imports all packages."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

from . import __version__
from .core.terminal import DONE, Parser, Subparsers, run, write
from .integrations._stand_ins import spelled_out, stand_ins

_COMMANDS = {
    "index delete info compact verify-index snapshot restore export alias watch": "indexer.cli",
    "search": "retrieval.search.cli",
    "serve mcp key": "server.cli",
    "run": "eval.run.run",
    "check score compare": "eval.run.judge",
    "tune train": "eval.learn.cli",
    "bench": "eval.bench.bench",
    "shard reshard unshard cluster": "cluster.cli",
    "rank tune-encoder": "claims.checkworthiness.cli",
    "verdict": "claims.verdicts.cli",
    "pipeline": "claims.pipeline.steps",
}
"""The commands that each module declares, in the order of the help; a command imports only its own
module.
"""
_EXTENDED = dict.fromkeys(("index", "delete", "info", "compact", "verify-index"), "cluster.cli")
"""For each of these commands of another package, the module that adds options to it."""
_SUBMITTED = {"rank tune-encoder": "STATEMENTS", "verdict": "VERDICTS", "pipeline": "STATEMENTS"}
"""Commands that read or write submissions, each with the name of its group of tasks in
``eval.tasks``.
"""


def parser(command: str = "") -> Parser:
    """Return the parser of the command line. A command imports what it needs when it runs.

    If ``command`` is given, the parser knows only this command, and making it takes a third of the
    time.
    """
    from .settings import Config

    top = Parser(
        prog="factseek",
        description="Find the evidence for a claim.",
        epilog="Documents, queries and judgements can also come from ir_datasets: index irds:NAME, "
        "run --queries irds:NAME, score --gold irds:NAME.",
    )
    top.set_defaults(config_type=Config)
    top.add_argument("--version", action=_Version, help="print the version and exit")
    commands = top.add_subparsers(required=True, metavar="COMMAND")
    chosen = [names for names in _COMMANDS if command in names.split()]
    for names in chosen or _COMMANDS:
        _register(commands, names)
    if not chosen:
        _register_completion(commands)
    return top


def _register(commands: Subparsers, names: str) -> None:
    module = import_module(f".{_COMMANDS[names]}", __package__)
    if names in _SUBMITTED:
        module.register(
            commands, getattr(import_module(".eval.tasks", __package__), _SUBMITTED[names])
        )
    else:
        module.register(commands)
    for name in _EXTENDED.keys() & names.split():
        import_module(f".{_EXTENDED[name]}", __package__).extend(name, commands.choices[name])


def _register_completion(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "completion",
        help="print a completion script for a shell",
        description="Print a script that completes commands, options and file names in a shell.",
        epilog="bash: source <(factseek completion bash)\n"
        "zsh:  factseek completion zsh > a file named _factseek in a folder of $fpath\n"
        "fish: factseek completion fish > ~/.config/fish/completions/factseek.fish",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "shell", choices=("bash", "zsh", "fish"), metavar="SHELL", help="bash, zsh or fish"
    )
    parser.set_defaults(command=print_completion)


def print_completion(args: argparse.Namespace) -> int:
    """Print the script with which a shell completes the command line."""
    import shtab

    top = parser()
    for command in (top, *commands_of(top).values()):
        for action in command._actions:
            if action.type is Path:
                # As shtab's manual shows it.
                action.complete = shtab.FILE  # type: ignore[attr-defined]
    write(shtab.complete(top, args.shell))
    return DONE


def commands_of(top: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """Return the parser of each command by its name.

    The name of a subcommand has two words, such as ``train all``.
    """
    commands: dict[str, argparse.ArgumentParser] = {}
    for action in top._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, parser in action.choices.items():
                within = commands_of(parser)
                commands |= {f"{name} {word}": other for word, other in within.items()} or {
                    name: parser
                }
    return commands


class _Version(argparse.Action):
    """Print the version and exit.

    Unlike argparse's own action, it reports that standard output cannot be written.
    """

    def __init__(self, option_strings: Sequence[str], dest: str, **rest: Any) -> None:
        super().__init__(option_strings, dest, nargs=0, default=argparse.SUPPRESS, **rest)

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        write(f"factseek {__version__}\n")
        parser.exit()


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return its exit code: 0 success, 1 bad checked file, 2 another error, 130
    interruption.
    """
    words = spelled_out(sys.argv[1:] if arguments is None else arguments)
    return run(parser(words[0] if words else ""), words, stand_ins)
