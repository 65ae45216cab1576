"""Compare ways of fusing rankings over every collection: ``python -m benchmarks.fusion``.

The rankings of BM25 and the encoders are computed once and kept. The evaluator of ``factseek tune``
then evaluates every way of fusing them in memory. For each family of collections, a way is chosen
on the other families. The regret of this way on a collection left out is its loss compared with the
best way there. The program writes its tables into ``docs/figures.md``.
"""

from __future__ import annotations

import argparse
import csv
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from pathlib import Path
from typing import NamedTuple

import msgspec
import numpy as np
from msgspec.structs import replace
from numpy.typing import NDArray

from benchmarks.data import data_folder, objects, write_objects
from benchmarks.measuring import ROOT, program, publish
from benchmarks.quality import WORK, BenchCollection, example, indexed, public
from factseek import (
    Config,
    Filter,
    FusionSettings,
    Hit,
    Qrels,
    Search,
    open_index,
    read_qrels,
    read_queries,
)
from factseek.core.files import write_atomically
from factseek.core.records.runs import ScoreTable
from factseek.core.terminal import say
from factseek.eval.learn.grid import Setting, fusions
from factseek.eval.learn.tune import FusedEvaluator
from factseek.eval.run.batch import SearchQuery, chunks, search_docids
from factseek.eval.scoring.measures import values_of
from factseek.eval.scoring.statistics import Interval, Values, compare_pairs, intervals
from factseek.eval.scoring.tables import markdown_table
from factseek.retrieval.encoders.sources import SPLADE_TINY
from factseek.retrieval.retrievers import fusing as fusing_kind
from factseek.retrieval.retrievers import kind
from factseek.retrieval.search.prepared_query import PreparedQuery

DEPTH = 100
"""The number of documents of each ranking that are fused, as in a search by default."""
BOTH = ("all-MiniLM-L6-v2", "multilingual-e5-small")
"""The encoders of an English index that is also queried in other languages, or that fuses three
rankings.
"""
XQUAD, XQUAD_LANGUAGES = "XQuAD-R", ("ar", "en", "es")
MEASURE, CUT, RANK, SHOWN = "nDCG@10", 10, "RR@10", 8
PAIR = ("bm25", "dense")
"""The rankings that the default fuses."""
EQUAL = dict.fromkeys(PAIR, 0.5)
USUAL = FusionSettings(kind="rrf", rrf_k=60, weights=EQUAL)
"""Reciprocal ranks with the constant of Cormack, Clarke and Büttcher (2009)."""
COMPARED = FusionSettings(kind="rrf", rrf_k=10, weights=EQUAL)
"""The way that all others are compared with: reciprocal ranks, the default until 0.2.0."""
BEFORE = FusionSettings(kind="zscore", weights={"bm25": 0.4, "dense": 0.6})
"""The default before the present one."""
DEFAULT = FusionSettings(weights={name: kind(name).default_weight for name in PAIR})
"""The default way of a search; it depends on the language of the query."""
Ranking = dict[str, list[Hit]]
"""The documents found for each qid, best first."""
_KEPT = dict[str, dict[str, list[tuple[str, float]]]]


class Case(NamedTuple):
    """Judged queries of one collection; ``family`` names collections that share texts or questions.

    ``dense`` names the ranking by vectors that is fused with BM25's. ``rankings`` has what
    :func:`rankings` returns.
    """

    name: str
    family: str
    collection: BenchCollection
    queries: tuple[SearchQuery, ...]
    qrels: Qrels
    dense: str = "dense"
    rankings: Mapping[str, Ranking] = {}


class MeasuredCase(NamedTuple):
    """A case with its measures: ``fused`` of shape (ways, queries), and the mean of each ranking
    ``alone``.
    """

    name: str
    family: str
    fused: Values
    alone: Mapping[str, float]


@program()
def main(_: argparse.Namespace) -> None:
    """Make missing rankings, evaluate, print the tables, and write them into the document."""
    ranked_cases = [case._replace(rankings=rankings(case)) for case in cases(data_folder())]
    # The ways of ``factseek tune``, and the default. All other ways are compared with the first.
    ways = [
        *(setting.fusion for setting in fusions(Setting("hybrid", Config().bm25, COMPARED), ())),
        DEFAULT,
    ]
    measured = [measure_case(case, ways) for case in ranked_cases]
    publish("fusion", report(measured, ways))
    publish("constants", constants_report(measured, ways))
    publish("languages", languages_report([case for case in ranked_cases if case.family == XQUAD]))


