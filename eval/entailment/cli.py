"""The command ``train entailment``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from ...retrieval.config import Config
from ...retrieval.index.local import open_index
from ...retrieval.terminal import DONE, Subparsers, add_index, add_json, config_of, say, write
from ..models.cli import INTERRUPTED, add_training, check_training, encoder_of
from ..models.request import ModelTraining, TrainingRequest
from .measured import MEASURE

_DEFAULTS = ModelTraining(base="", negatives=1, depth=20, max_tokens=128, rate=5e-5)
_EPILOG = """\
One tenth of the claims says when to stop and two tenths judge the result; claims that share a page of evidence, or most
of their words, stay together. README.md in the folder says what the model learned from and what it is worth."""


def register(kinds: Subparsers) -> None:
    """Add the command."""
    parser = kinds.add_parser(
        "entailment",
        help="a model that reads a sentence and a claim together: what verdict.entailment.model takes",
        description="Train a CrossEncoder to say whether a text entails a claim, contradicts it or leaves it open.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add_index(parser)
    parser.add_argument(
        "--input",
        nargs="+",
        type=Path,
        required=True,
        metavar="FILE",
        help="claims with labels and evidence, in FEVER's form; the index holds their pages",
    )
    add_training(
        parser,
        _DEFAULTS,
        negatives="sentences of other pages that the search finds, which leave the claim open, for each claim",
        tokens="tokens of text and claim that the model reads",
    )
    add_json(parser)
    parser.set_defaults(command=train, interrupted=INTERRUPTED)


def train(args: argparse.Namespace) -> int:
    """Train, write the model, print what it is worth."""
    from ...retrieval.progress import bar
    from ..models.card import SETTINGS, as_json, as_text
    from ..models.train import check_target
    from .train import train as train_on

    check_training(args)
    check_target(args.output)
    with open_index(args.index, config_of(args, Config)) as index:
        base = args.base or encoder_of(index)
        request = TrainingRequest(
            what="entailment",
            settings=ModelTraining(
                base=base,
                measure=MEASURE,
                **{name: getattr(args, name) for name in ModelTraining.__struct_fields__ if _is_asked(args, name)},
            ),
            files=tuple(args.input),
            index=index.info.id,
            target=args.output,
        )
        trained = train_on(index, request, lambda text: say(f"note: {text}"), bar)
    if not trained.grouped:
        say("note: so many claims share pages of evidence that the parts share them too: the figures may flatter")
    write(json.dumps(as_json(trained), indent=2) + "\n" if args.json else as_text(trained))
    say(f"{args.output}: the model; set {SETTINGS['entailment']} to it")
    return DONE


def _is_asked(args: argparse.Namespace, name: str) -> bool:
    return hasattr(args, name) and name not in ("base", "measure")
