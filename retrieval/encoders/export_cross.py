"""Export a CrossEncoder to ONNX: ``python -m factseek.retrieval.encoders.export_cross``.

Tokens of a query and a passage in, the scores of the model's head out. It runs in a process of its own, once a model,
as the exporter of encoders does.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..errors import MachineError
from ..files import read_regular
from .cache import CROSS_ENCODER, DESCRIPTION, ONNX, TOKENIZER, Description, ExportKind, content_digest
from .export import INPUTS, export_graph, export_named, versions
from .exported_model import onnx_runtime
from .quantization import quantize
from .sources import check_tokenizer

PROBES = (
    ("Vitamin C prevents colds.", "In eleven trials vitamin C did not prevent the common cold."),
    ("Vitamin C prevents colds.", "The Nile is the longest river of Africa."),
    ("", ""),
    ("the claim is " * 20, "and the evidence is " * 400),
)
MOST_LOSS = {"fp32": 1e-3, "int8": 0.25}
"""How far a score may move, as a share of how far the scores of the probes lie apart."""


def export(source: Path, target: Path, *, name: str, revision: str, precision: str, max_tokens: int) -> Description:
    """Write the model in ``source`` to the empty folder ``target``: graph, tokenizer, description.

    ``max_tokens``, of query and passage together, 0 is the model's own limit.
    Raises MachineError if the model gives other than one score, reads fewer tokens, or loses too much.
    """
    model = loaded(source)
    if model.num_labels != 1:
        raise MachineError(f"gives {model.num_labels} scores a pair, one is needed", place=source)
    return export_classifier(
        model, target, CROSS_ENCODER, name=name, revision=revision, precision=precision, max_tokens=max_tokens
    )


def export_classifier(
    model: Any,
    target: Path,
    kind: ExportKind,
    *,
    name: str,
    revision: str,
    precision: str,
    max_tokens: int,
    labels: tuple[str, ...] = (),
) -> Description:
    """Write a CrossEncoder to the empty folder ``target``, with its description; ``labels`` are those of its scores.

    Raises MachineError if it reads fewer tokens, or loses too much.
    """
    limit = _limit_of(model, max_tokens, kind)
    _write_tokenizer(model, target / TOKENIZER, limit)
    inputs = [each for each in INPUTS if each in model.tokenizer.model_input_names]
    export_graph(_scorer(model, inputs), model.transformers_model, inputs, "score", target / ONNX)
    expected = _own_scores(model, limit)
    _check(expected, target, inputs, "fp32", kind)
    if precision == "int8":
        _quantize(target / ONNX)
        _check(expected, target, inputs, "int8", kind)
    files = tuple(sorted(path.name for path in target.iterdir()))
    description = Description(
        name=name,
        revision=revision,
        dimension=model.num_labels,
        max_tokens=limit,
        prompts={},
        default_prompt="",
        pooling="",
        precision=precision,
        versions=versions(),
        files=files,
        content=content_digest(target, files),
        labels=labels,
    )
    (target / DESCRIPTION).write_bytes(msgspec.json.format(msgspec.json.encode(description), indent=2) + b"\n")
    return description


def loaded(source: Path) -> Any:
    """Return the CrossEncoder in a folder.

    Raises MachineError if it is none, or has no tokenizer that can be run without it.
    """
    from sentence_transformers import CrossEncoder

    config = source / "config.json"
    try:
        architectures = msgspec.json.decode(read_regular(config), type=dict[str, Any]).get("architectures") or [""]
    except (OSError, msgspec.DecodeError):
        raise MachineError("has no config.json that can be read", place=source) from None
    if not str(architectures[0]).endswith("ForSequenceClassification"):
        raise MachineError(f"is no CrossEncoder: its architecture is {architectures[0] or 'not named'}", place=source)
    check_tokenizer(source)
    eager = {"attn_implementation": "eager"}
    model = CrossEncoder(str(source), device="cpu", local_files_only=True, model_kwargs=eager)
    if not hasattr(model.tokenizer, "backend_tokenizer"):
        raise MachineError("has no tokenizer that can be run without it", place=source)
    return model.float().eval()


def _limit_of(model: Any, wanted: int, kind: ExportKind) -> int:
    """Return how many tokens of a pair an export reads: as many as are ``wanted``, or as the model does.

    Raises MachineError if that is more than it can.
    """
    positions = int(getattr(model.config, "max_position_embeddings", 512) or 512)
    own = model.max_length if model.max_length and model.max_length <= positions else positions
    if wanted > positions:
        raise MachineError(f"{kind.group}.max_tokens is {wanted}, the model reads at most {positions} tokens")
    return int(wanted or own)


def _write_tokenizer(model: Any, path: Path, limit: int) -> None:
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_str(model.tokenizer.backend_tokenizer.to_str())
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length=limit, strategy="longest_first")
    tokenizer.save(str(path), pretty=False)


def _scorer(model: Any, names: Sequence[str]) -> Any:
    """Wrap a model as a function of tensors by position, which is what an exporter can follow."""
    import torch

    classifier = model.transformers_model

    class Scorer(torch.nn.Module):
        """Tokens in, scores out."""

        def __init__(self) -> None:
            super().__init__()
            self.classifier = classifier

        def forward(self, *tensors: Any) -> Any:
            """Return the scores, shape (batch, scores of a pair)."""
            return self.classifier(**dict(zip(names, tensors, strict=True))).logits

    return Scorer()


def _quantize(path: Path) -> None:
    """Replace the graph by one with int8 weights, a scale for each channel."""
    import onnx

    beside = sorted({entry.name for entry in path.parent.iterdir()} - {path.name, TOKENIZER})
    graph = onnx.load(path, load_external_data=False)
    # The quantiser turns the head's weights round and would hold them against the shapes noted here.
    del graph.graph.value_info[:]
    onnx.save(graph, path)
    quantize(path, beside)


def _own_scores(model: Any, limit: int) -> NDArray[np.float64]:
    import torch

    model.max_length = limit
    identity = torch.nn.Identity()
    scores = [model.predict([pair], activation_fn=identity, show_progress_bar=False)[0] for pair in PROBES]
    return np.asarray(scores, dtype=np.float64).reshape(len(PROBES), -1)


def _check(expected: NDArray[np.float64], target: Path, names: Sequence[str], precision: str, kind: ExportKind) -> None:
    """Raise MachineError unless the scores of the export are close to those of the model."""
    loss = float(np.max(np.abs(_exported_scores(target, names) - expected)))
    spread = max(float(np.ptp(expected)), 1e-6)
    if not loss <= MOST_LOSS[precision] * spread + 1e-4:
        remedy = f"; set {kind.group}.precision to fp32" if precision == "int8" else ""
        raise MachineError(f"in {precision} a score moves by {loss:.4f}, where scores lie {spread:.4f} apart{remedy}")


def _exported_scores(target: Path, names: Sequence[str]) -> NDArray[np.float64]:
    from tokenizers import Tokenizer

    session = onnx_runtime().InferenceSession(str(target / ONNX), providers=["CPUExecutionProvider"])
    tokenizer = Tokenizer.from_file(str(target / TOKENIZER))
    scores = []
    for query, passage in PROBES:
        encoding = tokenizer.encode(query, passage)
        inputs = zip(INPUTS, (encoding.ids, encoding.attention_mask, encoding.type_ids), strict=True)
        feed = {name: np.array([values], dtype=np.int64) for name, values in inputs if name in names}
        scores.append(session.run(None, feed)[0][0])
    return np.asarray(scores, dtype=np.float64)


def main(arguments: Sequence[str] | None = None) -> None:
    """Export the CrossEncoder that the command line names."""
    export_named("export_cross", export, arguments)


if __name__ == "__main__":
    main()
