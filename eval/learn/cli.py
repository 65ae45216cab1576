"""The commands ``tune`` and ``train``: learn to rank from your own judgements."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from ...core.errors import QueryError
from ...core.files import writable
from ...core.progress import bar
from ...core.records.runs import write_text
from ...core.terminal import DONE, Subparsers, add_json, add_outputs, say, write
from ...core.text import PROFILES
from ...indexer.settings import Config as BuildConfig
from ...retrieval.arguments import add_index, config_of, full_config_of
from ...retrieval.config import Config
from ...retrieval.search.combiner import save
from ...retrieval.search.index import Index, open_index
from ..run.batch import Judged, JudgedFiles, read_judged
from ..scoring.measures import parse_measures
from ..tasks import RANKING, descriptions
from .combiner import CombinerRequest
from .combiner import train as learn_combination
from .everything import CONFIG, INDEX, train_all
from .examples import of_documents
from .sources import sources_of_files
from .trainer import ADDED, ALONE, ModelTraining, TrainingRequest, check_settings
from .training import SETTINGS, base_of, check_target
from .training import train as train_on
from .tune import FIRST_LINE, as_json, as_latex, as_text, as_yaml
from .tune import tune as tune_on

_TUNE_EPILOG = """\
The command tries in turn k1 and b of BM25, each ranking alone, and each fusion with its weights and
depth. If the index has fields title_text, it tries the weight of the title. If rerank.model or
combine.model is set, it tries that stage. It keeps the default unless the tuned settings are
significantly better on held-out queries (paired randomisation test, p < .05)."""
_COMBINER_EPILOG = """\
The model is one file: set combine.model to it, and the stage combine runs it. The figures are
cross-validated: each query is scored by a model that was trained without it."""
_MODEL_EPILOG = """\
One tenth of the judged queries decides when training stops, and two tenths measure the result.
Queries that share a relevant document are in the same part. README.md in the new folder describes
the training data and the results."""
_ALL_EPILOG = """\
The folder gets an encoder, a copy of the index to which the encoder's vectors are added, and a
combination of all rankings. The same command skips the steps that are done, and continues an
interrupted training. The combination learns from the three tenths of the queries that the encoder
does not learn from. Its figures are cross-validated on them."""
INTERRUPTED = (
    "interrupted; to continue the training, run the same command again, unless the model is "
    "complete"
)
_MODELS = {
    "encoder": "a sentence encoder, for encoder.model",
    "reranker": "a re-ranker that reads query and passage together, for rerank.model",
}
_MODEL_OPTIONS: tuple[tuple[str, type, str], ...] = (
    ("epochs", int, "the maximum number of passes over the training data"),
    ("batch", int, "the number of training examples per step"),
    ("rate", float, "the highest learning rate"),
    ("negatives", int, "the number of non-relevant hits for each relevant passage"),
    ("depth", int, "the number of first hits of a query from which negatives are taken"),
    (
        "max-tokens",
        int,
        "the maximum number of tokens of each text or, for a re-ranker, of query and text together",
    ),
    ("looks", int, "the number of evaluations per epoch; they decide when training stops"),
    ("seed", int, "the random seed"),
)


def register(commands: Subparsers) -> None:
    """Add ``tune`` and ``train`` to the command line."""
    register_tune(commands)
    description = "Train a ranking model on judged queries, and measure its gain."
    train = commands.add_parser(
        "train", help="learn to rank from your own judgements", description=description
    )
    kinds = train.add_subparsers(dest="what", metavar="WHAT", required=True)
    description = (
        "Learn a combination of the ranks and scores of a hit, and of the words, numbers and names "
        "that it shares"
        " with the query."
    )
    combiner = _parser(
        kinds, "combiner", "a learned combination of rankings", description, _COMBINER_EPILOG
    )
    _add_output(combiner, "MODEL", "the model file to write")
    add_option(combiner, "measure", str, "nDCG@10", "the measure to optimise")
    add_option(combiner, "folds", int, 5, "the number of folds of the cross-validation")
    remember = (
        "also learn to which judged queries each document was relevant; queries that share a "
        "relevant document "
        "may then be in different folds"
    )
    combiner.add_argument("--remember", action="store_true", help=remember)
    add_option(combiner, "sample", int, 2000, "learn from at most N judged queries")
    add_option(combiner, "seed", int, 0, "the seed of folds, sample and trees")
    add_json(combiner)
    combiner.set_defaults(
        command=train_combiner, interrupted="interrupted; an incomplete model is never written"
    )
    from_documents = "learn from titles and sentences of the documents, without judgements"
    teacher = "a re-ranker; the encoder also learns its margins"
    for what, noun in _MODELS.items():
        model = _parser(kinds, what, noun, f"Train {noun}.", _MODEL_EPILOG, judged=False)
        model.add_argument("--from-documents", action="store_true", help=from_documents)
        _add_model_options(model, "the new folder of the model", ALONE)
        if what == "encoder":
            model.add_argument("--teacher", default="", metavar="MODEL", help=teacher)
        model.set_defaults(command=partial(train_model, what=what), interrupted=INTERRUPTED)
    noun = "an encoder, an index with its vectors, and a combination"
    description = (
        "Train an encoder, add its vectors to a copy of the index, and train a combination of "
        "all rankings."
    )
    everything = _parser(kinds, "all", noun, description, _ALL_EPILOG)
    _add_model_options(everything, "the folder of all results", ADDED)
    add_option(everything, "folds", int, 5, "the number of folds of the combination")
    fixed = {"from_documents": False, "patience": ADDED.patience}
    everything.set_defaults(command=train_everything, **fixed, interrupted=INTERRUPTED)


def register_tune(commands: Subparsers) -> None:
    """Add ``tune``."""
    noun = "choose the settings of a search by cross-validation"
    description = (
        "Choose BM25's parameters, the fusion and the stages on judged queries, and write a "
        "configuration."
    )
    parser = _parser(commands, "tune", noun, description, _TUNE_EPILOG)
    _add_output(parser, "CONFIG", "the configuration to write")
    add_option(parser, "measure", str, "nDCG@10", "the measure to tune for")
    add_option(parser, "folds", int, 5, "the number of folds of the cross-validation")
    add_option(parser, "sample", int, 1000, "tune on at most N judged queries")
    add_option(parser, "seed", int, 0, "the seed of folds, sample and tests")
    add_outputs(parser)
    parser.set_defaults(command=tune)


def _parser(
    commands: Subparsers,
    name: str,
    noun: str,
    description: str,
    epilog: str,
    *,
    judged: bool = True,
) -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser: argparse.ArgumentParser = commands.add_parser(
        name, help=noun, description=description, epilog=epilog, formatter_class=raw
    )
    add_index(parser)
    add_judged(parser, required=judged)
    return parser


def _add_output(parser: argparse.ArgumentParser, kind: str, text: str) -> None:
    parser.add_argument("--output", type=Path, required=True, metavar=kind, help=text)


def add_option(
    parser: argparse.ArgumentParser, name: str, kind: type, default: Any, text: str
) -> None:
    """Add an option whose help ends with its default."""
    unit = {int: "N", float: "X", str: "NAME"}[kind]
    parser.add_argument(
        f"--{name}", type=kind, default=default, metavar=unit, help=f"{text} (default: {default})"
    )


def add_judged(parser: argparse.ArgumentParser, *, required: bool = True) -> None:
    """Add the options for judged queries."""
    parser.add_argument(
        "--queries", type=Path, required=required, metavar="FILE", help="the queries"
    )
    parser.add_argument(
        "--qrels", type=Path, required=required, metavar="FILE", help="the judgements"
    )
    default = RANKING.default()
    formats = (
        f"the task whose file formats are used: {', '.join(RANKING.names())} (default: {default})"
    )
    parser.add_argument("--task", default=default, metavar="TASK", help=formats)
    prepared = "how queries are prepared (default: as in factseek run)"
    parser.add_argument("--profile", choices=list(PROFILES), help=prepared)
    identical = "leave out the document that has the query's own id, as BEIR does"
    parser.add_argument("--ignore-identical-ids", action="store_true", help=identical)


def _add_model_options(
    parser: argparse.ArgumentParser, output: str, defaults: ModelTraining
) -> None:
    _add_output(parser, "DIR", output)
    base = "the model that is trained further (default: the index's encoder)"
    parser.add_argument("--base", default="", metavar="NAME", help=base)
    for name, kind, text in _MODEL_OPTIONS:
        if name != "looks" or defaults.patience:
            add_option(parser, name, kind, getattr(defaults, name.replace("-", "_")), text)
    add_option(parser, "measure", str, defaults.measure, "the measure to evaluate with")
    sample = "learn from at most N queries (default: 20,000)"
    parser.add_argument("--sample", type=int, default=20_000, metavar="N", help=sample)
    add_json(parser)


def judged_files(args: argparse.Namespace) -> JudgedFiles:
    """Return the files that the options of :func:`add_judged` name."""
    return JudgedFiles(**{field.name: getattr(args, field.name) for field in fields(JudgedFiles)})


def _read_judged(args: argparse.Namespace, index: Index) -> Judged:
    judged = read_judged(judged_files(args), index, sample=args.sample, seed=args.seed)
    _say_notes(judged.notes)
    return judged


def _say_notes(notes: Sequence[str]) -> None:
    for note in notes:
        say(f"note: {note}")


def tune(args: argparse.Namespace) -> int:
    """Tune a search, write the configuration, and print the evidence for it."""
    measure = _checked_measure(args)
    if args.output.is_file() and not args.output.read_bytes().startswith(FIRST_LINE.encode()):
        raise QueryError(
            "was not written by tune and is left as it is",
            place=args.output,
            remedy="give another file",
        )
    config = full_config_of(args)
    with open_index(args.index, config) as index:
        judged = read_judged(judged_files(args), index, sample=args.sample, seed=args.seed)
        tuning = tune_on(index, judged, measure, folds=args.folds, seed=args.seed, progress=bar)
        searched = f"index {index.info.name} ({index.info.id}), queries {args.queries.name}"
    _say_notes(judged.notes)
    about = f"{searched}, judgements {args.qrels.name}, seed {args.seed}"
    write_text(args.output, [as_yaml(tuning, config, about, args.output.parent)])
    if args.json:
        write(json.dumps(as_json(tuning), indent=2) + "\n")
    else:
        write(as_latex(tuning) if args.latex else as_text(tuning))
    say(f"{args.output}: the configuration; use it with --config")
    return DONE


def train_combiner(args: argparse.Namespace) -> int:
    """Train a combination, write the model, and print its cross-validated figures."""
    measure = _checked_measure(args)
    writable(args.output, filter(None, [args.config]))
    request = CombinerRequest(
        sources=sources_of_files([args.queries, args.qrels]),
        measure=measure,
        folds=args.folds,
        seed=args.seed,
        remembers=args.remember,
    )
    with open_index(args.index, config_of(args, Config)) as index:
        judged = _read_judged(args, index)
        trained = learn_combination(index, judged, request, bar)
    _say_notes(trained.notes[len(judged.notes) :])
    save(args.output, trained.combiner)
    write(json.dumps(trained.as_json(), indent=2) + "\n" if args.json else trained.text)
    say(f"{args.output}: the combination; set combine.model to it, and search.stages to [combine]")
    return DONE


def _checked_measure(args: argparse.Namespace) -> str:
    if args.seed < 0:
        raise QueryError(f"--seed {args.seed}: give 0 or more")
    if args.sample < 2:
        raise QueryError(f"--sample {args.sample}: give a number of queries, 2 or more")
    writable(args.output, [args.queries, args.qrels, *descriptions(args.task)])
    return _one_measure(args.measure)


def _one_measure(text: str) -> str:
    measure, *others = parse_measures(text)
    if others:
        raise QueryError(f"--measure {text}: give one measure")
    return measure


def train_model(args: argparse.Namespace, what: str) -> int:
    """Train an encoder or a re-ranker, write the model, and print its figures on held-out
    queries.
    """
    settings = _model_settings(args)
    check_target(args.output)
    with open_index(args.index, config_of(args, Config)) as index:
        judged = (
            of_documents(index, args.sample, args.seed)
            if args.from_documents
            else _read_judged(args, index)
        )
        request = TrainingRequest(
            what=what,
            settings=replace(settings, base=base_of(index, args.base)),
            sources=() if args.from_documents else sources_of_files([args.queries, args.qrels]),
            index=index.info.id,
            target=args.output,
        )
        trained = train_on(index, judged, request, bar)
    _say_notes(trained.notes[len(judged.notes) :])
    write(json.dumps(trained.as_json(), indent=2) + "\n" if args.json else trained.text)
    beside = "".join(f", and {name} to {value:g}" for name, value in trained.beside.items())
    say(f"{args.output}: the model; set {SETTINGS[what]} to it{beside}")
    return DONE


def _model_settings(args: argparse.Namespace) -> ModelTraining:
    """Return the settings of a training without its base; raise QueryError if one is out of range,
    or there is nothing to learn from.
    """
    names = [
        name for name in ModelTraining.__struct_fields__ if hasattr(args, name) and name != "base"
    ]
    settings = ModelTraining(base="", **{name: getattr(args, name) for name in names})
    check_settings(settings, args.sample, lambda name: f"--{name.replace('_', '-')}")
    judged = [args.queries, args.qrels]
    if args.from_documents:
        if any(judged):
            raise QueryError(
                "--from-documents learns without judgements",
                remedy="leave out --queries and --qrels",
            )
    elif not all(judged):
        raise QueryError("give --queries and --qrels, or --from-documents")
    return settings


def train_everything(args: argparse.Namespace) -> int:
    """Take the steps that are not done, and print the figures on queries that the encoder did not
    learn from.
    """
    settings = _model_settings(args)
    config = config_of(args, BuildConfig)
    with open_index(args.index, config) as index:
        settings = replace(settings, base=base_of(index, args.base))
    many = {"sample": args.sample, "folds": args.folds, "config": config, "progress": bar}
    figures, text = train_all(args.index, judged_files(args), settings, args.output, **many)
    write(json.dumps(figures, indent=2) + "\n" if args.json else text)
    say(
        f"{args.output / INDEX}: the index; search it with --stage combine --config "
        f"{args.output / CONFIG}"
    )
    return DONE
