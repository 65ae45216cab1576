"""Compare ways of fusing rankings over every collection: ``python -m benchmarks.fusion``.

The rankings of BM25 and the encoders are made once and kept; every way of fusing them is then evaluated in memory, with
``factseek tune``'s own evaluator. One family of collections is left out at a time, a way is chosen on the others, and
what it loses on those left out, against the best way for them, is its regret. Writes its tables into
``docs/benchmark.md``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from benchmarks.data import data_folder
from benchmarks.measuring import program, replace_marked
from benchmarks.quality import ROOT, BenchCollection, example, indexed, public
from factseek.eval.files.topics import read_topics
from factseek.eval.learn.fused import FusedEvaluator
from factseek.eval.learn.grid import Setting, fusions
from factseek.eval.run.batch import SearchQuery, chunks, columns
from factseek.eval.scoring.measures import evaluate
from factseek.eval.scoring.statistics import Interval, Values, intervals, paired
from factseek.eval.scoring.tables import markdown_table
from factseek.retrieval.config import Config, FusionSettings
from factseek.retrieval.domain import Hit, Qrels
from factseek.retrieval.files import write_atomically
from factseek.retrieval.records.runs import ScoreTable
from factseek.retrieval.records.trec import read_qrels
from factseek.retrieval.retrievers import fusing as fusing_kind
from factseek.retrieval.retrievers import kind
from factseek.retrieval.search.index import open_index
from factseek.retrieval.search.options import Search
from factseek.retrieval.terminal import say, write

DEPTH = 100
"""Documents of each ranking that are fused: what a search does by default."""

BOTH = ("all-MiniLM-L6-v2", "multilingual-e5-small")
"""The encoders of an index in English that is asked in other languages, or fuses three rankings."""

XQUAD, XQUAD_LANGUAGES = "XQuAD-R", ("ar", "en", "es")
Ranking = dict[str, list[Hit]]
"""The documents found for each qid, best first."""


class Case(NamedTuple):
    """Judged queries of one collection; ``family`` names collections that share texts or questions.

    ``dense`` is the ranking by vectors that is fused with BM25's.
    """

    name: str
    family: str
    collection: BenchCollection
    queries: tuple[SearchQuery, ...]
    qrels: Qrels
    dense: str = "dense"


class RankedCase(NamedTuple):
    """A case with the ranking of each retriever, by its name."""

    case: Case
    rankings: dict[str, Ranking]

    def pair(self) -> dict[str, Ranking]:
        """Return the two rankings that are fused by default, by the names that they have then."""
        return {"bm25": self.rankings["bm25"], "dense": self.rankings[self.case.dense]}


def cases(data: Path) -> list[Case]:
    """Return the cases of the bundled examples and of the public collections."""
    judged = [_plain(example(), "the examples"), _plain(_arabic_example(), "the examples")]
    judged += [_plain(collection, collection.name) for collection in public(data)]
    return [*judged, *_xquad(data / "xquad-r")]


def ranked(case: Case, work: Path) -> RankedCase:
    """Return the rankings of a case, read from ``work`` where they were made from the index that is there."""
    folder = indexed(case.collection, work)
    with open_index(folder) as index:
        names = [name for name in index.info.retrievers if not kind(name).FUSES]
        path = work / "rankings" / f"{case.name}-{index.info.id}.json".replace(" ", "-").replace("/", "-")
        if not path.is_file():
            say(f"{case.name}: ranking {len(case.queries):,} queries by {' and '.join(names)}")
            search = Search(profile=case.collection.profile, k=DEPTH, group=True)
            rankings = {
                name: {
                    done.qid: list(zip(*done.ranking, strict=True))
                    for chunk in chunks(case.queries)
                    for done in columns(index, chunk, search._replace(retriever=name))
                }
                for name in names
            }
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, msgspec.json.encode(rankings))
    saved = msgspec.json.decode(path.read_bytes(), type=dict[str, dict[str, list[tuple[str, float]]]])
    return RankedCase(
        case, {name: {qid: [Hit(*hit) for hit in hits] for qid, hits in of.items()} for name, of in saved.items()}
    )


def _plain(collection: BenchCollection, family: str) -> Case:
    qrels = read_qrels(collection.qrels)
    queries = [
        SearchQuery(query.qid, query.text, None) for query in read_topics(collection.queries) if query.qid in qrels
    ]
    return Case(collection.name, family, collection, tuple(queries), _ordered(qrels, queries))


def _arabic_example() -> BenchCollection:
    folder = ROOT / "examples"
    steps = (("snippets", folder / "snippets-ar.tsv"), ("webpages", folder / "pages-ar"))
    queries, qrels = folder / "queries-ar.tsv", folder / "qrels-ar.txt"
    return BenchCollection("bundled example, Arabic", steps, queries, qrels, language="ar")


def _xquad(folder: Path) -> Iterator[Case]:
    """Yield XQuAD-R within each language, and with the questions of each other language."""
    within = {language: _within(folder / language, language) for language in XQUAD_LANGUAGES}
    yield from within.values()
    for asked, written in permutations(XQUAD_LANGUAGES, 2):
        case = within[written]
        yield case._replace(
            name=f"XQuAD-R {asked} over {written}",
            queries=within[asked].queries,
            qrels=_ordered(case.qrels, within[asked].queries),
            dense=f"dense:{BOTH[1]}" if case.collection.encoders else case.dense,
        )


def _within(folder: Path, language: str) -> Case:
    queries, qrels = folder / "queries.jsonl", folder / "qrels" / "test.tsv"
    encoders = BOTH if language == "en" else ()
    collection = BenchCollection(
        f"XQuAD-R {language}", (("beir", folder),), queries, qrels, language=language, encoders=encoders
    )
    return _plain(collection, XQUAD)


def _ordered(qrels: Qrels, queries: Sequence[SearchQuery]) -> Qrels:
    return {query.qid: qrels[query.qid] for query in queries}


MEASURE, CUT, RANK = "nDCG@10", 10, "RR@10"
SHOWN = 8
PAIR = ("bm25", "dense")
"""The rankings that the default fuses."""

EQUAL = dict.fromkeys(PAIR, 0.5)
COMPARED = FusionSettings(kind="rrf", rrf_k=10, weights=EQUAL)
"""The way that others are compared with: reciprocal ranks, the default until 0.2.0."""

BEFORE = FusionSettings(kind="zscore", weights={"bm25": 0.4, "dense": 0.6})
"""The default before the present one."""

DEFAULT = FusionSettings(weights={name: kind(name).DEFAULT_WEIGHT for name in PAIR})
"""The way that a search fuses unasked: it depends on the language of the query."""


class MeasuredCase(NamedTuple):
    """A case with the measure of each query under each way of fusing, shape (ways, queries), and of each ranking."""

    name: str
    family: str
    fused: Values
    alone: Mapping[str, float]


@program
def main() -> None:
    """Rank what is not yet ranked, evaluate, print the tables, write them into the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=ROOT / "bench" / "quality", help="keeps indexes and rankings")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="where benchmark.md is")
    args = parser.parse_args()
    ranked_cases = [ranked(case, args.work) for case in cases(data_folder())]
    ways = ways_to_fuse()
    measured = [evaluated(case, ways) for case in ranked_cases]
    content = report(measured, ways)
    languages = languages_report(ranked_cases, DEFAULT)
    write(f"{content}\n{languages}")
    replace_marked(args.docs / "benchmark.md", "fusion", content)
    replace_marked(args.docs / "benchmark.md", "languages", languages)


