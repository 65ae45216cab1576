"""The graph of a model other than BERT: torch exports it from sentence-transformers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import MachineError
from .cache import ENCODER, LAYERED, ONNX, SCORES, TOKENIZER, VECTOR, ExportKind
from .runtime import onnx_runtime

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_ONE_FILE_BYTES = 1_800_000_000


class TorchModel:
    """A model loaded by sentence-transformers, with its tokenizer.

    ``own_limit`` is the number of tokens that it reads, ``positions`` the most that it could read.
    """

    def __init__(self, folder: Path, kind: ExportKind) -> None:
        """Load the model. Raises MachineError if the tokenizer cannot run without the model."""
        try:
            from sentence_transformers import CrossEncoder, SentenceTransformer
        except ImportError as error:
            remedy = "install it with: python -m pip install sentence-transformers torch onnxscript"
            raise MachineError(f"is not a BERT model: it needs {error.name}", place=folder, remedy=remedy) from None
        from tokenizers import Tokenizer, normalizers

        load = SentenceTransformer if kind == ENCODER else CrossEncoder
        eager = {"attn_implementation": "eager"}
        self._model: Any = load(str(folder), device="cpu", local_files_only=True, model_kwargs=eager).float().eval()
        self._scores = kind != ENCODER
        if not hasattr(getattr(self._model, "tokenizer", None), "backend_tokenizer"):
            raise MachineError("the model has no tokenizer that runs without the model")
        self._inputs = [name for name in INPUTS if name in self._model.tokenizer.model_input_names]
        self.tokenizer: Any = Tokenizer.from_str(self._model.tokenizer.backend_tokenizer.to_str())
        if getattr(self._model[0], "do_lower_case", False):
            rest = [self.tokenizer.normalizer] if self.tokenizer.normalizer is not None else []
            self.tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), *rest])
        config = getattr(self._model if self._scores else self._model[0], "config", None)
        own, most = self._model.max_seq_length, int(getattr(config, "max_position_embeddings", 0) or 0)
        self.own_limit = int(own) if own and own <= (most or 1_000_000) else most or 512
        self.positions = max(most, self.own_limit)
        modes = [getattr(module, "pooling_mode", None) for module in self._model]
        self.pooling = "+".join(mode if isinstance(mode, str) else "+".join(mode) for mode in modes if mode)

    def write(self, folder: Path, limit: int, *, int8: bool, texts: Sequence[tuple[str, ...]]) -> list[Any]:
        """Write the graph; return the model's own results for the texts or pairs."""
        import torch

        model, names, outputs = self._model, self._inputs, [SCORES] if self._scores else [VECTOR, LAYERED]
        model.max_seq_length = limit
        if self._scores:
            identity = torch.nn.Identity()
            expected = [model.predict([text], activation_fn=identity, show_progress_bar=False)[0] for text in texts]
        else:
            expected = [model.encode(text[0], prompt="", show_progress_bar=False) for text in texts]
            config = getattr(getattr(model[0], "auto_model", None), "config", None)
            if config is not None:
                config.output_hidden_states = True

        class Pipeline(torch.nn.Module):
            """Takes tensors by position, so that an exporter can trace them, and returns the outputs of a graph."""

            def __init__(self) -> None:
                super().__init__()
                self.model = model

            def forward(self, *tensors: Any) -> Any:
                features = dict(zip(names, tensors, strict=True))
                if outputs == [SCORES]:
                    return model.transformers_model(**features).logits
                features = model[0](features)
                layers = features.get("all_layer_embeddings") or (features["token_embeddings"],)
                last = layers[-1 - (len(layers) - 1) // 3 :]
                results = []
                for tokens in (features["token_embeddings"], sum(last) / len(last)):
                    result = {**features, "token_embeddings": tokens}
                    for module in list(model)[1:]:
                        result = module(result)
                    results.append(result["sentence_embedding"])
                return tuple(results)

        free = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
        torch.onnx.export(
            Pipeline().eval(),
            tuple(torch.ones((2, 9), dtype=torch.int64) for _ in names),
            str(folder / ONNX),
            input_names=names,
            output_names=outputs,
            dynamic_shapes=(tuple(free for _ in names),),
            dynamo=True,
            external_data=sum(parameter.numel() * 4 for parameter in model.parameters()) > _ONE_FILE_BYTES,
            verbose=False,
        )
        if int8:
            _quantize(folder)
        return [np.asarray(each, dtype=np.float64).reshape(-1) for each in expected]


def _quantize(folder: Path) -> None:
    import onnx

    onnx_runtime()
    from onnxruntime import quantization

    path, small = folder / ONNX, folder / "int8.onnx"
    beside = [entry for entry in folder.iterdir() if entry.name not in (ONNX, TOKENIZER)]
    graph = onnx.load(path, load_external_data=False)
    # The quantiser transposes the head's weights, and the recorded shapes would then not fit.
    del graph.graph.value_info[:]
    onnx.save(graph, path)
    kind = quantization.QuantType.QInt8
    quantization.quantize_dynamic(
        path, small, per_channel=True, weight_type=kind, use_external_data_format=bool(beside)
    )
    for entry in beside:
        entry.unlink()
    small.replace(path)
