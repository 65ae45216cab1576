"""The command ``train``: learn to rank from your own judgements."""

from __future__ import annotations

from ..retrieval.terminal import Subparsers
from .models import cli as models_cli
from .training import cli as combiner_cli


def register(commands: Subparsers) -> None:
    """Add ``train`` to the command line."""
    parser = commands.add_parser(
        "train",
        help="learn to rank from your own judgements",
        description="Train on judged queries what ranks, and measure what it gains.",
    )
    kinds = parser.add_subparsers(dest="what", metavar="WHAT", required=True)
    combiner_cli.register(kinds)
    models_cli.register(kinds)
