"""The command ``verdict``: judge claims by their evidence."""

from __future__ import annotations

import argparse
from collections import Counter
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from ...core.errors import QueryError
from ...core.files import EVIDENCE, check_distinct, writable, write_atomically
from ...core.progress import bar
from ...core.records import model_file
from ...core.terminal import (
    DONE,
    Subparsers,
    add_json,
    format_count,
    report,
    require_text,
    say,
)
from ...retrieval.arguments import add_filter, add_index, config_of  # fmt: skip
from ...retrieval.encoders.cross_encoder import OnnxEntailment
from ...retrieval.filters import parse_filter
from ...retrieval.search.index import Index, open_index
from ..evidence.features import NO_EXTRACTORS, EntailmentExtractor, FeatureExtractors, open_contrast
from ..evidence.sentences import Finder
from ..formats import add_learning, check_model, try_to_submit
from ..settings import Config
from . import training
from .models import kind, names
from .verdict import TrainedVerdicts, Verdict, json_line

if TYPE_CHECKING:
    from ...eval.tasks import VerdictTask
    from ..formats import VerdictTasks


_EPILOG = f"""\
FILE{EVIDENCE}, next to FILE, has each claim's evidence sentences, the probability of each
label and, if there is no verdict, the reason. A verdict is a hint: a person decides.

models:
"""


