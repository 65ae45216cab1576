"""The commands for indexes in shards: ``shard``, ``reshard``, ``unshard``, ``cluster``, and the indexer's commands."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
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
    from .build import Run

_DIVIDING = (
    (
        "shard",
        "--into N",
        "divide an index into shards",
        "an index into shards, with their vectors; nothing is encoded again",
    ),
    (
        "reshard",
        "--shards M",
        "divide a sharded index into another number of shards",
        "a sharded index into another number of shards, with their vectors",
    ),
    (
        "unshard",
        "",
        "turn a sharded index into one without shards",
        "a sharded index into one without shards, with their vectors",
    ),
)
"""Each command that divides an index: its option for the number of shards, its help, and its description."""


def register(commands: Subparsers) -> None:
    """Add the commands of this package to the command line."""
    for name, option, noun, copied in _DIVIDING:
        parser = commands.add_parser(name, help=noun, description=f"Copy the documents of {copied}.")
        flag, _, metavar = option.partition(" ")
        if name != "reshard":
            parser.add_argument("index", type=Path, metavar="DIR", help="the index directory")
        if option:
            parser.add_argument(flag, dest="shards", type=int, required=True, metavar=metavar, help="how many shards")
        if name == "reshard":
            add_index(parser)
        else:
            add_config(parser)
        add_wait(parser)
        add_json(parser)
        parser.set_defaults(command=partial(divide, how=name), interrupted=STAYS_WHOLE)
    cluster = commands.add_parser(
        "cluster",
        help="show or stop the processes of a sharded index on a Ray cluster",
        description="Show or stop the processes of a sharded index on a Ray cluster.",
    )
    verbs = cluster.add_subparsers(required=True, metavar="VERB")
    shown = "Show the replicas of the shards of an index: nodes, published states, processes."
    ended = "Stop the processes that serve the shards of an index; a server on the cluster starts them again."
    for name, command, noun, description in (
        ("status", show_status, "show the replicas of the shards", shown),
        ("stop", stop_replicas, "stop the processes that serve the shards", ended),
    ):
        verb = verbs.add_parser(name, help=noun, description=description)
        add_index(verb)
        verb.add_argument("--ray", metavar="ADDRESS", help="HOST:PORT of the cluster (default: cluster.address)")
        add_json(verb)
        verb.set_defaults(command=command)


def extend(name: str, parser: argparse.ArgumentParser) -> None:
    """Let a command of the indexer also accept an index in shards."""
    if name == "index":
        parser.add_argument("--shards", type=int, metavar="N", help="split a new index into N shards")
        parser.add_argument("--ray", metavar="ADDRESS", help="build the shards on the Ray cluster at HOST:PORT")
    command = parser.get_default("command")

    def run(args: argparse.Namespace) -> int:
        asked = name == "index" and (args.shards is not None or args.ray is not None)
        return (_ON_SHARDS[name] if asked or is_sharded(args.index) else command)(args)

    parser.set_defaults(command=run)


def _make_index(args: argparse.Namespace) -> int:
    from .build import build_here, build_shards, check_number

    if args.shards is not None:
        check_number("--shards", args.shards)
    elif not is_sharded(args.index):
        raise UsageError(
            "--ray: only the shards of an index can be built on a cluster; give their number with --shards N"
        )
    run: Run = build_here
    if args.ray is not None:
        from .actors import builder

        run = builder(_cluster_of(args))
    began = perf_counter()
    built = build_shards(indexer_cli.request_of(args), args.shards or 0, indexer_cli.settings_of(args), run)
    indexer_cli.tell_build(args, built, perf_counter() - began)
    return DONE


def _change(args: argparse.Namespace, what: str) -> int:
    from . import build

    if what == "delete":
        return indexer_cli.delete_documents(args, build.delete)
    if what == "compact":
        return upkeep_cli.compact_index(args, build.compact)
    return upkeep_cli.verify_index(args, build.verify, build.repair)


def _show_info(args: argparse.Namespace) -> int:
    from ..retrieval.search.options import description, segments

    shards = read(args.index)
    if args.json:
        write(encode(shards).decode())
        return DONE
    lines = description(args.index, shards.merged)
    for shard in shards.shards:
        documents, passages = counted(shard.manifest.documents, "document"), counted(shard.manifest.passages, "passage")
        lines += [(shard.path, f"{documents} in {passages}"), *segments(shard.manifest)]
    write("".join(f"{name:15} {value}\n" for name, value in lines))
    return DONE


_ON_SHARDS: dict[str, Callable[[argparse.Namespace], int]] = {
    "index": _make_index,
    "info": _show_info,
    "delete": partial(_change, what="delete"),
    "compact": partial(_change, what="compact"),
    "verify-index": partial(_change, what="verify"),
}


def divide(args: argparse.Namespace, how: str) -> int:
    """Divide an index into a number of shards, or into none, and print the result."""
    from .build import reshard, shard, unshard

    began, shards = perf_counter(), 0 if how == "unshard" else args.shards
    config = config_of(args, indexer_settings.Config)
    if how == "unshard":
        done = unshard(args.index, config, wait=args.wait)
    else:
        done = (shard if how == "shard" else reshard)(args.index, shards, config, wait=args.wait)
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
    before = f", previously in {counted(done.before, 'shard')}" if done.before else ""
    line = f"{counted(done.manifest.documents, 'document')} {where}{before}, in {seconds:.1f} s"
    report(args, facts, f"{args.index}: {line}\n")
    return DONE


def _cluster_of(args: argparse.Namespace) -> ClusterSettings:
    cluster = config_of(args, Config).cluster
    return msgspec.structs.replace(cluster, address=args.ray) if args.ray else cluster


def show_status(args: argparse.Namespace) -> int:
    """Print the replicas of the shards of an index."""
    from .actors import replicas_of

    replicas = replicas_of(args.index, _cluster_of(args))
    lines = []
    for replica in replicas:
        where = f"{replica.shard} replica {replica.replica}"
        if replica.alive:
            states = ", ".join(replica.states) or "none yet"
            where += f": node {replica.node[:12]}, process {replica.pid}, states {states}, "
            where += f"{counted(replica.answered, 'question')} answered"
        lines.append(where if replica.alive else f"{where}: not running")
    report(args, {"replicas": [replica._asdict() for replica in replicas]}, "\n".join(lines))
    return DONE


def stop_replicas(args: argparse.Namespace) -> int:
    """End the replicas of the shards of an index."""
    from .actors import stop

    ended = stop(args.index, _cluster_of(args))
    report(args, {"ended": ended}, f"{counted(ended, 'replica')} stopped")
    return DONE
