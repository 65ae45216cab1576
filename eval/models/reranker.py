"""Train a re-ranker: a CrossEncoder that tells relevant passages from the hits that a search took for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...retrieval.domain import Qrels
from ...retrieval.errors import MachineError
from ...retrieval.progress import Progress
from ..scoring.statistics import Values
from . import lessons
from .base import opened_base
from .candidates import Candidates
from .encoder import Triple, triples
from .measured import RerankerBed
from .request import TrainingRequest

WEIGHTS = tuple(tenth / 10 for tenth in range(1, 11))
"""The weights that are tried: the model's share of the new score."""
_AT_ONCE = 32
_SURE = 30.0
"""A label so far above 0 that the loss takes the passage for the one that is relevant."""


class RerankerTraining:
    """A CrossEncoder that is being trained: one that was trained before, or an encoder that gets a head."""

    def __init__(self, request: TrainingRequest) -> None:
        lessons.quiet()
        from sentence_transformers import CrossEncoder

        self._request = request
        self._weight = 1.0
        self._looks: dict[float, float] = {}  # From the measure of a look to the weight that had it.
        settings = request.settings
        lessons.seed(settings.seed)
        with opened_base(settings.base) as folder:
            model = CrossEncoder(folder, num_labels=1, max_length=settings.max_tokens, local_files_only=True)
        self._model: Any = lessons.without_examples(model)
        if self._model.num_labels != 1:
            raise MachineError(f"gives {self._model.num_labels} scores a pair, one is needed", place=settings.base)

    def bed(self, candidates: Sequence[Candidates], qrels: Qrels) -> RerankerBed:
        """Return what the re-ranker is measured on: the hits of these queries."""
        return RerankerBed(candidates, qrels, self._request.settings.measure)

    def ranked(self, bed: RerankerBed) -> str:
        """Return in words what is ranked."""
        return f"{bed.pairs:,} hits, before as they were found"

    def before(self, bed: RerankerBed) -> Values:
        """Return the measure of each query as its hits were found."""
        return bed.before()

    def values(self, bed: RerankerBed) -> Values:
        """Return the measure of each query of ``bed``, its hits ranked by the model as it is now, with its weight."""
        return bed.values(bed.scores(self._scores), self._weight)

    @property
    def beside(self) -> dict[str, float]:
        """The settings that are to stand beside the model's: ``rerank.weight``."""
        return {"rerank.weight": self._weight}

    def learn(self, learned: Sequence[Candidates], stopping: RerankerBed, progress: Progress) -> None:
        """Train on some queries, looking at others now and then; keep the best model that was seen.

        These others say, too, what weight the model gets beside the score of the search.
        """
        from sentence_transformers.cross_encoder import CrossEncoderTrainer, CrossEncoderTrainingArguments
        from sentence_transformers.cross_encoder.losses import ListNetLoss

        rows = triples(learned, self._request.settings)
        trainer = CrossEncoderTrainer(
            model=self._model,
            args=lessons.arguments(CrossEncoderTrainingArguments, self._request, len(rows)),
            train_dataset=_dataset(rows),
            loss=ListNetLoss(self._model, mini_batch_size=_AT_ONCE),
            evaluator=lessons.look(lambda: self._best(stopping)[1]),
            callbacks=lessons.callbacks(self._request, progress),
        )
        lessons.learn(trainer, self._request)
        best = self._looks.get(trainer.state.best_metric)
        self._weight = self._best(stopping)[0] if best is None else best

    def _best(self, bed: RerankerBed) -> tuple[float, Values]:
        """Return the weight with which the model is best on ``bed``, of equals the smallest, and the measures there.

        Without judgements it is 1: a search finds the text of a title anyway.
        """
        scores = bed.scores(self._scores)
        tried = [(weight, bed.values(scores, weight)) for weight in (WEIGHTS if self._request.files else (1.0,))]
        weight, values = max(tried, key=lambda pair: float(pair[1].mean()))
        self._looks.setdefault(float(values.mean()), weight)
        return weight, values

    def save(self, folder: str) -> None:
        """Write the model as sentence-transformers loads it."""
        self._model.save_pretrained(folder, create_model_card=False)

    def _scores(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        from torch import nn

        scores = self._model.predict(
            list(pairs), batch_size=_AT_ONCE, activation_fn=nn.Identity(), show_progress_bar=False
        )
        return np.asarray(scores, dtype=np.float32).reshape(-1)


def _dataset(rows: Sequence[Triple]) -> Any:
    """Return the rows as lists of passages, the relevant one first.

    With these labels the loss is the cross-entropy of the relevant passage among those of its row (Gao et al., 2021).
    """
    from datasets import Dataset

    return Dataset.from_dict(
        {
            "query": [query for query, _, _ in rows],
            "passages": [[positive, *others] for _, positive, others in rows],
            "labels": [[_SURE] + [0.0] * len(others) for _, _, others in rows],
        }
    )
