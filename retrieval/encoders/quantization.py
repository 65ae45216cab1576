"""Quantization of an exported graph, smaller and faster: weights in int8, a scale for each channel."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .onnx_runtime import onnx_quantization
from .outliers import Feed, largest_values, part_activations, products, replace_nodes, smooth_norms

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
