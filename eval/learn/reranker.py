"""Train a re-ranker: a CrossEncoder that distinguishes relevant passages from the other hits of a search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...retrieval.domain import Qrels
from ...retrieval.errors import MachineError
from ...retrieval.progress import Progress
from ...retrieval.search.score_normalizers import mixed
from ..scoring.measures import values_of
from ..scoring.statistics import Values
from . import trainer
from .examples import Candidates, triples
from .request import TrainingRequest

WEIGHTS = tuple(tenth / 10 for tenth in range(1, 11))
"""The weights to try: the model's share of the new score."""
_AT_ONCE = 32
_SURE = 30.0
"""A label so far above 0 that the loss treats the passage as the only relevant one."""


class RerankerTraining:
    """The training of a CrossEncoder: an existing re-ranker, or an encoder that gets a head."""

    def __init__(self, request: TrainingRequest, qrels: Qrels) -> None:
        self._request = request
        self._qrels = qrels
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

    def ranked(self, candidates: Sequence[Candidates]) -> str:
        """Return a description of the ranked hits."""
        return f"{sum(len(query.hits) for query in candidates):,} hits, before as they were found"

    def before(self, candidates: Sequence[Candidates]) -> Values:
        """Return the measure of each query with its hits in their original order."""
        run = {query.qid: {docid: float(-rank) for rank, docid in enumerate(query.hits)} for query in candidates}
        return self._measured(run)

    def values(self, candidates: Sequence[Candidates]) -> Values:
        """Return the measure of each query, its hits ranked with the current model and weight."""
        return self._mixed(candidates, self._scores(candidates), self._weight)

    @property
    def beside(self) -> dict[str, float]:
        """The settings to set together with the model: ``rerank.weight``."""
        return {"rerank.weight": self._weight}

    def learn(self, learned: Sequence[Candidates], stopping: Sequence[Candidates], progress: Progress) -> None:
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

    def save(self, folder: str) -> None:
        """Write the model in the format that sentence-transformers loads."""
        self._model.save_pretrained(folder, create_model_card=False)

    def _best(self, candidates: Sequence[Candidates]) -> tuple[float, Values]:
        """Return the best weight (the smallest of equals; 1 without judgements) with the measures."""
        scores = self._scores(candidates)
        weights = WEIGHTS if self._request.files else (1.0,)
        tried = [(weight, self._mixed(candidates, scores, weight)) for weight in weights]
        weight, values = max(tried, key=lambda pair: float(pair[1].mean()))
        self._looks.setdefault(float(values.mean()), weight)
        return weight, values

    def _mixed(self, candidates: Sequence[Candidates], scores: NDArray[np.float32], weight: float) -> Values:
        """Return the measure of each query, with the model's scores mixed with the search's as the stage mixes them."""
        left = iter(scores.tolist())
        run = {}
        for query in candidates:
            after = list(islice(left, len(query.hits)))
            before = [query.scores.get(docid, 0.0) for docid in query.hits]
            run[query.qid] = dict(zip(query.hits, mixed(before, after, weight), strict=True))
        return self._measured(run)

    def _measured(self, run: Mapping[str, Mapping[str, float]]) -> Values:
        return values_of({qid: self._qrels[qid] for qid in run}, run, self._request.settings.measure)

    def _scores(self, candidates: Sequence[Candidates]) -> NDArray[np.float32]:
        """Return the model's score of each hit of each query, in their order."""
        from torch import nn

        pairs = [(query.query, text) for query in candidates for text in query.hits.values()]
        if not pairs:
            return np.zeros(0, dtype=np.float32)
        scores = self._model.predict(pairs, batch_size=_AT_ONCE, activation_fn=nn.Identity(), show_progress_bar=False)
        return np.asarray(scores, dtype=np.float32).reshape(-1)
