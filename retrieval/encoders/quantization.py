"""Quantization of an exported graph, smaller and faster: weights in int8, a scale for each channel.

In some models a few channels hold values that are many times larger than all others. In int8 they would take the scale
for themselves, and what is left of the others is coarse. :func:`_split_outliers` computes these channels apart, in
float32: of multilingual-e5-small 8 or 16 of hundreds, which costs next to nothing and lifts the cosine to the model's
own vectors from .996 to .9997.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .onnx_runtime import onnx_quantization, onnx_runtime

Feed = Mapping[str, NDArray[np.int64]]
LARGE_TABLE = 10_000
"""A table of more rows than this is kept in int8, row by row."""
OUTLIERS = 48
"""One channel of so many is computed apart, of 384 therefore 8."""
MOST_OUTLIERS = 16
APART = "_apart"


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
    """Replace the graph at ``path`` by one with int8 weights whose outlying channels are computed in float32.

    ``feeds`` are the inputs of a few texts: they show which channels are outlying.
    """
    import onnx

    model = onnx.load(path)
    _shrink_tables(model.graph)
    apart = _split_outliers(model, feeds)
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
    _replace_nodes(graph, nodes)


def _split_outliers(model: Any, feeds: Iterable[Feed]) -> list[str]:
    """Part each product with a weight matrix into outlying channels and the rest; name the nodes of the former."""
    graph = model.graph
    weights = {tensor.name: tensor for tensor in graph.initializer if len(tensor.dims) == 2}
    products = [node for node in graph.node if node.op_type == "MatMul" and node.input[1] in weights]
    outlying = {
        name: _largest(size)
        for name, size in _largest_values(model, {node.input[0] for node in products}, feeds).items()
    }
    nodes: list[Any] = []
    for node in graph.node:
        if any(node is product for product in products):
            nodes += _parted(graph, node, weights[node.input[1]], outlying, {other.name for other in nodes})
        else:
            nodes.append(node)
    _replace_nodes(graph, nodes)
    return [node.name for node in nodes if node.name.endswith(APART)]


def _largest(sizes: NDArray[np.float32]) -> NDArray[np.int64]:
    """Return the channels of the largest values, in their order."""
    count = min(len(sizes) // OUTLIERS, MOST_OUTLIERS)
    return np.sort(np.argsort(-sizes, kind="stable")[:count]).astype(np.int64)


def _largest_values(model: Any, names: set[str], feeds: Iterable[Feed]) -> dict[str, NDArray[np.float32]]:
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


def _parted(
    graph: Any, node: Any, weight: Any, outlying: Mapping[str, NDArray[np.int64]], there: set[str]
) -> list[Any]:
    """Return the nodes that stand for a product, its outlying channels apart; what they share is made once."""
    from onnx import helper, numpy_helper

    values, matrix, product = node.input[0], numpy_helper.to_array(weight).copy(), node.output[0]
    channels = outlying[values]
    graph.initializer.append(numpy_helper.from_array(matrix[channels], f"{weight.name}{APART}"))
    matrix[channels] = 0
    weight.CopyFrom(numpy_helper.from_array(matrix, weight.name))
    shared = []
    if f"{values}_rest" not in there:
        rest = np.ones(len(matrix), dtype=np.float32)
        rest[channels] = 0
        graph.initializer.append(numpy_helper.from_array(rest, f"{values}_kept"))
        graph.initializer.append(numpy_helper.from_array(channels, f"{values}_channels"))
        shared = [
            helper.make_node("Mul", [values, f"{values}_kept"], [f"{values}_rest"], name=f"{values}_rest"),
            helper.make_node(
                "Gather", [values, f"{values}_channels"], [f"{values}_outliers"], name=f"{values}_outliers", axis=-1
            ),
        ]
    return [
        *shared,
        helper.make_node("MatMul", [f"{values}_rest", weight.name], [f"{product}_rest"], name=f"{product}_rest"),
        helper.make_node(
            "MatMul", [f"{values}_outliers", f"{weight.name}{APART}"], [f"{product}{APART}"], name=f"{product}{APART}"
        ),
        helper.make_node("Add", [f"{product}_rest", f"{product}{APART}"], [product], name=product),
    ]


def _replace_nodes(graph: Any, nodes: Sequence[Any]) -> None:
    kept = list(nodes)
    del graph.node[:]
    graph.node.extend(kept)
