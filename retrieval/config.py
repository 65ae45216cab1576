"""The settings of retrieval, and how a configuration file is read, checked and explained.

Each other package keeps its settings in a class of its own that extends :class:`Config`; ``factseek.settings.Config``
combines them. ``config.yaml`` at the top of the project documents each setting and its unit; a test compares it with
the classes.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from functools import partial
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal, Self, TypeVar, cast, get_args, get_origin, get_type_hints

import msgspec

from .errors import ConfigError, QueryError
from .plugins import NameOf
from .plugins import names as plugin_names
from .records.validation import Mismatch, mismatch, mismatch_in
from .search.score_normalizers import FusionKind
from .text import ProfileName

Positive = Annotated[int, msgspec.Meta(ge=1)]
Hits = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Count = Annotated[int, msgspec.Meta(ge=0)]
RrfK = Hits
Weight = Annotated[float, msgspec.Meta(ge=0, le=1e6)]
Strength = Annotated[float, msgspec.Meta(gt=0, le=1e6)]
Unit = Annotated[float, msgspec.Meta(ge=0, le=1)]
AUTO = "auto"  # selects the preferred retriever of an index, or the encoder for the language of an index
RankingName = Annotated[str, NameOf("retrieval.retrievers", "retriever", ends=":", joint="+")]
RetrieverName = Annotated[str, NameOf("retrieval.retrievers", "retriever", also=(AUTO,), ends=":", joint="+")]
StageName = Annotated[str, NameOf("retrieval.stages", "stage", ends="=")]
_FUSION, _FORMER_WEIGHT = "search.fusion.", "_weight"
"""The prefix of the fusion settings, and the suffix of the former weights, ``NAME_weight``."""
_AUTO_NEEDS_NONE = "leave it out: dense.type auto needs no such setting"


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base class of every group of settings: immutable, and an unknown key is an error."""

    removed = MappingProxyType[str, str]({})
    """Former settings of the group, each with its replacement."""

    def anchor(self, folder: Path) -> Self:
        """Return these settings with relative paths resolved from ``folder``; a group with paths overrides this."""
        groups = ((name, getattr(self, name)) for name in self.__struct_fields__)
        return msgspec.structs.replace(
            self, **{name: group.anchor(folder) for name, group in groups if isinstance(group, Settings)}
        )


class IndexSettings(Settings, frozen=True, kw_only=True):
    """The settings of an index; its language, analyzer and fields cannot change after the build."""

    language: str = "en"
    analyzer: str = ""
    fields: Literal["flat", "title_text"] = "flat"
    segment_passages: Positive = 200_000
    max_segments: Positive = 10
    signatures: bool = True
    words: bool = True
    phrases: bool = True
    parts: Literal["auto", "always", "never"] = "auto"
    filter_fields: tuple[str, ...] = ()
    verify: bool = False


class BM25Settings(Settings, frozen=True, kw_only=True):
    """The parameters of BM25; the weights apply only to an index built with ``fields: title_text``."""

    k1: Weight = 0.9
    b: Unit = 0.4
    title_weight: Weight = 1.0
    text_weight: Weight = 1.0


class DenseSettings(Settings, frozen=True, kw_only=True):
    """The settings of the FAISS index of a segment's vectors."""

    removed = MappingProxyType(
        {
            "flat_below": "use dense.auto_flat_below",
            "probes": "use dense.scan_probes",
            "hnsw_m": _AUTO_NEEDS_NONE,
            "ef_construction": _AUTO_NEEDS_NONE,
            "ef_search": _AUTO_NEEDS_NONE,
            "subquantizers": _AUTO_NEEDS_NONE,
        }
    )
    type: Literal["auto", "flat"] = "auto"
    auto_flat_below: Count = 100_000
    exact_below: Count = 2_000
    lists: Positive = 1_024
    scan_probes: Positive = 96
    train_sample: Positive = 100_000


