"""How a configuration file is read, checked and explained, whatever its settings are.

Each package declares its settings as groups (:class:`Settings`) of a class that extends
:class:`Configuration`; ``factseek.settings.Config`` combines them. ``config.yaml`` at the top of
the project documents each setting and its unit; a test compares it with the classes.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Iterator, Mapping
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Self, TypeVar, cast, get_args, get_origin, get_type_hints

import msgspec

from .errors import ConfigError, QueryError
from .plugins import NameOf
from .records.validation import Mismatch, mismatch, mismatch_in

Positive = Annotated[int, msgspec.Meta(ge=1)]
Count = Annotated[int, msgspec.Meta(ge=0)]
Weight = Annotated[float, msgspec.Meta(ge=0, le=1e6)]
Strength = Annotated[float, msgspec.Meta(gt=0, le=1e6)]
Unit = Annotated[float, msgspec.Meta(ge=0, le=1)]
"""The bounds of numbers that many settings share."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base class of every group of settings: immutable, and an unknown key is an error."""

    removed = MappingProxyType[str, str]({})
    """Former settings of the group, each with its replacement."""

    @classmethod
    def explain_removed(cls, name: str) -> str:
        """Return what replaced the former setting ``name``, else ``""``."""
        replacement = cls.removed.get(name, "")
        return replacement and f"is no longer a setting; {replacement}"

    def anchor(self, folder: Path) -> Self:
        """Return these settings with relative paths resolved from ``folder``.

        A group with paths overrides this.
        """
        anchored = {}
        for name in self.__struct_fields__:
            group = getattr(self, name)
            if isinstance(group, Settings):
                anchored[name] = group.anchor(folder)
        return msgspec.structs.replace(self, **anchored)


Group = TypeVar("Group", bound=Settings)


class Configuration(Settings, frozen=True, kw_only=True):
    """The groups of settings that a file may hold; each package extends this with its own
    groups.
    """

    plugins: tuple[Any, ...] = ()
    """The settings of plug-ins; each plug-in declares its own in its file
    (:meth:`plugin_groups`).
    """

    @classmethod
    def plugin_groups(cls, only: Collection[str] | None = None) -> dict[str, type[Settings]]:
        """Return the class of the settings of each plug-in, by the name of its group.

        With ``only``, return the groups of these names alone. There are none unless a package
        overrides this.
        """
        return {}

    def reconcile(self, place: str) -> Self:
        """Return the settings with defaults that fit the other settings.

        Raises ConfigError, naming ``place``, if two settings contradict each other.
        """
        return self

    def of(self, kind: type[Group]) -> Group:
        """Return the settings of a plug-in; if these are not configured, return the defaults."""
        return next((group for group in self.plugins if isinstance(group, kind)), None) or kind()

    def anchor(self, folder: Path) -> Self:
        """Resolve relative paths from ``folder``, including the paths in plug-ins' settings."""
        anchored = super().anchor(folder)
        plugins = tuple(group.anchor(folder) for group in self.plugins)
        return msgspec.structs.replace(anchored, plugins=plugins)


AnyConfig = TypeVar("AnyConfig", bound=Configuration)


def anchored_path(path: str, folder: Path) -> str:
    """Return a path in a configuration file, resolved from the file's ``folder``."""
    return str(folder / Path(path).expanduser())


