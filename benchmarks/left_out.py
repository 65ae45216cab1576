"""Judge learned combinations and feedback on collections left out: ``python -m
benchmarks.left_out``.

It uses the rankings of ``benchmarks.fusion``, for queries in the language of their collection. For
each family of collections, a combination learns from the first hundred hits on all other families.
The settings of feedback are also chosen on them. Both are judged on the family left out. The
program writes its table into ``docs/figures.md``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from benchmarks import fusion
from benchmarks.data import data_folder
from benchmarks.measuring import part, program, publish
from benchmarks.quality import indexed
from factseek import Config, FusionSettings, Hit, Search, SearchSettings, open_index
from factseek.core.progress import bar
from factseek.eval.learn.combiner import KINDS, CombinerRequest, Pool, learn, measure_model, pools
from factseek.eval.learn.tune import FusedEvaluator
from factseek.eval.run.batch import Judged, chunks, draw_numbers
from factseek.eval.scoring.measures import values_of
from factseek.eval.scoring.statistics import SURE, Values, compare_pairs
from factseek.eval.scoring.tables import markdown_table
from factseek.retrieval.search.combiner import names as feature_names
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.prepared_query import PreparedQuery
from factseek.retrieval.store.manifest import VECTORS

RM3 = "bm25+rm3"
SAMPLE = 300
"""The number of queries of each family to learn from; a smaller family repeats queries, so that all
weigh equally.
"""
QUESTIONS = 150
"""The number of questions drawn from each part of XQuAD-R; its three parts have the same
questions.
"""
FEEDBACK = tuple(product((3, 5, 10), (0.2, 0.5, 1.0)))
"""The ways of Rocchio's feedback: the number of first hits, and the weight of their mean vector."""
RANKINGS = (*fusion.PAIR, RM3)
PLAIN = ("default", *fusion.PAIR)
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
"""The part of a name that marks a feature as a cosine, whose values depend on the encoder."""


class Sample(NamedTuple):
    """A case with the pools of its queries, and the measure of each query for each ranking and each
    way of feedback.
    """

    case: fusion.Case
    pools: list[Pool]
    alone: dict[str, Values]
    feedback: dict[str, NDArray[np.float64]]


@program()
def main(_: argparse.Namespace) -> None:
    """Make what is missing, learn, judge, print the table, and write it into the document."""
    with part("features and feedback"):
        samples = [sample(case) for case in fusion.cases_within(data_folder())]
    with part("learning"):
        text = report(samples)
    publish("left-out", text)


def sample(case: fusion.Case) -> Sample:
    """Return the sample of a case; of XQuAD-R, only ``QUESTIONS`` questions are drawn."""
    ranked = fusion.rankings(case, RANKINGS)
    if case.family == fusion.XQUAD:
        queries = tuple(case.queries[at] for at in draw_numbers(len(case.queries), QUESTIONS, 0))
        case = case._replace(
            queries=queries, qrels={query.qid: case.qrels[query.qid] for query in queries}
        )
    ranked = {
        name: {query.qid: ranking[query.qid] for query in case.queries}
        for name, ranking in ranked.items()
    }

    def value(ranking: fusion.Ranking) -> Values:
        return values_of(case.qrels, fusion.run_of(ranking), fusion.MEASURE)

    def fused(words: fusion.Ranking, vectors: fusion.Ranking) -> Values:
        pool = FusedEvaluator(dict(zip(fusion.PAIR, (words, vectors), strict=True)), fusion.DEPTH)
        return values_of(case.qrels, fusion.fused_run(pool, case, fusion.DEFAULT), fusion.MEASURE)

    alone = {name: value(ranking) for name, ranking in ranked.items()}
    alone["hybrid, RM3"] = fused(ranked[RM3], ranked["dense"])
    config = Config(search=SearchSettings(fusion=FusionSettings(weights=fusion.EQUAL)))
    with open_index(indexed(case.collection), config) as index:
        search = Search(profile=case.collection.profile, retriever="hybrid")
        judged = Judged(queries=case.queries, qrels=case.qrels, search=search, notes=())
        made = [general(pool) for pool in pools(index, judged, fusion.DEPTH, bar)]
        fed = feedback(index, case)
    by_way = {
        "dense, feedback": np.stack([value(ranking) for ranking in fed]),
        "hybrid, feedback": np.stack([fused(ranked["bm25"], ranking) for ranking in fed]),
    }
    alone["default"] = measure_model(made, case.qrels, fusion.MEASURE, None)
    return Sample(case, made, alone, by_way)


