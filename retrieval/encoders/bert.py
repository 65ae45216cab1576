"""A BERT model as an ONNX graph, written from its weights: without torch, in seconds and with
little memory.

Each call reads one text or one pair of texts: there is no padding, so no mask. In int8, each output
channel of a matrix and each row of the word table has its own scale. Two techniques keep the other
channels precise despite outlier channels. The norm before a product moves part of each channel's
size into the weights (SmoothQuant, Xiao et al., 2023). The few outlier channels of an activation
are computed in float32 (LLM.int8, Dettmers et al., 2022).
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from .cache import LAYERED, ONNX, SCORES, TERM_WEIGHTS, VECTOR
from .runtime import feed, onnx_runtime
from .sources import read_json

Floats = NDArray[np.float32]
Largest = Mapping[str, Floats]
"""The largest absolute value of each channel, by the name of the node that makes the values."""
KINDS = ("bert", "roberta", "xlm-roberta", "camembert")
ACTIVATIONS = {
    "gelu": ("Gelu", "com.microsoft"),
    "gelu_new": ("FastGelu", "com.microsoft"),
    "relu": ("Relu", ""),
}
POOLING = {
    "cls": "cls",
    "cls_token": "cls",
    "mean": "mean",
    "mean_tokens": "mean",
    "max": "max",
    "max_tokens": "max",
}
WEIGHTS = "weights.bin"
# The share of a channel's size that moves from the values into the weights; 1 would be all of it.
STRENGTH = 0.6
OUTLIERS, MOST_OUTLIERS = 48, 16
"""One channel in ``OUTLIERS`` is computed in float32, but at most ``MOST_OUTLIERS`` channels."""
_TINY = 1e-6
_INLINE = 1_024  # Tensors of at most this many bytes are stored in the graph itself
_ROWS = 16_384
_WORDS = "embeddings.word_embeddings.weight"
SPLADE = "splade"
"""The pooling of a masked language model: each term of the vocabulary has the largest weight that
any token gives it (Formal et al., SPLADE v2, 2021).
"""
_TILES = 16
"""The vocabulary is cut into this many parts, so that the weights of all tokens for all terms are
never in memory together: they would leave the processor's cache.
"""
_MASK_HEAD = "cls.predictions"


class Bert(NamedTuple):
    """A BERT model on disk: the folder of its weights, its configuration, and how its states become
    a vector.

    The names of its tensors start with ``prefix``. ``pooling`` is ``""`` for a model that scores
    pairs, and :data:`SPLADE` for one that weighs the terms of its vocabulary. ``dense`` are the
    folders of the layers after the pooling.
    """

    folder: Path
    config: Mapping[str, Any]
    prefix: str
    pooling: str
    dense: tuple[Path, ...]

    @property
    def first_position(self) -> int:
        """The position of the first token; RoBERTa's positions start after the position of the
        padding.
        """
        return 0 if self.config["model_type"] == "bert" else int(self.config["pad_token_id"]) + 1

    @property
    def positions(self) -> int:
        """The number of tokens that the model can read."""
        return int(self.config["max_position_embeddings"]) - self.first_position


def read_bert(modules: Sequence[tuple[str, Path]], *, scores: bool) -> Bert | None:
    """Return the BERT model in sentence-transformers' modules (kind, folder); None if it is not
    supported.

    ``scores`` means that the model scores pairs. If it does not, its pooling must be supported too.
    """
    from safetensors import safe_open

    folder = modules[0][1]
    config: dict[str, Any] = {"position_embedding_type": "absolute", "pad_token_id": 0}
    config |= read_json(folder / "config.json")
    dense = tuple(path for kind, path in modules if kind == "Dense")
    functions = [str(read_json(path / "config.json").get("activation_function")) for path in dense]
    is_bert = (
        config.get("model_type") in KINDS
        and config.get("hidden_act") in ACTIVATIONS
        and config["position_embedding_type"] == "absolute"
        and not config.get("is_decoder")
        and all((folder / name).is_file() for name in ("model.safetensors", "tokenizer.json"))
        and all(function.endswith(("Identity", "Tanh")) for function in functions)
    )
    pooling = "" if scores else _pooling(modules)
    if not is_bert or not (scores or pooling):
        return None
    with safe_open(folder / "model.safetensors", framework="numpy") as file:
        names = set(file.keys())
        kinds = {file.get_slice(name).get_dtype() for name in names}
    prefix = next((name.removesuffix(_WORDS) for name in names if name.endswith(_WORDS)), "")
    last = f"{prefix}encoder.layer.{config['num_hidden_layers'] - 1}.output.LayerNorm.weight"
    if not {prefix + _WORDS, last} <= names or not kinds <= {"F32", "F16", "I64"}:
        return None
    return Bert(folder, config, prefix, pooling, dense)


def read_masked_bert(folder: Path) -> Bert | None:
    """Return the masked language model in a folder, which weighs the terms of its vocabulary; None
    if it is not a BERT model of the supported form.
    """
    from safetensors import safe_open

    config: dict[str, Any] = {"position_embedding_type": "absolute", "pad_token_id": 0}
    config |= read_json(folder / "config.json")
    is_bert = (
        config.get("model_type") == "bert"
        and config.get("hidden_act") in ACTIVATIONS
        and config["position_embedding_type"] == "absolute"
        and not config.get("is_decoder")
        and config.get("tie_word_embeddings", True)
        and all((folder / name).is_file() for name in ("model.safetensors", "tokenizer.json"))
    )
    if not is_bert:
        return None
    with safe_open(folder / "model.safetensors", framework="numpy") as file:
        names = set(file.keys())
    prefix = next((name.removesuffix(_WORDS) for name in names if name.endswith(_WORDS)), "")
    head = {f"{_MASK_HEAD}.bias", f"{_MASK_HEAD}.transform.dense.weight"}
    if not {prefix + _WORDS, *head} <= names:
        return None
    return Bert(folder, config, prefix, SPLADE, ())


def write_masked_bert(model: Bert, folder: Path, *, int8: bool) -> None:
    """Write the graph that weighs the terms of the vocabulary for a text, to ``folder``.

    In int8, only the head is rounded: it takes most of the time, and rounding the layers as well
    costs quality.
    """
    graph = _Graph(folder, None)
    reads_types = model.config["type_vocab_size"] > 1
    states = _states(graph, model, _words(model, int8=False), reads_types=reads_types)
    weights = _term_weights(graph, model, states[-1], int8=int8)
    graph.save(["input_ids", "token_type_ids"][: 1 + reads_types], {TERM_WEIGHTS: weights})


def _term_weights(graph: _Graph, model: Bert, state: str, *, int8: bool) -> str:
    """Add the head of a masked language model, and the largest weight of each term.

    The maximum comes before the bias and the activation: both grow with their input, so that the
    order does not matter, and they are then computed once a term instead of once a token.
    """
    tensors = _Tensors(model.folder)
    kind, domain = ACTIVATIONS[model.config["hidden_act"]]
    epsilon = float(model.config["layer_norm_eps"])
    hidden = graph.product(state, *tensors.layer(f"{_MASK_HEAD}.transform.dense"))
    hidden = graph.node(kind, hidden, domain=domain)
    norm = map(graph.tensor, tensors.layer(f"{_MASK_HEAD}.transform.LayerNorm"))
    hidden = graph.node("LayerNormalization", hidden, *norm, epsilon=epsilon)
    words = _Tensors(model.folder, model.prefix)(_WORDS)
    tokens_axis = graph.tensor(np.ones(1, dtype=np.int64))
    largest = []
    for tile in np.array_split(words, _TILES):
        if int8:
            logits = graph.product_int8(hidden, tile, np.zeros(len(tile), dtype=np.float32))
        else:
            logits = graph.product(hidden, tile)
        largest.append(graph.node("ReduceMax", logits, tokens_axis, keepdims=0))
    whole = graph.node("Concat", *largest, axis=1)
    biased = graph.node("Add", whole, graph.tensor(tensors(f"{_MASK_HEAD}.bias")))
    one = graph.tensor(np.ones(1, dtype=np.float32))
    return str(graph.node("Log", graph.node("Add", graph.node("Relu", biased), one)))


def _pooling(modules: Sequence[tuple[str, Path]]) -> str:
    """Return the method that makes one vector of the states of the tokens; ``""`` if it is not
    supported.
    """
    if [kind for kind, _ in modules if kind not in ("Dense", "Normalize")] != [
        "Transformer",
        "Pooling",
    ]:
        return ""
    settings = read_json(dict(modules)["Pooling"] / "config.json")
    modes = [name.removeprefix("pooling_mode_") for name, on in settings.items() if on is True]
    modes = [
        str(
            settings.get("pooling_mode")
            or "+".join(mode for mode in modes if mode != "include_prompt")
        )
    ]
    return POOLING.get(modes[0] or "mean", "")


def write_bert(
    model: Bert, folder: Path, *, int8: bool, samples: Sequence[Any], probes: Sequence[Any]
) -> list[Floats]:
    """Write the graph of a model to ``folder``; in int8, also return the float32 results for the
    ``probes``.

    ``samples`` show which channels of the model are outliers. ``samples`` and ``probes`` are tokens
    of texts or pairs.
    """
    words = _words(model, int8=int8)
    if not int8:
        _write(model, words, folder)
        return []
    with tempfile.TemporaryDirectory(dir=folder.parent) as scratch:
        shown = _write(model, words, Path(scratch), shown=True)
        session = onnx_runtime().InferenceSession(
            str(Path(scratch) / ONNX), providers=["CPUExecutionProvider"]
        )
        inputs = [entry.name for entry in session.get_inputs()]
        largest: dict[str, Floats] = {}
        for tokens in samples:
            for name, values in zip(shown, session.run(shown, feed(tokens, inputs)), strict=True):
                sizes = np.abs(values).reshape(-1, values.shape[-1]).max(axis=0)
                largest[name] = np.maximum(largest.get(name, sizes), sizes)
        result = VECTOR if model.pooling else SCORES
        expected = [session.run([result], feed(tokens, inputs))[0][0] for tokens in probes]
        del session
    _write(model, words, folder, largest=largest)
    return expected


def _write(
    model: Bert,
    words: Sequence[NDArray[Any]],
    folder: Path,
    *,
    largest: Largest | None = None,
    shown: bool = False,
) -> list[str]:
    """Write a graph, in int8 if ``largest`` is given; return the names of the outputs that
    ``shown`` adds.
    """
    graph = _Graph(folder, largest)
    reads_types = not model.pooling and model.config["type_vocab_size"] > 1
    states = _states(graph, model, words, reads_types=reads_types)
    if model.pooling:
        results = {
            VECTOR: states[-1],
            LAYERED: graph.node("Mean", *states[-1 - (len(states) - 1) // 3 :]),
        }
        outputs = {name: _vector(graph, model, state) for name, state in results.items()}
    else:
        outputs = {SCORES: _scores(graph, model, states[-1])}
    values = graph.norms if shown else {}
    graph.save(["input_ids", "token_type_ids"][: 1 + reads_types], outputs | values)
    return list(values)


def _words(model: Bert, *, int8: bool) -> tuple[NDArray[Any], ...]:
    """Return the word table; in int8, its rounded rows and the scale of each row."""
    tensors = _Tensors(model.folder, model.prefix)
    if not int8:
        return (tensors(_WORDS),)
    table = tensors.rows(_WORDS)
    count, width = table.get_shape()
    rounded, scales = (
        np.empty((count, width), dtype=np.int8),
        np.empty((count, 1), dtype=np.float32),
    )
    for start in range(0, count, _ROWS):
        rows = table[start : min(start + _ROWS, count)].astype(np.float32)
        scale = np.maximum(np.abs(rows).max(axis=1, keepdims=True) / 127, np.finfo(np.float32).tiny)
        rounded[start : start + _ROWS], scales[start : start + _ROWS] = (
            np.round(rows / scale),
            scale,
        )
    return rounded, scales


def _states(
    graph: _Graph, model: Bert, words: Sequence[NDArray[Any]], *, reads_types: bool
) -> list[str]:
    """Add the layers; return the states of the tokens before the first layer and after each
    layer.
    """
    tensors = _Tensors(model.folder, model.prefix)
    positions = tensors("embeddings.position_embeddings.weight")[model.first_position :]
    types = tensors("embeddings.token_type_embeddings.weight")
    values = graph.node("Gather", graph.tensor(words[0]), "input_ids")
    if len(words) > 1:
        scale = graph.node("Gather", graph.tensor(words[1]), "input_ids")
        values = graph.node("Mul", graph.node("Cast", values, to=1), scale)
    length = graph.node("Shape", "input_ids", start=1, end=2)
    zero = graph.tensor(np.zeros(1, dtype=np.int64))
    places = graph.tensor(positions if reads_types else positions + types[0])
    values = graph.node("Add", values, graph.node("Slice", places, zero, length, zero))
    if reads_types:
        values = graph.node(
            "Add", values, graph.node("Gather", graph.tensor(types), "token_type_ids")
        )

    epsilon, heads = float(model.config["layer_norm_eps"]), int(model.config["num_attention_heads"])
    kind, domain = ACTIVATIONS[model.config["hidden_act"]]
    norm, states = "embeddings.LayerNorm", []
    for number in range(model.config["num_hidden_layers"]):
        layer = f"encoder.layer.{number}"
        weights, biases = zip(
            *(
                tensors.layer(f"{layer}.attention.self.{name}")
                for name in ("query", "key", "value")
            ),
            strict=True,
        )
        smooth, whole, weight = graph.norm(
            values, norm, tensors.layer(norm), np.concatenate(weights), epsilon
        )
        states.append(whole)
        projection = graph.dense(smooth, weight, np.concatenate(biases))
        parts = graph.node("Split", projection, outputs=3, axis=2, num_outputs=3)
        mixed = graph.node("MultiHeadAttention", *parts, domain="com.microsoft", num_heads=heads)
        mixed = graph.dense(mixed, *tensors.layer(f"{layer}.attention.output.dense"))
        values = graph.node("Add", mixed, whole)

        norm = f"{layer}.attention.output.LayerNorm"
        weight, bias = tensors.layer(f"{layer}.intermediate.dense")
        last_weight, last_bias = tensors.layer(f"{layer}.output.dense")
        smooth, whole, weight = graph.norm(values, norm, tensors.layer(norm), weight, epsilon)
        apart = np.zeros(len(weight), dtype=bool)
        if graph.largest is not None:
            sizes = graph.largest[f"{layer}.intermediate"]
            apart[
                np.argsort(-sizes, kind="stable")[: min(len(sizes) // OUTLIERS, MOST_OUTLIERS)]
            ] = True
        active = graph.node(kind, graph.dense(smooth, weight[~apart], bias[~apart]), domain=domain)
        graph.norms[f"{layer}.intermediate"] = active
        values = graph.node("Add", graph.dense(active, last_weight[:, ~apart], last_bias), whole)
        if apart.any():
            active = graph.node(
                kind, graph.product(smooth, weight[apart], bias[apart]), domain=domain
            )
            values = graph.node("Add", values, graph.product(active, last_weight[:, apart]))
        norm = f"{layer}.output.LayerNorm"
    return [
        *states,
        graph.node(
            "LayerNormalization", values, *map(graph.tensor, tensors.layer(norm)), epsilon=epsilon
        ),
    ]


def _vector(graph: _Graph, model: Bert, state: str) -> str:
    vector: str
    axis = graph.tensor(np.ones(1, dtype=np.int64))
    if model.pooling == "cls":
        vector = graph.node("Gather", state, graph.tensor(np.array(0)), axis=1)
    else:
        vector = graph.node(
            {"mean": "ReduceMean", "max": "ReduceMax"}[model.pooling], state, axis, keepdims=0
        )
    for folder in model.dense:
        settings, tensors = read_json(folder / "config.json"), _Tensors(folder)
        bias = tensors("linear.bias") if settings.get("bias", True) else None
        vector = graph.product(vector, tensors("linear.weight"), bias)
        if settings["activation_function"].endswith("Tanh"):
            vector = graph.node("Tanh", vector)
    return vector


def _scores(graph: _Graph, model: Bert, state: str) -> str:
    """Add the head that scores a pair by its first token: BERT's pooler and classifier, or
    RoBERTa's head.
    """
    tensors = _Tensors(model.folder)
    first = graph.node("Gather", state, graph.tensor(np.array(0)), axis=1)
    is_bert = model.config["model_type"] == "bert"
    inner, outer = (
        (f"{model.prefix}pooler.dense", "classifier")
        if is_bert
        else ("classifier.dense", "classifier.out_proj")
    )
    return graph.product(
        graph.node("Tanh", graph.product(first, *tensors.layer(inner))), *tensors.layer(outer)
    )


class _Tensors:
    def __init__(self, folder: Path, prefix: str = "") -> None:
        from safetensors import safe_open

        self._file = cast(Any, safe_open(folder / "model.safetensors", framework="numpy"))
        self._names = frozenset(self._file.keys())
        self._prefix = prefix

    def __call__(self, name: str) -> Floats:
        tensor: Floats = self._file.get_tensor(self._prefix + name).astype(np.float32, copy=False)
        return tensor

    def layer(self, name: str) -> tuple[Floats, Floats]:
        """Return weight and bias of a layer; older models call those of a norm gamma and beta."""
        if f"{self._prefix}{name}.gamma" in self._names:
            return self(f"{name}.gamma"), self(f"{name}.beta")
        return self(f"{name}.weight"), self(f"{name}.bias")

    def rows(self, name: str) -> Any:
        return self._file.get_slice(self._prefix + name)


class _Graph:
    """A graph under construction in a folder; its weights go to one file, which a runtime maps into
    memory.

    ``norms`` names the values that products read. If their ``largest`` values are given, products
    are in int8.
    """

    def __init__(self, folder: Path, largest: Largest | None) -> None:
        self.largest = largest
        self.norms: dict[str, str] = {}
        self._folder = folder
        self._nodes: list[Any] = []
        self._tensors: list[Any] = []
        self._weights = (folder / WEIGHTS).open("wb")

    def node(
        self, kind: str, *inputs: str, outputs: int = 1, domain: str = "", **attributes: Any
    ) -> Any:
        from onnx import helper

        names = [f"{kind}_{len(self._nodes)}_{number}" for number in range(outputs)]
        self._nodes.append(
            helper.make_node(kind, inputs, names, names[0], domain=domain, **attributes)
        )
        return names[0] if outputs == 1 else names

    def tensor(self, values: NDArray[Any]) -> str:
        from onnx import TensorProto, helper, numpy_helper

        name = f"weights_{len(self._tensors)}"
        values = np.asarray(values, order="C")
        if values.nbytes <= _INLINE:
            self._tensors.append(numpy_helper.from_array(values, name))
            return name
        kind = helper.np_dtype_to_tensor_dtype(values.dtype)
        tensor = TensorProto(
            name=name, dims=values.shape, data_type=kind, data_location=TensorProto.EXTERNAL
        )
        self._weights.write(bytes(-self._weights.tell() % 4096))
        place = {"location": WEIGHTS, "offset": self._weights.tell(), "length": values.nbytes}
        for key, value in place.items():
            tensor.external_data.add(key=key, value=str(value))
        self._weights.write(values.data)
        self._tensors.append(tensor)
        return name

    def product(self, values: str, weights: Floats, bias: Floats | None = None) -> str:
        """Multiply by weights of shape (outputs, inputs) in float32, and add the bias."""
        product = str(self.node("MatMul", values, self.tensor(weights.T)))
        return product if bias is None else str(self.node("Add", product, self.tensor(bias)))

    def dense(self, values: str, weights: Floats, bias: Floats) -> str:
        """Multiply by weights and add the bias, in int8 if the graph is in int8."""
        if self.largest is None:
            return self.product(values, weights, bias)
        return self.product_int8(values, weights, bias)

    def product_int8(self, values: str, weights: Floats, bias: Floats) -> str:
        """Multiply by weights of shape (outputs, inputs) in int8, and add the bias."""
        scales = np.maximum(np.abs(weights).max(axis=1) / 127, np.finfo(np.float32).tiny).astype(
            np.float32
        )
        rounded = np.round(weights.T / scales).astype(np.int8)
        arguments = (rounded, scales, np.zeros(len(scales), dtype=np.int8), bias)
        return str(
            self.node(
                "DynamicQuantizeMatMul",
                values,
                *map(self.tensor, arguments),
                domain="com.microsoft",
            )
        )

    def norm(
        self, values: str, name: str, norm: tuple[Floats, Floats], weights: Floats, epsilon: float
    ) -> tuple[str, str, Floats]:
        """Add the norm before a product; return its values, scaled and unscaled, and the product's
        weights.
        """
        if self.largest is None:
            made = self.node("LayerNormalization", values, *map(self.tensor, norm), epsilon=epsilon)
            self.norms[name] = made
            return made, made, weights
        logarithms = STRENGTH * np.log(np.maximum(self.largest[name].astype(np.float64), _TINY))
        logarithms -= (1 - STRENGTH) * np.log(
            np.maximum(np.abs(weights).max(axis=0).astype(np.float64), _TINY)
        )
        factors = np.exp(logarithms - logarithms.mean()).astype(np.float32)
        divided = (self.tensor(part / factors) for part in norm)
        made = self.node("LayerNormalization", values, *divided, epsilon=epsilon)
        return made, self.node("Mul", made, self.tensor(factors)), weights * factors

    def save(self, inputs: Sequence[str], outputs: Mapping[str, str]) -> None:
        import onnx
        from onnx import TensorProto, helper

        self._weights.close()
        nodes = [
            *self._nodes,
            *(helper.make_node("Identity", [value], [name]) for name, value in outputs.items()),
        ]
        graph = helper.make_graph(
            nodes,
            "bert",
            [
                helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
                for name in inputs
            ],
            [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in outputs],
            self._tensors,
        )
        opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=9), self._folder / ONNX)
