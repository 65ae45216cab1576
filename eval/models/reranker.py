"""Train a re-ranker: a CrossEncoder that tells relevant passages from the hits that a search took for them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...retrieval.domain import Qrels
from ...retrieval.encoders.cache import model_folder
from ...retrieval.encoders.sources import find_model
from ...retrieval.errors import MachineError
from ...retrieval.progress import Progress
from ..scoring.statistics import Values
from . import lessons
from .candidates import Candidates
from .encoder import triples
from .measured import RerankerBed
from .request import TrainingRequest

_AT_ONCE = 32


class RerankerTraining:
    """A CrossEncoder that is being trained: one that was trained before, or an encoder that gets a head."""

    def __init__(self, request: TrainingRequest) -> None:
        lessons.quiet()
        from sentence_transformers import CrossEncoder

        self._request = request
        settings = request.settings
        lessons.seed(settings.seed)
        with model_folder(find_model(settings.base, "model")) as folder:
            self._model: Any = CrossEncoder(
                str(folder), num_labels=1, max_length=settings.max_tokens, local_files_only=True
            )
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
        """Return the measure of each query of ``bed``, its hits ranked by the model as it is now."""
        return bed.values(self._scores)

    def learn(self, learned: Sequence[Candidates], stopping: RerankerBed, progress: Progress) -> None:
        """Train on some queries, looking at others now and then; keep the best model that was seen.

        Raises MachineError if there is no room for checkpoints.
        """
        from sentence_transformers.cross_encoder import CrossEncoderTrainer, CrossEncoderTrainingArguments
        from sentence_transformers.cross_encoder.losses import BinaryCrossEntropyLoss
        from torch import tensor

        pairs = labelled_pairs(learned, self._request)
        negatives = max(1, self._request.settings.negatives)
        trainer = CrossEncoderTrainer(
            model=self._model,
            args=lessons.arguments(CrossEncoderTrainingArguments, self._request, len(pairs)),
            train_dataset=_dataset(pairs),
            loss=BinaryCrossEntropyLoss(self._model, pos_weight=tensor(float(negatives))),
            evaluator=lessons.look(lambda: self.values(stopping)),
            callbacks=lessons.callbacks(self._request, progress),
        )
        lessons.learn(trainer, self._request)

    def save(self, folder: str) -> None:
        """Write the model as sentence-transformers loads it."""
        self._model.save_pretrained(folder, create_model_card=False)

    def _scores(self, pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
        from torch import nn

        scores = self._model.predict(
            list(pairs), batch_size=_AT_ONCE, activation_fn=nn.Identity(), show_progress_bar=False
        )
        return np.asarray(scores, dtype=np.float32).reshape(-1)


def labelled_pairs(learned: Sequence[Candidates], request: TrainingRequest) -> list[tuple[str, str, float]]:
    """Return query, passage and whether it is relevant, in an order drawn with the seed."""
    pairs = []
    for query, positive, negatives in triples(learned, request.settings):
        pairs += [(query, positive, 1.0), *((query, negative, 0.0) for negative in negatives)]
    order = np.random.default_rng((request.settings.seed, 7)).permutation(len(pairs))
    return [pairs[at] for at in order.tolist()]


def _dataset(pairs: Sequence[tuple[str, str, float]]) -> Any:
    from datasets import Dataset

    queries, passages, labels = zip(*pairs, strict=True)
    return Dataset.from_dict({"query": queries, "passage": passages, "label": labels})
