"""The trainings of an encoder and of a re-ranker.

An encoder learns with in-batch and mined negatives and, optionally, a teacher's margins (Hofstätter
et al., 2020). A re-ranker is a CrossEncoder that learns to distinguish relevant passages from the
other hits of a search.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core.domain import Qrels
from ...core.errors import MachineError
from ...core.progress import Progress
from ...retrieval.config import CrossEncoderSettings
from ...retrieval.encoders.cross_encoder import OnnxCrossEncoder
from ...retrieval.search.score_normalizers import mix_scores
from ..run.batch import depth_of
from ..scoring.measures import values_of
from ..scoring.statistics import Values
from . import trainer
from .examples import Candidates, Triple, triples
from .trainer import TrainingRequest

DEPTH = 100  # the least number of documents of a ranking that the measure uses
# The factor that turns a cosine into a logit, as in the loss of sentence-transformers.
_SCALE = 20.0


class EncoderTraining:
    """The training of an encoder of sentence-transformers; ``beside`` are settings to set together
    with it.
    """

    def __init__(self, request: TrainingRequest, qrels: Qrels) -> None:
        self._request, self._qrels = request, qrels
        self.beside: dict[str, float] = {}
        settings = request.settings
        trainer.prepare(settings.seed)
        from sentence_transformers import SentenceTransformer

        self._model: Any = trainer.load_base(
            settings.base, partial(SentenceTransformer, local_files_only=True)
        )
        self._teacher = (
            OnnxCrossEncoder(CrossEncoderSettings(model=settings.teacher))
            if settings.teacher
            else None
        )
        self._limit: int = self._model.max_seq_length or settings.max_tokens
        prompts = self._model.prompts or {}
        self._query_prompt = prompts.get("query") or ""
        self._document_prompt = (
            prompts.get("document") or prompts.get("passage") or prompts.get("corpus") or ""
        )

    def describe_ranked(self, candidates: Sequence[Candidates]) -> str:
        """Return a description of the ranked documents."""
        return f"{len(_pool(candidates)):,} documents ranked by the encoder alone"

    def values(self, candidates: Sequence[Candidates]) -> Values:
        """Return the measure of each query; the encoder ranks the hits and relevant documents of
        all queries.
        """
        pool = _pool(candidates)
        docids = sorted(pool)
        documents = self._vectors([pool[docid] for docid in docids], self._document_prompt)
        scores = (
            self._vectors([candidate.query for candidate in candidates], self._query_prompt)
            @ documents.T
        )
        run, depth = {}, max(DEPTH, depth_of([self._request.settings.measure]))
        for candidate, row in zip(candidates, scores, strict=True):
            first = np.argsort(-row, kind="stable")[:depth].tolist()
            run[candidate.qid] = {docids[at]: float(row[at]) for at in first}
        return _measure(run, self._qrels, self._request)

    before = values

    def learn(
        self, learned: Sequence[Candidates], stopping: Sequence[Candidates], progress: Progress
    ) -> None:
        """Train on some queries; with stopping queries, evaluate on them from time to time, and
        keep the best model.
        """
        from sentence_transformers import (
            SentenceTransformerTrainer,
            SentenceTransformerTrainingArguments,
        )
        from sentence_transformers.base.sampler import BatchSamplers

        settings = self._request.settings
        rows = triples(learned, settings.negatives, settings.seed, settings.epochs)
        arguments = trainer.arguments(
            SentenceTransformerTrainingArguments, self._request, len(learned)
        )
        arguments.num_train_epochs = 1  # The rows are those of all epochs.
        arguments.batch_sampler = BatchSamplers.NO_DUPLICATES
        data, loss = self._tasks(rows)
        look = trainer.look(lambda: self.values(stopping))
        running = SentenceTransformerTrainer(
            self._model, arguments, train_dataset=data, loss=loss, evaluator=look
        )
        with self._reading(min(settings.max_tokens, self._limit)):
            trainer.run_trainer(running, self._request, progress)

    def save(self, folder: str) -> None:
        """Write the model in the format that sentence-transformers loads."""
        self._model.save(folder, create_model_card=False)

    def _tasks(self, rows: Sequence[Triple]) -> tuple[Any, Any]:
        """Return the training data and the loss of each part; a teacher adds a part with its score
        margins.
        """
        from datasets import Dataset
        from sentence_transformers.sentence_transformer.losses import (
            MarginMSELoss,
            MultipleNegativesRankingLoss,
        )
        from sentence_transformers.util import pairwise_cos_sim

        columns = {
            "anchor": [self._query_prompt + query for query, _, _ in rows],
            "positive": [self._document_prompt + positive for _, positive, _ in rows],
        }
        for at in range(min(len(negatives) for _, _, negatives in rows)):
            columns[f"negative_{at + 1}"] = [
                self._document_prompt + negatives[at] for _, _, negatives in rows
            ]
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
        margin_loss = MarginMSELoss(
            self._model, similarity_fct=lambda a, b: _SCALE * pairwise_cos_sim(a, b)
        )
        datasets = {"judged": judged, "margins": Dataset.from_dict(margins)}
        return datasets, {"judged": loss, "margins": margin_loss}

    def _vectors(self, texts: Sequence[str], prompt: str) -> NDArray[np.float32]:
        with self._reading(self._limit):
            vectors = self._model.encode(
                [prompt + text for text in texts],
                prompt="",
                normalize_embeddings=True,
                show_progress_bar=False,
            )
        return np.asarray(vectors, dtype=np.float32)

    @contextmanager
    def _reading(self, tokens: int) -> Iterator[None]:
        """Let the model read at most ``tokens`` tokens of a text: fewer in training than in
        evaluation and use.
        """
        before = self._model.max_seq_length
        self._model.max_seq_length = tokens
        try:
            yield
        finally:
            self._model.max_seq_length = before


def _measure(
    run: Mapping[str, Mapping[str, float]], qrels: Qrels, request: TrainingRequest
) -> Values:
    return values_of({qid: qrels[qid] for qid in run}, run, request.settings.measure)


def _pool(candidates: Sequence[Candidates]) -> dict[str, str]:
    """Return the documents of all queries: a relevant one has its own text, any other has the text
    of its first hit.
    """
    hits = {
        docid: text for candidate in reversed(candidates) for docid, text in candidate.hits.items()
    }
    return hits | {
        docid: text for candidate in candidates for docid, text in candidate.relevant.items()
    }


# The weights to try: the model's share of the new score.
WEIGHTS = tuple(tenth / 10 for tenth in range(1, 11))
_AT_ONCE = 32
_SURE = 30.0  # a label so far above 0 that the loss treats the passage as the only relevant one


class RerankerTraining:
    """The training of a CrossEncoder: an existing re-ranker, or an encoder that gets a head."""

    def __init__(self, request: TrainingRequest, qrels: Qrels) -> None:
        self._request, self._qrels = request, qrels
        self._weight = 1.0
        # Maps the measure of each evaluation to the weight that it chose.
        self._looks: dict[float, float] = {}
        settings = request.settings
        trainer.prepare(settings.seed)
        from sentence_transformers import CrossEncoder

        load = partial(
            CrossEncoder, num_labels=1, max_length=settings.max_tokens, local_files_only=True
        )
        self._model: Any = trainer.load_base(settings.base, load)
        if (scores := self._model.num_labels) != 1:
            raise MachineError(
                f"gives {scores} scores per pair, but one is needed", place=settings.base
            )

    def describe_ranked(self, candidates: Sequence[Candidates]) -> str:
        """Return a description of the ranked hits."""
        return (
            f"{sum(len(query.hits) for query in candidates):,} hits; before: the order of the "
            "search"
        )

    def before(self, candidates: Sequence[Candidates]) -> Values:
        """Return the measure of each query with its hits in their original order."""
        run = {
            query.qid: {docid: float(-rank) for rank, docid in enumerate(query.hits)}
            for query in candidates
        }
        return _measure(run, self._qrels, self._request)

    def values(self, candidates: Sequence[Candidates]) -> Values:
        """Return the measure of each query, its hits ranked with the current model and weight."""
        return self._measure_mixed(candidates, self._scores(candidates), self._weight)

    @property
    def beside(self) -> dict[str, float]:
        """The settings to set together with the model: ``rerank.weight``."""
        return {"rerank.weight": self._weight}

    def learn(
        self, learned: Sequence[Candidates], stopping: Sequence[Candidates], progress: Progress
    ) -> None:
        """Train on some queries, evaluate on the stopping queries from time to time, and keep the
        best model.

        The stopping queries also choose the weight of the model's score against the search's score.
        The loss is the cross-entropy of a row's first passage, the relevant one, among all of them
        (Gao et al., 2021).
        """
        from datasets import Dataset
        from sentence_transformers.cross_encoder import (
            CrossEncoderTrainer,
            CrossEncoderTrainingArguments,
        )
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
        """Return the best weight (the smallest of equals; 1 without judgements), and each query's
        measure.
        """
        scores = self._scores(candidates)
        weights = WEIGHTS if self._request.sources else (1.0,)
        tried = [(weight, self._measure_mixed(candidates, scores, weight)) for weight in weights]
        weight, values = max(tried, key=lambda pair: float(pair[1].mean()))
        self._looks.setdefault(float(values.mean()), weight)
        return weight, values

    def _measure_mixed(
        self, candidates: Sequence[Candidates], scores: NDArray[np.float32], weight: float
    ) -> Values:
        """Return the measure of each query by the mixed scores of model and search, as in the stage
        ``rerank``.
        """
        left = iter(scores.tolist())
        run = {}
        for query in candidates:
            after = list(islice(left, len(query.hits)))
            before = [query.scores.get(docid, 0.0) for docid in query.hits]
            run[query.qid] = dict(zip(query.hits, mix_scores(before, after, weight), strict=True))
        return _measure(run, self._qrels, self._request)

    def _scores(self, candidates: Sequence[Candidates]) -> NDArray[np.float32]:
        """Return the model's score of each hit of each query, in their order."""
        from torch import nn

        pairs = [(query.query, text) for query in candidates for text in query.hits.values()]
        if not pairs:
            return np.zeros(0, dtype=np.float32)
        scores = self._model.predict(
            pairs, batch_size=_AT_ONCE, activation_fn=nn.Identity(), show_progress_bar=False
        )
        return np.asarray(scores, dtype=np.float32).reshape(-1)
