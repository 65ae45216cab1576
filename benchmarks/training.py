"""Measure trained models: ``python -m benchmarks.training``, or ``make bench-train``.

Where ``FACTSEEK_DATA`` names the folder of the public collections: trains an encoder and a re-ranker on SciFact's
training claims, as ``factseek train`` does, and compares a search of all abstracts with them and without, on the claims
that the training neither learned from nor stopped by. Writes the tables into ``docs/training.md``. It takes hours on
two cores; interrupted, a training goes on from its last checkpoint, and a model or an index that is there is not made
again. ``--tried`` trains with the other settings, too, that were tried for the re-ranker.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

from benchmarks import training_rerankers
from benchmarks.data_folder import data_folder
from benchmarks.marked import replace_marked
from benchmarks.parts import part
from benchmarks.training_claims import JudgingClaims, judging_claims, values
from factseek.commands import main as factseek
from factseek.eval.models.request import ModelTraining
from factseek.eval.reports.page import markdown_table
from factseek.eval.scoring.statistics import paired
from factseek.retrieval.errors import FactseekError
from factseek.retrieval.index.local import open_index
from factseek.retrieval.searcher import Search, Searcher
from factseek.retrieval.terminal import say
from factseek.settings import Config

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = ModelTraining(base="all-MiniLM-L6-v2", negatives=2)
"""Half of the default negatives, for a shorter training."""
RETRIEVERS = ("dense", "hybrid")
MEASURES = ("nDCG@10", "R@100")


def main() -> int:
    """Train and index what is missing, measure, print the tables, write the document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=ROOT / "bench" / "training", help="keeps models and indexes")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="where training.md is")
    parser.add_argument("--only", choices=list(TABLES), help="one of the models alone")
    parser.add_argument("--tried", action="store_true", help="train with all settings that were tried")
    args = parser.parse_args()
    try:
        data = data_folder() / "scifact"
        args.work.mkdir(parents=True, exist_ok=True)
        _index(data, args.work / "before", SETTINGS.base)
        for name in [args.only] if args.only else TABLES:
            for mark, text in TABLES[name](data, args.work, args.tried):
                sys.stdout.write(text)
                replace_marked(args.docs / "training.md", mark, text)
    except FactseekError as error:
        say(f"benchmarks.training: {error.line}")
        return 2
    return 0


def _encoder(data: Path, work: Path, _: bool) -> Iterator[tuple[str, str]]:
    """Yield the table of both encoders on the claims that judge."""
    before, after, encoder = work / "before", work / "after", work / "encoder"
    if not encoder.exists():
        judged = ("--queries", data / "queries.jsonl", "--qrels", data / "qrels" / "train.tsv")
        with part("training the encoder"):
            _run("train", "encoder", "--index", before, *judged, "--negatives", SETTINGS.negatives, "--output", encoder)
    _index(data, after, str(encoder))
    with open_index(before, Config()) as came, open_index(after, Config()) as trained:
        claims = judging_claims(came, data, SETTINGS.depth, SETTINGS.seed)
        rows = [_row(came, trained, claims, name, measure) for name in RETRIEVERS for measure in MEASURES]
    header = ("search", "measure", "before", "trained", "gain, 95 % interval", "p")
    yield "encoder", f"{len(claims.queries)} claims that judge.\n\n{markdown_table(header, rows, left=2)}"


def _reranker(data: Path, work: Path, tried: bool) -> Iterator[tuple[str, str]]:
    """Yield the table of hybrid search with the re-ranker and without, and that of the settings that were tried."""
    index = work / "before"
    for setting in training_rerankers.TRIED if tried else training_rerankers.needed(training_rerankers.CHOSEN):
        if not (work / setting.name).exists():
            with part(f"training {setting.name}"):
                _run(*setting.arguments(data, index, work))
    with open_index(index, Config()) as opened:
        claims = judging_claims(opened, data, training_rerankers.DEPTH, SETTINGS.seed)
    model = work / training_rerankers.CHOSEN.name
    yield "reranker", training_rerankers.measured(index, model, claims, SETTINGS.seed)
    if tried:
        yield "reranker-tried", training_rerankers.tried(work)


TABLES: dict[str, Callable[[Path, Path, bool], Iterator[tuple[str, str]]]] = {
    "encoder": _encoder,
    "reranker": _reranker,
}
"""What makes the tables of each model: the marks in the document, and what stands between them."""


def _index(data: Path, folder: Path, encoder: str) -> None:
    if folder.exists():
        return
    with part(f"indexing with {encoder}"):
        _run("index", "beir", data / "corpus.jsonl", "--index", folder, "--encoder", encoder)


def _run(*arguments: object) -> None:
    """Run a command of factseek, and end with its exit code where that is not 0."""
    code = factseek([str(argument) for argument in arguments])
    if code:
        raise SystemExit(code)


def _row(before: Searcher, trained: Searcher, claims: JudgingClaims, retriever: str, measure: str) -> list[str]:
    """Return a line of the table: both means, and what the second is above the first."""
    search = Search(k=100, retriever=retriever)
    first, second = (values(index, claims, search, measure) for index in (before, trained))
    test = paired(first, second, SETTINGS.seed)
    gain = f"{test.difference.mean:+.3f} ({test.difference.low:+.3f} to {test.difference.high:+.3f})"
    means = [f"{float(np.mean(of_claims)):.3f}" for of_claims in (first, second)]
    return [retriever, measure, *means, gain, f"{test.p_randomisation:.3f}"]


if __name__ == "__main__":
    sys.exit(main())
