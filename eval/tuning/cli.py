"""The command ``tune``: choose the settings of a search on judged queries."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from ...retrieval.errors import QueryError
from ...retrieval.files import writable
from ...retrieval.index.local import open_index
from ...retrieval.profile import PROFILES
from ...retrieval.terminal import DONE, Subparsers, add_index, add_json, full_config_of, say, write
from ..tasks import RANKING

_EPILOG = """\
tried in turn: k1 and b of BM25 alone; the weight of the title, in an index of fields title_text; either ranking alone,
and each kind of fusion with its weights; how much of the rankings is fused; what ranks anew, where rerank.model or
combine.model is set, in either order. The default is kept unless the tuned settings are better on held-out queries
beyond chance (paired randomisation test, p < .05)."""


def register(commands: Subparsers) -> None:
    """Add ``tune`` to the command line."""
    parser = commands.add_parser(
        "tune",
        help="choose the settings of a search by cross-validation",
        description="Choose BM25's parameters, the fusion and the stages on judged queries, and write a configuration.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_index(parser)
    add_judged(parser)
    parser.add_argument("--output", type=Path, required=True, metavar="CONFIG", help="the configuration to write")
    parser.add_argument("--measure", default="nDCG@10", metavar="NAME", help="what to tune for (default: nDCG@10)")
    parser.add_argument("--folds", type=int, default=5, metavar="N", help="of the cross-validation (default: 5)")
    parser.add_argument(
        "--sample", type=int, default=1000, metavar="N", help="tune on at most N judged queries (default: 1000)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of folds, sample and tests (default: 0)")
    add_json(parser)
    parser.set_defaults(command=tune)


def add_judged(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Add the options that name judged queries."""
    parser.add_argument("--queries", type=Path, required=required, metavar="FILE", help="the queries")
    parser.add_argument("--qrels", type=Path, required=required, metavar="FILE", help="the judgements")
    parser.add_argument(
        "--task",
        default=RANKING.default(),
        metavar="TASK",
        help=f"whose files these are: {', '.join(RANKING.names())} (default: {RANKING.default()})",
    )
    parser.add_argument(
        "--profile", choices=list(PROFILES), help="what is done to a query first (default: as run does)"
    )


def tune(args: argparse.Namespace) -> int:
    """Write the configuration and print the evidence for it."""
    from ...retrieval.progress import bar
    from ...retrieval.trec import write_text
    from ..running.judged import JudgedFiles, read_judged
    from ..scoring.measures import named
    from .report import FIRST_LINE, as_json, as_text, as_yaml
    from .tune import tune as tune_on

    _check(args, FIRST_LINE)
    measures = named(args.measure)
    if len(measures) > 1:
        raise QueryError(f"--measure {args.measure}: give one measure")
    config = full_config_of(args)
    files = JudgedFiles(task=args.task, queries=args.queries, qrels=args.qrels, profile=args.profile)
    with open_index(args.index, config) as index:
        judged = read_judged(files, index, sample=args.sample, seed=args.seed)
        tuning = tune_on(index, judged, measures[0], folds=args.folds, seed=args.seed, progress=bar)
        searched = f"index {index.info.name} ({index.info.id}), queries {args.queries.name}"
    for note in judged.notes:
        say(f"note: {note}")
    about = f"{searched}, judgements {args.qrels.name}, seed {args.seed}"
    write_text(args.output, [as_yaml(tuning, config, about, args.output.parent)])
    write(json.dumps(as_json(tuning), indent=2) + "\n" if args.json else as_text(tuning))
    say(f"{args.output}: the configuration; use it with --config")
    return DONE


def _check(args: argparse.Namespace, first_line: str) -> None:
    """Raise QueryError if an option makes no sense, or a configuration that somebody wrote would be overwritten."""
    if args.seed < 0:
        raise QueryError(f"--seed {args.seed}: give a number from 0")
    if args.sample < 2:
        raise QueryError(f"--sample {args.sample}: give a number of queries, 2 or more")
    writable(args.output, [args.queries, args.qrels])
    if args.output.is_file() and not args.output.read_bytes().startswith(first_line.encode()):
        raise QueryError(
            "was not written by tune and is left as it is", place=args.output, remedy="name another output"
        )