def measure_case(case: Case, ways: Sequence[FusionSettings]) -> MeasuredCase:
    """Return the measure of each way to fuse the rankings of a case, for each query."""
    pool = FusedEvaluator(case.rankings, DEPTH)
    fused = np.stack([values_of(case.qrels, fused_run(pool, case, way), MEASURE) for way in ways])
    values = {
        name: values_of(case.qrels, run_of(ranked), MEASURE)
        for name, ranked in case.rankings.items()
    }
    alone = {name: float(of_name.mean()) for name, of_name in values.items()}
    return MeasuredCase(case.name, case.family, fused, alone)


def cases(data: Path) -> Iterator[Case]:
    """Yield the cases of the bundled examples, of the public collections, and of XQuAD-R across
    languages.
    """
    yield from cases_within(data)
    within = {
        language: _within(data / "xquad-r" / language, language) for language in XQUAD_LANGUAGES
    }
    for asked, written in permutations(XQUAD_LANGUAGES, 2):
        case = within[written]
        yield case._replace(
            name=f"XQuAD-R {asked} over {written}",
            queries=within[asked].queries,
            qrels={query.qid: case.qrels[query.qid] for query in within[asked].queries},
            dense=f"dense:{BOTH[1]}" if case.collection.encoders else case.dense,
        )


def cases_within(data: Path) -> Iterator[Case]:
    """Yield the cases whose queries and documents are in the same language."""
    folder, family = ROOT / "examples", "the examples"
    steps = (("snippets", folder / "snippets-ar.tsv"), ("webpages", folder / "pages-ar"))
    files = folder / "queries-ar.tsv", folder / "qrels-ar.txt"
    yield _plain(example(), family)
    yield _plain(BenchCollection("bundled example, Arabic", steps, *files, language="ar"), family)
    yield from (_plain(collection, collection.name) for collection in public(data))
    yield _arabic_passages(data / "ct2019-task2-arabic")
    yield from (_within(data / "xquad-r" / language, language) for language in XQUAD_LANGUAGES)


def rankings(case: Case, names: Sequence[str] = PAIR, depth: int = DEPTH) -> dict[str, Ranking]:
    """Return the first ``depth`` hits of each ranking of a case by name; make those that are not
    yet kept for the current index.
    """
    with open_index(indexed(case.collection)) as index:
        wanted = {name: case.dense if name == "dense" else name for name in names}
        path = (
            WORK
            / "rankings"
            / f"{case.name}-{index.info.id}.json".replace(" ", "-").replace("/", "-")
        )
        made = msgspec.json.decode(path.read_bytes(), type=_KEPT) if path.is_file() else {}
        kept = {of: of if depth == DEPTH else f"{of}, {depth}" for of in wanted.values()}
        missing = [name for name in wanted.values() if kept[name] not in made]
        if missing:
            say(f"{case.name}: ranking {len(case.queries):,} queries by {' and '.join(missing)}")
            search = Search(profile=case.collection.profile, k=depth, group=True)
            for name in missing:
                made[kept[name]] = {
                    done.qid: list(zip(*done.ranking, strict=True))
                    for chunk in chunks(case.queries)
                    for done in search_docids(index, chunk, replace(search, retriever=name))
                }
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, msgspec.json.encode(made))
    return {
        name: {qid: [Hit(*hit) for hit in hits] for qid, hits in made[kept[of]].items()}
        for name, of in wanted.items()
    }


def _plain(collection: BenchCollection, family: str) -> Case:
    qrels = read_qrels(collection.qrels)
    asked = [query for query in read_queries(collection.queries) if query.qid in qrels]
    queries = tuple(SearchQuery(query.qid, query.text, None) for query in asked)
    return Case(
        collection.name,
        family,
        collection,
        queries,
        {query.qid: qrels[query.qid] for query in asked},
    )


def _within(folder: Path, language: str) -> Case:
    queries, qrels = folder / "queries.jsonl", folder / "qrels" / "test.tsv"
    encoders = BOTH if language == "en" else ()
    collection = BenchCollection(
        f"XQuAD-R {language}",
        (("beir", folder),),
        queries,
        qrels,
        language=language,
        encoders=encoders,
        impacts=SPLADE_TINY if language == "en" else "",
    )
    return _plain(collection, XQUAD)


