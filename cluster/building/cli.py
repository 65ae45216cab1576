"""``factseek index --ray``: build the shards of an index on a Ray cluster."""

from __future__ import annotations

import argparse

from ...indexer.works import Workplace
from ...retrieval.errors import UsageError
from ...retrieval.shards import layout
from ..cli import cluster_of


def extend(parser: argparse.ArgumentParser) -> None:
    """Add ``--ray`` to the command that builds an index."""
    parser.add_argument("--ray", metavar="ADDRESS", help="encode and write the shards on the Ray cluster at HOST:PORT")
    parser.set_defaults(workplace=workplace)


def workplace(args: argparse.Namespace) -> Workplace | None:
    """Return the cluster that is named, None if none is.

    Raises UsageError for an index without shards, MachineError if no cluster answers.
    """
    if args.ray is None:
        return None
    if not args.shards and not layout.is_sharded(args.index):
        raise UsageError(
            "--ray: only the shards of an index can be built on a cluster; say with --shards N how many it is to have"
        )
    from .workplace import ClusterWorkplace

    return ClusterWorkplace(cluster_of(args))
