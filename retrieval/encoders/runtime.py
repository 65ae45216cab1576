"""Run exported models, one text or one pair per call: encode texts, and open the encoders of
indexes.
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import CancelledError, ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any, TypeVar
from weakref import WeakValueDictionary

import msgspec
import numpy as np
from numpy.typing import NDArray

from ...core.errors import ClosedError, MachineError
from ...core.text import refuse_text
from ..config import AUTO, EncoderSettings
from ..store.manifest import EncoderInfo
from .cache import LAYERED, ONNX, TOKENIZER, VECTOR, Export, ensure_export
from .encoder import Encoder, shortened_dimension
from .sources import for_language, languages, prompts_of, revision_of, similarity_of, truncation_of

Result = TypeVar("Result")
TEXTS_PER_THREAD = 64
# A text of this many characters per token nearly always fills the model's window.
CHARACTERS_PER_TOKEN = 64


def onnx_runtime() -> Any:
    """Return the module ``onnxruntime``, loaded with telemetry off."""
    os.environ["ORT_DISABLE_TELEMETRY"] = "1"
    import onnxruntime

    return onnxruntime


def feed(tokens: Any, inputs: Collection[str]) -> dict[str, NDArray[np.int64]]:
    """Return the graph ``inputs`` for the tokens of a text or a pair."""
    columns = {
        "input_ids": tokens.ids,
        "attention_mask": tokens.attention_mask,
        "token_type_ids": tokens.type_ids,
    }
    return {
        name: np.array([column], dtype=np.int64)
        for name, column in columns.items()
        if name in inputs
    }


class ExportedModel:
    """A tokenizer and a graph.

    Any number of threads may run the model at once; a call uses only its caller's thread.

    Each call runs one text without padding, because int8 inference takes its scale from the whole
    batch.
    """

    def __init__(self, folder: Path, tokenizer: Any = None) -> None:
        """Load the model in a folder; a given ``tokenizer`` replaces the tokenizer in the
        folder.
        """
        from tokenizers import Tokenizer

        onnxruntime = onnx_runtime()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # AVX2 alone would saturate sums of int8 products, and the vectors would be worse.
        if not _has_vnni():
            options.add_session_config_entry("session.x64quantprecision", "1")
        slow = ["SkipLayerNormFusion"]  # the fused kernel takes a seventh longer than its parts
        self._session: Any = onnxruntime.InferenceSession(
            str(folder / ONNX),
            options,
            providers=["CPUExecutionProvider"],
            disabled_optimizers=slow,
        )
        self._inputs = frozenset(entry.name for entry in self._session.get_inputs())
        self._tokenizer = tokenizer or Tokenizer.from_file(str(folder / TOKENIZER))

    def tokens(self, text: str, pair: str | None = None) -> Any:
        """Return the tokens of a text, or of a pair of texts."""
        return self._tokenizer.encode(text, pair)

    def run(self, tokens: Any, output: str) -> Any:
        """Return the vector or the scores that the graph computes from tokens as ``output``."""
        return self._session.run([output], feed(tokens, self._inputs))[0][0]


def _has_vnni() -> bool:
    """Return whether the processor has VNNI, which adds int8 products exactly and without the
    slower option.
    """
    try:
        return "_vnni" in Path("/proc/cpuinfo").read_text("utf-8", "replace")
    except OSError:
        return False


_LOADED: WeakValueDictionary[Path, ExportedModel] = WeakValueDictionary()
"""The loaded models: the encoders of one export share one model, whatever output they read."""
_LOADING = Lock()


def load_exported(folder: Path) -> ExportedModel:
    """Return the model in a folder; it is loaded once, and stays loaded as long as anybody uses
    it.
    """
    with _LOADING:
        model = _LOADED.get(folder)
        if model is None:
            model = _LOADED[folder] = ExportedModel(folder)
        return model


def encodable(text: str) -> str:
    """Return a text without lone surrogates, which no tokenizer accepts."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


def available_cores() -> int:
    """Return the number of cores that this process may run on."""
    return len(os.sched_getaffinity(0))


