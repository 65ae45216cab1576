"""The commands for indexes in shards: ``shard``, ``reshard``, ``unshard``, ``cluster``, and the
indexer's commands.
"""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import msgspec

from ..core.errors import UsageError
from ..core.terminal import (
    DONE,
    Command,
    Subparsers,
    add_config,
    add_json,
    format_count,
    report,
    write,
)
from ..indexer import cli as indexer_cli
from ..indexer import settings as indexer_settings
from ..indexer.cli import add_wait, complete
from ..retrieval.arguments import add_index, config_of
from .layout import encode, is_sharded, read
from .settings import ClusterSettings, Config

if TYPE_CHECKING:
    from .build import Run


def register(commands: Subparsers) -> None:
    """Add the commands of this package to the command line."""
    shard = commands.add_parser(
        "shard",
        help="divide an index into shards",
        description="Copy the documents of an index into shards, with their vectors; nothing is "
        "encoded again.",
    )
    shard.add_argument("index", type=Path, metavar="DIR", help="the index directory")
    shard.add_argument(
        "--into", dest="shards", type=int, required=True, metavar="N", help="how many shards"
    )
    reshard = commands.add_parser(
        "reshard",
        help="divide a sharded index into another number of shards",
        description="Copy the documents of a sharded index into another number of shards, with "
        "their vectors.",
    )
    reshard.add_argument("--shards", type=int, required=True, metavar="M", help="how many shards")
    unshard = commands.add_parser(
        "unshard",
        help="turn a sharded index into one without shards",
        description="Copy the documents of a sharded index into an index without shards, with "
        "their vectors.",
    )
    unshard.add_argument("index", type=Path, metavar="DIR", help="the index directory")
    for how, parser in (("shard", shard), ("reshard", reshard), ("unshard", unshard)):
        place = add_index if how == "reshard" else add_config
        complete(parser, partial(_divide, how=how), place, add_wait, add_json)
    cluster = commands.add_parser(
        "cluster",
        help="show or stop the processes of a sharded index on a Ray cluster",
        description="Show or stop the processes of a sharded index on a Ray cluster.",
    )
    verbs = cluster.add_subparsers(required=True, metavar="VERB")
    shown = "Show the replicas of the shards of an index: nodes, published states, processes."
    status = verbs.add_parser("status", help="show the replicas of the shards", description=shown)
    ended = (
        "Stop the processes that serve the shards of an index; the next factseek serve starts "
        "them again."
    )
    stop = verbs.add_parser(
        "stop", help="stop the processes that serve the shards", description=ended
    )
    for verb, command in ((status, _show_status), (stop, _stop_replicas)):
        add_index(verb)
        verb.add_argument(
            "--ray", metavar="ADDRESS", help="HOST:PORT of the cluster (default: cluster.address)"
        )
        complete(verb, command, add_json, interrupted="interrupted")


def extend(name: str, parser: argparse.ArgumentParser) -> None:
    """Let a command of the indexer also accept an index in shards."""
    if name == "index":
        parser.add_argument(
            "--shards", type=int, metavar="N", help="split a new index into N shards"
        )
        parser.add_argument(
            "--ray", metavar="ADDRESS", help="build the shards on the Ray cluster at HOST:PORT"
        )
    command: Command = parser.get_default("command")

    def run(args: argparse.Namespace) -> int:
        on_shards = name == "index" and (args.shards is not None or args.ray is not None)
        if not on_shards and not is_sharded(args.index):
            return command(args)
        if name in ("index", "info"):
            return _make_index(args) if name == "index" else _show_info(args)
        from . import build

        if name == "delete":
            return indexer_cli.delete_documents(args, build.delete)
        if name == "compact":
            return indexer_cli.compact_index(args, build.compact)
        return indexer_cli.verify_index(args, build.verify, build.repair)

    parser.set_defaults(command=run)


def _make_index(args: argparse.Namespace) -> int:
    from .build import build_here, build_shards, check_number

    if args.shards is not None:
        check_number("--shards", args.shards)
    elif not is_sharded(args.index):
        raise UsageError(
            "--ray: only the shards of an index can be built on a cluster; give their number with "
            "--shards N"
        )
    run: Run = build_here
    if args.ray is not None:
        from .actors import builder

        run = builder(_cluster_of(args))
    return indexer_cli.make_index(
        args, lambda request, config: build_shards(request, args.shards or 0, config, run)
    )


def _show_info(args: argparse.Namespace) -> int:
    from ..retrieval.search.options import description, segments

    shards = read(args.index)
    if args.json:
        write(encode(shards).decode())
        return DONE
    lines = description(args.index, shards.merged)
    for shard in shards.shards:
        its = shard.manifest
        size = (
            f"{format_count(its.documents, 'document')} in {format_count(its.passages, 'passage')}"
        )
        lines += [(shard.path, size), *segments(its)]
    write("".join(f"{name:15} {value}\n" for name, value in lines))
    return DONE


def _divide(args: argparse.Namespace, how: str) -> int:
    from . import build

    began, config = perf_counter(), config_of(args, indexer_settings.Config)
    shards = 0 if how == "unshard" else args.shards
    if how != "unshard":
        build.check_number("--into" if how == "shard" else "--shards", shards)
    manifest, before = build.divide(
        args.index, shards, config, sharded=how != "shard", wait=args.wait
    )
    seconds = perf_counter() - began
    facts = {"index": str(args.index), "manifest_id": manifest.id, "documents": manifest.documents}
    facts |= {"shards_before": before, "shards": shards, "seconds": round(seconds, 3)}
    where = f"in {format_count(shards, 'shard')}" if shards else "in one index"
    former = f", previously in {format_count(before, 'shard')}" if before else ""
    line = f"{format_count(manifest.documents, 'document')} {where}{former}, in {seconds:.1f} s"
    report(args, facts, f"{args.index}: {line}\n")
    return DONE


def _cluster_of(args: argparse.Namespace) -> ClusterSettings:
    cluster = config_of(args, Config).cluster
    return msgspec.structs.replace(cluster, address=args.ray) if args.ray else cluster


def _show_status(args: argparse.Namespace) -> int:
    from .actors import replicas_of

    replicas, lines = replicas_of(args.index, _cluster_of(args)), []
    for replica in replicas:
        state = "not running"
        if replica.alive:
            states, answered = (
                ", ".join(replica.states) or "none yet",
                format_count(replica.answered, "question"),
            )
            state = (
                f"node {replica.node[:12]}, process {replica.pid}, states {states}, {answered} "
                "answered"
            )
        lines.append(f"{replica.shard} replica {replica.replica}: {state}\n")
    report(args, {"replicas": [replica._asdict() for replica in replicas]}, "".join(lines))
    return DONE


def _stop_replicas(args: argparse.Namespace) -> int:
    from .actors import stop

    ended = stop(args.index, _cluster_of(args))
    report(args, {"ended": ended}, f"{format_count(ended, 'replica')} stopped\n")
    return DONE
