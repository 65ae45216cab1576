"""Quantization of an exported graph, smaller and faster: weights in int8, a scale for each channel."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .exported_model import onnx_quantization, onnx_runtime

LARGE_TABLE = 10_000
"""A table of more rows than this is kept in int8, row by row."""


def quantize(path: Path, beside: Sequence[str], *, apart: Sequence[str] = (), only: Sequence[str] = ()) -> None:
    """Replace the graph at ``path`` by one with int8 weights, a scale for each channel.

    ``beside`` names the files that hold its weights if they are not in it; ``apart`` names nodes that are left alone.
    ``only`` names the operators whose weights become int8: those that onnxruntime chooses if none is named.
    """
    quantization = onnx_quantization()
    small = path.with_name("int8.onnx")
    quantization.quantize_dynamic(
        path,
        small,
        per_channel=True,
        weight_type=quantization.QuantType.QInt8,
        use_external_data_format=bool(beside),
        nodes_to_exclude=list(apart),
        op_types_to_quantize=list(only) or None,
    )
    for name in beside:
        (path.parent / name).unlink()
    small.replace(path)


def quantize_with_outliers(path: Path, feeds: Iterable[Feed]) -> None:
    """Replace the graph at ``path`` by one with int8 weights that outlying channels do not make coarse.

    ``feeds`` are the inputs of a few texts: they show which channels are outlying.
    """
    import onnx

    model = onnx.load(path)
    _shrink_tables(model.graph)
    largest = largest_values(model, {node.input[0] for node in products(model.graph)}, feeds)
    smooth_norms(model.graph, largest)
    apart = part_activations(model.graph, largest)
    onnx.save(model, path)
    quantize(path, (), apart=apart, only=["MatMul"])


def _shrink_tables(graph: Any) -> None:
    """Keep the rows of large tables in int8, each row with a scale of its own."""
    from onnx import TensorProto, helper, numpy_helper

    tables = {table.name: table for table in graph.initializer if len(table.dims) == 2 and table.dims[0] > LARGE_TABLE}
    nodes = []
    for node in graph.node:
        if node.op_type != "Gather" or node.input[0] not in tables:
            nodes.append(node)
            continue
        name, rows, made = node.input[0], node.input[1], node.output[0]
        values = numpy_helper.to_array(tables[name])
        scales = np.maximum(np.abs(values).max(axis=1, keepdims=True) / 127, np.finfo(np.float32).tiny)
        halved = np.round(values / scales).astype(np.int8)
        graph.initializer.remove(tables.pop(name))
        graph.initializer.append(numpy_helper.from_array(halved, f"{name}_int8"))
        graph.initializer.append(numpy_helper.from_array(scales.astype(np.float32), f"{name}_scales"))
        nodes += [
            helper.make_node("Gather", [f"{name}_int8", rows], [f"{made}_int8"]),
            helper.make_node("Gather", [f"{name}_scales", rows], [f"{made}_scales"]),
            helper.make_node("Cast", [f"{made}_int8"], [f"{made}_coarse"], to=TensorProto.FLOAT),
            helper.make_node("Mul", [f"{made}_coarse", f"{made}_scales"], [made]),
        ]
    replace_nodes(graph, nodes)


Feed = Mapping[str, NDArray[np.int64]]
Largest = Mapping[str, NDArray[np.float32]]
STRENGTH = 0.6
"""How much of a channel's size goes from the values, where 1 would be all of it, into the weights."""
OUTLIERS = 48
"""One channel of so many is computed apart, of 768 therefore 16."""
MOST_OUTLIERS = 16
TINY = 1e-6


class Activation(NamedTuple):
    """The nodes around an activation: a product, its bias, the activation, and the product and the bias after it."""

    before: Any
    bias: Any
    function: Any
    after: Any
    last_bias: Any


def products(graph: Any) -> list[Any]:
    """Return the nodes that multiply values by a matrix of weights."""
    matrices = {tensor.name for tensor in graph.initializer if len(tensor.dims) == 2}
    return [node for node in graph.node if node.op_type == "MatMul" and node.input[1] in matrices]


def largest_values(model: Any, names: set[str], feeds: Iterable[Feed]) -> dict[str, NDArray[np.float32]]:
    """Return the largest absolute value of each channel of some intermediate results, over all texts."""
    import onnx
    from onnx import helper

    shown = onnx.ModelProto()
    shown.CopyFrom(model)
    wanted = sorted(names)
    shown.graph.output.extend(helper.make_empty_tensor_value_info(name) for name in wanted)
    session = onnx_runtime().InferenceSession(shown.SerializeToString(), providers=["CPUExecutionProvider"])
    largest: dict[str, NDArray[np.float32]] = {}
    for feed in feeds:
        for name, values in zip(wanted, session.run(wanted, dict(feed)), strict=True):
            sizes = np.abs(values).reshape(-1, values.shape[-1]).max(axis=0)
            largest[name] = np.maximum(largest[name], sizes) if name in largest else sizes
    return largest


def smooth_norms(graph: Any, largest: Largest) -> None:
    """Divide the channels of each layer's norm by factors that the products with it take into their weights."""
    weights = _Weights(graph)
    readers = _readers(graph)
    multiplied = products(graph)
    nodes: list[Any] = []
    for node in graph.node:
        nodes.append(node)
        values = node.output[0]
        own = [product for product in multiplied if product.input[0] == values]
        if node.op_type != "LayerNormalization" or not own:
            continue
        factors = _factors(largest[values], [weights[product.input[1]] for product in own])
        for name in node.input[1:]:
            weights[name] = weights[name] / factors
        for product in own:
            weights[product.input[1]] = weights[product.input[1]] * factors[:, np.newaxis]
        others = [reader for reader in readers[values] if all(reader is not product for product in own)]
        if others:
            nodes.append(_multiplied_back(weights, values, factors, others))
    replace_nodes(graph, nodes)