class CrossEncoderSettings(Settings, frozen=True, kw_only=True):
    """A CrossEncoder, which reads two texts together: its model, and how it is exported."""

    model: str = ""
    precision: Literal["int8", "fp32"] = "int8"
    max_tokens: Count = 0
    cache: str = ""

    def anchor(self, folder: Path) -> Self:
        """Resolve the cache's path from ``folder``, and the path of the model unless the model is a name."""
        is_folder = bool(self.model.strip()) and self.model != AUTO and (folder / self.model).is_dir()
        model = anchored_path(self.model, folder) if is_folder else self.model
        cache = anchored_path(self.cache, folder) if self.cache else ""
        return msgspec.structs.replace(self, model=model, cache=cache)


class EncoderSettings(CrossEncoderSettings, frozen=True, kw_only=True):
    """The sentence-transformers model that makes the vectors, and how it runs."""

    model: str = AUTO
    query_prompt: str = ""
    document_prompt: str = ""
    languages: tuple[str, ...] = ()
    threads: Count = 0


class BuildSettings(Settings, frozen=True, kw_only=True):
    """The settings for writing a new segment's views (Lucene's index, vectors, ...); the indexer extends this class."""

    lucene_buffer_mb: Positive = 128


class FusionSettings(Settings, frozen=True, kw_only=True):
    """The settings for fusing rankings; if ``weights`` (by ranking) is empty, the retrievers' default weights apply."""

    kind: FusionKind = "auto"
    rrf_k: RrfK = 10
    weights: dict[RankingName, Weight] = msgspec.field(default_factory=dict)
    depth: Hits = 100

    def __hash__(self) -> int:
        """Return a hash of the values, because the dictionary ``weights`` has none."""
        return hash((self.kind, self.rrf_k, frozenset(self.weights.items()), self.depth))


class SearchSettings(Settings, frozen=True, kw_only=True):
    """The defaults of a search's options."""

    retriever: RetrieverName = AUTO
    k: Hits = 10
    max_k: Hits = 10_000
    max_query_chars: Positive = 10_000
    profile: ProfileName = "plain"
    group: bool = True
    fusion: FusionSettings = FusionSettings()
    stages: tuple[StageName, ...] = ()


class JavaSettings(Settings, frozen=True, kw_only=True):
    """The Java virtual machine that runs Lucene."""

    heap: Annotated[str, msgspec.Meta(pattern=r"^[1-9]\d*[mgMG]$")] = "512m"


Group = TypeVar("Group", bound=Settings)


class Config(Settings, frozen=True, kw_only=True):
    """The settings of retrieval; indexer, claims and server each extend it with their own groups."""

    index: IndexSettings = IndexSettings()
    build: BuildSettings = BuildSettings()
    bm25: BM25Settings = BM25Settings()
    dense: DenseSettings = DenseSettings()
    encoder: EncoderSettings = EncoderSettings()
    search: SearchSettings = SearchSettings()
    java: JavaSettings = JavaSettings()
    plugins: tuple[Any, ...] = ()
    """The settings of retrievers and stages; each plug-in declares its own in its file (:func:`plugin_settings`)."""

    def of(self, kind: type[Group]) -> Group:
        """Return the settings of a retriever or a stage; if these are not configured, return the defaults."""
        return next((group for group in self.plugins if isinstance(group, kind)), None) or kind()

    def anchor(self, folder: Path) -> Self:
        """Resolve relative paths from ``folder``, including the paths in plug-ins' settings."""
        own = super().anchor(folder)
        return msgspec.structs.replace(own, plugins=tuple(group.anchor(folder) for group in self.plugins))


AnyConfig = TypeVar("AnyConfig", bound=Config)


def plugin_settings(only: Collection[str] | None = None) -> dict[str, type[Settings]]:
    """Return the class ``SETTINGS`` of each retriever and stage, or ``only`` of these modules, by module name."""
    modules = {
        name: import_module(f"{package}.{name}")
        for package in (f"{__package__}.retrievers", f"{__package__}.stages")
        for name in plugin_names(package)
        if only is None or name in only
    }
    return {name: module.SETTINGS for name, module in modules.items() if hasattr(module, "SETTINGS")}


def anchored_path(path: str, folder: Path) -> str:
    """Return a path in a configuration file, resolved from the file's ``folder``."""
    return str(folder / Path(path).expanduser())


