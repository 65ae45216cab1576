"""The figures of XQuAD-R: hybrid beside BM25 within a language, and questions asked in another language."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from benchmarks.fusion_rankings import DEPTH, XQUAD_LANGUAGES, Case, RankedCase, Ranking, crosses
from factseek.eval.reports.page import markdown_table
from factseek.eval.scoring.measures import evaluate
from factseek.eval.scoring.statistics import Values, intervals, paired
from factseek.eval.tuning.fused_evaluator import FusedEvaluator
from factseek.retrieval.config import FusionSettings

MEASURE, CUT = "RR@10", 10


def report(ranked_cases: Sequence[RankedCase], fusion: FusionSettings) -> str:
    """Return both tables, of the hits as ``fusion`` fuses them and of each ranking alone."""
    within = [case for case in ranked_cases if case.case.name in map("XQuAD-R {}".format, XQUAD_LANGUAGES)]
    across = [case for case in ranked_cases if crosses(case.case)]
    return f"Within a language:\n\n{_within(within, fusion)}\nAcross languages:\n\n{_across(across, fusion)}"


def _within(ranked_cases: Sequence[RankedCase], fusion: FusionSettings) -> str:
    rows = []
    for ranked_case in ranked_cases:
        values = _values(ranked_case, fusion)
        test = paired(values["bm25"], values["hybrid"], 0)
        gain = f"{test.difference.mean:+.3f} ({test.difference.low:+.3f} to {test.difference.high:+.3f})"
        means = [f"{values[name].mean():.3f}" for name in ("bm25", "dense", "hybrid")]
        rows.append([ranked_case.case.name, *means, gain, f"{test.p_randomisation:.4f}"])
    return markdown_table((MEASURE, "bm25", "dense", "hybrid", "hybrid over bm25", "p"), rows, left=1)


def _across(ranked_cases: Sequence[RankedCase], fusion: FusionSettings) -> str:
    values = [_values(ranked_case, fusion) for ranked_case in ranked_cases]
    names = [ranked_case.case.name for ranked_case in ranked_cases]
    # The same questions are asked in each pair: those of a question are averaged before questions are drawn anew.
    values.append({name: np.mean([pair[name] for pair in values], axis=0) for name in ("bm25", "dense", "hybrid")})
    rows = [
        [name, *(_figure(pair[search]) for search in ("bm25", "dense", "hybrid"))]
        for name, pair in zip([*names, "mean over the pairs"], values, strict=True)
    ]
    return markdown_table((MEASURE, "bm25", "dense", "hybrid"), rows, left=1)


def _figure(values: Values) -> str:
    interval = intervals(values[:, None], 0)[0]
    return f"{interval.mean:.3f} ({interval.low:.3f} to {interval.high:.3f})"


def _values(ranked_case: RankedCase, fusion: FusionSettings) -> Mapping[str, Values]:
    """Return the measure of each question for each ranking and their fusion."""
    rankings = ranked_case.pair()
    runs = {name: _run(ranking) for name, ranking in rankings.items()}
    runs["hybrid"] = FusedEvaluator(rankings, DEPTH).fused(fusion, CUT)
    return {name: _measured(ranked_case.case, run) for name, run in runs.items()}


def _run(ranking: Ranking) -> dict[str, dict[str, float]]:
    return {qid: {hit.docid: hit.score for hit in hits[:CUT]} for qid, hits in ranking.items()}


def _measured(case: Case, run: Mapping[str, Mapping[str, float]]) -> Values:
    qids = sorted(case.qrels)
    values: Values = evaluate({qid: case.qrels[qid] for qid in qids}, run, [MEASURE]).values[:, 0]
    return values
