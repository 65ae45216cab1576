"""Judge learned combinations and feedback on collections left out: ``python -m benchmarks.left_out``.

It uses the rankings of ``benchmarks.fusion``, for queries in the language of their collection. For each family of
collections, a combination learns from the first hundred hits on all other families, and feedback gets its settings from
them. Both are judged on the family left out. The program writes its table into ``docs/figures.md``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import data_folder
from benchmarks.fusion import (
    DEFAULT,
    DEPTH,
    EQUAL,
    MEASURE,
    PAIR,
    XQUAD,
    Case,
    MeasuredCase,
    Ranking,
    best,
    cases_within,
    family_means,
    fused_run,
    overall,
    rankings,
    run_of,
    signed,
    values,
)
from benchmarks.measuring import part, program, replace_marked
from benchmarks.quality import ROOT, indexed
from factseek.eval.learn.combiner import KINDS, CombinerRequest, learn, measured, pools
from factseek.eval.learn.fused import FusedEvaluator
from factseek.eval.learn.learners import Pool
from factseek.eval.run.batch import chunks
from factseek.eval.run.judged import Judged, drawn
from factseek.eval.scoring.statistics import SURE, PairedTest, Values, paired
from factseek.eval.scoring.tables import markdown_table
from factseek.retrieval.config import Config, FusionSettings, SearchSettings
from factseek.retrieval.domain import Hit, VectorQuery
from factseek.retrieval.progress import bar
from factseek.retrieval.search.combiner import names as feature_names
from factseek.retrieval.search.index import Index, open_index
from factseek.retrieval.search.options import Search
from factseek.retrieval.store.manifest import VECTORS
from factseek.retrieval.terminal import write

RM3 = "bm25+rm3"
SAMPLE = 300
"""The queries of each family to learn from, repeated if there are fewer, so that families weigh equally."""

QUESTIONS = 150
"""The questions of each part of XQuAD-R; three parts have the same questions."""

FEEDBACK = tuple(product((3, 5, 10), (0.2, 0.5, 1.0)))
"""The ways of Rocchio's feedback: how many first hits, and the weight of the mean of their vectors."""

RANKINGS = (*PAIR, RM3)
PLAIN = ("default", *PAIR)
VARIANTS = {
    **dict.fromkeys(KINDS, "default"),
    "hybrid, feedback": "default",
    "hybrid, RM3": "default",
    "dense, feedback": "dense",
    RM3: "bm25",
}
"""The columns after those of ``PLAIN``, each with the ranking that its gain is measured against."""

_OWN = (": score", ": below the best", "length")
"""The ends of the names of features whose values depend on the collection."""
_ALIKE = "like "
"""The start of the names of features by cosines, which depend on the encoder."""


class Sample(NamedTuple):
    """A case with the pools of its queries, and the measure of each query by each ranking and each way of feedback."""

    case: Case
    pools: list[Pool]
    alone: dict[str, Values]
    feedback: dict[str, NDArray[np.float64]]


@program
def main() -> None:
    """Make what is missing, learn, judge, print the table, and write it into the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--work", type=Path, default=ROOT / "bench" / "quality", help="the folder that keeps the indexes and rankings"
    )
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="the folder of figures.md")
    args = parser.parse_args()
    with part("features and feedback"):
        samples = [sample(case, args.work) for case in cases_within(data_folder(), args.work)]
    with part("learning"):
        text = report(samples)
    write(text)
    replace_marked(args.docs / "figures.md", "left-out", text)


def sample(case: Case, work: Path) -> Sample:
    """Return a case, of XQuAD-R with ``QUESTIONS`` drawn, with the measure of each query by each ranking."""
    ranked = rankings(case, work, RANKINGS)
    if case.family == XQUAD:
        queries = tuple(case.queries[at] for at in drawn(len(case.queries), QUESTIONS, 0))
        case = case._replace(queries=queries, qrels={query.qid: case.qrels[query.qid] for query in queries})
    ranked = {name: {query.qid: ranking[query.qid] for query in case.queries} for name, ranking in ranked.items()}
    alone = {name: values(case, run_of(ranking)) for name, ranking in ranked.items()}
    alone["hybrid, RM3"] = _fused(case, ranked[RM3], ranked["dense"])
    config = Config(search=SearchSettings(fusion=FusionSettings(weights=EQUAL)))
    with open_index(indexed(case.collection, work), config) as index:
        search = Search(profile=case.collection.profile, retriever="hybrid")
        judged = Judged(asked=case.queries, qrels=case.qrels, search=search, notes=())
        made = [general(pool) for pool in pools(index, judged, DEPTH, bar)]
        fed = feedback(index, case)
    by_way = {
        "dense, feedback": [values(case, run_of(ranking)) for ranking in fed],
        "hybrid, feedback": [_fused(case, ranked["bm25"], ranking) for ranking in fed],
    }
    alone["default"] = measured(made, case.qrels, MEASURE, None)
    return Sample(case, made, alone, {name: np.stack(of_ways) for name, of_ways in by_way.items()})


def _fused(case: Case, words: Ranking, vectors: Ranking) -> Values:
    pool = FusedEvaluator(dict(zip(PAIR, (words, vectors), strict=True)), DEPTH)
    return values(case, fused_run(pool, case, DEFAULT))


def general(pool: Pool) -> Pool:
    """Return a pool with features that mean the same in every collection.

    Raw scores and lengths are left out. Each score and cosine is counted in standard deviations from the mean of the
    query's hits.
    """
    names, features = feature_names(PAIR), pool.features
    kept = [at for at, name in enumerate(names) if not name.endswith(_OWN) and _ALIKE not in name]
    scaled = [at for at, name in enumerate(names) if name.endswith(": score") or _ALIKE in name]
    spread = features[:, scaled].std(axis=0)
    standard = (features[:, scaled] - features[:, scaled].mean(axis=0)) / np.where(spread > 0, spread, 1.0)
    both = features[:, [names.index(f"{name}: found") for name in PAIR]].prod(axis=1, keepdims=True)
    return replace(pool, features=np.concatenate([features[:, kept], standard, both], axis=1))


def feedback(index: Index, case: Case) -> list[Ranking]:
    """Return the dense ranking of each way of feedback: the query's vector plus the mean vector of its first hits."""
    made: list[Ranking] = [{} for _ in FEEDBACK]
    search = Search(profile=case.collection.profile, retriever="dense", group=True)
    resolved = index.resolve(search)
    for chunk in chunks(case.queries):
        asked = search._replace(k=DEPTH, where=chunk[0].where)
        texts = [resolved.text(query.text) for query in chunk]
        vectors = index.encoder.encode_query(texts)
        first = [index.passage_vectors(hits[: FEEDBACK[-1][0]], VECTORS) for hits in index.search(texts, asked)]
        for ranking, (count, weight) in zip(made, FEEDBACK, strict=True):
            moved = [vector + weight * hits[:count].mean(axis=0) for vector, hits in zip(vectors, first, strict=True)]
            queries = [VectorQuery(text, tuple(vector.tolist())) for text, vector in zip(texts, moved, strict=True)]
            found = index.columns(queries, asked)
            ranking |= {
                query.qid: [Hit(*hit) for hit in zip(*documents, strict=True)]
                for query, documents in zip(chunk, found, strict=True)
            }
    return made


