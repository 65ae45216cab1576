"""Refuse models that sentence-transformers loads in another way than factseek would run them."""

from __future__ import annotations

from pathlib import Path

from ...core.errors import MachineError
from .sources import DOT_NAMES, ROUTERS, model_files, modules_of, read_json
from .sparse_modules import REMEDY, read_sparse_modules

_SETTINGS = "config_sentence_transformers.json"
_OTHER = "choose another encoder"
# The value of model_type for a dense encoder, and for a model that has no model_type.
_DENSE = "SentenceTransformer"
_SPARSE_MODULES = ("MLMTransformer", "SpladePooling", "SparseAutoEncoder", "SparseStaticEmbedding")


def check_encoder(folder: Path) -> None:
    """Raise MachineError if the model in ``folder`` is no dense encoder, if its weights are a
    pickle, or if its vectors need another comparison than factseek has.
    """
    _check_dense(folder)
    if any(name.endswith(".bin") for name in model_files(folder)):
        raise MachineError(
            "its weights are a pickle, which may contain a program",
            place=folder,
            remedy="save the model again with sentence-transformers, as safetensors",
        )
    similarity = read_json(folder / _SETTINGS).get("similarity_fn_name")
    if similarity not in (None, "", "cosine", *DOT_NAMES):
        what = (
            f"similarity_fn_name is {similarity}, but factseek compares vectors only by their "
            "cosine or their dot product"
        )
        remedy = f"{_OTHER}, or set it to cosine in a copy of the model"
        raise MachineError(what, place=folder / _SETTINGS, remedy=remedy)


def check_cross_encoder(folder: Path) -> None:
    """Raise MachineError if a CrossEncoder puts a prompt before its texts, which factseek would
    leave out.
    """
    settings = read_json(folder / _SETTINGS)
    prompts, name = settings.get("prompts"), settings.get("default_prompt_name")
    if isinstance(prompts, dict) and isinstance(name, str) and prompts.get(name):
        what = f"default_prompt_name is {name}, but factseek puts no prompt before a pair of texts"
        raise MachineError(
            what,
            place=folder / _SETTINGS,
            remedy="choose another model, or set it to null in a copy",
        )


def check_sparse_encoder(folder: Path) -> None:
    """Raise MachineError, naming the part, if the model in ``folder`` is no sparse model that
    factseek can run, or its impacts need more than a dot product.
    """
    read_sparse_modules(folder)
    pickles = [name for name in model_files(folder) if name.endswith(".bin")]
    if pickles:
        raise MachineError(
            "is a pickle, which may contain a program",
            place=folder / pickles[0],
            remedy="save the model again with sentence-transformers, as safetensors",
        )
    similarity = read_json(folder / _SETTINGS).get("similarity_fn_name")
    if similarity not in (None, "", *DOT_NAMES):
        raise MachineError(
            f"similarity_fn_name is {similarity}, but impacts are compared by their dot product",
            place=folder / _SETTINGS,
            remedy=f"{REMEDY}, or set it to dot in a copy",
        )


def _check_dense(folder: Path) -> None:
    kind = read_json(folder / _SETTINGS).get("model_type") or _DENSE
    modules = [name for name, _ in modules_of(folder)]
    sparse = [name for name in modules if name in _SPARSE_MODULES]
    if kind == "SparseEncoder" or sparse:
        what = "is a sparse encoder (SPLADE), but factseek searches dense vectors"
        raise MachineError(
            what, place=folder, remedy="give it as --impacts, or choose a dense encoder"
        )
    if kind != _DENSE:
        raise MachineError(
            f"is a {kind} of sentence-transformers, not a dense encoder",
            place=folder,
            remedy=_OTHER,
        )
    if any(name in ROUTERS for name in modules):
        what = (
            "encodes queries and documents with different modules (Router), which factseek "
            "cannot run"
        )
        raise MachineError(what, place=folder, remedy=_OTHER)
    if (folder / "modules.json").is_file():
        return
    # Without modules.json, sentence-transformers takes the mean of the token states of any model,
    # and leaves out its head. Only a model without a head was trained to be read in this way. Older
    # SPLADE models look like this too.
    names = read_json(folder / "config.json").get("architectures")
    heads = [
        str(name) for name in names or [] if "For" in str(name) or "colbert" in str(name).lower()
    ]
    if heads:
        what = f"is no encoder of texts: it has the head {heads[0]} and no modules.json"
        if heads[0].endswith("ForMaskedLM"):
            what = (
                f"is a masked language model or a SPLADE model ({heads[0]}): it has no modules.json"
            )
        remedy = (
            "choose an encoder; for the mean of its states, save the model with "
            "sentence-transformers first"
        )
        raise MachineError(what, place=folder, remedy=remedy)
