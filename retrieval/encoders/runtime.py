"""Text to vectors: a sentence-transformers model, exported to ONNX, run one text at a time."""

from __future__ import annotations

import hashlib
import itertools
import math
import os
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..caching import OpenedOnce
from ..config import EncoderSettings
from ..dense.encoder import Encoder, Origin
from ..errors import MachineError
from ..store.manifest import EncoderInfo
from ..text import refuse_text
from .cache import ENCODER, Description, ExportKind, exported
from .exported_model import CHARACTERS_PER_TOKEN, ExportedModel, encodable
from .sources import for_language, languages, of_index

UNKNOWN = Origin()
"""The origin of an encoder that was not found by settings."""


def open_encoder(settings: EncoderSettings, kind: ExportKind = ENCODER) -> OnnxEncoder:
    """Open the configured encoder, exporting its model first when that was not done before; ``auto`` is English.

    Of ``kind`` ``LAYERED`` it reads several layers; its name is the same, its revision and its vectors are others.
    Raises MachineError if the model is not on this machine or cannot be exported.
    """
    settings = for_language(settings, "en")
    folder, description, model = exported(settings, kind)
    return OnnxEncoder(
        folder,
        name=model.name,
        revision=_revision(description.revision, settings),
        dimension=description.dimension,
        languages=languages(model.name, settings),
        max_tokens=description.max_tokens,
        precision=description.precision,
        query_prompt=settings.query_prompt or _prompt(description, "query"),
        document_prompt=settings.document_prompt or _prompt(description, "document", "passage", "corpus"),
        threads=settings.threads or available_cores(),
        origin=Origin(
            model.setting or model.name, settings.max_tokens, settings.query_prompt, settings.document_prompt
        ),
    )


