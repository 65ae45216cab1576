"""Train a combination of rankings on judged queries, and measure it by cross-validation.

The combination averages a linear model and trees, which make errors on different documents. The
training folds hardly show which of the two is better, and choosing one gave worse results than the
average.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from importlib import metadata
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ... import __version__
from ...core.domain import Qrels
from ...core.errors import MachineError, QueryError
from ...core.notebook import frame, html
from ...core.progress import Bar, Progress, silent
from ...core.records.model_file import Trees
from ...core.records.qrels import JudgedQueries
from ...retrieval.lucene.analysis import query_terms
from ...retrieval.search.combiner import (
    KINDS,
    Combiner,
    CombinerManifest,
    CombinerModel,
    JudgedFile,
    WeightedSum,
    columns,
    matrix,
    views_of,
)
from ...retrieval.search.index import Index
from ..run.batch import Judged, with_evidence
from ..scoring.measures import values_of
from ..scoring.statistics import Interval, Values, compare_pairs, intervals
from ..scoring.tables import interval_cells, interval_header, interval_table
from .examples import folds_of, grouped_folds

SETTINGS: Mapping[str, Any] = {
    "objective": "lambdarank",
    "learning_rate": 0.03,
    "num_leaves": 15,
    "min_data_in_leaf": 50,
    "feature_fraction": 0.5,
    "bagging_fraction": 0.8,
    "bagging_freq": 1,
    "lambdarank_truncation_level": 30,
}
ROUNDS = 150
# The largest grade for which LightGBM has a gain; the gain is 2 to the power of the grade, minus 1.
_MOST_GRADE = 30
_STEPS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """The first hits of a query: docids, features of shape (hits, features), and relevance; and the
    query's terms.
    """

    qid: str
    docids: tuple[str, ...]
    features: NDArray[np.float64]
    relevance: NDArray[np.int64]
    terms: frozenset[str] = frozenset()

    @property
    def teaches(self) -> bool:
        """Whether the pool has documents of different relevance."""
        return bool(len(self.relevance)) and bool(self.relevance.max() > self.relevance.min())


def fit_linear(pools: Sequence[Pool], penalty: float) -> WeightedSum:
    """Learn a linear ranker from the pools that teach; a larger ``penalty`` makes the weights
    smaller.

    ListNet's loss (Cao et al., ICML 2007) is the cross-entropy between the documents' shares of the
    gain and the softmax of their scores. It is convex: the result depends neither on chance nor on
    the starting point.
    """
    from scipy.optimize import minimize
    from threadpoolctl import threadpool_limits

    teaching = [pool for pool in pools if pool.teaches]
    rows = np.concatenate([pool.features for pool in teaching])
    centre, spread = rows.mean(axis=0), rows.std(axis=0)
    scale = np.where(spread > 1e-9, spread, 1.0)
    standard = (rows - centre) / scale
    starts = np.cumsum([0, *(len(pool.relevance) for pool in teaching)])[:-1]
    lists = np.repeat(np.arange(len(teaching)), [len(pool.relevance) for pool in teaching])
    # The gain of a document is 2 to the power of its grade, minus 1.
    gained = (
        np.exp2(np.minimum(pool.relevance, _MOST_GRADE).astype(np.float64)) - 1 for pool in teaching
    )
    gains = np.concatenate([gain / gain.sum() for gain in gained])

    def loss(weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        scores = standard @ weights
        scores -= np.maximum.reduceat(scores, starts)[lists]
        powers = np.exp(scores)
        totals = np.add.reduceat(powers, starts)
        value = float(np.log(totals).sum() - gains @ scores) / len(teaching)
        slope = standard.T @ (powers / totals[lists] - gains) / len(teaching)
        return value + penalty * float(weights @ weights) / 2, slope + penalty * weights

    # One thread keeps the order of additions, and therefore every bit, the same in each run.
    with threadpool_limits(1):
        minimum = minimize(
            loss, np.zeros(rows.shape[1]), jac=True, method="L-BFGS-B", options={"maxiter": _STEPS}
        )
    return WeightedSum(centre, scale, np.asarray(minimum.x, dtype=np.float64))


def fit_trees(pools: Sequence[Pool], seed: int) -> Trees:
    """Grow trees on the pools that teach; the same seed gives the same trees.

    Raises MachineError without LightGBM.
    """
    try:
        import lightgbm
    except (ImportError, OSError) as error:
        remedy = "it needs the system's OpenMP library: apt-get install libgomp1"
        raise MachineError(
            f"LightGBM cannot be loaded: {' '.join(str(error).split())}", remedy=remedy
        ) from None
    teaching = [pool for pool in pools if pool.teaches]
    data = lightgbm.Dataset(
        np.concatenate([pool.features for pool in teaching]),
        np.minimum(np.concatenate([pool.relevance for pool in teaching]), _MOST_GRADE),
        group=[len(pool.relevance) for pool in teaching],
    )
    fixed = {
        "seed": seed,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": 1,
        "verbose": -1,
    }
    booster = lightgbm.train({**SETTINGS, **fixed}, data, num_boost_round=ROUNDS)
    roots: list[int] = []
    rows: list[tuple[int, float, tuple[int, int], float]] = []
    for tree in booster.dump_model()["tree_info"]:
        # A tree's nodes are numbered level by level, so that every node comes before its children.
        roots.append(first := len(rows))
        nodes = [tree["tree_structure"]]
        for place, node in enumerate(nodes, first):
            if "split_feature" in node:
                nodes += [node["left_child"], node["right_child"]]
                last = first + len(nodes)
                rows.append(
                    (node["split_feature"], float(node["threshold"]), (last - 2, last - 1), 0.0)
                )
            else:
                rows.append((-1, 0.0, (place, place), float(node["leaf_value"])))
    features, thresholds, children, values = zip(*rows, strict=True)
    return Trees(
        features=np.array(features, dtype=np.int16),
        thresholds=np.array(thresholds),
        children=np.array(children, dtype=np.int32),
        values=np.array(values),
        roots=np.array(roots, dtype=np.int32),
    )


_SHARED = (
    "some queries that share relevant documents are in different folds, so the figures may be too "
    "high"
)
DEPTH = 100  # the number of hits of each query to learn from and to reorder
PENALTY = 0.01


@dataclass(frozen=True, slots=True, kw_only=True)
class CombinerRequest:
    """A request for a training: what it learns from (for the manifest), the measure to optimise,
    the folds, the seed.

    With ``remembers``, the combination also uses which judged queries each document was relevant
    to. This helps only if queries share relevant documents, so folds may then share them too.
    """

    sources: tuple[JudgedFile, ...] = ()
    measure: str = "nDCG@10"
    folds: int = 5
    seed: int = 0
    remembers: bool = False


class LearnedModel(NamedTuple):
    """A model, and the judged queries that it remembers, or None."""

    model: CombinerModel
    remembered: JudgedQueries | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedCombiner:
    """A combination trained on all queries.

    ``rows`` maps each ranking to its mean, without training and with each model; ``verdict`` says
    whether the gain is significant, and ``sure`` is true if it is. ``grouped``: no two folds share
    a relevant document. ``values`` are the measures of the queries, each ranked by a model that was
    trained without it. ``notes`` are on the judgements and the folds.
    """

    combiner: Combiner
    measure: str
    rows: Mapping[str, Interval]
    verdict: str
    sure: bool
    grouped: bool
    values: Values
    notes: tuple[str, ...]

    @property
    def text(self) -> str:
        """The means as a table for the terminal, and the verdict."""
        return f"{interval_table(self.measure, self.rows)}\n{self.verdict}\n"

    def as_json(self) -> dict[str, Any]:
        """Return the manifest of the combination, with its figures, and whether it is significantly
        better.
        """
        return {"better": self.sure, **msgspec.to_builtins(self.combiner.manifest)}

    def to_frame(self) -> Any:
        """Return the mean of each ranking with its interval as a DataFrame."""
        rows = [(name, of.mean, of.low, of.high) for name, of in self.rows.items()]
        return frame(["ranking", self.measure, "low", "high"], rows, "ranking")

    def _repr_html_(self) -> str:
        """Return the means and the verdict as HTML, for a notebook."""
        rows = interval_cells(self.rows)
        return html(self.verdict, (interval_header(self.measure), rows), notes=self.notes)


def train(
    index: Index, judged: Judged, request: CombinerRequest, progress: Progress = silent
) -> TrainedCombiner:
    """Learn to order the first hits of the index's default retriever; the same seed gives the same
    result.

    Raises QueryError if there are fewer judged queries than folds, or nothing to learn from.
    """
    queries, seed, measure = len(judged.queries), request.seed, request.measure
    if not 2 <= request.folds <= queries:
        raise QueryError(
            f"--folds {request.folds}: give a number from 2 to {queries:,}, the number of judged "
            "queries"
        )
    read = pools(index, judged, DEPTH, progress)
    parts, grouped = grouped_folds(judged.qrels, request.folds, seed)
    if request.remembers:
        parts, grouped = folds_of(queries, request.folds, seed), False
    values = {kind: np.zeros(queries) for kind in KINDS}
    with closing(progress("training", "model", None)) as bar:
        for part in parts:
            others = np.setdiff1d(np.arange(queries), part)
            learned = learn([read[row] for row in others.tolist()], judged.qrels, request, bar)
            held_out = [read[row] for row in part.tolist()]
            for kind, of_kind in values.items():
                of_kind[part] = measure_model(held_out, judged.qrels, measure, learned.get(kind))
        trained = learn(read, judged.qrels, request, bar).get(KINDS[-1])
    if trained is None:
        raise QueryError("there is nothing to learn from")
    plain, best = measure_model(read, judged.qrels, measure, None), values[KINDS[-1]]
    before, after, *each = intervals(np.stack([plain, best, *values.values()], axis=1), seed)
    test, kinds = compare_pairs(plain, best, seed), dict(zip(values, each, strict=True))
    figures = {"grouped": grouped, "measure": measure, "before": before, "cross_validated": after}
    manifest = _manifest_of(
        index, judged, request, msgspec.to_builtins({**figures, "test": test, "kinds": kinds})
    )
    combiner = Combiner(trained.model, manifest, trained.remembered)
    alone = {f"{kind} alone": of for kind, of in kinds.items() if kind != KINDS[-1]}
    rows = {"before": before, **alone, f"trained ({KINDS[-1]})": after}
    notes = judged.notes
    if not grouped and not request.remembers:
        notes = (*notes, _SHARED)
    return TrainedCombiner(
        combiner=combiner,
        measure=measure,
        rows=rows,
        verdict=test.verdict(f"cross-validated {measure}"),
        sure=test.sure,
        grouped=grouped,
        values=best,
        notes=notes,
    )


def learn(
    some: Sequence[Pool], qrels: Qrels, request: CombinerRequest, bar: Bar | None = None
) -> dict[str, LearnedModel]:
    """Return the model of each kind, trained on some pools; none if no pool has documents of
    different relevance.
    """
    if not any(pool.teaches for pool in some):
        return {}
    remembered = None
    if request.remembers:
        remembered = JudgedQueries.of({pool.qid: pool.terms for pool in some}, qrels)
        # Compute the features of each query from the other queries alone.
        some = [_with_memory(pool, remembered, number) for number, pool in enumerate(some)]
    linear, trees = fit_linear(some, PENALTY), fit_trees(some, request.seed)
    if bar is not None:
        bar.update(2)
    # To give both equal weight, divide each by the spread of its scores within a pool, averaged
    # over pools that teach.
    teaching = [pool.features for pool in some if pool.teaches]
    alone = CombinerModel(linear, None), CombinerModel(None, trees)
    spreads = tuple(
        float(np.mean([np.std(of.score(rows)) for rows in teaching])) or 1.0 for of in alone
    )
    models = (*alone, CombinerModel(linear, trees, spreads))
    return {
        kind: LearnedModel(model, remembered) for kind, model in zip(KINDS, models, strict=True)
    }


def measure_model(
    some: Sequence[Pool], qrels: Qrels, measure: str, learned: LearnedModel | None
) -> Values:
    """Return the measure of each pool's query, with hits in the model's order or, without a model,
    as retrieved.
    """
    run = {}
    for pool in some:
        if learned is None:
            scores = -np.arange(len(pool.docids), dtype=np.float64)
        elif learned.remembered is None:
            scores = learned.model.score(pool.features)
        else:
            scores = learned.model.score(_with_memory(pool, learned.remembered, None).features)
        run[pool.qid] = dict(zip(pool.docids, scores.astype(np.float32).tolist(), strict=True))
    return values_of({pool.qid: qrels[pool.qid] for pool in some}, run, measure)


def _with_memory(pool: Pool, remembered: JudgedQueries, number: int | None) -> Pool:
    alike = remembered.features(pool.terms, pool.docids, number)
    return replace(pool, features=np.concatenate([pool.features, alike], axis=1))


def _manifest_of(
    index: Index, judged: Judged, request: CombinerRequest, figures: dict[str, Any]
) -> CombinerManifest:
    resolved, encoder = index.resolve(judged.search), index.info.encoder
    asked = {"measure": request.measure, "folds": request.folds, "seed": request.seed}
    versions = {name: metadata.version(name) for name in ("numpy", "scipy", "lightgbm")}
    return CombinerManifest(
        model=KINDS[-1],
        retriever=resolved.retriever,
        rankings=resolved.rankings,
        features=columns(resolved.rankings, remembers=request.remembers),
        remembers=request.remembers,
        depth=DEPTH,
        fusion=msgspec.to_builtins(resolved.settings.search.fusion),
        language=index.info.language,
        encoder=f"{encoder.name}, {encoder.revision}" if encoder else "",
        index=index.info.id,
        sources=request.sources,
        settings={**asked, "penalty": PENALTY, **SETTINGS, "rounds": ROUNDS},
        versions={"factseek": __version__, **versions},
        figures=figures,
    )


def pools(index: Index, judged: Judged, depth: int, progress: Progress) -> list[Pool]:
    """Return the pool of each judged query; raise QueryError if none has a relevant and a
    non-relevant document.
    """
    search = msgspec.structs.replace(judged.search, k=depth, group=True, stages=())
    resolved = index.resolve(search)
    made = []
    for query, hits, evidence in with_evidence(index, judged.queries, search, progress):
        passages = [(hit.title, hit.passage.text) for hit in evidence]
        text = resolved.text(query.text)
        vectors = {
            view: index.passage_vectors(hits, view) for view in views_of(resolved.rankings).values()
        }
        features = matrix(text, hits, passages, index.terms, resolved.rankings, vectors=vectors)
        grades, docids = judged.qrels[query.qid], tuple(hit.docid for hit in hits)
        relevance = np.array([max(grades.get(docid, 0), 0) for docid in docids], dtype=np.int64)
        terms = query_terms(text, index.terms)
        made.append(
            Pool(qid=query.qid, docids=docids, features=features, relevance=relevance, terms=terms)
        )
    if not any(pool.teaches for pool in made):
        problem = (
            f"no query has a relevant and a non-relevant document among its first {depth} hits"
        )
        raise QueryError(f"{problem}: there is nothing to learn from")
    return made
