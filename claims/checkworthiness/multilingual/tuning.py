"""Train a sentence encoder itself, with both heads on it, and keep the encoder: any sentence-transformers model.

What is written is a model like the one that was read: ``claims.multilingual.encoder`` or ``encoder.model`` may name it.
The heads are not kept; ``rank --model multilingual`` trains new ones on what the encoder gives now.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ....retrieval.domain import Statement
from ....retrieval.encoders.cache import model_folder
from ....retrieval.encoders.sources import find_model
from ....retrieval.errors import QueryError
from ....retrieval.files import sync_tree
from ....retrieval.saving import saving_reported
from ...settings import Config
from .training import Examples, heads, learn, numbered

CHARACTERS = "characters"


def tune(statements: Sequence[Statement], config: Config, target: Path) -> None:
    """Train the configured encoder on labelled statements, and write it to the new folder ``target``.

    Raises QueryError if the folder is there or the encoder is none that can be tuned, MachineError if it is not here.
    """
    settings = config.claims.multilingual
    if settings.encoder == CHARACTERS:
        raise QueryError(
            "characters is trained with its heads",
            place="claims.multilingual.encoder",
            remedy="name a sentence encoder",
        )
    if target.exists():
        raise QueryError("is there already", place=target, remedy="name a new folder")
    if not target.parent.is_dir():
        raise QueryError(f"there is no folder {target.parent}", place=target, remedy="make it first")
    encoder = _trained(_loaded(settings.encoder, settings.max_tokens), statements, config)
    with saving_reported(target.parent), tempfile.TemporaryDirectory(prefix=".tune-", dir=target.parent) as scratch:
        made = Path(scratch) / "encoder"
        encoder.save(str(made))
        sync_tree(made)
        made.rename(target)


def _loaded(name: str, max_tokens: int) -> Any:
    # Its own bars are shown on files too; this has to be said before it is imported.
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    from sentence_transformers import SentenceTransformer

    with model_folder(find_model(name)) as folder:
        model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    if max_tokens:
        model.max_seq_length = min(max_tokens, model.max_seq_length or max_tokens)
    return model


def _trained(encoder: Any, statements: Sequence[Statement], config: Config) -> Any:
    """Train encoder and heads together; return the encoder."""
    import torch

    settings = config.claims.multilingual
    # The encoder is what the heads share: they need no layer of their own.
    tuning = msgspec.structs.replace(
        settings,
        shared=0,
        epochs=settings.tuning.epochs,
        batch=settings.tuning.batch,
        learning_rate=settings.tuning.learning_rate,
    )
    languages = [statement.language for statement in statements]
    known = sorted(set(languages))
    torch.manual_seed(config.claims.seed)

    class Whole(torch.nn.Module):
        """Texts in, the logits of both heads out."""

        def __init__(self) -> None:
            super().__init__()
            self.encoder = encoder
            self.heads = heads(_width(encoder), tuning, len(known))

        def forward(self, texts: Sequence[str]) -> Any:
            """Return the logits of claim and of language."""
            return self.heads(self.encoder(_features(self.encoder, texts))["sentence_embedding"])

    labels = np.array([statement.label for statement in statements], dtype=np.int64)
    examples = Examples([statement.text for statement in statements], labels, numbered(languages, known))
    learn(Whole(), examples, tuning, config.claims.seed)
    return encoder.cpu().eval()


def _width(encoder: Any) -> int:
    # The name is that of sentence-transformers 5; later ones have another.
    named = getattr(encoder, "get_embedding_dimension", None) or encoder.get_sentence_embedding_dimension
    return int(named())


def _features(encoder: Any, texts: Sequence[str]) -> dict[str, Any]:
    """Return what the encoder reads of texts, its tensors where the encoder is."""
    read = getattr(encoder, "preprocess", None) or encoder.tokenize
    inputs = read(list(texts)).items()
    return {name: value.to(encoder.device) if hasattr(value, "to") else value for name, value in inputs}