def available_cores() -> int:
    """Return the number of cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class OnnxEncoder:
    """An exported encoder. A text's vector depends on the text alone: not on its neighbours, nor on ``threads``.

    Texts are run one a call, without padding, because int8 inference takes its scale from the whole batch. The model
    is loaded at the first text, once for all threads. Open it after a fork, not before.
    """

    def __init__(
        self,
        folder: Path,
        *,
        name: str,
        revision: str,
        dimension: int,
        languages: tuple[str, ...],
        max_tokens: int,
        precision: str,
        query_prompt: str = "",
        document_prompt: str = "",
        threads: int = 1,
        origin: Origin = UNKNOWN,
    ) -> None:
        self.name = name
        self.revision = revision
        self.dimension = dimension
        self.languages = languages
        self.max_tokens = max_tokens
        self.precision = precision
        self.query_prompt = query_prompt
        self.document_prompt = document_prompt
        self.threads = threads
        self.origin = origin
        self._folder = folder
        self._lock = Lock()
        self._runtime: _Runtime | None = None
        self._pool: ThreadPoolExecutor | None = None

    def encode_query(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of queries: unit length, shape (len(texts), dimension)."""
        refuse_text("texts", texts)
        return self._encode([self.query_prompt + text for text in texts])

    def encode_document(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of passages: unit length, shape (len(texts), dimension)."""
        refuse_text("texts", texts)
        return self._encode([self.document_prompt + text for text in texts])

    def encode_documents_stream(self, texts: Iterable[str], size: int = 256) -> Iterator[NDArray[np.float32]]:
        """Encode documents as they come; yield their vectors in order, ``size`` at a time, the last fewer.

        Holds no more than ``size`` vectors and a few texts a thread, and keeps every thread busy.
        """
        refuse_text("texts", texts)
        vectors = self._in_order(self.document_prompt + text for text in texts)
        while chunk := list(itertools.islice(vectors, size)):
            yield np.stack(chunk)

    def count_tokens(self, texts: Sequence[str]) -> int:
        """Return how many tokens of the texts are read, all together, without prompts."""
        refuse_text("texts", texts)
        runtime = self._opened()
        return sum(runtime.count(text) for text in texts)

    def close(self) -> None:
        """Stop the threads and let the model go."""
        with self._lock:
            pool, self._pool, self._runtime = self._pool, None, None
        if pool is not None:
            pool.shutdown(cancel_futures=True)

    def _encode(self, texts: Sequence[str]) -> NDArray[np.float32]:
        vectors = np.empty((len(texts), self.dimension), dtype=np.float32)
        for row, vector in enumerate(self._in_order(texts)):
            vectors[row] = vector
        return vectors

    def _in_order(self, texts: Iterable[str]) -> Iterator[NDArray[np.float32]]:
        """Yield the vector of each text, running a few texts ahead on the threads."""
        source = iter(texts)
        first = list(itertools.islice(source, 2))
        if not first:
            return
        run = self._opened().run
        if self.threads == 1 or len(first) == 1:
            yield from map(run, itertools.chain(first, source))
            return
        pool = self._started_pool()
        ahead: deque[Future[NDArray[np.float32]]] = deque()
        try:
            for text in itertools.chain(first, source):
                ahead.append(pool.submit(run, text))
                if len(ahead) > 4 * self.threads:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for future in ahead:
                future.cancel()

    def _opened(self) -> _Runtime:
        with self._lock:
            if self._runtime is None:
                self._runtime = _Runtime(self._folder, self.name, self.max_tokens)
            return self._runtime

    def _started_pool(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="encoder")
            return self._pool


class _Runtime:
    """An exported encoder. Any number of threads may run it at once, each call on its caller's thread."""

    def __init__(self, folder: Path, name: str, max_tokens: int) -> None:
        self._model = ExportedModel(folder)
        self._name = name
        self._max_tokens = max_tokens

    def run(self, text: str) -> NDArray[np.float32]:
        """Encode one text: unit length, shape (dimension,)."""
        return self._unit(self._model.run(self._tokens(encodable(text))))

    def count(self, text: str) -> int:
        """Return how many tokens of a text are read."""
        return len(self._tokens(encodable(text)).ids)

    def _tokens(self, text: str) -> Any:
        """Tokenise the beginning of a long text, and the whole only if that does not fill the window."""
        limit = CHARACTERS_PER_TOKEN * self._max_tokens
        if len(text) > limit:
            tokens = self._model.tokens(text[: max(text.rfind(" ", 0, limit), 0)])
            if len(tokens.ids) == self._max_tokens:
                return tokens
        return self._model.tokens(text)

    def _unit(self, vector: NDArray[np.float32]) -> NDArray[np.float32]:
        exact = vector.astype(np.float64)
        norm = math.sqrt(float(np.sum(exact * exact)))
        if not 0 < norm < math.inf:
            raise MachineError(
                f"encoder {self._name!r} gave a vector without direction", remedy="choose another encoder"
            )
        return (exact / norm).astype(np.float32)


def _prompt(description: Description, *keys: str) -> str:
    """Return the model's own prompt for the first of ``keys`` that it has, else its default one."""
    prompts = description.prompts
    return next((prompts[key] for key in keys if key in prompts), prompts.get(description.default_prompt, ""))


def _revision(model: str, settings: EncoderSettings) -> str:
    """Return the model's revision, with all that the configuration changes in a document's vector."""
    if not (settings.max_tokens or settings.document_prompt):
        return model
    changed = f"{model}\n{settings.max_tokens}\n{settings.document_prompt}"
    return hashlib.sha256(changed.encode()).hexdigest()[:16]


class SharedEncoders:
    """Opens the encoder that a manifest names when it is first asked for. Safe for threads."""

    def __init__(self, settings: EncoderSettings) -> None:
        self._settings = settings
        self._opened = OpenedOnce()

    def __call__(self, made_by: EncoderInfo, place: Path) -> Encoder:
        """Return the encoder that made the vectors of the index at ``place``.

        Raises MachineError if it is not on this machine, IndexStateError if what is there is another one.
        """
        asked = of_index(made_by, self._settings)
        encoder = self._opened.get(asked, partial(_opened, made_by, asked, place))
        made_by.check(EncoderInfo.of(encoder), place, "bring back the former, or rebuild the index with --overwrite")
        return encoder

    def close(self) -> None:
        """Close all that were opened."""
        for encoder in self._opened.let_go().values():
            encoder.close()


def _opened(made_by: EncoderInfo, asked: EncoderSettings, place: Path) -> Encoder:
    try:
        return open_encoder(asked)
    except MachineError as error:
        why = f"{error.place}: {error.what}" if error.place else error.what
        raise MachineError(f"its vectors were made by {made_by}: {why}", place=place, remedy=error.remedy) from None
