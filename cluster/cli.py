"""The commands of indexes in shards: ``shard``, ``reshard``, ``unshard``, ``cluster``, and the indexer's on shards."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import msgspec

from ..indexer import cli as indexer_cli
from ..indexer import settings as indexer_settings
from ..indexer import upkeep_cli
from ..indexer.upkeep_cli import add_wait
from ..retrieval.errors import UsageError
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
    write,
)
from .layout import encode, is_sharded, read
from .settings import ClusterSettings, Config

if TYPE_CHECKING:
    from .build import Resharded, Run


def register(commands: Subparsers) -> None:
    """Add the commands of this package to the command line."""
    shard = commands.add_parser(
        "shard",
        help="divide an index into shards",
        description="Copy the documents of an index into shards, with their vectors; nothing is encoded again.",
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
        add_wait(parser)
        add_json(parser)
        parser.set_defaults(interrupted=STAYS_WHOLE)
    cluster = commands.add_parser(
        "cluster",
        help="show what a Ray cluster holds of a sharded index, or end it",
        description="Show what a Ray cluster holds of a sharded index, or end it.",
    )
    verbs = cluster.add_subparsers(required=True, metavar="VERB")
    status = verbs.add_parser(
        "status",
        help="show the replicas of its shards",
        description="Show the replicas of the shards of an index: nodes, published states, processes.",
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


def extend(name: str, parser: argparse.ArgumentParser) -> None:
    """Let a command of the indexer take an index in shards, too."""
    if name == "index":
        parser.add_argument("--shards", type=int, metavar="N", help="divide a new index into so many shards")
        parser.add_argument("--ray", metavar="ADDRESS", help="build the shards on the Ray cluster at HOST:PORT")
    command = parser.get_default("command")
    on_shards = _ON_SHARDS[name]

    def run(args: argparse.Namespace) -> int:
        asked = name == "index" and (args.shards is not None or args.ray is not None)
        return (on_shards if asked or is_sharded(args.index) else command)(args)

    parser.set_defaults(command=run)


def _make_index(args: argparse.Namespace) -> int:
    from .build import build_here, build_shards, check_number

    if args.shards is not None:
        check_number("--shards", args.shards)
    elif not is_sharded(args.index):
        raise UsageError(
            "--ray: only the shards of an index can be built on a cluster; say with --shards N how many it is to have"
        )
    run: Run = build_here
    if args.ray is not None:
        from .actors import builder

        run = builder(cluster_of(args))
    began = perf_counter()
    built = build_shards(indexer_cli.request_of(args), args.shards or 0, indexer_cli.settings_of(args), run)
    indexer_cli.tell_build(args, built, perf_counter() - began)
    return DONE


def _delete(args: argparse.Namespace) -> int:
    from .build import delete

    return indexer_cli.delete_documents(args, delete)


def _compact(args: argparse.Namespace) -> int:
    from .build import compact

    return upkeep_cli.compact_index(args, compact)


def _verify(args: argparse.Namespace) -> int:
    from .build import repair, verify

    return upkeep_cli.verify_index(args, verify, repair)


def _show_info(args: argparse.Namespace) -> int:
    shards = read(args.index)
    if args.json:
        write(encode(shards).decode())
        return DONE
    lines = indexer_cli.description(args.index, shards.merged)
    for shard in shards.shards:
        documents, passages = counted(shard.manifest.documents, "document"), counted(shard.manifest.passages, "passage")
        lines += [(shard.path, f"{documents} in {passages}"), *indexer_cli.segments(shard.manifest)]
    write("".join(f"{name:15} {value}\n" for name, value in lines))
    return DONE


_ON_SHARDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "index": _make_index,
    "delete": _delete,
    "info": _show_info,
    "compact": _compact,
    "verify-index": _verify,
}


def shard_index(args: argparse.Namespace) -> int:
    """Divide an index into shards and print what it is now."""
    from .build import shard

    began = perf_counter()
    return _tell(args, args.into, shard(args.index, args.into, _settings(args), wait=args.wait), began)


def reshard_index(args: argparse.Namespace) -> int:
    """Divide a sharded index into another number of shards and print what it is now."""
    from .build import reshard

    began = perf_counter()
    return _tell(args, args.shards, reshard(args.index, args.shards, _settings(args), wait=args.wait), began)


def unshard_index(args: argparse.Namespace) -> int:
    """Make a sharded index one without shards and print what it is now."""
    from .build import unshard

    began = perf_counter()
    return _tell(args, 0, unshard(args.index, _settings(args), wait=args.wait), began)


def _settings(args: argparse.Namespace) -> indexer_settings.Config:
    return config_of(args, indexer_settings.Config)


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


def cluster_of(args: argparse.Namespace) -> ClusterSettings:
    """Return the settings of the cluster that is meant."""
    cluster = config_of(args, Config).cluster
    return msgspec.structs.replace(cluster, address=args.ray) if args.ray else cluster


def show_status(args: argparse.Namespace) -> int:
    """Print the replicas of the shards of an index."""
    from .actors import replicas_of

    replicas = replicas_of(args.index, cluster_of(args))
    lines = []
    for replica in replicas:
        where = f"{replica.shard} replica {replica.replica}"
        if replica.alive:
            states = ", ".join(replica.states) or "none yet"
            where += f": node {replica.node[:12]}, process {replica.pid}, states {states}, "
            where += f"{counted(replica.answered, 'question')} answered"
        lines.append(where if replica.alive else f"{where}: not there")
    report(args, {"replicas": [replica._asdict() for replica in replicas]}, "\n".join(lines))
    return DONE


def stop_replicas(args: argparse.Namespace) -> int:
    """End the replicas of the shards of an index."""
    from .actors import stop

    ended = stop(args.index, cluster_of(args))
    report(args, {"ended": ended}, f"{counted(ended, 'replica')} ended")
    return DONE