def _arabic_passages(folder: Path) -> Case:
    """Return the case of CheckThat! 2019; the search for a claim reads only the passages judged for
    it.
    """
    with (folder / "passages" / "CT19-T2-Passages_Usefulness.csv").open(
        encoding="utf-8", newline=""
    ) as file:
        labels = {passage: (claim, int(label)) for claim, _, passage, label in csv.reader(file)}
    passages = {
        passage["parID"]: passage["text"]
        for page in objects(folder / "passages" / "CT19-T2-Passages_Text.json")
        for passage in page["paragraphs"]
        if passage["parID"] in labels and passage["text"].strip()
    }
    lines = (
        {"docid": docid, "text": text, "topic": labels[docid][0]}
        for docid, text in passages.items()
    )
    source = write_objects(WORK / "ct2019-passages.jsonl", lines)
    qrels: Qrels = {}
    for docid, (claim, label) in labels.items():
        qrels.setdefault(claim, {})[docid] = label
    claims = objects(folder / "claims" / "CT19-T2-Claims_with_Results.json")
    texts = {claim["claimID"]: claim["text"] for claim in claims}
    queries = tuple(SearchQuery(qid, texts[qid], Filter(topic=(qid,))) for qid in qrels)
    name = "CheckThat! 2019 task 2, Arabic"
    return Case(
        name,
        name,
        BenchCollection(name, (("jsonl", source),), source, source, language="ar"),
        queries,
        qrels,
    )


def run_of(ranking: Ranking) -> ScoreTable:
    """Return the scores of the first ``CUT`` documents of each query."""
    return {qid: {hit.docid: hit.score for hit in hits[:CUT]} for qid, hits in ranking.items()}


def fused_run(pool: FusedEvaluator, case: Case, way: FusionSettings) -> ScoreTable:
    """Return the fused ranking of each query of a case; the default way uses the query's
    language.
    """
    fusing = fusing_kind("hybrid")
    language = case.collection.language or "en"
    ways = {
        query.qid: fusing.fusion_of(PreparedQuery(query.text), way, language) if fusing else way
        for query in case.queries
    }
    return pool.fused_by_query(ways, CUT)


def family_means(measured: Sequence[MeasuredCase]) -> NDArray[np.float64]:
    """Return the mean over families of the mean over their cases, for each way of fusing."""
    families = dict.fromkeys(case.family for case in measured)
    of_family = [
        np.mean([case.fused.mean(axis=1) for case in measured if case.family == family], axis=0)
        for family in families
    ]
    return np.asarray(np.mean(of_family, axis=0), dtype=np.float64)


def best(means: NDArray[np.float64]) -> int:
    """Return the position of the highest mean; of equals, the first, which is the simplest."""
    return int(np.flatnonzero(means > means.max() - 1e-12)[0])


def overall(measured: Sequence[MeasuredCase], way: int, other: int = 0) -> Interval:
    """Return a way's gain over another in the mean over families, with an interval from resampled
    queries.
    """
    random, resamples = np.random.default_rng((0, 1)), 2_000
    families = Counter(case.family for case in measured)
    total = np.zeros(resamples)
    for case in sorted(measured, key=lambda case: list(families).index(case.family)):
        differences = case.fused[way] - case.fused[other]
        drawn = random.integers(0, len(differences), (resamples, len(differences)))
        total += differences[drawn].mean(axis=1) / (families[case.family] * len(families))
    means = family_means(measured)
    low, high = np.percentile(total, (2.5, 97.5))
    return Interval(float(means[way] - means[other]), float(low), float(high))