def load(path: str | Path | None, kind: type[AnyConfig]) -> AnyConfig:
    """Read ``path``, else ``$FACTSEEK_CONFIG``, else ``./factseek.yaml``, else ``./config.yaml``.

    Without any of these files, return the defaults. If ``config.yaml`` has none of factseek's
    groups, it belongs to another program. It is then ignored, with a line on standard error. Paths
    in the file are resolved from the file's own folder. Raises ConfigError, naming file and dotted
    key, if the file cannot be read or a setting is invalid.
    """
    if path:
        return read(Path(path), kind)
    if chosen := os.environ.get("FACTSEEK_CONFIG"):
        try:
            return read(Path(chosen), kind)
        except ConfigError as error:
            what = f"{error.what} (from FACTSEEK_CONFIG)"
            raise ConfigError(what, place=error.place, remedy=error.remedy) from None
    own, here = Path("factseek.yaml"), Path("config.yaml")
    if own.is_file():
        return read(own, kind)
    if not here.is_file():
        return kind()
    if not _is_foreign(here, kind):
        return read(here, kind)
    sys.stderr.write(f"{here} is ignored: it has no settings of factseek; write yours to {own}\n")
    return kind()


def _is_foreign(path: Path, kind: type[Configuration]) -> bool:
    """Return whether a file has content, but none of factseek's groups at its top level.

    The file need not be YAML.
    """
    from .config_file import read_yaml

    groups = (*kind.__struct_fields__, *kind.plugin_groups())
    try:
        raw = read_yaml(path)
    except ConfigError:
        group_key = rf"^[{{'\" ]*({'|'.join(groups)})['\"]?\s*:"
        if re.search(group_key.encode(), path.read_bytes(), re.MULTILINE):
            raise
        return True
    return raw is not None and not (isinstance(raw, dict) and any(name in raw for name in groups))


def read(path: Path, kind: type[AnyConfig]) -> AnyConfig:
    """Read a file with the groups of ``kind`` and of plug-ins.

    Raises ConfigError as :func:`load` does.
    """
    from .config_file import read_yaml  # importing YAML is slow: import it only to read a file

    raw = read_yaml(path)
    config = convert(raw if raw is not None else {}, str(path), kind)
    return config.anchor(path.parent)


def convert(raw: Any, place: str, kind: type[AnyConfig]) -> AnyConfig:
    """Return the mapping ``raw`` of a file as settings.

    Raises ConfigError, naming ``place`` and the dotted key.
    """
    values, unknown = raw, set[str]()
    if isinstance(raw, dict):
        # An empty group in the file means its defaults.
        values = {key: value for key, value in raw.items() if value is not None}
        unknown = set(values) - set(kind.__struct_fields__)
        if "plugins" in values:
            raise ConfigError("plugins: there is no such setting", place=place)
    groups = kind.plugin_groups(unknown) if unknown else {}
    whole = _with_groups(kind, groups)
    try:
        config = msgspec.convert(values, whole)
    except msgspec.ValidationError as error:
        wrong = mismatch_in(values, error, partial(msgspec.convert, type=whole))
        explanation = _explain(wrong, _with_groups(kind, kind.plugin_groups()))
        raise ConfigError(explanation, place=place) from None
    except RecursionError:
        raise ConfigError("is nested too deeply", place=place) from None
    for fault in _unknown_names(config):
        raise ConfigError(fault, place=place)
    config = config.reconcile(place)

    # The settings of a plug-in are kept only where they are not the defaults.
    configured = [getattr(config, name) for name, group in groups.items()]
    plugins = tuple(group for group in configured if group != type(group)())
    return msgspec.structs.replace(view(config, kind), plugins=plugins)


def _with_groups(kind: type[AnyConfig], groups: Mapping[str, type[Settings]]) -> type[AnyConfig]:
    """Return ``kind`` with the groups of plug-ins as further fields."""
    fields = [(name, group, group()) for name, group in groups.items()]
    options: dict[str, Any] = {"frozen": True, "kw_only": True, "forbid_unknown_fields": True}
    made = msgspec.defstruct(kind.__name__, fields, bases=(kind,), module=__name__, **options)
    return cast(type[AnyConfig], made)


def check(config: AnyConfig) -> AnyConfig:
    """Return settings that were made in Python, checked as those of a file.

    Raises ConfigError with the dotted key.
    """
    return convert(to_mapping(config), "", type(config))


