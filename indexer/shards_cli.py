"""The commands that divide an index: ``shard``, ``reshard`` and ``unshard``."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from ..retrieval.terminal import (
    DONE,
    STAYS_WHOLE,
    Subparsers,
    add_config,
    add_index,
    add_json,
    config_of,
    counted,
    report,
)
from .settings import Config

if TYPE_CHECKING:
    from .resharding import Resharded


def register(commands: Subparsers, wait: Callable[[argparse.ArgumentParser], None]) -> None:
    """Add the commands to the command line; ``wait`` adds the option ``--wait``."""
    shard = commands.add_parser(
        "shard",
        help="divide an index into shards",
        description="Copy the documents of an index into shards, with their vectors; nothing is encoded anew.",
    )
    shard.add_argument("index", type=Path, metavar="DIR", help="the index directory")
    shard.add_argument("--into", type=int, required=True, metavar="N", help="how many shards")
    add_config(shard)
    shard.set_defaults(command=shard_index)
    reshard = commands.add_parser(
        "reshard",
        help="divide a sharded index into another number of shards",
        description="Copy the documents of a sharded index into another number of shards, with their vectors.",
    )
    reshard.add_argument("--shards", type=int, required=True, metavar="M", help="how many shards")
    add_index(reshard)
    reshard.set_defaults(command=reshard_index)
    unshard = commands.add_parser(
        "unshard",
        help="make a sharded index one without shards",
        description="Copy the documents of a sharded index into one without shards, with their vectors.",
    )
    unshard.add_argument("index", type=Path, metavar="DIR", help="the index directory")
    add_config(unshard)
    unshard.set_defaults(command=unshard_index)
    for parser in (shard, reshard, unshard):
        wait(parser)
        add_json(parser)
        parser.set_defaults(interrupted=STAYS_WHOLE)


def shard_index(args: argparse.Namespace) -> int:
    """Divide an index into shards and say what it is now."""
    from .resharding import shard

    began = perf_counter()
    return _tell(args, args.into, shard(args.index, args.into, config_of(args, Config), wait=args.wait), began)


def reshard_index(args: argparse.Namespace) -> int:
    """Divide a sharded index into another number of shards and say what it is now."""
    from .resharding import reshard

    began = perf_counter()
    return _tell(args, args.shards, reshard(args.index, args.shards, config_of(args, Config), wait=args.wait), began)


def unshard_index(args: argparse.Namespace) -> int:
    """Make a sharded index one without shards and say what it is now."""
    from .resharding import unshard

    began = perf_counter()
    return _tell(args, 0, unshard(args.index, config_of(args, Config), wait=args.wait), began)


def _tell(args: argparse.Namespace, shards: int, done: Resharded, began: float) -> int:
    seconds = perf_counter() - began
    facts = {
        "index": str(args.index),
        "manifest_id": done.manifest.id,
        "documents": done.manifest.documents,
        "shards_before": done.before,
        "shards": shards,
        "seconds": round(seconds, 3),
    }
    where = f"in {counted(shards, 'shard')}" if shards else "in one index"
    before = f", before in {counted(done.before, 'shard')}" if done.before else ""
    line = f"{counted(done.manifest.documents, 'document')} {where}{before}, in {seconds:.1f} s"
    report(args, facts, f"{args.index}: {line}\n")
    return DONE