def ways_to_fuse() -> list[FusionSettings]:
    """Return the ways of fusing that ``factseek tune`` tries, the one that others are compared with first."""
    base = Setting("hybrid", Config().bm25, COMPARED)
    return [*(setting.fusion for setting in fusions(base, ())), DEFAULT]


def evaluated(ranked_case: RankedCase, ways: Sequence[FusionSettings]) -> MeasuredCase:
    """Return the measure of each query of a case under each way of fusing."""
    case, qrels = ranked_case.case, ranked_case.case.qrels
    rankings = ranked_case.pair()
    pool = FusedEvaluator(rankings, DEPTH)
    fused = [evaluate(qrels, _fused(pool, case, way), [MEASURE]).values[:, 0] for way in ways]
    alone = {}
    for name in PAIR:
        alone[name] = float(evaluate(qrels, _run(rankings[name]), [MEASURE]).values[:, 0].mean())
    return MeasuredCase(case.name, case.family, np.stack(fused), alone)


def _fused(pool: FusedEvaluator, case: Case, way: FusionSettings) -> ScoreTable:
    """Return the fused ranking of each query of a case; the default looks at its language."""
    fusing = fusing_kind("hybrid")
    language = case.collection.language or "en"
    ways = {query.qid: fusing.fusion_of(query.text, way, language) if fusing else way for query in case.queries}
    return pool.fused_by_query(ways, CUT)


def family_means(measured: Sequence[MeasuredCase]) -> NDArray[np.float64]:
    """Return the mean over families of the mean over their cases, for each way of fusing."""
    families = dict.fromkeys(case.family for case in measured)
    of_family = [
        np.mean([case.fused.mean(axis=1) for case in measured if case.family == family], axis=0) for family in families
    ]
    return np.asarray(np.mean(of_family, axis=0), dtype=np.float64)


def best(means: NDArray[np.float64]) -> int:
    """Return the place of the highest mean; of equals, the first and so the simplest."""
    return int(np.flatnonzero(means > means.max() - 1e-12)[0])


def overall(measured: Sequence[MeasuredCase], way: int, other: int = 0) -> Interval:
    """Return how much better than another a way is in the mean over families; queries are drawn anew."""
    random = np.random.default_rng((0, 1))
    families = list(dict.fromkeys(case.family for case in measured))
    resamples = 2_000
    total = np.zeros(resamples)
    for family in families:
        own = [case for case in measured if case.family == family]
        for case in own:
            differences = case.fused[way] - case.fused[other]
            drawn = random.integers(0, len(differences), (resamples, len(differences)))
            total += differences[drawn].mean(axis=1) / (len(own) * len(families))
    means = family_means(measured)
    low, high = np.percentile(total, (2.5, 97.5))
    return Interval(float(means[way] - means[other]), float(low), float(high))


