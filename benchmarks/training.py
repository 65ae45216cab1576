"""Measure trained models: ``python -m benchmarks.training``, or ``make bench-train``.

``FACTSEEK_DATA`` must name the folder of the public collections. The program trains an encoder and a re-ranker on
SciFact's training claims, as ``factseek train`` does. It compares searches of all abstracts with and without these
models, on claims that were not used to train or to stop the training. It writes the tables into ``docs/figures.md``. It
takes hours on two cores. An interrupted training continues from its last checkpoint. Existing models and indexes are
not built again.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from time import process_time
from typing import NamedTuple

from benchmarks.data import data_folder
from benchmarks.measuring import part, program, replace_marked
from factseek.commands import main as factseek
from factseek.eval.learn.examples import TrainingJudged, read_candidates
from factseek.eval.learn.request import ModelTraining
from factseek.eval.learn.splits import split
from factseek.eval.run.judged import JudgedFiles, read_judged
from factseek.eval.scoring.measures import evaluate
from factseek.eval.scoring.statistics import Values, paired
from factseek.eval.scoring.tables import markdown_table
from factseek.retrieval.domain import Qrels
from factseek.retrieval.progress import bar
from factseek.retrieval.search.index import Index, open_index
from factseek.retrieval.search.options import Search
from factseek.retrieval.stages.rerank import RerankSettings
from factseek.settings import Config

ROOT = Path(__file__).resolve().parent.parent
SETTINGS = ModelTraining(base="all-MiniLM-L6-v2", negatives=2)
"""Half of the default negatives, for a shorter training."""
DEPTH = 10
"""The number of hits to re-rank, in training, evaluation and search."""
RERANKER = "--base all-MiniLM-L6-v2 --negatives 2 --batch 8 --looks 1 --max-tokens 128 --rate 1e-4 --epochs 1".split()
TIMED = 40
"""The number of claims whose searches are timed."""


class JudgingClaims(NamedTuple):
    """The claims on which a training evaluates its result, by qid, with their judgements."""

    queries: dict[str, str]
    qrels: Qrels


@program
def main() -> None:
    """Train and index what is missing, measure, print the tables, and write the document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--work", type=Path, default=ROOT / "bench" / "training", help="the folder that keeps the models and indexes"
    )
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="the folder of figures.md")
    parser.add_argument("--only", choices=["encoder", "reranker"], help="train only this model")
    args = parser.parse_args()
    data = data_folder() / "scifact"
    args.work.mkdir(parents=True, exist_ok=True)
    _index(data, args.work / "before", SETTINGS.base)
    for model, measure in {"encoder": _encoder, "reranker": _reranker}.items():
        if args.only in (None, model):
            text = measure(data, args.work)
            sys.stdout.write(text)
            replace_marked(args.docs / "figures.md", model, text)


def _encoder(data: Path, work: Path) -> str:
    """Return the table of both encoders on the held-out claims."""
    _train("encoder", data, work, "--negatives", SETTINGS.negatives)
    _index(data, work / "after", str(work / "encoder"))
    rows = []
    with open_index(work / "before", Config()) as came, open_index(work / "after", Config()) as trained:
        claims = _judging_claims(came, data, SETTINGS.depth)
        for retriever in ("dense", "hybrid"):
            for measure in ("nDCG@10", "R@100"):
                search = Search(k=100, retriever=retriever)
                before, after = (_values(index, claims, search, measure) for index in (came, trained))
                rows.append([retriever, measure, f"{before.mean():.3f}", f"{after.mean():.3f}", *_gain(before, after)])
    header = ("search", "measure", "before", "trained", "gain, 95 % interval", "p")
    return f"Evaluated on {len(claims.queries)} claims.\n\n{markdown_table(header, rows, left=2)}"


def _reranker(data: Path, work: Path) -> str:
    """Return the table of hybrid search with and without the re-ranker, and the time of each."""
    _train("reranker", data, work, *RERANKER, "--depth", DEPTH)
    model = work / "reranker"
    weight = json.loads((model / "training.json").read_text("utf-8"))["beside"]["rerank.weight"]
    with open_index(work / "before", Config()) as index:
        claims = _judging_claims(index, data, DEPTH)
        search = Search(k=100, retriever="hybrid")
        hybrid = _values(index, claims, search, "nDCG@10")
        rows = [["hybrid", f"{hybrid.mean():.3f}", "", "", f"{_milliseconds(index, claims, search):.0f}"]]
    for share in dict.fromkeys((weight, 1.0)):
        settings = Config(plugins=(RerankSettings(model=str(model), depth=DEPTH, weight=share),))
        with open_index(work / "before", settings) as index:
            search = Search(k=100, retriever="hybrid", stages=("rerank",))
            values = _values(index, claims, search, "nDCG@10")
            cost = f"{_milliseconds(index, claims, search):.0f}"
        rows.append([f"re-ranked, weight {share:g}", f"{values.mean():.3f}", *_gain(hybrid, values), cost])
    header = ("ranking", "nDCG@10", "gain over hybrid, 95 % interval", "p", "processor ms a search")
    return f"Evaluated on {len(claims.queries)} claims.\n\n{markdown_table(header, rows, left=1)}"


def _index(data: Path, folder: Path, encoder: str) -> None:
    if not folder.exists():
        with part(f"indexing with {encoder}"):
            _run("index", "beir", data / "corpus.jsonl", "--index", folder, "--encoder", encoder)


def _train(model: str, data: Path, work: Path, *options: object) -> None:
    if not (work / model).exists():
        judged = ("--queries", data / "queries.jsonl", "--qrels", data / "qrels" / "train.tsv")
        with part(f"training the {model}"):
            _run("train", model, "--index", work / "before", *judged, *options, "--output", work / model)


def _run(*arguments: object) -> None:
    """Run a command of factseek; if its exit code is not 0, exit with the same code."""
    code = factseek([str(argument) for argument in arguments])
    if code:
        raise SystemExit(code)


def _judging_claims(index: Index, data: Path, depth: int) -> JudgingClaims:
    files = JudgedFiles(task="trec", queries=data / "queries.jsonl", qrels=data / "qrels" / "train.tsv")
    read = read_judged(files, index)
    judged = TrainingJudged(asked=read.asked, qrels=read.qrels, search=read.search)
    judging = split(read_candidates(index, judged, depth, bar), judged.qrels, SETTINGS.seed).judging
    queries = {candidate.qid: candidate.query for candidate in judging}
    return JudgingClaims(queries, {qid: judged.qrels[qid] for qid in queries})


def _values(index: Index, claims: JudgingClaims, search: Search, measure: str) -> Values:
    """Return the measure of each claim, searched in the whole index."""
    rankings = index.search(list(claims.queries.values()), search)
    run = {qid: {hit.docid: hit.score for hit in hits} for qid, hits in zip(claims.queries, rankings, strict=True)}
    measured: Values = evaluate(claims.qrels, run, [measure]).values[:, 0]
    return measured


def _milliseconds(index: Index, claims: JudgingClaims, search: Search) -> float:
    """Return the processor time of a search in milliseconds, averaged over searches one after the other."""
    queries = list(claims.queries.values())[:TIMED]
    began = process_time()
    for query in queries:
        index.search([query], search)
    return 1000 * (process_time() - began) / len(queries)


def _gain(before: Values, after: Values) -> list[str]:
    test = paired(before, after, SETTINGS.seed)
    gain = f"{test.difference.mean:+.3f} ({test.difference.low:+.3f} to {test.difference.high:+.3f})"
    return [gain, f"{test.p_randomisation:.3f}"]


if __name__ == "__main__":
    sys.exit(main())
