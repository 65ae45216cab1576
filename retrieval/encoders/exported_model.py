"""The tokenizer and the graph of a model that was exported, whether it reads texts or pairs of them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from .cache import ONNX, TOKENIZER

CHARACTERS_PER_TOKEN = 64
"""A stretch of so many characters a token nearly always fills what a model reads."""
_SLOW_FUSIONS = ["SkipLayerNormFusion"]
"""Fusions that onnxruntime's optimiser is not to make: the fused kernel takes a seventh longer than its parts."""


class ExportedModel:
    """The tokenizer and the graph. Any number of threads may run it at once, each call on its caller's thread."""

    def __init__(self, folder: Path) -> None:
        from tokenizers import Tokenizer

        onnxruntime = onnx_runtime()
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        options.log_severity_level = 3
        # With AVX2 alone, sums of int8 products would saturate: the vectors would be other and worse ones.
        options.add_session_config_entry("session.x64quantprecision", "1")
        self._session: Any = onnxruntime.InferenceSession(
            str(folder / ONNX), options, providers=["CPUExecutionProvider"], disabled_optimizers=_SLOW_FUSIONS
        )
        self._inputs = frozenset(entry.name for entry in self._session.get_inputs())
        self._tokenizer = Tokenizer.from_file(str(folder / TOKENIZER))

    def tokens(self, text: str, pair: str | None = None) -> Any:
        """Return the tokens of a text, or of a pair of texts."""
        return self._tokenizer.encode(text, pair)

    def run(self, tokens: Any) -> Any:
        """Return the row that the graph makes of tokens."""
        columns = {"input_ids": tokens.ids, "attention_mask": tokens.attention_mask, "token_type_ids": tokens.type_ids}
        feed = {name: np.array([column], dtype=np.int64) for name, column in columns.items() if name in self._inputs}
        return self._session.run(None, feed)[0][0]


def encodable(text: str) -> str:
    """Return a text without halves of surrogate pairs, which no tokenizer takes."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")


_SILENCE = "ORT_DISABLE_TELEMETRY"


def onnx_runtime() -> Any:
    """Return the module ``onnxruntime``, loaded so that it reports nothing."""
    os.environ[_SILENCE] = "1"
    import onnxruntime

    return onnxruntime


def onnx_quantization() -> Any:
    """Return the module ``onnxruntime.quantization``, loaded so that it reports nothing."""
    onnx_runtime()
    import onnxruntime.quantization

    return onnxruntime.quantization