class ModelThreads:
    """An exported model that reads texts on several threads, one text a call.

    What it gives for a text depends on that text alone, not on other texts or ``threads``. It loads
    the model for the first text, once for all threads.
    """

    def __init__(self, folder: Path, *, name: str, max_tokens: int, threads: int) -> None:
        """Run the model in ``folder``; 0 threads means one per core. ``name`` is for messages."""
        self._folder, self._name, self._max_tokens = folder, name, max_tokens
        self.threads = threads or available_cores()
        self._lock = Lock()
        self._model: ExportedModel | None = None
        self._pool: ThreadPoolExecutor | None = None

    def in_order(
        self, texts: Iterable[str], result_of: Callable[[ExportedModel, str], Result]
    ) -> Iterator[Result]:
        """Yield the result of each text; it reads a limited number of texts ahead for its
        threads.
        """
        source = iter(texts)
        while some := list(itertools.islice(source, TEXTS_PER_THREAD * self.threads)):
            result = partial(result_of, self.load())
            if self.threads == 1 or len(some) == 1:
                yield from map(result, some)
                continue
            with self._lock:
                if self._pool is None:
                    self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="encoder")
                pool = self._pool
            try:
                yield from pool.map(result, some)
            except (CancelledError, RuntimeError):
                if pool is self._pool:
                    raise
                raise ClosedError(
                    f"the encoder {self._name!r} was closed during its work"
                ) from None

    def load(self) -> ExportedModel:
        """Return the model; load it at the first call."""
        with self._lock:
            if self._model is None:
                self._model = load_exported(self._folder)
            return self._model

    def tokens(self, model: ExportedModel, text: str) -> Any:
        """Tokenise the beginning of a long text, and the whole text only if the beginning does not
        fill the window.
        """
        text = encodable(text)
        limit = CHARACTERS_PER_TOKEN * self._max_tokens
        if len(text) > limit:
            tokens = model.tokens(text[: max(text.rfind(" ", 0, limit), 0)])
            if len(tokens.ids) == self._max_tokens:
                return tokens
        return model.tokens(text)

    def close(self) -> None:
        """Stop the threads and release the model."""
        with self._lock:
            pool, self._pool, self._model = self._pool, None, None
        if pool is not None:
            pool.shutdown(cancel_futures=True)


def open_onnx_encoder(settings: EncoderSettings, *, layered: bool = False) -> OnnxEncoder:
    """Open the configured model as an exported encoder, whatever backend is configured.

    With ``layered``, it averages several layers, and its revision differs.
    """
    settings = for_onnx(for_language(settings, "en"))
    return OnnxEncoder(ensure_export(settings), settings, layered=layered)


def for_onnx(settings: EncoderSettings) -> EncoderSettings:
    """Return the settings with a precision that an exported model can have: vectors of half
    precision are compared with those of fp32.
    """
    precision = settings.precision
    if precision == AUTO:
        return msgspec.structs.replace(settings, precision="int8")
    return settings if precision == "int8" else msgspec.structs.replace(settings, precision="fp32")


class OnnxEncoder(Encoder):
    """An exported encoder.

    A text's vector depends on that text alone, not on other texts or ``threads``.

    It loads the model for the first text, once for all threads. Open it after a fork, not before.
    """

    def __init__(self, export: Export, settings: EncoderSettings, *, layered: bool) -> None:
        self.folder, description, model = export
        self.max_tokens = description.max_tokens
        self.output = LAYERED if layered else VECTOR
        self.languages = languages(model.name, settings)
        self.query_prompt, self.document_prompt = prompts_of(settings, description.prompts)
        shortened = settings.truncate_dim or truncation_of(model)
        self.info = EncoderInfo(
            name=model.name,
            revision=revision_of(description.revision + ("-layered" if layered else ""), settings),
            dimension=shortened_dimension(description.dimension, shortened, model.name),
            precision=description.precision,
            model=model.setting or model.name,
            max_tokens=settings.max_tokens,
            query_prompt=settings.query_prompt,
            document_prompt=settings.document_prompt,
            truncate_dim=shortened,
            similarity="cosine" if layered else similarity_of(settings, model),
        )
        self._running = ModelThreads(
            self.folder, name=model.name, max_tokens=self.max_tokens, threads=settings.threads
        )

    def encode_documents_stream(
        self, texts: Iterable[str], size: int = 256
    ) -> Iterator[NDArray[np.float32]]:
        """Encode documents as they arrive; yield their vectors in order, ``size`` at a time, fewer
        at the end.
        """
        refuse_text("texts", texts)
        prompted = (self.document_prompt + text for text in texts)
        vectors = self._running.in_order(prompted, self._vector)
        while chunk := list(itertools.islice(vectors, size)):
            yield np.stack(chunk)

    def count_tokens(self, texts: Sequence[str]) -> int:
        """Return how many tokens of the texts the model reads in total, without prompts."""
        refuse_text("texts", texts)
        model = self._running.load()
        return sum(len(self._running.tokens(model, text).ids) for text in texts)

    def close(self) -> None:
        """Stop the threads and release the model."""
        self._running.close()

    def _encode_all(self, texts: Sequence[str], *, queries: bool) -> NDArray[np.float32]:
        vectors = list(self._running.in_order(texts, self._vector))
        return np.stack(vectors) if vectors else np.empty((0, self.dimension), dtype=np.float32)

    def _vector(self, model: ExportedModel, text: str) -> NDArray[np.float32]:
        tokens = self._running.tokens(model, text)
        exact: NDArray[np.float64] = model.run(tokens, self.output).astype(np.float64)
        exact = exact[: self.dimension]
        norm = math.sqrt(float(np.sum(exact * exact)))
        if not 0 < norm < math.inf:
            remedy = "choose another encoder"
            raise MachineError(
                f"encoder {self.name!r} returned a vector without a direction", remedy=remedy
            )
        return (exact if self.info.similarity == "dot" else exact / norm).astype(np.float32)
