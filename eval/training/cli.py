"""The command ``train combiner``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from ...retrieval.config import Config
from ...retrieval.errors import QueryError
from ...retrieval.files import writable
from ...retrieval.index.local import open_index
from ...retrieval.terminal import DONE, Subparsers, add_index, add_json, config_of, say, write
from ..tuning.cli import add_judged

_EPILOG = """\
The model is one file that combine.model names, and the stage combine runs it. Figures are cross-validated: a query is
judged by what was learned without it."""


def register(kinds: Subparsers) -> None:
    """Add ``train combiner``."""
    parser = kinds.add_parser(
        "combiner",
        help="a learned combination of what each ranking says of a hit",
        description="Learn a combination of what each ranking says of a hit and of the words, numbers and names that "
        "query and hit have in common.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_index(parser)
    add_judged(parser)
    parser.add_argument("--output", type=Path, required=True, metavar="MODEL", help="where the model is written")
    parser.add_argument("--measure", default="nDCG@10", metavar="NAME", help="what to judge by (default: nDCG@10)")
    parser.add_argument("--folds", type=int, default=5, metavar="N", help="of the cross-validation (default: 5)")
    parser.add_argument(
        "--remember",
        action="store_true",
        help="weigh, too, for which judged queries a document was relevant, and how like them a query is; folds are "
        "then drawn query by query",
    )
    parser.add_argument(
        "--sample", type=int, default=2000, metavar="N", help="learn from at most N judged queries (default: 2000)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of folds, sample and trees (default: 0)")
    add_json(parser)
    parser.set_defaults(command=train, interrupted="interrupted; the model is written whole or not at all")


def train(args: argparse.Namespace) -> int:
    """Train, write the model, print what it is worth."""
    from ...retrieval.combiner import save
    from ...retrieval.progress import bar
    from ..running.judged import JudgedFiles, read_judged
    from ..scoring.measures import named
    from .combiner import CombinerRequest
    from .combiner import train as train_on
    from .report import as_json, as_text

    _check(args)
    measures = named(args.measure)
    if len(measures) > 1:
        raise QueryError(f"--measure {args.measure}: give one measure")
    files = JudgedFiles(task=args.task, queries=args.queries, qrels=args.qrels, profile=args.profile)
    request = CombinerRequest(
        files=(args.queries, args.qrels),
        measure=measures[0],
        folds=args.folds,
        seed=args.seed,
        remembers=args.remember,
    )
    with open_index(args.index, config_of(args, Config)) as index:
        judged = read_judged(files, index, sample=args.sample, seed=args.seed)
        for note in judged.notes:
            say(f"note: {note}")
        trained = train_on(index, judged, request, bar)
    if not trained.grouped and not args.remember:
        say("note: so many queries share relevant documents that folds share them too: the figures may flatter")
    save(args.output, trained.combiner)
    write(json.dumps(as_json(trained), indent=2) + "\n" if args.json else as_text(trained))
    say(f"{args.output}: the combination; set combine.model to it, and search.stages to [combine]")
    return DONE


def _check(args: argparse.Namespace) -> None:
    """Raise QueryError if an option makes no sense."""
    if args.seed < 0:
        raise QueryError(f"--seed {args.seed}: give a number from 0")
    if args.sample < 2:
        raise QueryError(f"--sample {args.sample}: give a number of queries, 2 or more")
    writable(args.output, [args.queries, args.qrels])