def check_group(group: Settings, name: str) -> None:
    """Raise QueryError with the dotted key if a setting of the group ``name`` is invalid."""
    try:
        msgspec.convert(msgspec.to_builtins(group, enc_hook=dict), type(group))
    except msgspec.ValidationError as error:
        raise QueryError(f"{name}.{explain(error, type(group))}") from None


def to_mapping(config: Configuration) -> dict[str, Any]:
    """Return settings as the mapping of a configuration file, to be stored or sent.

    :func:`convert` reads it.
    """
    mapping: dict[str, Any] = msgspec.to_builtins(config, enc_hook=dict)
    del mapping["plugins"]
    groups = {type(group).__module__.rpartition(".")[2]: group for group in config.plugins}
    return mapping | {name: msgspec.to_builtins(group) for name, group in groups.items()}


def view(config: Configuration, kind: type[AnyConfig]) -> AnyConfig:
    """Return the groups that a package owns, from the complete settings ``config``.

    ``kind`` is the package's class.
    """
    return msgspec.convert(config, kind, from_attributes=True)


def explain(error: msgspec.ValidationError, kind: type[Settings]) -> str:
    """Return a validation error in words, for example ``bm25.k1: expected float, got str``."""
    return _explain(mismatch(error), kind)


def _explain(wrong: Mismatch, kind: type[Settings]) -> str:
    key, reason = wrong.path, wrong.reason
    if wrong.of_a_key:
        return f"{f'{key}: ' if key else ''}a key is not a string; write it in quotes"
    if wrong.missing:
        return f"{wrong.field}: is missing"
    if wrong.unknown:
        return f"{wrong.field}: {_explain_unknown(wrong, kind)}"
    if wrong.no_choice:
        values = choices(_dotted_types(kind)[key])
        reason += f"; the values are {', '.join(map(str, values))}"
    if wrong.text_for_truth:
        reason += "; write true or false"
    return f"{key}: {reason}" if key else reason


def _explain_unknown(wrong: Mismatch, kind: type[Settings]) -> str:
    types = _dotted_types(kind)
    group = types.get(wrong.path)
    if isinstance(group, type) and issubclass(group, Settings):
        removed = group.explain_removed(wrong.unknown)
        if removed:
            return removed
    near = get_close_matches(wrong.field, types, n=1)
    return "there is no such setting" + (f"; did you mean {near[0]}?" if near else "")


def choices(kind: Any) -> list[Any]:
    """Return the values of a Literal, or of those in a union."""
    values = []
    for part in get_args(kind):
        if part is not type(None) and not isinstance(part, msgspec.Meta):
            values += choices(part) or [part]
    return values


def _dotted_types(group: type[Settings], prefix: str = "") -> dict[str, Any]:
    """Return the type of each setting and group by its dotted key."""
    types: dict[str, Any] = {}
    for name, setting in get_type_hints(group).items():
        types[prefix + name] = setting
        if isinstance(setting, type) and issubclass(setting, Settings):
            types |= _dotted_types(setting, f"{prefix}{name}.")
    return types


def _unknown_names(group: Settings, prefix: str = "") -> Iterator[str]:
    """Yield a message for each unknown plug-in name in a group of settings.

    The message begins with the dotted key of the setting.
    """
    for key, kind in get_type_hints(type(group), include_extras=True).items():
        setting = getattr(group, key)
        if isinstance(setting, Settings):
            yield from _unknown_names(setting, f"{prefix}{key}.")
            continue
        # The annotation stands on the setting itself, or on what a list or mapping of it contains.
        parts = (kind, *get_args(kind))
        annotated = next((part for part in parts if get_origin(part) is Annotated), None)
        for annotation in getattr(annotated, "__metadata__", ()):
            if isinstance(annotation, NameOf):
                names = [setting] if isinstance(setting, str) else setting
                yield from (
                    f"{prefix}{key}: {fault}" for fault in map(annotation.fault, names) if fault
                )
