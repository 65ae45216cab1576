"""SciFact's training claims that judge a trained model: those that it neither learned from nor was stopped by."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from factseek.eval.models.candidates import read_candidates
from factseek.eval.models.judged import TrainingJudged, of_judgements
from factseek.eval.models.parts import part as parted
from factseek.eval.running.judged import JudgedFiles, read_judged
from factseek.eval.scoring.measures import evaluate
from factseek.eval.scoring.statistics import Values
from factseek.retrieval.domain import Qrels
from factseek.retrieval.progress import bar
from factseek.retrieval.searcher import Search, Searcher


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
