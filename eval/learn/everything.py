"""Train everything on judged queries: an encoder, an index with its vectors added, and a
combination of all rankings.

Each step writes its result completely or not at all, and is skipped if a result made from the same
inputs exists. The combination learns, in folds, from the queries that the encoder did not learn
from: the encoder ranks documents worse for these than for its own queries.
"""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ...core.errors import QueryError
from ...core.files import write_atomically
from ...core.progress import Progress
from ...core.terminal import say
from ...indexer.compaction import compact
from ...indexer.settings import Config
from ...indexer.snapshot import snapshot
from ...retrieval.search.combiner import save
from ...retrieval.search.index import Index, open_index
from ..run.batch import Judged, JudgedFiles, depth_of, read_judged, search_all
from ..scoring.measures import values_of
from ..scoring.statistics import Interval, Values, compare_pairs, intervals
from ..scoring.tables import interval_table
from . import combiner
from .examples import read_candidates, split
from .sources import sources_of_files
from .trainer import ModelTraining, TrainingRequest
from .training import train as train_encoder

ENCODER, INDEX, COMBINER, CONFIG = "encoder", "index", "combiner.model", "config.yaml"
_STEPS, _FIGURES = "steps.json", "figures.json"


def train_all(
    source: Path,
    files: JudgedFiles,
    settings: ModelTraining,
    output: Path,
    *,
    sample: int,
    folds: int,
    config: Config,
    progress: Progress,
) -> tuple[dict[str, Any], str]:
    """Take every step that is not done yet, in the folder ``output``, for the index ``source``.

    At most ``sample`` judged queries are read. Return the figures on those that the encoder did not
    learn from, and a table of them. Raises QueryError if a result exists that was made from other
    inputs, or if the index already has the vectors of such a training.
    """
    output.mkdir(parents=True, exist_ok=True)
    with open_index(source, config) as index:
        judged = read_judged(files, index, sample=sample, seed=settings.seed)
        if f"dense:{ENCODER}" in index.info.retrievers:
            raise QueryError(
                "already has vectors of a trained encoder; give another index",
                place=index.info.place,
            )
        for note in judged.notes:
            say(f"note: {note}")
        measure, seed = settings.measure, settings.seed
        training = TrainingRequest(
            what="encoder",
            settings=settings,
            sources=sources_of_files([files.queries, files.qrels]),
            index=index.info.id,
            target=output / ENCODER,
        )
        choices = files.task, files.profile, files.ignore_identical_ids, config.bm25, config.search
        steps = Steps(
            output,
            f"{training.digest()} {sample} {msgspec.json.encode(choices, order='deterministic')!r}",
        )
        steps.take(ENCODER, lambda _: train_encoder(index, judged, training, progress))
        steps.take(INDEX, lambda target: _add_vectors(source, target, training.target, config))
        if not steps.done(COMBINER, str(folds)):
            parts = split(
                read_candidates(index, judged, settings.depth, progress), judged.qrels, seed
            )
            unseen = {candidate.qid for candidate in (*parts.stopping, *parts.judging)}
            rest = tuple(query for query in judged.queries if query.qid in unseen)
            judged = replace(
                judged, queries=rest, qrels={query.qid: judged.qrels[query.qid] for query in rest}
            )
            before = _values(index, judged, measure)

    def combine(target: Path) -> None:
        """Write the figures of the combination, then the configuration that names it, then the
        combination.
        """
        request = combiner.CombinerRequest(
            sources=training.sources, measure=measure, folds=folds, seed=seed
        )
        with open_index(output / INDEX, config) as index:
            trained = combiner.train(index, judged, request, progress)
            fused = _values(index, judged, measure)
            names = ("before", "with the trained encoder", "and combined, cross-validated")
            means = intervals(np.stack([before, fused, trained.values], axis=1), seed)
            test = compare_pairs(before, trained.values, seed)
            figures = {
                "measure": measure,
                "queries": len(before),
                "rankings": index.resolve(judged.search).rankings,
                "rows": dict(zip(names, means, strict=True)),
                "test": test,
                "verdict": test.verdict(
                    f"{measure} of queries that the encoder did not learn from"
                ),
            }
        write_atomically(output / _FIGURES, msgspec.json.encode(figures))
        write_atomically(output / CONFIG, f"combine: {{model: {COMBINER}}}\n".encode())
        save(target, trained.combiner)

    steps.take(COMBINER, combine, str(folds))
    figures = msgspec.json.decode((output / _FIGURES).read_bytes())
    rows = {name: Interval(**mean) for name, mean in figures["rows"].items()}
    summary = f"{figures['queries']:,} queries; rankings: {', '.join(figures['rankings'])}"
    return figures, f"{interval_table(figures['measure'], rows)}\n{summary}\n{figures['verdict']}\n"


class Steps:
    """The steps of a training in a folder; a file there records the digest of the inputs of each
    step.
    """

    def __init__(self, folder: Path, inputs: str) -> None:
        self._folder, self._inputs, self._path = folder, inputs, folder / _STEPS
        self._made = msgspec.json.decode(self._path.read_bytes()) if self._path.is_file() else {}

    def done(self, name: str, more: str = "") -> bool:
        """Return whether the result of a step exists.

        Raises QueryError if it was made from other inputs.
        """
        target = self._folder / name
        if target.exists() and self._made.get(name) != self._digest(more):
            raise QueryError(
                "was made from other inputs",
                place=target,
                remedy="give another folder with --output",
            )
        return target.exists()

    def take(self, name: str, make: Callable[[Path], object], more: str = "") -> None:
        """Take a step unless it is done; ``make`` writes its result whole.

        ``more`` are inputs of this step alone.
        """
        target = self._folder / name
        if self.done(name, more):
            say(f"note: {target} already exists, made from the same inputs")
            return
        # Record the inputs before the result exists, so that no result ever lacks its record.
        self._made[name] = self._digest(more)
        write_atomically(self._path, msgspec.json.encode(self._made))
        make(target)

    def _digest(self, more: str) -> str:
        return hashlib.sha256(f"{self._inputs} {more}".encode()).hexdigest()


def _add_vectors(source: Path, target: Path, model: Path, config: Config) -> None:
    partial = target.with_name(f".{target.name}.new")
    shutil.rmtree(partial, ignore_errors=True)
    snapshot(source, partial)
    compact(partial, config, models=(str(model.resolve()),))
    partial.rename(target)


def _values(index: Index, judged: Judged, measure: str) -> Values:
    search = msgspec.structs.replace(judged.search, k=depth_of([measure]), group=True, stages=())
    run = {
        done.qid: {hit.docid: hit.score for hit in done.ranking}
        for chunk in search_all(index, judged.queries, search)
        for done in chunk
    }
    return values_of(judged.qrels, run, measure)