def register(commands: Subparsers, formats: VerdictTasks) -> None:
    """Add ``verdict``; ``formats`` reads and writes the tasks' files."""
    parser = commands.add_parser(
        "verdict",
        help="judge claims by their evidence: give each a label with its evidence, or no verdict",
        description="Train or load a verdict model, find evidence for each claim, and judge the "
        "claim by the evidence.",
        epilog=_EPILOG + "\n".join(f"  {name:10}  {kind(name).SUMMARY}" for name in names()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    train = "labelled claims to learn from"
    add_learning(parser, formats.names(), names(), train=train, what="model", model="evidence")
    entailment = (
        "a CrossEncoder for entailment whose scores become features: a name or a folder "
        "(default: verdict.entailment.model)"
    )
    parser.add_argument("--entailment", default="", metavar="MODEL", help=entailment)
    parser.add_argument("--input", type=Path, metavar="FILE", help="the claims to judge")
    parser.add_argument("--output", type=Path, metavar="FILE", help="the submission")
    parser.add_argument(
        "--run-id", default="", metavar="ID", help="the run id (default: factseek-MODEL)"
    )
    add_index(parser)
    add_where(parser)
    add_json(parser)
    parser.set_defaults(command=partial(run, formats=formats))


def add_where(parser: argparse.ArgumentParser) -> None:
    """Add the options that limit which documents may be evidence."""
    add_filter(parser, "only evidence")
    as_of = "no evidence newer than this day, month or year"
    parser.add_argument("--as-of", type=require_text, metavar="DATE", help=as_of)
    undated = "what --as-of does with undated documents (default: drop)"
    parser.add_argument("--undated", choices=("drop", "keep"), default="drop", help=undated)


def run(args: argparse.Namespace, formats: VerdictTasks) -> int:
    """Train or load a model; judge the claims; write the submission and the file of evidence next
    to it.
    """
    _refuse(args)
    config = config_of(args, Config)
    format_ = formats.load(args.task)
    claims = format_.read_claims(args.input, labelled=False) if args.input else []
    if args.run_id and claims:
        verdict = (claims[0], format_.LABELS[0], ())
        try_to_submit("--run-id", lambda path: format_.write_verdicts([verdict], path, args.run_id))
    with open_index(args.index, config) as index:
        finder = finder_of(args, index, config)
        learned = _load_or_train(args, format_, finder, config)
        if claims:
            verifier = learned.verifier(finder, config.verdict)
            with closing(bar("judging", "claim", len(claims))) as running:
                verdicts = list(verifier.verify(claims, running))
            note = next(filter(None, (index.note(claim.text) for claim in claims[:20])), "")
            if note:
                say(f"note: {note}")
            _submit(args, format_, learned, verdicts)
    return DONE


def finder_of(args: argparse.Namespace, index: Index, config: Config) -> Finder:
    """Return the finder of evidence in an index, among the documents that the options admit."""
    declared = index.info.filter_fields
    where = parse_filter(
        args.filter, as_of=args.as_of or "", undated=args.undated == "keep", declared=declared
    )
    return Finder(index, config.verdict, where)


def _load_or_train(
    args: argparse.Namespace, format_: VerdictTask, finder: Finder, config: Config
) -> TrainedVerdicts:
    if args.load:
        learned = training.load(args.load, config, args.task)
        check_model(args, learned.manifest)
        return learned
    sources = [(path, format_.read_claims(path, labelled=True)) for path in args.train]
    lesson = training.Lesson(args.task, format_.LABELS, sources)
    name = args.model or "evidence"
    extractors = NO_EXTRACTORS
    if kind(name).READS_EVIDENCE:  # a baseline reads no evidence and needs neither
        settings = config.verdict.entailment
        of_model = (
            msgspec.structs.replace(settings, model=args.entailment)
            if args.entailment
            else settings
        )
        extractors = FeatureExtractors(open_contrast(config, finder.index.info.language))
        if of_model.model:
            extractors = extractors._replace(
                entailment=EntailmentExtractor(OnnxEntailment(of_model))
            )
    learned = training.train(name, lesson, finder, config.verdict, bar, extractors=extractors)
    figures = learned.manifest.figures
    each = [name for name in (*names(), training.WITHOUT_ENTAILMENT) if name in figures]
    measured = ", ".join(f"{name} {figures[name]['macro_f1']:.3f}" for name in each)
    folds = (
        f"{figures['claims']:,} training claims, cross-validated over {figures['folds']} folds"
        if figures
        else ""
    )
    unknown = (
        "note: too few claims of some label for a cross-validation: the quality of the model "
        "is unknown"
    )
    say(f"macro-F1 on {folds}: {measured}" if figures else unknown)
    if args.save:
        model_file.save(args.save, learned.manifest, learned.model.state())
        claims = sum(len(labelled) for _, labelled in sources)
        say(f"{args.save}: {learned.manifest.model}, learned from {format_count(claims, 'claim')}")
    return learned


def _submit(
    args: argparse.Namespace,
    format_: VerdictTask,
    learned: TrainedVerdicts,
    verdicts: list[Verdict],
) -> None:
    records = [
        (
            verdict.claim,
            verdict.label,
            [(sentence.docid, sentence.number) for sentence in verdict.evidence.sentences],
        )
        for verdict in verdicts
    ]
    format_.write_verdicts(
        records, args.output, args.run_id or f"factseek-{learned.manifest.model}"
    )
    shown = _beside(args.output)
    write_atomically(shown, "".join(map(json_line, verdicts)).encode())
    counts = Counter(verdict.label for verdict in verdicts)
    each = ", ".join(f"{counts[label]:,} {label}" for label in format_.LABELS if counts[label])
    abstained = sum(bool(verdict.abstained) for verdict in verdicts)
    facts = {
        "output": str(args.output),
        "evidence": str(shown),
        "claims": len(verdicts),
        "labels": dict(counts),
    }
    claims = format_count(len(verdicts), "claim")
    report(
        args,
        {**facts, "abstained": abstained},
        f"{args.output}: {claims}: {each}\n{shown}: the evidence\n",
    )
    if abstained:
        summary = f"the evidence allows no verdict on {abstained:,} of {claims}"
        say(
            f"note: {summary}. Their label is {learned.manifest.undecided}; see {shown} for the "
            "reasons"
        )


def _beside(output: Path) -> Path:
    return output.with_name(output.name + EVIDENCE)


def _refuse(args: argparse.Namespace) -> None:
    """Check, before any work, that the options are valid and that the outputs can be written."""
    if bool(args.train) == bool(args.load):
        raise QueryError(
            "give either --train with labelled files to learn from, or --load with a saved model"
        )
    if args.load and args.entailment:
        raise QueryError(
            "--entailment requires --train: a saved model already has its entailment model"
        )
    if args.load and args.save:
        raise QueryError("--load and --save exclude each other: copy the file instead")
    if bool(args.input) != bool(args.output):
        raise QueryError(
            "give --input (the claims to judge) and --output (the submission) together"
        )
    if not (args.input or args.save):
        raise QueryError(
            "there is nothing to do: give --input and --output to judge claims, or --save"
        )
    if args.model and not kind(args.model).READS_EVIDENCE and args.entailment:
        raise QueryError(
            f"--entailment {args.entailment}: the model {args.model} reads no evidence"
        )
    read = [*args.train, *filter(None, (args.input, args.load))]
    results = [
        *([args.output, _beside(args.output)] if args.output else []),
        *filter(None, [args.save]),
    ]
    for path in results:
        writable(path, read)
    check_distinct(results)
