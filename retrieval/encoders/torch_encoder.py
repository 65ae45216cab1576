"""Run a model with sentence-transformers itself, on a GPU if there is one: many texts a call."""

from __future__ import annotations

from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np

from ...core.errors import ConfigError, MachineError
from ..config import AUTO, EncoderSettings
from ..store.manifest import EncoderInfo
from .cache import REVISION, cache_folder, model_digest, model_folder
from .encoder import Encoder, Vectors, comparable_rows, shortened_dimension
from .sources import (
    check_model_folder,
    find_model,
    languages,
    prompts_of,
    revision_of,
    similarity_of,
    truncation_of,
)
from .unserved import check_encoder

TEXTS_AT_ONCE = 4_096
"""The number of texts of a stream that are sorted by length together: the batches of a call then
contain little padding. An interruption loses at most this many.
"""
# The number of texts in a batch, by the device. A larger batch gains nothing on a processor.
BATCH = {"cuda": 256, "mps": 64, "cpu": 32}


class TorchEncoder(Encoder):
    """A sentence-transformers model in torch.

    A text's vector may differ in its last bits with the other texts of its batch. It loads the
    model when it is opened; open it after a fork, not before.
    """

    def __init__(self, settings: EncoderSettings) -> None:
        """Load the configured model.

        Raises ConfigError if the device does not exist here. Raises MachineError if torch is
        missing, or if the model is no dense encoder or has weights that are a pickle.
        """
        model = find_model(settings.model)
        digest = model_digest(model, cache_folder(settings))
        self.precision = "fp32" if settings.precision == AUTO else settings.precision
        self.device = _device(settings.device)
        with model_folder(model) as folder:
            check_model_folder(folder)
            check_encoder(folder)
            self._model: Any = _load(str(folder), self.device, self.precision)
        if settings.max_tokens:
            self._model.max_seq_length = settings.max_tokens
        self.languages = languages(model.name, settings)
        prompts = {name: prompt for name, prompt in self._model.prompts.items() if prompt}
        self.query_prompt, self.document_prompt = prompts_of(settings, prompts)
        shortened = settings.truncate_dim or truncation_of(model)
        # The whole vector is shortened below, so that one place does it for every kind of encoder.
        self._model.truncate_dim = None
        whole = int(self._model.get_embedding_dimension() or 0)
        self.info = EncoderInfo(
            name=model.name,
            revision=revision_of(digest[:REVISION], settings),
            dimension=shortened_dimension(whole, shortened, model.name),
            precision=self.precision,
            model=model.setting or model.name,
            max_tokens=settings.max_tokens,
            query_prompt=settings.query_prompt,
            document_prompt=settings.document_prompt,
            truncate_dim=shortened,
            similarity=similarity_of(settings, model),
        )
        # A model on a device computes one call at a time in any case.
        self._lock = Lock()

    def texts_at_once(self, size: int) -> int:
        """Return the number of texts that are sorted by length together."""
        return max(size, TEXTS_AT_ONCE)

    def count_tokens(self, texts: Sequence[str]) -> int:
        """Return how many tokens of the texts the model reads in total, without prompts."""
        tokens = self._model.tokenizer(
            list(texts), truncation=True, max_length=self._model.max_seq_length
        )
        return sum(map(len, tokens["input_ids"]))

    def close(self) -> None:
        """Release nothing: the model goes with its encoder."""

    def _encode_all(self, texts: Sequence[str], *, queries: bool) -> Vectors:
        if not texts:
            return np.empty((0, self.dimension), dtype=np.float32)
        readable = [text.encode("utf-8", "replace").decode("utf-8") for text in texts]
        with self._lock:
            # sentence-transformers sorts the texts by length, and returns their order afterwards.
            vectors = self._model.encode(
                readable,
                prompt="",
                batch_size=BATCH[self.device.partition(":")[0]],
                convert_to_numpy=False,
                convert_to_tensor=True,
                show_progress_bar=False,
            )
        return comparable_rows(
            vectors[:, : self.dimension].float().cpu().numpy(), self.name, self.info.similarity
        )


def _device(device: str) -> str:
    """Return the device of torch for the setting; raise ConfigError if this machine has none."""
    torch = _torch()
    there = {"cuda": torch.cuda.is_available(), "mps": torch.backends.mps.is_available()}
    if device == AUTO:
        return next((name for name, available in there.items() if available), "cpu")
    if not there.get(device, True):
        raise ConfigError(
            f"torch finds no {device} device on this machine",
            place="encoder.device",
            remedy="set it to auto or cpu",
        )
    return device


def _torch() -> Any:
    try:
        import sentence_transformers  # noqa: F401  it must be there too
        import torch
    except ImportError as error:
        raise MachineError(
            f"encoder.backend torch needs {error.name}",
            remedy="install it with: python -m pip install sentence-transformers torch",
        ) from None
    return torch


def _load(folder: str, device: str, precision: str) -> Any:
    """Return a model of sentence-transformers; it runs no code of its folder and reads no
    pickle.
    """
    torch = _torch()
    from sentence_transformers import SentenceTransformer
    from transformers.utils import logging as reports

    reports.disable_progress_bar()  # type: ignore[no-untyped-call]

    types = {"fp32": torch.float32, "fp16": torch.float16, "bf16": torch.bfloat16}
    return SentenceTransformer(
        folder,
        device=device,
        local_files_only=True,
        trust_remote_code=False,
        model_kwargs={"dtype": types[precision], "use_safetensors": True},
    ).eval()