def general(pool: Pool) -> Pool:
    """Return a pool with features that mean the same in every collection: scores and cosines in
    standard deviations.
    """
    names, features = feature_names(fusion.PAIR), pool.features
    kept = [at for at, name in enumerate(names) if not name.endswith(_OWN) and _ALIKE not in name]
    scaled = [at for at, name in enumerate(names) if name.endswith(": score") or _ALIKE in name]
    spread = features[:, scaled].std(axis=0)
    standard = (features[:, scaled] - features[:, scaled].mean(axis=0)) / np.where(
        spread > 0, spread, 1.0
    )
    both = features[:, [names.index(f"{name}: found") for name in fusion.PAIR]].prod(
        axis=1, keepdims=True
    )
    return replace(pool, features=np.concatenate([features[:, kept], standard, both], axis=1))


def feedback(index: Index, case: fusion.Case) -> list[fusion.Ranking]:
    """Return the dense ranking of each way of feedback: the query's vector plus the weighted mean
    of its first hits.
    """
    made: list[fusion.Ranking] = [{} for _ in FEEDBACK]
    search = Search(profile=case.collection.profile, retriever="dense", group=True)
    resolved = index.resolve(search)
    for chunk in chunks(case.queries):
        asked = msgspec.structs.replace(search, k=fusion.DEPTH, where=chunk[0].where)
        texts = [resolved.text(query.text) for query in chunk]
        vectors = index.encoder.encode_query(texts)
        first = [
            index.passage_vectors(hits[: FEEDBACK[-1][0]], VECTORS)
            for hits in index.search(texts, asked)
        ]
        for ranking, (count, weight) in zip(made, FEEDBACK, strict=True):
            moved = [
                vector + weight * hits[:count].mean(axis=0)
                for vector, hits in zip(vectors, first, strict=True)
            ]
            queries = [
                PreparedQuery(text, vector=tuple(vector.tolist()))
                for text, vector in zip(texts, moved, strict=True)
            ]
            found = index.columns(queries, asked)
            ranking |= {
                query.qid: [Hit(*hit) for hit in zip(*documents, strict=True)]
                for query, documents in zip(chunk, found, strict=True)
            }
    return made


def report(samples: Sequence[Sample]) -> str:
    """Return the table: each case, judged with what was learned and chosen on the other
    families.
    """
    shown = [*PLAIN, *VARIANTS]
    families = dict.fromkeys(of.case.family for of in samples)
    judged = [case for family in families for case in _judged(samples, family, shown)]
    rows, better, worse = [], dict.fromkeys(VARIANTS, 0), dict.fromkeys(VARIANTS, 0)
    for case in judged:
        cells = [f"{case.fused[at].mean():.3f}" for at in range(len(PLAIN))]
        for name, of in VARIANTS.items():
            before, after = case.fused[shown.index(of)], case.fused[shown.index(name)]
            cells.append(fusion.tested(before, after))
            test = compare_pairs(before, after, 0)
            better[name] += test.sure
            worse[name] += test.p_randomisation < SURE and not test.sure
        rows.append([case.name, f"{case.fused.shape[1]:,}", *cells])
    means = fusion.family_means(judged)
    differences = (
        fusion.overall(judged, shown.index(name), shown.index(of)) for name, of in VARIANTS.items()
    )
    rows.append(
        [
            "mean over the families",
            "",
            *(f"{mean:.3f}" for mean in means[: len(PLAIN)]),
            *map(fusion.signed, differences),
        ]
    )
    counts = (f"{better[name]}, {worse[name]}" for name in VARIANTS)
    rows.append(["better, worse (p < .05)", *[""] * (1 + len(PLAIN)), *counts])
    return markdown_table(("collection", "queries", "default fusion", *shown[1:]), rows, left=1)


def _judged(
    samples: Sequence[Sample], family: str, shown: Sequence[str]
) -> Iterator[fusion.MeasuredCase]:
    others = [of for of in samples if of.case.family != family]
    models = learn(balanced(others), {}, CombinerRequest())
    ways = {}
    for name in samples[0].feedback:
        cases = [fusion.MeasuredCase("", of.case.family, of.feedback[name], {}) for of in others]
        ways[name] = fusion.best(fusion.family_means(cases))
    for of in (of for of in samples if of.case.family == family):
        learned = {
            kind: measure_model(of.pools, of.case.qrels, fusion.MEASURE, model)
            for kind, model in models.items()
        }
        every = {
            **of.alone,
            **learned,
            **{name: of.feedback[name][way] for name, way in ways.items()},
        }
        yield fusion.MeasuredCase(
            of.case.name, family, np.stack([every[name] for name in shown]), {}
        )


def balanced(samples: Sequence[Sample]) -> list[Pool]:
    """Return the same number of pools of each family, drawn at random; a small family repeats its
    pools.
    """
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
