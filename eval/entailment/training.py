"""Train a model of entailment: a CrossEncoder that reads a text and a claim and tells three labels apart."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...retrieval.entailment import LABELS, label_of
from ...retrieval.progress import Progress
from ..models import lessons
from ..models.base import opened_base
from ..models.request import TrainingRequest
from ..scoring.statistics import Values
from .measured import EntailmentBed
from .pairs import EntailmentPair

_AT_ONCE = 32


class EntailmentTraining:
    """A CrossEncoder that is being trained: one that was trained before, or an encoder that gets a head."""

    def __init__(self, request: TrainingRequest) -> None:
        lessons.quiet()
        from sentence_transformers import CrossEncoder

        self._request = request
        settings = request.settings
        lessons.seed(settings.seed)
        with opened_base(settings.base) as folder:
            model = CrossEncoder(
                folder,
                num_labels=len(LABELS),
                max_length=settings.max_tokens,
                local_files_only=True,
                model_kwargs={"ignore_mismatched_sizes": True},
            )
        self._model: Any = lessons.without_examples(model)
        names = self._model.config.id2label
        labels = [label_of(str(names[number])) for number in sorted(names)]
        self._knows = sorted(labels) == sorted(LABELS)
        self._labels = labels if self._knows else list(LABELS)
        self._model.config.id2label = dict(enumerate(self._labels))
        self._model.config.label2id = {label: number for number, label in enumerate(self._labels)}

    def ranked(self, bed: EntailmentBed) -> str:
        """Return in words what is judged."""
        before = "as the model came" if self._knows else "by the commonest label"
        return f"{len(bed.pairs):,} pairs of text and claim, before {before}"

    def before(self, bed: EntailmentBed) -> Values:
        """Return the values of each claim with the model as it came; for a new head the commonest label answers."""
        return self.values(bed) if self._knows else bed.commonest()

    def values(self, bed: EntailmentBed) -> Values:
        """Return the values of each claim with the model as it is now."""
        return bed.values(self._judged(bed.pairs))

    @property
    def beside(self) -> dict[str, float]:
        """The settings that are to stand beside the model's: none."""
        return {}

    def learn(self, learned: Sequence[EntailmentPair], stopping: EntailmentBed, progress: Progress) -> None:
        """Train on some pairs, looking at others now and then; keep the best model that was seen.

        Every label counts the same, however rare. Raises MachineError if there is no room for checkpoints.
        """
        from sentence_transformers.cross_encoder import CrossEncoderTrainer, CrossEncoderTrainingArguments
        from sentence_transformers.cross_encoder.losses import CrossEntropyLoss

        trainer = CrossEncoderTrainer(
            model=self._model,
            args=lessons.arguments(CrossEncoderTrainingArguments, self._request, len(learned)),
            train_dataset=self._dataset(learned),
            loss=CrossEntropyLoss(self._model, weight=self._weights(learned)),
            evaluator=lessons.look(lambda: self.values(stopping)),
            callbacks=lessons.callbacks(self._request, progress),
        )
        lessons.learn(trainer, self._request)

    def save(self, folder: str) -> None:
        """Write the model as sentence-transformers loads it."""
        self._model.save_pretrained(folder, create_model_card=False)

    def _dataset(self, pairs: Sequence[EntailmentPair]) -> Any:
        from datasets import Dataset

        columns = {"text": [pair.text for pair in pairs], "claim": [pair.claim for pair in pairs]}
        return Dataset.from_dict(columns | {"label": [self._number(pair) for pair in pairs]})

    def _number(self, pair: EntailmentPair) -> int:
        return self._labels.index(LABELS[pair.label])

    def _weights(self, pairs: Sequence[EntailmentPair]) -> Any:
        import torch

        counts = np.bincount([self._number(pair) for pair in pairs], minlength=len(LABELS))
        weights = len(pairs) / (np.count_nonzero(counts) * np.maximum(counts, 1))
        return torch.tensor(weights, dtype=torch.float32, device=self._model.device)

    def _judged(self, pairs: Sequence[EntailmentPair]) -> NDArray[np.int64]:
        texts = [(pair.text, pair.claim) for pair in pairs]
        scores = self._model.predict(texts, batch_size=_AT_ONCE, show_progress_bar=False)
        numbers = np.array([LABELS.index(label) for label in self._labels], dtype=np.int64)
        judged: NDArray[np.int64] = numbers[np.asarray(scores).argmax(axis=1)]
        return judged
