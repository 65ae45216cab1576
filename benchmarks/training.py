"""Measure a trained encoder: ``python -m benchmarks.training``, or ``make bench-train``.

Where ``FACTSEEK_DATA`` names the folder of the public collections: trains the embedded encoder on SciFact's training
claims, as ``factseek train encoder`` does, indexes all abstracts with the encoder as it came and as it was trained, and
compares both on the claims that the training neither learned from nor stopped by. Writes the table into
``docs/training.md``. Training and indexing take more than an hour on two cores; interrupted, the training goes on from
its last checkpoint, and an index that is there is not made again.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np

from benchmarks.data_folder import data_folder
from benchmarks.marked import replace_marked
from benchmarks.parts import part
from factseek.commands import main as factseek
from factseek.eval.models.candidates import read_candidates
from factseek.eval.models.judged import TrainingJudged, of_judgements
from factseek.eval.models.parts import part as parted
from factseek.eval.models.request import ModelTraining
from factseek.eval.reports.page import markdown_table
from factseek.eval.running.judged import JudgedFiles, read_judged
from factseek.eval.scoring.measures import evaluate
from factseek.eval.scoring.statistics import Values, paired
from factseek.retrieval.domain import Qrels
from factseek.retrieval.errors import FactseekError
from factseek.retrieval.index.local import open_index
from factseek.retrieval.progress import bar
from factseek.retrieval.searcher import Search, Searcher
from factseek.retrieval.terminal import say
from factseek.settings import Config

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = ModelTraining(base="all-MiniLM-L6-v2", negatives=2)
"""Half of the default negatives, for a shorter training."""
RETRIEVERS = ("dense", "hybrid")
MEASURES = ("nDCG@10", "R@100")


class JudgingClaims(NamedTuple):
    """Claims by qid, with their judgements."""

    queries: dict[str, str]
    qrels: Qrels


def main() -> int:
    """Train and index what is missing, measure, print the table, write the document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=ROOT / "bench" / "training", help="keeps encoder and indexes")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="where training.md is")
    args = parser.parse_args()
    try:
        text = _measured(data_folder() / "scifact", args.work)
    except FactseekError as error:
        say(f"benchmarks.training: {error.line}")
        return 2
    sys.stdout.write(text)
    replace_marked(args.docs / "training.md", "encoder", text)
    return 0


def _measured(data: Path, work: Path) -> str:
    """Return the table of both encoders on the claims that judge."""
    work.mkdir(parents=True, exist_ok=True)
    before, after, encoder = work / "before", work / "after", work / "encoder"
    _index(data, before, SETTINGS.base)
    if not encoder.exists():
        with part("training"):
            _train(data, before, encoder)
    _index(data, after, str(encoder))
    with open_index(before, Config()) as came, open_index(after, Config()) as trained:
        claims = _judging(came, data)
        rows = [_row(came, trained, claims, name, measure) for name in RETRIEVERS for measure in MEASURES]
    header = ("search", "measure", "before", "trained", "gain, 95 % interval", "p")
    return f"{len(claims.queries)} claims that judge.\n\n{markdown_table(header, rows, left=2)}"


def _index(data: Path, folder: Path, encoder: str) -> None:
    if folder.exists():
        return
    with part(f"indexing with {encoder}"):
        _run("index", "beir", data / "corpus.jsonl", "--index", folder, "--encoder", encoder)


def _train(data: Path, index: Path, target: Path) -> None:
    judged = ("--queries", data / "queries.jsonl", "--qrels", data / "qrels" / "train.tsv")
    _run("train", "encoder", "--index", index, *judged, "--negatives", SETTINGS.negatives, "--output", target)


def _run(*arguments: object) -> None:
    """Run a command of factseek, and end with its exit code where that is not 0."""
    code = factseek([str(argument) for argument in arguments])
    if code:
        raise SystemExit(code)


def _judging(index: Searcher, data: Path) -> JudgingClaims:
    """Return the claims by which the training judges its result."""
    files = JudgedFiles(task="trec", queries=data / "queries.jsonl", qrels=data / "qrels" / "train.tsv")
    judged: TrainingJudged = of_judgements(read_judged(files, index))
    candidates = read_candidates(index, judged, SETTINGS.depth, bar)
    judging = parted(candidates, judged.qrels, SETTINGS.seed).judging
    queries = {candidate.qid: candidate.query for candidate in judging}
    return JudgingClaims(queries, {qid: judged.qrels[qid] for qid in queries})


def _row(before: Searcher, trained: Searcher, claims: JudgingClaims, retriever: str, measure: str) -> list[str]:
    """Return a line of the table: both means, and what the second is above the first."""
    first, second = (_values(index, claims, retriever, measure) for index in (before, trained))
    test = paired(first, second, SETTINGS.seed)
    gain = f"{test.difference.mean:+.3f} ({test.difference.low:+.3f} to {test.difference.high:+.3f})"
    means = [f"{float(np.mean(values)):.3f}" for values in (first, second)]
    return [retriever, measure, *means, gain, f"{test.p_randomisation:.3f}"]


def _values(index: Searcher, claims: JudgingClaims, retriever: str, measure: str) -> Values:
    """Return the measure of each claim, searched for in the whole index."""
    rankings = index.search(list(claims.queries.values()), Search(k=100, retriever=retriever))
    run = {qid: {hit.docid: hit.score for hit in hits} for qid, hits in zip(claims.queries, rankings, strict=True)}
    values: Values = evaluate(claims.qrels, run, [measure]).values[:, 0]
    return values


if __name__ == "__main__":
    sys.exit(main())