def report(measured: Sequence[MeasuredCase], ways: Sequence[FusionSettings]) -> str:
    """Return the tables: each case left out, then the ways that are best over all."""
    means = family_means(measured)
    order = sorted(range(len(ways)), key=lambda way: (-means[way], way))
    default, before = ways.index(DEFAULT), ways.index(BEFORE)
    shown = list(dict.fromkeys([*order[:SHOWN], *(way for way in order if way in (default, before, 0))]))
    rows = [
        [
            described(ways[way]) + (" (the default)" if way == default else ""),
            f"{means[way]:.4f}",
            _signed(overall(measured, way)) if way else "",
        ]
        for way in shown
    ]
    best_ways = markdown_table(("fusion", MEASURE, f"against {described(COMPARED)}"), rows, left=1)
    header = (
        "collection",
        "queries",
        *PAIR,
        described(COMPARED),
        "gain of the default, p",
        "chosen on the others",
        "gain, p",
        "regret",
    )
    held_out = markdown_table(header, [_left_out(case, measured, ways) for case in measured], left=1)
    lead = f"The default is {_signed(overall(measured, default, before))} against {described(BEFORE)}.\n"
    return f"Left out, one family of collections at a time:\n\n{held_out}\nOver all families:\n\n{best_ways}\n{lead}"


def _left_out(case: MeasuredCase, measured: Sequence[MeasuredCase], ways: Sequence[FusionSettings]) -> list[str]:
    """Return a line of the table: the way chosen on all other families, judged on a case that had no part in it."""
    chosen = best(family_means([other for other in measured if other.family != case.family]))
    test = paired(case.fused[0], case.fused[chosen], 0)
    behind = case.fused[best(case.fused.mean(axis=1))] - case.fused[chosen]
    regret = intervals(behind[:, None], 0)[0]
    default = paired(case.fused[0], case.fused[ways.index(DEFAULT)], 0)
    return [
        case.name,
        f"{case.fused.shape[1]:,}",
        *(f"{case.alone[name]:.3f}" for name in PAIR),
        f"{case.fused[0].mean():.3f}",
        f"{_signed(default.difference)}, {default.p_randomisation:.3f}",
        described(ways[chosen]),
        f"{_signed(test.difference)}, {test.p_randomisation:.3f}",
        f"{regret.mean:.3f} ({regret.low:.3f} to {regret.high:.3f})",
    ]


def described(way: FusionSettings) -> str:
    """Name a way of fusing in a few words."""
    constant = f" {way.rrf_k}" if way.kind == "rrf" else ""
    return f"{way.kind}{constant}, " + " : ".join(f"{way.weights[name]:g}" for name in PAIR)


def _signed(interval: Interval) -> str:
    return f"{interval.mean:+.3f} ({interval.low:+.3f} to {interval.high:+.3f})"


def languages_report(ranked_cases: Sequence[RankedCase], fusion: FusionSettings) -> str:
    """Return the figures of XQuAD-R, of each ranking alone and as ``fusion`` fuses them: within a language, and across.

    The same questions are asked of each pair of languages: those of a question are averaged before questions are drawn.
    """
    cases = [case for case in ranked_cases if case.case.family == XQUAD]
    values = {ranked_case.case.name: _values(ranked_case, fusion) for ranked_case in cases}
    across = [of for name, of in values.items() if " over " in name]
    values["mean over the pairs"] = {name: np.mean([of[name] for of in across], axis=0) for name in (*PAIR, "hybrid")}
    rows = []
    for name, of in values.items():
        figures = [intervals(of[ranking][:, None], 0)[0] for ranking in (*PAIR, "hybrid")]
        cells = [f"{figure.mean:.3f} ({figure.low:.3f} to {figure.high:.3f})" for figure in figures]
        rows.append([name, *cells, _signed(paired(of["bm25"], of["hybrid"], 0).difference)])
    return markdown_table((RANK, *PAIR, "hybrid", "hybrid over bm25"), rows, left=1)


def _values(ranked_case: RankedCase, fusion: FusionSettings) -> Mapping[str, Values]:
    """Return the reciprocal rank of each question, by qid, for each ranking and their fusion."""
    rankings = ranked_case.pair()
    runs = {name: _run(ranking) for name, ranking in rankings.items()}
    runs["hybrid"] = _fused(FusedEvaluator(rankings, DEPTH), ranked_case.case, fusion)
    qrels = {qid: ranked_case.case.qrels[qid] for qid in sorted(ranked_case.case.qrels)}
    return {name: evaluate(qrels, run, [RANK]).values[:, 0] for name, run in runs.items()}


def _run(ranking: Ranking) -> dict[str, dict[str, float]]:
    return {qid: {hit.docid: hit.score for hit in hits[:CUT]} for qid, hits in ranking.items()}


if __name__ == "__main__":
    sys.exit(main())
