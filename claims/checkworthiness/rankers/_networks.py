"""Train with torch: the networks of the ranker ``multilingual``, or a whole sentence encoder with the two heads.

Each head has a loss; ``claim_weight`` weights the two. The design is that of UPV at CheckThat! 2021 ("Mitigating
Cultural Differences for Identifying Multi-lingual Check-worthy Claims"): the language head adds to the loss, and its
gradient is not reversed.

A tuned encoder is a model like its base: ``claims.multilingual.encoder`` or ``encoder.model`` may name it. The heads
are not kept; ``rank --model multilingual`` trains new ones on the tuned encoder.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ....retrieval.domain import Statement
from ....retrieval.encoders.cache import model_folder
from ....retrieval.encoders.sources import find_model
from ....retrieval.errors import QueryError
from ....retrieval.files import saving_reported, sync_tree
from ...settings import CHARACTERS, Config, MultilingualSettings

_DRAWN = 0.1
"""The standard deviation of the vectors of character n-grams before training."""


class Examples(NamedTuple):
    """Rows, or texts, with their labels, 0 and 1, and the numbers of their languages."""

    rows: Any
    labels: NDArray[np.int64]
    languages: NDArray[np.int64]

    def taken(self, chosen: NDArray[np.intp]) -> Examples:
        """Return some of the examples."""
        rows = self.rows[chosen] if isinstance(self.rows, np.ndarray) else [self.rows[int(row)] for row in chosen]
        return Examples(rows, self.labels[chosen], self.languages[chosen])


def examples_of(rows: Any, statements: Sequence[Statement], known: Sequence[str]) -> Examples:
    """Return the rows of statements with their labels, and their languages by their places in ``known``."""
    labels = np.array([statement.label for statement in statements], dtype=np.int64)
    languages = np.array([known.index(statement.language) for statement in statements], dtype=np.int64)
    return Examples(rows, labels, languages)


def train(examples: Examples, settings: MultilingualSettings, languages: int, seed: int) -> dict[str, NDArray[Any]]:
    """Train one network; return its weights. The same seed gives the same weights on the same kind of processor."""
    import torch

    threads = torch.get_num_threads()
    torch.manual_seed(seed)
    # One thread adds in one order; a network this small gains little from more threads.
    torch.set_num_threads(1)
    try:
        if isinstance(examples.rows, np.ndarray):
            network = heads(examples.rows.shape[1], settings, languages)
        else:
            network = heads(settings.dimension, settings, languages, table=True)
        learn(network, examples, settings, seed)
    finally:
        torch.set_num_threads(threads)
    return {name: tensor.cpu().numpy() for name, tensor in network.state_dict().items()}


def learn(network: Any, examples: Examples, settings: MultilingualSettings, seed: int) -> None:
    """Train a network, on an NVIDIA GPU if there is one; the loss is the weighted sum of both heads' losses."""
    import torch
    from torch.nn.functional import cross_entropy

    device = "cuda" if torch.cuda.is_available() else "cpu"
    network.to(device).train()
    size = len(examples.labels)
    steps = settings.epochs * -(-size // settings.batch)
    optimizer = torch.optim.AdamW(network.parameters(), lr=settings.learning_rate, weight_decay=settings.weight_decay)
    rise = steps * settings.warmup

    def slope(step: int) -> float:
        """Return the share of the learning rate at a step: a linear rise in the warm-up, then a linear fall to 0."""
        return (step + 1) / (rise + 1) if step < rise else max(0.0, (steps - step) / max(1.0, steps - rise))

    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, slope)
    order = np.random.default_rng(seed)
    for _ in range(settings.epochs):
        shuffled = order.permutation(size)
        for start in range(0, size, settings.batch):
            batch = examples.taken(shuffled[start : start + settings.batch])
            claim, language = network(*_tensors(batch.rows, device))
            loss: Any = settings.claim_weight * cross_entropy(claim, torch.from_numpy(batch.labels).to(device))
            if settings.claim_weight < 1:
                lost = cross_entropy(language, torch.from_numpy(batch.languages).to(device))
                loss = loss + (1 - settings.claim_weight) * lost
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(network.parameters(), settings.clip)
            optimizer.step()
            schedule.step()