def load(path: str | Path | None, kind: type[AnyConfig]) -> AnyConfig:
    """Read the configuration: ``path``, else ``$FACTSEEK_CONFIG``, else ``./factseek.yaml``, else ``./config.yaml``.

    Without any of these files, return the defaults. If ``config.yaml`` has none of factseek's groups, it belongs to
    another program. It is then ignored, with a line on standard error. Paths in the file are resolved from the file's
    own folder. Raises ConfigError, naming file and dotted key, if the file cannot be read or a setting is invalid.
    """
    if path:
        return read(Path(path), kind)
    if chosen := os.environ.get("FACTSEEK_CONFIG"):
        try:
            return read(Path(chosen), kind)
        except ConfigError as error:
            raise ConfigError(f"{error.what} (from FACTSEEK_CONFIG)", place=error.place, remedy=error.remedy) from None
    own, here = Path("factseek.yaml"), Path("config.yaml")
    if own.is_file():
        return read(own, kind)
    if not here.is_file():
        return kind()
    if not _is_foreign(here, kind):
        return read(here, kind)
    sys.stderr.write(f"{here} is ignored: it has no settings of factseek; write yours to {own}\n")
    return kind()


def _is_foreign(path: Path, kind: type[Config]) -> bool:
    """Return whether a file has content, but none of factseek's groups at its top level; it need not be YAML."""
    from .config_file import read_yaml

    groups = (*kind.__struct_fields__, *plugin_settings())
    try:
        raw = read_yaml(path)
    except ConfigError:
        if re.search(rf"^[{{'\" ]*({'|'.join(groups)})['\"]?\s*:".encode(), path.read_bytes(), re.MULTILINE):
            raise
        return True
    return raw is not None and not (isinstance(raw, dict) and any(name in raw for name in groups))


def read(path: Path, kind: type[AnyConfig]) -> AnyConfig:
    """Read a file with the groups of ``kind`` and of plug-ins. Raises ConfigError as :func:`load` does."""
    from .config_file import read_yaml  # importing YAML is slow: import it only to read a file

    raw = read_yaml(path)
    config = convert(raw if raw is not None else {}, str(path), kind)
    return config.anchor(path.parent)


def convert(raw: Any, place: str, kind: type[AnyConfig]) -> AnyConfig:
    """Return the mapping ``raw`` of a file as settings. Raises ConfigError, naming ``place`` and the dotted key."""
    # An empty group in the file means its defaults.
    values = {key: value for key, value in raw.items() if value is not None} if isinstance(raw, dict) else raw
    others = set(values) - set(kind.__struct_fields__) if isinstance(values, dict) else set()
    groups = plugin_settings(others) if others else {}
    whole = _with_groups(kind, groups)
    try:
        if isinstance(values, dict) and "plugins" in values:
            raise ConfigError("plugins: there is no such setting", place=place)
        config = msgspec.convert(values, whole)
    except msgspec.ValidationError as error:
        wrong = mismatch_in(values, error, partial(msgspec.convert, type=whole))
        raise ConfigError(_explain(wrong, _with_groups(kind, plugin_settings())), place=place) from None
    except RecursionError:
        raise ConfigError("is nested too deeply", place=place) from None
    for fault in _unknown_names(config):
        raise ConfigError(fault, place=place)
    if (search := config.search).k > search.max_k:
        if search.k != SearchSettings().k:
            raise ConfigError(f"search.k: {search.k} is more than search.max_k, {search.max_k}", place=place)
        config = msgspec.structs.replace(config, search=msgspec.structs.replace(search, k=search.max_k))
    given = tuple(getattr(config, name) for name, group in groups.items() if getattr(config, name) != group())
    return msgspec.structs.replace(view(config, kind), plugins=given)


def _with_groups(kind: type[AnyConfig], groups: Mapping[str, type[Settings]]) -> type[AnyConfig]:
    fields = [(name, group, group()) for name, group in groups.items()]
    options: dict[str, Any] = {"frozen": True, "kw_only": True, "forbid_unknown_fields": True}
    made = msgspec.defstruct(kind.__name__, fields, bases=(kind,), module=__name__, **options)
    return cast(type[AnyConfig], made)


