"""Decision trees as arrays, evaluated with numpy."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..records.model_file import State, array


class Trees(NamedTuple):
    """Many trees, with all their nodes in one list.

    Each node has a feature, or -1 for a leaf. A row goes to the first of the node's ``children`` if its feature is at
    most the threshold, else to the second. ``values`` are those of leaves. ``roots`` are the first nodes of the trees.
    """

    features: NDArray[np.int16]
    thresholds: NDArray[np.float64]
    children: NDArray[np.int32]
    values: NDArray[np.float64]
    roots: NDArray[np.int32]

    def leaves(self, rows: NDArray[Any]) -> NDArray[np.float64]:
        """Return the value of the leaf that each row reaches in each tree, shape (rows, trees)."""
        at = np.tile(self.roots, (len(rows), 1))
        while True:
            feature = self.features[at]
            inner = feature >= 0
            if not inner.any():
                return self.values[at]
            value = np.take_along_axis(rows, np.maximum(feature, 0).astype(np.int64), axis=1)
            side = (value > self.thresholds[at]).astype(np.int64)
            at = np.where(inner, self.children[at, side], at)

    def state(self) -> State:
        """Return the arrays."""
        return State({}, self._asdict())


def restore(state: State, width: int) -> Trees:
    """Return the trees of a state. Raises ValueError if its arrays do not fit together or a walk might not end."""
    features = array(state, "features", np.int16, None)
    nodes = len(features)
    children = array(state, "children", np.int32, nodes, 2)
    roots = array(state, "roots", np.int32, None)
    inner = np.flatnonzero(features >= 0)
    if features.min() < -1 or features.max() >= width:
        raise ValueError("a node uses a feature that does not exist")
    # Each step leads to a later node, so every walk ends.
    if (children[inner] <= inner[:, None]).any() or (children[inner] >= nodes).any():
        raise ValueError("a node does not precede its children")
    if roots.min() < 0 or roots.max() >= nodes:
        raise ValueError("the root of a tree is not a node")
    thresholds, values = array(state, "thresholds", np.float64, nodes), array(state, "values", np.float64, nodes)
    return Trees(features, thresholds, children, values, roots)
