"""The command ``train``: learn from one's own judgements what ranks, and what reads evidence."""

from __future__ import annotations

from ..retrieval.terminal import Subparsers
from .entailment import cli as entailment_cli
from .models import cli as models_cli
from .training import cli as combiner_cli


def register(commands: Subparsers) -> None:
    """Add ``train`` to the command line."""
    parser = commands.add_parser(
        "train",
        help="learn to rank, or to judge claims, from your own judgements",
        description="Train what ranks, on judged queries, or what reads evidence, on claims, and say what it is worth.",
    )
    kinds = parser.add_subparsers(dest="what", metavar="WHAT", required=True)
    combiner_cli.register(kinds)
    models_cli.register(kinds)
    entailment_cli.register(kinds)