def _tensors(rows: Any, device: str) -> tuple[Any, ...]:
    import torch

    if len(rows) and isinstance(rows[0], str):
        return (rows,)
    if isinstance(rows, np.ndarray):
        return (torch.from_numpy(np.ascontiguousarray(rows, dtype=np.float32)).to(device),)
    starts = np.cumsum([0, *(len(buckets) for buckets, _ in rows[:-1])])
    parts = np.concatenate([buckets for buckets, _ in rows]), starts, np.concatenate([weights for _, weights in rows])
    return tuple(torch.from_numpy(part).to(device) for part in parts)


def heads(width: int, settings: MultilingualSettings, languages: int, *, table: bool = False) -> Any:
    """Return the two heads and their shared layer, for vectors of ``width`` or, with ``table``, for buckets."""
    from torch import nn

    def head(inputs: int, classes: int) -> Any:
        return nn.Sequential(nn.Linear(inputs, settings.hidden), nn.Tanh(), nn.Linear(settings.hidden, classes))

    class Heads(nn.Module):
        """A network from vectors to the logits of claim and language."""

        def __init__(self) -> None:
            super().__init__()
            if table:
                self.grams = nn.EmbeddingBag(settings.buckets, width, mode="sum")
                # Start near 0: the meaning of character n-grams should come from training, not from chance.
                nn.init.normal_(self.grams.weight, std=_DRAWN)
            if settings.shared:
                self.shared = nn.Linear(width, settings.shared)
            self.dropout = nn.Dropout(settings.dropout)
            self.claim = head(settings.shared or width, 2)
            self.language = head(settings.shared or width, languages)

        def forward(self, rows: Any, starts: Any = None, weights: Any = None) -> tuple[Any, Any]:
            """Return the logits of claim, shape (n, 2), and of language, shape (n, languages)."""
            vectors = rows if starts is None else self.grams(rows, starts, weights)
            if settings.shared:
                vectors = self.shared(vectors).tanh()
            return self.claim(self.dropout(vectors)), self.language(vectors)

    return Heads()


def tune(statements: Sequence[Statement], config: Config, target: Path) -> None:
    """Train the configured encoder on labelled statements, and write it to the new folder ``target``.

    Raises QueryError if the folder exists or the encoder cannot be tuned, MachineError if it is not on this machine.
    """
    settings = config.claims.multilingual
    if settings.encoder == CHARACTERS:
        raise QueryError(
            "the encoder 'characters' cannot be trained without its heads",
            place="claims.multilingual.encoder",
            remedy="give a sentence encoder",
        )
    if target.exists():
        raise QueryError("already exists", place=target, remedy="give a new folder")
    if not target.parent.is_dir():
        raise QueryError(f"there is no folder {target.parent}", place=target, remedy="create it first")
    # The library's progress bars would also appear in files; set this before the import.
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    from sentence_transformers import SentenceTransformer

    with model_folder(find_model(settings.encoder)) as folder:
        encoder = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    if settings.max_tokens:
        encoder.max_seq_length = min(settings.max_tokens, encoder.max_seq_length or settings.max_tokens)
    _train_whole(encoder, statements, config)
    with saving_reported(target.parent), tempfile.TemporaryDirectory(prefix=".tune-", dir=target.parent) as scratch:
        made = Path(scratch) / "encoder"
        encoder.save(str(made))
        sync_tree(made)
        made.rename(target)


def _train_whole(encoder: Any, statements: Sequence[Statement], config: Config) -> None:
    import torch

    settings = config.claims.multilingual
    # The heads share the encoder, so they need no shared layer of their own.
    tuning = msgspec.structs.replace(settings, shared=0, **msgspec.structs.asdict(settings.tuning))
    known = sorted({statement.language for statement in statements})
    torch.manual_seed(config.claims.seed)
    # The second names are those of sentence-transformers 5; later versions have the first ones.
    width = getattr(encoder, "get_embedding_dimension", None) or encoder.get_sentence_embedding_dimension
    read = getattr(encoder, "preprocess", None) or encoder.tokenize

    class Whole(torch.nn.Module):
        """A network from texts to the logits of both heads."""

        def __init__(self) -> None:
            super().__init__()
            self.encoder = encoder
            self.heads = heads(int(width()), tuning, len(known))

        def forward(self, texts: Sequence[str]) -> Any:
            """Return the logits of claim and of language."""
            inputs = {
                name: value.to(encoder.device) if hasattr(value, "to") else value
                for name, value in read(list(texts)).items()
            }
            return self.heads(self.encoder(inputs)["sentence_embedding"])

    examples = examples_of([statement.text for statement in statements], statements, known)
    learn(Whole(), examples, tuning, config.claims.seed)
    encoder.cpu().eval()