def check(config: AnyConfig) -> AnyConfig:
    """Return settings that were made in Python, checked as those of a file. Raises ConfigError with the dotted key."""
    return convert(to_mapping(config), "", type(config))


def check_group(group: Settings, name: str) -> None:
    """Raise QueryError with the dotted key if a setting of the group ``name``, made in Python, is invalid."""
    try:
        msgspec.convert(msgspec.to_builtins(group, enc_hook=dict), type(group))
    except msgspec.ValidationError as error:
        raise QueryError(f"{name}.{explain(error, type(group))}") from None


def to_mapping(config: Config) -> dict[str, Any]:
    """Return settings as the mapping of a configuration file, to be stored or sent; :func:`convert` reads it."""
    mapping: dict[str, Any] = msgspec.to_builtins(config, enc_hook=dict)
    del mapping["plugins"]
    groups = {type(group).__module__.rpartition(".")[2]: group for group in config.plugins}
    return mapping | {name: msgspec.to_builtins(group) for name, group in groups.items()}


def view(config: Config, kind: type[AnyConfig]) -> AnyConfig:
    """Return the groups that a package owns, from the complete settings ``config``; ``kind`` is the package's class."""
    return msgspec.convert(config, kind, from_attributes=True)


def explain(error: msgspec.ValidationError, kind: type[Settings]) -> str:
    """Return a validation error in words, for example ``bm25.k1: expected float, got str``."""
    return _explain(mismatch(error), kind)


def _explain(wrong: Mismatch, kind: type[Settings]) -> str:
    key, reason = wrong.path, wrong.reason
    if wrong.of_a_key:
        return f"{f'{key}: ' if key else ''}a key is not a string; write it in quotes"
    weighed = formerly_weighed(wrong.field.removeprefix(_FUSION)) if wrong.field.startswith(_FUSION) else ""
    if weighed:
        return f"{wrong.field}: is now {_FUSION}weights: {{{weighed}: 0.5}}"
    if wrong.missing:
        return f"{wrong.field}: is missing"
    if wrong.unknown:
        settings = _settings(kind)
        if was := getattr(settings.get(wrong.path), "removed", {}).get(wrong.unknown):
            return f"{wrong.field}: is no longer a setting; {was}"
        near = get_close_matches(wrong.field, settings, n=1)
        return f"{wrong.field}: there is no such setting" + (f"; did you mean {near[0]}?" if near else "")
    if wrong.no_choice:
        reason += f"; the values are {', '.join(map(str, choices(_settings(kind)[key])))}"
    return f"{key}: {reason}" if key else reason


def choices(kind: Any) -> list[Any]:
    """Return the values of a Literal, or of those in a union."""
    parts = (part for part in get_args(kind) if part is not type(None) and not isinstance(part, msgspec.Meta))
    return [value for part in parts for value in choices(part) or [part]]


def formerly_weighed(setting: str) -> str:
    """Return the ranking whose weight this fusion setting contained in earlier versions, else ``""``."""
    return setting.removesuffix(_FORMER_WEIGHT) if setting.endswith(_FORMER_WEIGHT) else ""


def _settings(group: type[Settings], prefix: str = "") -> dict[str, Any]:
    """Return the type of each setting and group by its dotted key."""
    types: dict[str, Any] = {}
    for name, setting in get_type_hints(group).items():
        types[prefix + name] = setting
        if isinstance(setting, type) and issubclass(setting, Settings):
            types |= _settings(setting, f"{prefix}{name}.")
    return types


def _unknown_names(group: Settings, prefix: str = "") -> Iterator[str]:
    """Yield a message for each unknown plug-in name in a group of settings, with the dotted key of the setting."""
    for key, kind in get_type_hints(type(group), include_extras=True).items():
        setting = getattr(group, key)
        if isinstance(setting, Settings):
            yield from _unknown_names(setting, f"{prefix}{key}.")
            continue
        named = next((part for part in (kind, *get_args(kind)) if get_origin(part) is Annotated), None)
        for name_of in getattr(named, "__metadata__", ()):
            if isinstance(name_of, NameOf):
                names = [setting] if isinstance(setting, str) else setting
                yield from (f"{prefix}{key}: {fault}" for fault in map(name_of.fault, names) if fault)
