"""Measure trained models: ``python -m benchmarks.training``, or ``make bench-train``.

Where ``FACTSEEK_DATA`` names the folder of the public collections: trains an encoder and a re-ranker on SciFact's
training claims, as ``factseek train`` does, and compares a search of all abstracts with them and without, on the claims
that the training neither learned from nor stopped by. Writes the tables into ``docs/training.md``. It takes hours on
two cores; interrupted, a training goes on from its last checkpoint, and a model or an index that is there is not made
again.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from time import process_time
from typing import NamedTuple

import numpy as np

from benchmarks.data import data_folder
from benchmarks.measuring import part, replace_marked
from factseek.commands import main as factseek
from factseek.eval.models.candidates import read_candidates
from factseek.eval.models.judged import TrainingJudged, of_judgements
from factseek.eval.models.parts import part as parted
from factseek.eval.models.request import ModelTraining
from factseek.eval.reports.page import markdown_table
from factseek.eval.running.judged import JudgedFiles, read_judged
from factseek.eval.scoring.measures import evaluate
from factseek.eval.scoring.statistics import Values, paired
from factseek.retrieval.config import RerankSettings
from factseek.retrieval.domain import Qrels
from factseek.retrieval.errors import FactseekError
from factseek.retrieval.index.local import open_index
from factseek.retrieval.progress import bar
from factseek.retrieval.searcher import Search, Searcher
from factseek.retrieval.terminal import say
from factseek.settings import Config


class JudgingClaims(NamedTuple):
    """Claims by qid, with their judgements."""

    queries: dict[str, str]
    qrels: Qrels


def judging_claims(index: Searcher, data: Path, depth: int, seed: int) -> JudgingClaims:
    """Return the claims by which the training judges its result."""
    files = JudgedFiles(task="trec", queries=data / "queries.jsonl", qrels=data / "qrels" / "train.tsv")
    judged: TrainingJudged = of_judgements(read_judged(files, index))
    candidates = read_candidates(index, judged, depth, bar)
    judging = parted(candidates, judged.qrels, seed).judging
    queries = {candidate.qid: candidate.query for candidate in judging}
    return JudgingClaims(queries, {qid: judged.qrels[qid] for qid in queries})


def values(index: Searcher, claims: JudgingClaims, search: Search, measure: str) -> Values:
    """Return the measure of each claim, searched for in the whole index."""
    rankings = index.search(list(claims.queries.values()), search)
    run = {qid: {hit.docid: hit.score for hit in hits} for qid, hits in zip(claims.queries, rankings, strict=True)}
    measured: Values = evaluate(claims.qrels, run, [measure]).values[:, 0]
    return measured


DEPTH = 10
"""Hits that are re-ranked: learned from, judged and searched with."""
RERANKER = "--base all-MiniLM-L6-v2 --negatives 2 --batch 8 --looks 1 --max-tokens 128 --rate 1e-4 --epochs 1".split()
RERANKER += ["--depth", str(DEPTH)]

MEASURE = "nDCG@10"
_TIMED = 40
"""Claims whose searches are timed."""


class RankedRow(NamedTuple):
    """A ranking of the judging claims: its name, their measures, and processor milliseconds a search."""

    name: str
    values: Values
    milliseconds: float


def measured(index: Path, model: Path, claims: JudgingClaims, seed: int) -> str:
    """Return the table of hybrid search with and without the stage, over all documents."""
    weight = json.loads((model / "training.json").read_text("utf-8"))["beside"]["rerank.weight"]
    rows = [_row("hybrid", index, Config(), (), claims)]
    for share in dict.fromkeys((weight, 1.0)):
        settings = Config(rerank=RerankSettings(model=str(model), depth=DEPTH, weight=share))
        rows.append(_row(f"re-ranked, weight {share:g}", index, settings, ("rerank",), claims))
    header = ("ranking", MEASURE, "gain over hybrid, 95 % interval", "p", "processor ms a search")
    lines = [_line(row, rows[0], seed) for row in rows]
    return f"{len(claims.queries)} claims that judge.\n\n{markdown_table(header, lines, left=1)}"


def _row(name: str, folder: Path, settings: Config, stages: Sequence[str], claims: JudgingClaims) -> RankedRow:
    search = Search(k=100, retriever="hybrid", stages=tuple(stages))
    with open_index(folder, settings) as index:
        index.search(list(claims.queries.values())[:1], search)
        began = process_time()
        for query in list(claims.queries.values())[:_TIMED]:
            index.search([query], search)
        worked = process_time() - began
        return RankedRow(name, values(index, claims, search, MEASURE), 1000 * worked / min(_TIMED, len(claims.queries)))


def _line(row: RankedRow, first: RankedRow, seed: int) -> list[str]:
    test = paired(first.values, row.values, seed)
    gain = f"{test.difference.mean:+.3f} ({test.difference.low:+.3f} to {test.difference.high:+.3f})"
    own = [f"{float(np.mean(row.values)):.3f}", f"{row.milliseconds:.0f}"]
    return [row.name, own[0], *(["", ""] if row is first else [gain, f"{test.p_randomisation:.3f}"]), own[1]]


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
    args = parser.parse_args()
    try:
        data = data_folder() / "scifact"
        args.work.mkdir(parents=True, exist_ok=True)
        _index(data, args.work / "before", SETTINGS.base)
        for name in [args.only] if args.only else TABLES:
            mark, text = TABLES[name](data, args.work)
            sys.stdout.write(text)
            replace_marked(args.docs / "training.md", mark, text)
    except FactseekError as error:
        say(f"benchmarks.training: {error.line}")
        return 2
    return 0


def _encoder(data: Path, work: Path) -> tuple[str, str]:
    """Return the table of both encoders on the claims that judge."""
    before, after, encoder = work / "before", work / "after", work / "encoder"
    if not encoder.exists():
        with part("training the encoder"):
            _run(
                "train",
                "encoder",
                "--index",
                before,
                *_judged(data),
                "--negatives",
                SETTINGS.negatives,
                "--output",
                encoder,
            )
    _index(data, after, str(encoder))
    with open_index(before, Config()) as came, open_index(after, Config()) as trained:
        claims = judging_claims(came, data, SETTINGS.depth, SETTINGS.seed)
        rows = [_row(came, trained, claims, name, measure) for name in RETRIEVERS for measure in MEASURES]
    header = ("search", "measure", "before", "trained", "gain, 95 % interval", "p")
    return "encoder", f"{len(claims.queries)} claims that judge.\n\n{markdown_table(header, rows, left=2)}"


def _reranker(data: Path, work: Path) -> tuple[str, str]:
    """Return the table of hybrid search with the re-ranker and without."""
    index, model = work / "before", work / "reranker"
    if not model.exists():
        with part("training the re-ranker"):
            _run("train", "reranker", "--index", index, *_judged(data), *RERANKER, "--output", model)
    with open_index(index, Config()) as opened:
        claims = judging_claims(opened, data, DEPTH, SETTINGS.seed)
    return "reranker", measured(index, model, claims, SETTINGS.seed)


def _judged(data: Path) -> tuple[object, ...]:
    return "--queries", data / "queries.jsonl", "--qrels", data / "qrels" / "train.tsv"


TABLES: dict[str, Callable[[Path, Path], tuple[str, str]]] = {
    "encoder": _encoder,
    "reranker": _reranker,
}
"""What makes the table of each model: the mark in the document, and what stands there."""


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
