"""Train a re-ranker: a CrossEncoder that tells relevant passages from the hits that a search took for them."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...retrieval.domain import Qrels
from ...retrieval.errors import MachineError
from ...retrieval.progress import Progress
from ...retrieval.search.score_normalizers import mixed
from ..scoring.measures import evaluate
from ..scoring.statistics import Values
from . import trainer
from .examples import Candidates, triples
from .request import TrainingRequest

WEIGHTS = tuple(tenth / 10 for tenth in range(1, 11))
"""The weights that are tried: the model's share of the new score."""
_AT_ONCE = 32
_SURE = 30.0
"""A label so far above 0 that the loss takes the passage for the one that is relevant."""


class RerankerEvaluator:
    """Ranks for each query its own hits anew; a relevant document that was not found stays missing."""

    def __init__(self, candidates: Sequence[Candidates], qrels: Qrels, measure: str) -> None:
        self._candidates = candidates
        self._qrels = {candidate.qid: qrels[candidate.qid] for candidate in candidates}
        self._measure = measure
        self.pairs = [(query.query, text) for query in candidates for text in query.hits.values()]

    def before(self) -> Values:
        """Return the measure of each query as its hits were found."""
        run = {query.qid: {docid: float(-rank) for rank, docid in enumerate(query.hits)} for query in self._candidates}
        return self._measured(run)

    def values(self, scores: NDArray[np.float32], weight: float = 1.0) -> Values:
        """Return the measure of each query with its hits in the order of the pairs' scores, as the stage mixes them."""
        left = iter(scores.tolist())
        run = {}
        for query in self._candidates:
            after = list(islice(left, len(query.hits)))
            before = [query.scores.get(docid, 0.0) for docid in query.hits]
            run[query.qid] = dict(zip(query.hits, mixed(before, after, weight), strict=True))
        return self._measured(run)

    def _measured(self, run: dict[str, dict[str, float]]) -> Values:
        values: Values = evaluate(self._qrels, run, [self._measure]).values[:, 0]
        return values


class RerankerTraining:
    """A CrossEncoder that is being trained: one that was trained before, or an encoder that gets a head."""

    def __init__(self, request: TrainingRequest) -> None:
        self._request = request
        self._weight = 1.0
        self._looks: dict[float, float] = {}  # From the measure of a look to the weight that had it.
        settings = request.settings
        trainer.prepare(settings.seed)
        from sentence_transformers import CrossEncoder

        def load(folder: str) -> Any:
            return CrossEncoder(folder, num_labels=1, max_length=settings.max_tokens, local_files_only=True)

        self._model: Any = trainer.load_base(settings.base, load)
        if self._model.num_labels != 1:
            raise MachineError(f"gives {self._model.num_labels} scores a pair, one is needed", place=settings.base)

    def evaluator(self, candidates: Sequence[Candidates], qrels: Qrels) -> RerankerEvaluator:
        """Return what the re-ranker is measured on: the hits of these queries."""
        return RerankerEvaluator(candidates, qrels, self._request.settings.measure)

    def ranked(self, evaluator: RerankerEvaluator) -> str:
        """Return in words what is ranked."""
        return f"{len(evaluator.pairs):,} hits, before as they were found"

    def before(self, evaluator: RerankerEvaluator) -> Values:
        """Return the measure of each query as its hits were found."""
        return evaluator.before()

    def values(self, evaluator: RerankerEvaluator) -> Values:
        """Return the measure of each query, its hits ranked by the model as it is now, with its weight."""
        return evaluator.values(self._scores(evaluator.pairs), self._weight)

    @property
    def beside(self) -> dict[str, float]:
        """The settings that are to stand beside the model's: ``rerank.weight``."""
        return {"rerank.weight": self._weight}

    def learn(self, learned: Sequence[Candidates], stopping: RerankerEvaluator, progress: Progress) -> None:
        """Train on some queries, looking at others now and then; keep the best model that was seen.

        These others say, too, what weight the model gets beside the score of the search. A row is a list of passages,
        the relevant one first: with these labels the loss is its cross-entropy among them (Gao et al., 2021).
        """
        from datasets import Dataset
        from sentence_transformers.cross_encoder import CrossEncoderTrainer, CrossEncoderTrainingArguments
        from sentence_transformers.cross_encoder.losses import ListNetLoss

        settings = self._request.settings
        rows = triples(learned, settings.negatives, settings.seed)
        columns = {
            "query": [query for query, _, _ in rows],
            "passages": [[positive, *others] for _, positive, others in rows],
            "labels": [[_SURE] + [0.0] * len(others) for _, _, others in rows],
        }
        running = CrossEncoderTrainer(
            model=self._model,
            args=trainer.arguments(CrossEncoderTrainingArguments, self._request, len(rows)),
            train_dataset=Dataset.from_dict(columns),
            loss=ListNetLoss(self._model, mini_batch_size=_AT_ONCE),
            evaluator=trainer.look(lambda: self._best(stopping)[1]),
        )
        trainer.run_trainer(running, self._request, progress)
        best = self._looks.get(running.state.best_metric)
        self._weight = self._best(stopping)[0] if best is None else best

    def _best(self, evaluator: RerankerEvaluator) -> tuple[float, Values]:
        """Return the weight with which the model is best, of equals the smallest, and the measures there.

        Without judgements it is 1: a search finds the text of a title anyway.
        """
        scores = self._scores(evaluator.pairs)
        tried = [(weight, evaluator.values(scores, weight)) for weight in (WEIGHTS if self._request.files else (1.0,))]
        weight, values = max(tried, key=lambda pair: float(pair[1].mean()))
        self._looks.setdefault(float(values.mean()), weight)
        return weight, values

    def save(self, folder: str) -> None:
        """Write the model as sentence-transformers loads it."""
        self._model.save_pretrained(folder, create_model_card=False)

    def _scores(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        from torch import nn

        if not pairs:
            return np.zeros(0, dtype=np.float32)
        scores = self._model.predict(
            list(pairs), batch_size=_AT_ONCE, activation_fn=nn.Identity(), show_progress_bar=False
        )
        return np.asarray(scores, dtype=np.float32).reshape(-1)