def report(samples: Sequence[Sample]) -> str:
    """Return the table: each case, judged with what was learned and chosen on the other families."""
    shown = [*PLAIN, *VARIANTS]
    judged = [
        case for family in dict.fromkeys(of.case.family for of in samples) for case in _judged(samples, family, shown)
    ]
    rows, sure = [], dict.fromkeys(VARIANTS, (0, 0))
    for case in judged:
        tests = {
            name: paired(case.fused[shown.index(of)], case.fused[shown.index(name)], 0) for name, of in VARIANTS.items()
        }
        plain = [f"{case.fused[at].mean():.3f}" for at in range(len(PLAIN))]
        rows.append([case.name, f"{case.fused.shape[1]:,}", *plain, *map(_cell, tests.values())])
        for name, test in tests.items():
            certain = test.p_randomisation < SURE
            sure[name] = sure[name][0] + test.sure, sure[name][1] + (certain and not test.sure)
    means = family_means(judged)
    differences = [signed(overall(judged, shown.index(name), shown.index(of))) for name, of in VARIANTS.items()]
    rows.append(["mean over the families", "", *(f"{mean:.3f}" for mean in means[: len(PLAIN)]), *differences])
    rows.append(["better, worse (p < .05)", "", *("" for _ in PLAIN), *(f"{up}, {down}" for up, down in sure.values())])
    return markdown_table(("collection", "queries", "default fusion", *shown[1:]), rows, left=1)


def _judged(samples: Sequence[Sample], family: str, shown: Sequence[str]) -> Iterator[MeasuredCase]:
    """Yield the cases of a family, with each query's measure by each of the rankings ``shown``."""
    others = [of for of in samples if of.case.family != family]
    models = learn(balanced(others), {}, CombinerRequest(files=()))
    ways = {
        name: best(family_means([MeasuredCase("", of.case.family, of.feedback[name], {}) for of in others]))
        for name in samples[0].feedback
    }
    for of in (of for of in samples if of.case.family == family):
        learned = {kind: measured(of.pools, of.case.qrels, MEASURE, model) for kind, model in models.items()}
        every = {**of.alone, **learned, **{name: of.feedback[name][way] for name, way in ways.items()}}
        yield MeasuredCase(of.case.name, family, np.stack([every[name] for name in shown]), {})


def _cell(test: PairedTest) -> str:
    return f"{signed(test.difference)}, {test.p_randomisation:.3f}"


def balanced(samples: Sequence[Sample]) -> list[Pool]:
    """Return the same number of pools of each family, drawn at random; a small family repeats its pools."""
    families: dict[str, list[Pool]] = {}
    for of in samples:
        families.setdefault(of.case.family, []).extend(pool for pool in of.pools if pool.teaches)
    chance = np.random.default_rng((0, 7))
    return [
        of_family[at]
        for of_family in families.values()
        for at in np.resize(chance.permutation(len(of_family)), SAMPLE).tolist()
    ]


if __name__ == "__main__":
    sys.exit(main())
