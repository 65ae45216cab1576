"""Train an encoder with in-batch and mined negatives, and with a teacher's margins if any (Hofstätter et al., 2020)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...retrieval.config import CrossEncoderSettings
from ...retrieval.domain import Qrels
from ...retrieval.encoders.cross_encoder import OnnxCrossEncoder, open_cross_encoder
from ...retrieval.progress import Progress
from ..scoring.measures import evaluate
from ..scoring.statistics import Values
from . import trainer
from .examples import Candidates, Triple, triples
from .request import TrainingRequest

DEPTH = 100
"""The number of documents of a ranking that the measure uses."""
_SCALE = 20.0
"""The factor that turns a cosine into a logit, as in the loss of sentence-transformers."""


class EncoderEvaluator:
    """For each query, ranks the documents of all queries: their hits and their relevant documents."""

    def __init__(self, candidates: Sequence[Candidates], qrels: Qrels, measure: str) -> None:
        self._qrels = {candidate.qid: qrels[candidate.qid] for candidate in candidates}
        self._measure = measure
        pool: dict[str, str] = {}
        for candidate in candidates:
            pool |= {docid: text for docid, text in candidate.hits.items() if docid not in pool}
        for candidate in candidates:
            pool |= candidate.relevant
        self._docids = sorted(pool)
        self.texts = [pool[docid] for docid in self._docids]
        self.queries = [candidate.query for candidate in candidates]

    def values(self, scores: NDArray[np.float32]) -> Values:
        """Return the measure of each query, given scores of shape (queries, documents)."""
        run = {}
        for qid, row in zip(self._qrels, scores, strict=True):
            first = np.argsort(-row, kind="stable")[:DEPTH].tolist()
            run[qid] = {self._docids[at]: float(row[at]) for at in first}
        values: Values = evaluate(self._qrels, run, [self._measure]).values[:, 0]
        return values


class EncoderTraining:
    """The training of an encoder of sentence-transformers."""

    def __init__(self, request: TrainingRequest) -> None:
        self._request = request
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

    def evaluator(self, candidates: Sequence[Candidates], qrels: Qrels) -> EncoderEvaluator:
        """Return the evaluator of these queries: it ranks all of their documents for each query."""
        return EncoderEvaluator(candidates, qrels, self._request.settings.measure)

    def ranked(self, evaluator: EncoderEvaluator) -> str:
        """Return a description of the ranked documents."""
        return f"{len(evaluator.texts):,} documents ranked by the encoder alone"

    def values(self, evaluator: EncoderEvaluator) -> Values:
        """Return the measure of each query with the model in its current state."""
        documents = self._vectors(evaluator.texts, self._document_prompt)
        return evaluator.values(self._vectors(evaluator.queries, self._query_prompt) @ documents.T)

    before = values

    def learn(self, learned: Sequence[Candidates], stopping: EncoderEvaluator, progress: Progress) -> None:
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
        margins = Dataset.from_dict(self._margins(self._teacher, rows))
        margin_loss = MarginMSELoss(self._model, similarity_fct=lambda a, b: _SCALE * pairwise_cos_sim(a, b))
        return {"judged": judged, "margins": margins}, {"judged": loss, "margins": margin_loss}

    def _margins(self, teacher: OnnxCrossEncoder, rows: Sequence[Triple]) -> dict[str, list[Any]]:
        """Return triples with the difference of the teacher's scores: the relevant passage minus the other passage."""
        columns: dict[str, list[Any]] = {"anchor": [], "positive": [], "negative": [], "label": []}
        for query, positive, negatives in rows:
            best = teacher.score(query, positive)
            for other in negatives:
                columns["anchor"].append(self._query_prompt + query)
                columns["positive"].append(self._document_prompt + positive)
                columns["negative"].append(self._document_prompt + other)
                columns["label"].append(best - teacher.score(query, other))
        return columns

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