def part_activations(graph: Any, largest: Largest) -> list[str]:
    """Compute the outlying channels of each activation beside the others; return the products that do so by name."""
    weights = _Weights(graph)
    activations = {id(activation.last_bias): activation for activation in _activations(graph)}
    nodes: list[Any] = []
    apart = []
    for node in graph.node:
        nodes.append(node)
        if id(node) in activations:
            beside = _parted(weights, activations[id(node)], largest)
            apart += [other.name for other in beside if other.op_type == "MatMul"]
            nodes += beside
    replace_nodes(graph, nodes)
    # The widths that the exporter noted are not those of the parts.
    del graph.value_info[:]
    return apart


def replace_nodes(graph: Any, nodes: Sequence[Any]) -> None:
    """Let a graph have these nodes, in their order."""
    kept = list(nodes)
    del graph.node[:]
    graph.node.extend(kept)


class _Weights:
    """The weights of a graph by their names, as arrays of float32."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self._tensors = {tensor.name: tensor for tensor in graph.initializer}

    def __getitem__(self, name: str) -> NDArray[np.float32]:
        from onnx import numpy_helper

        values: NDArray[np.float32] = numpy_helper.to_array(self._tensors[name])
        return values

    def __setitem__(self, name: str, values: NDArray[np.floating[Any]]) -> None:
        from onnx import numpy_helper

        tensor = numpy_helper.from_array(np.ascontiguousarray(values, dtype=np.float32), name)
        if name in self._tensors:
            self._tensors[name].CopyFrom(tensor)
        else:
            self._graph.initializer.append(tensor)
            self._tensors[name] = self._graph.initializer[-1]


def _readers(graph: Any) -> dict[str, list[Any]]:
    """Return the nodes that read each value."""
    readers = defaultdict(list)
    for node in graph.node:
        for name in node.input:
            readers[name].append(node)
    return readers


def _factors(sizes: NDArray[np.float32], matrices: Sequence[NDArray[np.float32]]) -> NDArray[np.float64]:
    """Return what each channel is divided by, their geometric mean 1."""
    rows = np.max([np.abs(matrix).max(axis=1) for matrix in matrices], axis=0).astype(np.float64)
    logarithms = STRENGTH * np.log(np.maximum(sizes.astype(np.float64), TINY))
    logarithms -= (1 - STRENGTH) * np.log(np.maximum(rows, TINY))
    factors: NDArray[np.float64] = np.exp(logarithms - logarithms.mean())
    return factors


def _multiplied_back(weights: _Weights, values: str, factors: NDArray[np.float64], others: Sequence[Any]) -> Any:
    """Return the node that makes the values as they were, for those that read them beside the products."""
    from onnx import helper

    name = f"{values}_whole"
    weights[f"{values}_factors"] = factors
    for other in others:
        for place, read in enumerate(other.input):
            if read == values:
                other.input[place] = name
    return helper.make_node("Mul", [values, f"{values}_factors"], [name], name=name)


def _activations(graph: Any) -> list[Activation]:
    """Return the activations that stand between two products with biases, and that nothing else reads."""
    readers = _readers(graph)
    made = {name: node for node in graph.node for name in node.output}
    multiplied = products(graph)
    activations = []
    for after in multiplied:
        function = made.get(after.input[0])
        if function is None or function.op_type != "Gelu":
            continue
        bias = made[function.input[0]]
        before = made[bias.input[0]]
        last_bias = readers[after.output[0]][0]
        if bias.op_type == last_bias.op_type == "Add" and any(before is product for product in multiplied):
            activations.append(Activation(before, bias, function, after, last_bias))
    return activations


def _parted(weights: _Weights, around: Activation, largest: Largest) -> list[Any]:
    """Take the outlying channels out of both products; return the nodes that compute and add them."""
    from onnx import helper

    sizes, name = largest[around.after.input[0]], around.after.output[0]
    outlying = np.sort(np.argsort(-sizes, kind="stable")[: min(len(sizes) // OUTLIERS, MOST_OUTLIERS)])
    first, bias, second = around.before.input[1], around.bias.input[1], around.after.input[1]
    for part, whole, axis in ((f"{name}_in", first, 1), (f"{name}_bias", bias, 0), (f"{name}_out", second, 0)):
        weights[part] = np.take(weights[whole], outlying, axis=axis)
        weights[whole] = np.delete(weights[whole], outlying, axis=axis)
    total = around.last_bias.output[0]
    around.last_bias.output[0] = f"{total}_rest"
    function = helper.make_node("Gelu", [f"{name}_raised"], [f"{name}_active"], name=f"{name}_active")
    function.domain = around.function.domain
    function.attribute.extend(around.function.attribute)
    return [
        helper.make_node("MatMul", [around.before.input[0], f"{name}_in"], [f"{name}_values"], name=f"{name}_values"),
        helper.make_node("Add", [f"{name}_values", f"{name}_bias"], [f"{name}_raised"], name=f"{name}_raised"),
        function,
        helper.make_node("MatMul", [f"{name}_active", f"{name}_out"], [f"{name}_apart"], name=f"{name}_apart"),
        helper.make_node("Add", [f"{total}_rest", f"{name}_apart"], [total], name=f"{name}_joined"),
    ]
