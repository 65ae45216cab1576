"""The command ``tune-encoder``: train a sentence encoder for check-worthiness."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ...retrieval.files import files_in
from ...retrieval.terminal import DONE, Subparsers, add_config, add_json, config_of, report
from ..settings import Config
from .cli import add_language, in_language

if TYPE_CHECKING:
    from ..formats import StatementTasks


def register(commands: Subparsers, formats: StatementTasks) -> None:
    """Add ``tune-encoder``; ``formats`` reads the tasks' files."""
    parser = commands.add_parser(
        "tune-encoder",
        help="train a sentence encoder for check-worthiness",
        description="Train the encoder that claims.multilingual.encoder names, with a claim head and a language"
        " head, and write it to a folder for rank --model multilingual.",
    )
    parser.add_argument("task", choices=formats.names(), metavar="TASK", help=f"one of {', '.join(formats.names())}")
    parser.add_argument("--train", nargs="+", type=Path, required=True, metavar="FILE", help="labelled files")
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="the new folder of the encoder")
    add_language(parser)
    add_config(parser)
    add_json(parser)
    parser.set_defaults(command=partial(run, formats=formats))


def run(args: argparse.Namespace, formats: StatementTasks) -> int:
    """Train the encoder on the labelled files."""
    from .rankers._networks import tune

    format_ = formats.load(args.task)
    parts = [in_language(args, format_, format_.read_statements(path, labelled=True)) for path in files_in(args.train)]
    statements = [statement for part in parts for statement in part]
    tune(statements, config_of(args, Config), args.output)
    facts = {"output": str(args.output), "statements": len(statements)}
    report(args, facts, f"{args.output}: trained on {len(statements):,} statements\n")
    return DONE
