"""``factseek cluster``: what a Ray cluster holds of a sharded index."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

import msgspec

from ..retrieval.terminal import DONE, Subparsers, add_index, add_json, config_of, counted, report
from .settings import ClusterSettings, Config

if TYPE_CHECKING:
    from .status import ReplicaStatus


def register(commands: Subparsers) -> None:
    """Add ``cluster`` to the command line."""
    cluster = commands.add_parser(
        "cluster",
        help="show what a Ray cluster holds of a sharded index, or end it",
        description="Show what a Ray cluster holds of a sharded index, or end it.",
    )
    verbs = cluster.add_subparsers(required=True, metavar="VERB")
    status = verbs.add_parser(
        "status",
        help="show the replicas of its shards",
        description="Show the replicas of the shards of an index: nodes, generations, processes.",
    )
    stop = verbs.add_parser(
        "stop",
        help="end the processes that hold its shards",
        description="End the processes that hold the shards of an index; a server on the cluster starts them again.",
    )
    for verb, command in ((status, show_status), (stop, stop_replicas)):
        add_index(verb)
        verb.add_argument("--ray", metavar="ADDRESS", help="HOST:PORT of the cluster (default: cluster.address)")
        add_json(verb)
        verb.set_defaults(command=command)


def cluster_of(args: argparse.Namespace) -> ClusterSettings:
    """Return the settings of the cluster that is meant."""
    cluster = config_of(args, Config).cluster
    return msgspec.structs.replace(cluster, address=args.ray) if args.ray else cluster


def show_status(args: argparse.Namespace) -> int:
    """Print the replicas of the shards of an index."""
    from .status import replicas_of

    replicas = replicas_of(args.index, cluster_of(args))
    report(args, {"replicas": [replica._asdict() for replica in replicas]}, "\n".join(map(_line, replicas)))
    return DONE


def stop_replicas(args: argparse.Namespace) -> int:
    """End the replicas of the shards of an index."""
    from .status import stop

    ended = stop(args.index, cluster_of(args))
    report(args, {"ended": ended}, f"{counted(ended, 'replica')} ended")
    return DONE


def _line(replica: ReplicaStatus) -> str:
    where = f"{replica.shard} replica {replica.replica}"
    if not replica.alive:
        return f"{where}: not there"
    held = ", ".join(replica.generations) or "none yet"
    place = f"node {replica.node[:12]}, process {replica.pid}"
    return f"{where}: {place}, generations {held}, {counted(replica.answered, 'question')} answered"