def report(measured: Sequence[MeasuredCase], ways: Sequence[FusionSettings]) -> str:
    """Return the tables: each case with the way chosen on other families, then the ways that are
    best overall.
    """
    means = family_means(measured)
    order = sorted(range(len(ways)), key=lambda way: (-means[way], way))
    default, before = ways.index(DEFAULT), ways.index(BEFORE)
    shown = list(
        dict.fromkeys([*order[:SHOWN], *(way for way in order if way in (default, before, 0))])
    )
    rows = [
        [
            described(ways[way]) + (" (the default)" if way == default else ""),
            f"{means[way]:.4f}",
            signed(overall(measured, way)) if way else "",
        ]
        for way in shown
    ]
    best_ways = markdown_table(("fusion", MEASURE, f"against {described(COMPARED)}"), rows, left=1)
    held_out = []
    for case in measured:
        # The way chosen on all other families, evaluated on the case that was left out.
        chosen = best(family_means([other for other in measured if other.family != case.family]))
        behind = case.fused[best(case.fused.mean(axis=1))] - case.fused[chosen]
        regret = intervals(behind[:, None], 0)[0]
        plain = *(f"{case.alone[name]:.3f}" for name in PAIR), f"{case.fused[0].mean():.3f}"
        gains = (
            *(tested(case.fused[way], case.fused[default]) for way in (0, before)),
            described(ways[chosen]),
        )
        cells = *plain, *gains, tested(case.fused[0], case.fused[chosen]), signed(regret, "")
        held_out.append([case.name, f"{case.fused.shape[1]:,}", *cells])
    gained = "gain of the default, p", f"its gain over {described(BEFORE)}, p"
    header = ("collection", "queries", *PAIR, described(COMPARED), *gained, "chosen on the others")
    left_out = markdown_table((*header, "gain, p", "regret"), held_out, left=1)
    lead = (
        f"The default gains {signed(overall(measured, default, before))} over "
        f"{described(BEFORE)}.\n"
    )
    return (
        f"Each family of collections is left out once:\n\n{left_out}\nOver all families:\n\n"
        f"{best_ways}\n{lead}"
    )


def constants_report(measured: Sequence[MeasuredCase], ways: Sequence[FusionSettings]) -> str:
    """Return a table of reciprocal ranks with the constant 60 against those with 10."""
    small, usual = ways.index(COMPARED), ways.index(USUAL)
    rows = [
        [
            case.name,
            f"{case.fused.shape[1]:,}",
            f"{case.fused[small].mean():.4f}",
            f"{case.fused[usual].mean():.4f}",
            tested(case.fused[small], case.fused[usual]),
        ]
        for case in measured
    ]
    header = ("collection", "queries", "rrf_k 10", "rrf_k 60", "gain of 60, p")
    return markdown_table(header, rows, left=1)


def described(way: FusionSettings) -> str:
    """Name a way of fusing in a few words; the weights are those of BM25, vectors and others."""
    constant = f" {way.rrf_k}" if way.kind == "rrf" else ""
    names = [*PAIR, *(name for name in way.weights if name not in PAIR)]
    weights = " : ".join(f"{way.weights[name]:g}" for name in names)
    depth = f", depth {way.depth:,}" if way.depth != DEPTH else ""
    return f"{way.kind}{constant}, {weights}{depth}"


def signed(interval: Interval, sign: str = "+") -> str:
    """Return a difference with its interval, or a figure with its interval if ``sign`` is empty."""
    return f"{interval.mean:{sign}.3f} ({interval.low:{sign}.3f} to {interval.high:{sign}.3f})"


def tested(before: Values, after: Values) -> str:
    """Return the difference, ``after`` minus ``before``, with its interval and its p-value."""
    test = compare_pairs(before, after, 0)
    return f"{signed(test.difference)}, {test.p_randomisation:.3f}"


def languages_report(xquad: Sequence[Case]) -> str:
    """Return the figures of XQuAD-R, within and across languages, of each ranking and of the
    default fusion.

    All pairs of languages have the same questions, so the values of a question are averaged before
    questions are drawn.
    """
    shown = (*PAIR, "hybrid")
    figures_of = {}
    for case in xquad:
        runs = {name: run_of(ranking) for name, ranking in case.rankings.items()}
        runs["hybrid"] = fused_run(FusedEvaluator(case.rankings, DEPTH), case, DEFAULT)
        qrels = {qid: case.qrels[qid] for qid in sorted(case.qrels)}
        figures_of[case.name] = {name: values_of(qrels, run, RANK) for name, run in runs.items()}
    across = [of for name, of in figures_of.items() if " over " in name]
    figures_of["mean over the pairs"] = {
        name: np.mean([of[name] for of in across], axis=0) for name in shown
    }
    rows = []
    for name, of in figures_of.items():
        cells = [signed(intervals(of[ranking][:, None], 0)[0], "") for ranking in shown]
        rows.append([name, *cells, signed(compare_pairs(of["bm25"], of["hybrid"], 0).difference)])
    return markdown_table((RANK, *shown, "hybrid over bm25"), rows, left=1)


if __name__ == "__main__":
    sys.exit(main())
