"""Read the folder of a sparse model: what weighs the terms of its documents, and of its queries."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from ...core.errors import MachineError
from .sources import Module, modules_of, read_json, routes_of

REMEDY = "choose another sparse model"
TABLE = "SparseStaticEmbedding"
"""The module that has a weight for each term, whatever the text."""
_SPLADE = "SpladePooling"
_TOKEN_MODULES = ("Transformer", "MLMTransformer")
_STRATEGIES = ("max", "sum")
_ACTIVATIONS = ("relu", "log1p_relu")


class SparseModules(NamedTuple):
    """The parts of a sparse model.

    ``model`` is the folder of a masked language model. ``strategy`` and ``activation`` say how the
    weights of its tokens become those of the text. ``table`` is the folder of the weights that
    terms have in queries; None if the model weighs these too.
    """

    model: Path
    strategy: str
    activation: str
    table: Path | None

    @property
    def is_splade(self) -> bool:
        """Whether a term has the largest weight of any token, as in the models of the papers on
        SPLADE since its second version.
        """
        return (self.strategy, self.activation) == (_STRATEGIES[0], _ACTIVATIONS[0])


def read_sparse_modules(folder: Path) -> SparseModules:
    """Return the parts of the sparse model in ``folder``.

    Raises MachineError, naming the part, if it is no sparse model, or has a part that factseek
    cannot run.
    """
    routes = routes_of(folder)
    if routes:
        return _of_documents(folder, routes.get("document", []), _table(folder, routes))
    if (folder / "modules.json").is_file():
        return _of_documents(folder, modules_of(folder), None)
    heads = read_json(folder / "config.json").get("architectures") or [""]
    if not str(heads[0]).endswith("ForMaskedLM"):
        raise _no_sparse_model(folder)
    return SparseModules(folder, _STRATEGIES[0], _ACTIVATIONS[0], None)


def _of_documents(folder: Path, modules: list[Module], table: Path | None) -> SparseModules:
    names = [name for name, _ in modules]
    if "SparseAutoEncoder" in names:
        raise MachineError(
            "has the module SparseAutoEncoder, whose dimensions are no terms",
            place=folder,
            remedy=REMEDY,
        )
    if TABLE in names:
        raise MachineError(
            f"has the module {TABLE} for documents, which factseek runs only for queries",
            place=folder,
            remedy=REMEDY,
        )
    if len(names) != 2 or names[0] not in _TOKEN_MODULES or names[1] != _SPLADE:
        raise _no_sparse_model(folder)

    path = modules[1][1] / "config.json"
    strategy = _known_value(path, "pooling_strategy", _STRATEGIES)
    activation = _known_value(path, "activation_function", _ACTIVATIONS)
    return SparseModules(modules[0][1], strategy, activation, table)


def _known_value(path: Path, name: str, known: tuple[str, ...]) -> str:
    """Return a setting of the pooling, by default the first known value."""
    value = str(read_json(path).get(name, known[0]))
    if value not in known:
        raise MachineError(
            f"{name} is {value}, but factseek runs only {' and '.join(known)}",
            place=path,
            remedy=REMEDY,
        )
    return value


def _table(folder: Path, routes: dict[str, list[Module]]) -> Path:
    """Return the folder of the weights of queries."""
    query = routes.get("query", [])
    if [name for name, _ in query] != [TABLE]:
        given = ", ".join(name for name, _ in query) or "no module"
        raise MachineError(
            f"its Router has {given} for queries, but factseek runs only {TABLE} there",
            place=folder,
            remedy=REMEDY,
        )
    return query[0][1]


def _no_sparse_model(folder: Path) -> MachineError:
    what = (
        "is no sparse model: it has neither a SpladePooling nor the head of a masked language model"
    )
    return MachineError(what, place=folder, remedy=REMEDY)
