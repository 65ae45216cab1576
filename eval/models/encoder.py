"""Train an encoder: in-batch and mined negatives and, with a teacher, its margins (Hofstätter et al., 2020)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...retrieval.config import RerankSettings
from ...retrieval.domain import Qrels
from ...retrieval.encoders.cross_encoder import OnnxCrossEncoder, open_cross_encoder
from ...retrieval.progress import Progress
from ..scoring.statistics import Values
from . import lessons
from .base import opened_base
from .candidates import Candidates
from .measured import EncoderBed
from .request import ModelTraining, TrainingRequest

_SCALE = 20.0
"""What a cosine is multiplied by to be a logit, as sentence-transformers' loss has it."""
Triple = tuple[str, str, tuple[str, ...]]
"""A query, a relevant passage, and passages that are not."""


class EncoderTraining:
    """An encoder of sentence-transformers that is being trained."""

    def __init__(self, request: TrainingRequest) -> None:
        lessons.quiet()
        from sentence_transformers import SentenceTransformer

        self._request = request
        settings = request.settings
        lessons.seed(settings.seed)
        with opened_base(settings.base) as folder:
            self._model: Any = lessons.without_examples(SentenceTransformer(folder, local_files_only=True))
        teacher = settings.teacher
        self._teacher = open_cross_encoder(RerankSettings(model=teacher)) if teacher else None
        self._limit: int = self._model.max_seq_length or settings.max_tokens
        prompts = self._model.prompts or {}
        self._query_prompt = prompts.get("query") or ""
        self._document_prompt = prompts.get("document") or prompts.get("passage") or prompts.get("corpus") or ""

    def bed(self, candidates: Sequence[Candidates], qrels: Qrels) -> EncoderBed:
        """Return what the encoder is measured on: all that was found for these queries, ranked for each."""
        return EncoderBed(candidates, qrels, self._request.settings.measure)

    def ranked(self, bed: EncoderBed) -> str:
        """Return in words what is ranked."""
        return f"{bed.documents:,} documents ranked by the encoder alone"

    def before(self, bed: EncoderBed) -> Values:
        """Return the measure of each query with the model as it came."""
        return self.values(bed)

    def values(self, bed: EncoderBed) -> Values:
        """Return the measure of each query of ``bed`` with the model as it is now."""
        return bed.values(lambda texts: self._vectors(texts, self._query_prompt), self._documents)

    @property
    def beside(self) -> dict[str, float]:
        """The settings that are to stand beside the model's: none."""
        return {}

    def learn(self, learned: Sequence[Candidates], stopping: EncoderBed, progress: Progress) -> None:
        """Train on some queries, looking at others now and then; keep the best model that was seen."""
        from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
        from sentence_transformers.base.sampler import BatchSamplers

        rows = triples(learned, self._request.settings)
        settings = lessons.arguments(SentenceTransformerTrainingArguments, self._request, len(rows))
        settings.batch_sampler = BatchSamplers.NO_DUPLICATES
        datasets, losses = self._tasks(rows)
        trainer = SentenceTransformerTrainer(
            model=self._model,
            args=settings,
            train_dataset=datasets,
            loss=losses,
            evaluator=lessons.look(lambda: self.values(stopping)),
            callbacks=lessons.callbacks(self._request, progress),
        )
        with self._reading(min(self._request.settings.max_tokens, self._limit)):
            lessons.learn(trainer, self._request)

    def save(self, folder: str) -> None:
        """Write the model as sentence-transformers loads it."""
        self._model.save(folder, create_model_card=False)

    def _tasks(self, rows: Sequence[Triple]) -> tuple[Any, Any]:
        """Return what is learned from, and the loss of each."""
        from sentence_transformers.sentence_transformer.losses import MarginMSELoss, MultipleNegativesRankingLoss

        judged = self._dataset(rows)
        loss = MultipleNegativesRankingLoss(self._model, scale=_SCALE)
        if self._teacher is None:
            return judged, loss
        margins = self._margins(self._teacher, rows)
        return (
            {"judged": judged, "margins": margins},
            {"judged": loss, "margins": MarginMSELoss(self._model, similarity_fct=_scaled_cosine)},
        )

    def _dataset(self, rows: Sequence[Triple]) -> Any:
        from datasets import Dataset

        columns = {
            "anchor": [self._query_prompt + query for query, _, _ in rows],
            "positive": [self._document_prompt + positive for _, positive, _ in rows],
        }
        for at in range(min(len(negatives) for _, _, negatives in rows)):
            columns[f"negative_{at + 1}"] = [self._document_prompt + negatives[at] for _, _, negatives in rows]
        return Dataset.from_dict(columns)

    def _margins(self, teacher: OnnxCrossEncoder, rows: Sequence[Triple]) -> Any:
        """Return triples with how much better the teacher finds the relevant passage than the other."""
        from datasets import Dataset

        triples_: list[tuple[str, str, str, float]] = []
        for query, positive, negatives in rows:
            best = teacher.score(query, positive)
            triples_ += ((query, positive, other, best - teacher.score(query, other)) for other in negatives)
        return Dataset.from_dict(
            {
                "anchor": [self._query_prompt + query for query, _, _, _ in triples_],
                "positive": [self._document_prompt + positive for _, positive, _, _ in triples_],
                "negative": [self._document_prompt + other for _, _, other, _ in triples_],
                "label": [margin for _, _, _, margin in triples_],
            }
        )

    def _documents(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return self._vectors(texts, self._document_prompt)

    def _vectors(self, texts: Sequence[str], prompt: str) -> NDArray[np.float32]:
        with self._reading(self._limit):
            vectors = self._model.encode(
                [prompt + text for text in texts], prompt="", normalize_embeddings=True, show_progress_bar=False
            )
        return np.asarray(vectors, dtype=np.float32)

    @contextmanager
    def _reading(self, tokens: int) -> Iterator[None]:
        """Let the model read so many tokens of a text: fewer while it learns than where it is measured and used."""
        before = self._model.max_seq_length
        self._model.max_seq_length = tokens
        try:
            yield
        finally:
            self._model.max_seq_length = before


def triples(learned: Sequence[Candidates], settings: ModelTraining) -> list[Triple]:
    """Return a row for each relevant passage, with negatives drawn among the first hits; the same for the same seed.

    A query with too few of them borrows from the other queries; so no row lacks one, unless there is none at all.
    """
    chance = np.random.default_rng((settings.seed, 6))
    own = [query.negatives() for query in learned]
    every = sorted({text for texts in own for text in texts})
    rows = []
    for query, texts in zip(learned, own, strict=True):
        for positive in query.relevant.values():
            drawn = _sample(texts, settings.negatives, chance)
            drawn += _borrowed(every, query, settings.negatives - len(drawn), chance)
            rows.append((query.query, positive, tuple(drawn)))
    return rows


def _borrowed(every: Sequence[str], query: Candidates, wanted: int, chance: np.random.Generator) -> list[str]:
    relevant = set(query.relevant.values())
    return _sample([text for text in every if text not in relevant], wanted, chance) if wanted > 0 else []


def _sample(texts: Sequence[str], size: int, chance: np.random.Generator) -> list[str]:
    return [texts[at] for at in chance.permutation(len(texts))[:size].tolist()]


def _scaled_cosine(first: Any, second: Any) -> Any:
    from sentence_transformers.util import pairwise_cos_sim

    return _SCALE * pairwise_cos_sim(first, second)
