"""Train a re-ranker: a CrossEncoder that distinguishes relevant passages from the other hits of a search."""

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
"""The weights to try: the model's share of the new score."""
_AT_ONCE = 32
_SURE = 30.0
"""A label so far above 0 that the loss treats the passage as the only relevant one."""


class RerankerEvaluator:
    """Re-ranks the hits of each query; a relevant document without a hit stays missing."""

    def __init__(self, candidates: Sequence[Candidates], qrels: Qrels, measure: str) -> None:
        self._candidates = candidates
        self._qrels = {candidate.qid: qrels[candidate.qid] for candidate in candidates}
        self._measure = measure
        self.pairs = [(query.query, text) for query in candidates for text in query.hits.values()]

    def before(self) -> Values:
        """Return the measure of each query with its hits in their original order."""
        run = {query.qid: {docid: float(-rank) for rank, docid in enumerate(query.hits)} for query in self._candidates}
        return self._measured(run)

    def values(self, scores: NDArray[np.float32], weight: float = 1.0) -> Values:
        """Return the measure of each query, with the pairs' scores mixed with the search's as the stage mixes them."""
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
    """The training of a CrossEncoder: an existing re-ranker, or an encoder that gets a head."""

    def __init__(self, request: TrainingRequest) -> None:
        self._request = request
        self._weight = 1.0
        self._looks: dict[float, float] = {}  # From the measure of an evaluation to its weight.
        settings = request.settings
        trainer.prepare(settings.seed)
        from sentence_transformers import CrossEncoder

        def load(folder: str) -> Any:
            return CrossEncoder(folder, num_labels=1, max_length=settings.max_tokens, local_files_only=True)

        self._model: Any = trainer.load_base(settings.base, load)
        if self._model.num_labels != 1:
            raise MachineError(
                f"gives {self._model.num_labels} scores per pair, but one is needed", place=settings.base
            )

    def evaluator(self, candidates: Sequence[Candidates], qrels: Qrels) -> RerankerEvaluator:
        """Return the evaluator of the hits of these queries."""
        return RerankerEvaluator(candidates, qrels, self._request.settings.measure)

    def ranked(self, evaluator: RerankerEvaluator) -> str:
        """Return a description of the ranked hits."""
        return f"{len(evaluator.pairs):,} hits, before as they were found"

    def before(self, evaluator: RerankerEvaluator) -> Values:
        """Return the measure of each query with its hits in their original order."""
        return evaluator.before()

    def values(self, evaluator: RerankerEvaluator) -> Values:
        """Return the measure of each query, with its hits ranked by the model in its current state and its weight."""
        return evaluator.values(self._scores(evaluator.pairs), self._weight)

    @property
    def beside(self) -> dict[str, float]:
        """The settings to set together with the model: ``rerank.weight``."""
        return {"rerank.weight": self._weight}

    def learn(self, learned: Sequence[Candidates], stopping: RerankerEvaluator, progress: Progress) -> None:
        """Train on some queries, evaluate on the stopping queries from time to time, and keep the best model.

        The stopping queries also choose the weight of the model's score against the search's score. A row is a list of
        passages with the relevant passage first. With these labels, the loss is the cross-entropy of this passage among
        all of them (Gao et al., 2021).
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
        """Return the weight with which the model is best (the smallest of equals), and the measures with this weight.

        Without judgements the weight is 1, because a search finds the text of a title anyway.
        """
        scores = self._scores(evaluator.pairs)
        tried = [(weight, evaluator.values(scores, weight)) for weight in (WEIGHTS if self._request.files else (1.0,))]
        weight, values = max(tried, key=lambda pair: float(pair[1].mean()))
        self._looks.setdefault(float(values.mean()), weight)
        return weight, values

    def save(self, folder: str) -> None:
        """Write the model in the format that sentence-transformers loads."""
        self._model.save_pretrained(folder, create_model_card=False)

    def _scores(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        from torch import nn

        if not pairs:
            return np.zeros(0, dtype=np.float32)
        scores = self._model.predict(
            list(pairs), batch_size=_AT_ONCE, activation_fn=nn.Identity(), show_progress_bar=False
        )
        return np.asarray(scores, dtype=np.float32).reshape(-1)
