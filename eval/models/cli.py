"""The commands ``train encoder`` and ``train reranker``."""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ...retrieval.config import Config
from ...retrieval.encoders.choice import for_language
from ...retrieval.errors import QueryError
from ...retrieval.index.local import open_index
from ...retrieval.searcher import Searcher
from ...retrieval.terminal import DONE, Subparsers, add_index, add_json, config_of, say, write
from ..tuning.cli import add_judged
from .request import ModelTraining, TrainingRequest

if TYPE_CHECKING:
    from .judged import TrainingJudged

_DEFAULTS = ModelTraining(base="")
_LEAST = {"epochs": 1, "batch": 2, "negatives": 1, "depth": 2, "max_tokens": 8, "looks": 1}
_LEAST_SAMPLE = 10
INTERRUPTED = "interrupted; unless the model is there, the same command goes on from what is trained so far"
_SAMPLE = 20_000
_EPILOG = """\
One tenth of the judged queries says when to stop and two tenths judge the result; queries that share a relevant
document stay together. README.md in the folder says what the model learned from and what it is worth."""


def register(kinds: Subparsers) -> None:
    """Add both commands."""
    encoder = _add(kinds, "encoder", "a sentence encoder: what encoder.model takes")
    encoder.add_argument("--teacher", default="", metavar="MODEL", help="a re-ranker whose margins are learned, too")
    _add(kinds, "reranker", "a re-ranker that reads query and passage together: what rerank.model takes")


def _add(kinds: Subparsers, what: str, noun: str) -> argparse.ArgumentParser:
    parser = kinds.add_parser(
        what,
        help=noun,
        description=f"Train {noun}.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_index(parser)
    add_judged(parser, required=False)
    parser.add_argument(
        "--from-documents",
        action="store_true",
        help="learn from titles and sentences of the documents, without judgements",
    )
    add_training(parser, _DEFAULTS)
    parser.add_argument(
        "--measure", default=_DEFAULTS.measure, metavar="NAME", help="what to judge by (default: nDCG@10)"
    )
    parser.add_argument(
        "--sample", type=int, default=_SAMPLE, metavar="N", help=f"learn from at most N queries (default: {_SAMPLE:,})"
    )
    add_json(parser)
    parser.set_defaults(command=partial(train, what=what), interrupted=INTERRUPTED)
    return parser


def add_training(
    parser: argparse.ArgumentParser,
    defaults: ModelTraining,
    *,
    negatives: str = "hits that are not relevant, for each passage that is",
    tokens: str = "tokens of a text that are learned from; a re-ranker reads so many of query and text",
) -> None:
    """Add what every training asks for: the folder, the base, and the settings with their ``defaults``."""
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="the new folder of the model")
    parser.add_argument(
        "--base", default="", metavar="NAME", help="the model that is trained further (default: the index's encoder)"
    )
    for name, kind, unit, text in (
        ("epochs", int, "N", "how often everything is learned from, at most"),
        ("batch", int, "N", "how much is learned from at once"),
        ("rate", float, "X", "the highest learning rate"),
        ("negatives", int, "N", negatives),
        ("depth", int, "N", "hits that are looked at"),
        ("max-tokens", int, "N", tokens),
        ("looks", int, "N", "how often in an epoch it is looked at whether to stop"),
        ("seed", int, "N", "of everything that is drawn"),
    ):
        default = getattr(defaults, name.replace("-", "_"))
        parser.add_argument(f"--{name}", type=kind, default=default, metavar=unit, help=f"{text} (default: {default})")


def train(args: argparse.Namespace, what: str) -> int:
    """Train, write the model, print what it is worth."""
    from ...retrieval.progress import bar
    from .card import SETTINGS, as_json, as_text
    from .train import check_target
    from .train import train as train_on

    _check(args)
    check_target(args.output)
    with open_index(args.index, config_of(args, Config)) as index:
        judged = _judged(args, index)
        trained = train_on(index, judged, _request(args, what, index), bar)
    if not trained.grouped:
        say("note: so many queries share relevant documents that the parts share them too: the figures may flatter")
    write(json.dumps(as_json(trained), indent=2) + "\n" if args.json else as_text(trained))
    beside = "".join(f", and {name} to {value:g}" for name, value in trained.beside.items())
    say(f"{args.output}: the model; set {SETTINGS[what]} to it{beside}")
    return DONE


def _judged(args: argparse.Namespace, index: Searcher) -> TrainingJudged:
    """Read what is learned from, and say what a reader should know of it."""
    from ..running.judged import JudgedFiles, read_judged
    from .judged import of_documents, of_judgements

    if args.from_documents:
        return of_documents(index, args.sample, args.seed)
    files = JudgedFiles(task=args.task, queries=args.queries, qrels=args.qrels, profile=args.profile)
    judged = read_judged(files, index, sample=args.sample, seed=args.seed)
    for note in judged.notes:
        say(f"note: {note}")
    return of_judgements(judged)


def _request(args: argparse.Namespace, what: str, index: Searcher) -> TrainingRequest:
    names = [name for name in ModelTraining.__struct_fields__ if hasattr(args, name) and name != "base"]
    settings = ModelTraining(base=args.base or encoder_of(index), **{name: getattr(args, name) for name in names})
    files = tuple(path for path in (args.queries, args.qrels) if path is not None)
    return TrainingRequest(what=what, settings=settings, files=files, index=index.info.id, target=args.output)


def encoder_of(index: Searcher) -> str:
    """Return the model of the index's encoder; of an index without vectors the one for its language."""
    made_by = index.info.encoder
    if made_by is not None:
        return made_by.model or made_by.name
    return for_language(index.settings.encoder, index.info.language).model


def _check(args: argparse.Namespace) -> None:
    """Raise QueryError if an option makes no sense."""
    from ..scoring.measures import named

    check_training(args)
    if args.sample < _LEAST_SAMPLE:
        raise QueryError(f"--sample {args.sample}: give a number from {_LEAST_SAMPLE}")
    if len(named(args.measure)) > 1:
        raise QueryError(f"--measure {args.measure}: give one measure")
    judged = [args.queries, args.qrels]
    if args.from_documents:
        if any(judged):
            raise QueryError("--from-documents learns without judgements", remedy="leave out --queries and --qrels")
    elif not all(judged):
        raise QueryError("give --queries and --qrels, or --from-documents")


def check_training(args: argparse.Namespace) -> None:
    """Raise QueryError if a setting of a training makes no sense."""
    for name, least in _LEAST.items():
        if getattr(args, name) < least:
            raise QueryError(f"--{name.replace('_', '-')} {getattr(args, name)}: give a number from {least}")
    if args.seed < 0:
        raise QueryError(f"--seed {args.seed}: give a number from 0")
    if not 0 < args.rate < 1:
        raise QueryError(f"--rate {args.rate}: give a number between 0 and 1")
