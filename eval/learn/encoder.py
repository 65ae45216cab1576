"""Train an encoder with in-batch and mined negatives and, optionally, a teacher's margins (Hofstätter et al., 2020)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...retrieval.config import CrossEncoderSettings
from ...retrieval.domain import Qrels
from ...retrieval.encoders.cross_encoder import open_cross_encoder
from ...retrieval.progress import Progress
from ..scoring.measures import values_of
from ..scoring.statistics import Values
from . import trainer
from .examples import Candidates, Triple, triples
from .request import TrainingRequest

DEPTH = 100
"""The number of documents of a ranking that the measure uses."""
_SCALE = 20.0
"""The factor that turns a cosine into a logit, as in the loss of sentence-transformers."""


class EncoderTraining:
    """The training of an encoder of sentence-transformers; ``beside`` are settings to set together with it."""

    def __init__(self, request: TrainingRequest, qrels: Qrels) -> None:
        self._request = request
        self._qrels = qrels
        self.beside: dict[str, float] = {}
        settings = request.settings
        trainer.prepare(settings.seed)
        from sentence_transformers import SentenceTransformer

        self._model: Any = trainer.load_base(
            settings.base, lambda folder: SentenceTransformer(folder, local_files_only=True)
        )
        self._teacher = open_cross_encoder(CrossEncoderSettings(model=settings.teacher)) if settings.teacher else None
        self._limit: int = self._model.max_seq_length or settings.max_tokens
        prompts = self._model.prompts or {}
        self._query_prompt = prompts.get("query") or ""
        self._document_prompt = prompts.get("document") or prompts.get("passage") or prompts.get("corpus") or ""

    def ranked(self, candidates: Sequence[Candidates]) -> str:
        """Return a description of the ranked documents."""
        return f"{len(_pool(candidates)):,} documents ranked by the encoder alone"

    def values(self, candidates: Sequence[Candidates]) -> Values:
        """Return the measure of each query; it ranks the hits and relevant documents of all queries."""
        pool = _pool(candidates)
        docids = sorted(pool)
        documents = self._vectors([pool[docid] for docid in docids], self._document_prompt)
        scores = self._vectors([candidate.query for candidate in candidates], self._query_prompt) @ documents.T
        run = {}
        for candidate, row in zip(candidates, scores, strict=True):
            first = np.argsort(-row, kind="stable")[:DEPTH].tolist()
            run[candidate.qid] = {docids[at]: float(row[at]) for at in first}
        qrels = {candidate.qid: self._qrels[candidate.qid] for candidate in candidates}
        return values_of(qrels, run, self._request.settings.measure)

    before = values

    def learn(self, learned: Sequence[Candidates], stopping: Sequence[Candidates], progress: Progress) -> None:
        """Train on some queries; with stopping queries, evaluate on them from time to time, and keep the best model."""
        from sentence_transformers import SentenceTransformerTrainer, SentenceTransformerTrainingArguments
        from sentence_transformers.base.sampler import BatchSamplers

        settings = self._request.settings
        rows = triples(learned, settings.negatives, settings.seed, settings.epochs)
        arguments = trainer.arguments(SentenceTransformerTrainingArguments, self._request, len(learned))
        arguments.num_train_epochs = 1  # The rows are those of all epochs.
        arguments.batch_sampler = BatchSamplers.NO_DUPLICATES
        datasets, losses = self._tasks(rows)
        running = SentenceTransformerTrainer(
            model=self._model,
            args=arguments,
            train_dataset=datasets,
            loss=losses,
            evaluator=trainer.look(lambda: self.values(stopping)),
        )
        with self._reading(min(settings.max_tokens, self._limit)):
            trainer.run_trainer(running, self._request, progress)

    def save(self, folder: str) -> None:
        """Write the model in the format that sentence-transformers loads."""
        self._model.save(folder, create_model_card=False)

    def _tasks(self, rows: Sequence[Triple]) -> tuple[Any, Any]:
        """Return the training data and the loss of each part; a teacher adds a part with its score margins."""
        from datasets import Dataset
        from sentence_transformers.sentence_transformer.losses import MarginMSELoss, MultipleNegativesRankingLoss
        from sentence_transformers.util import pairwise_cos_sim

        columns = {
            "anchor": [self._query_prompt + query for query, _, _ in rows],
            "positive": [self._document_prompt + positive for _, positive, _ in rows],
        }
        for at in range(min(len(negatives) for _, _, negatives in rows)):
            columns[f"negative_{at + 1}"] = [self._document_prompt + negatives[at] for _, _, negatives in rows]
        judged = Dataset.from_dict(columns)
        loss = MultipleNegativesRankingLoss(self._model, scale=_SCALE)
        if self._teacher is None:
            return judged, loss
        margins: dict[str, list[Any]] = {"anchor": [], "positive": [], "negative": [], "label": []}
        for query, positive, negatives in rows:
            best = self._teacher.score(query, positive)
            for other in negatives:
                margins["anchor"].append(self._query_prompt + query)
                margins["positive"].append(self._document_prompt + positive)
                margins["negative"].append(self._document_prompt + other)
                margins["label"].append(best - self._teacher.score(query, other))
        margin_loss = MarginMSELoss(self._model, similarity_fct=lambda a, b: _SCALE * pairwise_cos_sim(a, b))
        datasets = {"judged": judged, "margins": Dataset.from_dict(margins)}
        return datasets, {"judged": loss, "margins": margin_loss}

    def _vectors(self, texts: Sequence[str], prompt: str) -> NDArray[np.float32]:
        with self._reading(self._limit):
            vectors = self._model.encode(
                [prompt + text for text in texts], prompt="", normalize_embeddings=True, show_progress_bar=False
            )
        return np.asarray(vectors, dtype=np.float32)

    @contextmanager
    def _reading(self, tokens: int) -> Iterator[None]:
        """Let the model read at most ``tokens`` tokens of a text: fewer in training than in evaluation and use."""
        before = self._model.max_seq_length
        self._model.max_seq_length = tokens
        try:
            yield
        finally:
            self._model.max_seq_length = before


def _pool(candidates: Sequence[Candidates]) -> dict[str, str]:
    """Return the documents of all queries: a relevant one has its own text, any other has the text of its first hit."""
    pool: dict[str, str] = {}
    for candidate in candidates:
        for docid, text in candidate.hits.items():
            pool.setdefault(docid, text)
    for candidate in candidates:
        pool |= candidate.relevant
    return pool
