"""The options of a search as their declaration describes them, for the surfaces that offer them:
the command line, the HTTP API, the page, the tools for agents, the integrations.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from numbers import Integral, Real
from typing import Any, Literal, get_type_hints

import msgspec
from msgspec import inspect

from ...core.errors import QueryError
from .options import Search, Surface, WrittenOptions

# These have messages of their own: the first names the hits that an index gives at most.
_CHECKED_ELSEWHERE = frozenset({"stages"})


@dataclass(frozen=True, slots=True)
class Option:
    """A declared option: ``annotation`` is the type of its field, ``type`` that of a value that a
    text can name, so neither None nor an object.
    """

    name: str
    description: str
    default: Any
    annotation: Any
    type: inspect.Type
    extra: Mapping[str, Any]

    def name_on(self, surface: Surface) -> str:
        """Return the name of the option on a surface."""
        named: str = self.extra["names"].get(surface, self.name)
        return named

    @property
    def label(self) -> str:
        """A word or two for people: the name without underscores."""
        return self.name.replace("_", " ")

    @property
    def is_list(self) -> bool:
        """Whether the option has several values."""
        return isinstance(self.type, inspect.ListType | inspect.VarTupleType)

    @property
    def choices(self) -> tuple[str, ...]:
        """The only values that the option may have; empty if there are others."""
        if not isinstance(self.type, inspect.LiteralType):
            return ()
        return tuple(str(value) for value in self.type.values if value != "")

    @property
    def value_type(self) -> Any:
        """The type of a value in Python, which a library or a tool checks."""
        kind: Any = str
        if self.is_list:
            kind = list[str]
        elif self.choices:
            kind = Literal[self.choices]
        elif self.is_truth:
            kind = bool
        elif isinstance(self.type, inspect.IntType):
            kind = int
        elif isinstance(self.type, inspect.FloatType):
            kind = float
        return kind | None if self.default is None else kind

    @property
    def is_number(self) -> bool:
        """Whether the option has a number."""
        return isinstance(self.type, inspect.IntType | inspect.FloatType)

    @property
    def is_whole_number(self) -> bool:
        """Whether the option has a number without fraction."""
        return isinstance(self.type, inspect.IntType)

    @property
    def is_truth(self) -> bool:
        """Whether the option is true or false."""
        return isinstance(self.type, inspect.BoolType)

    @property
    def least(self) -> float | None:
        """The smallest allowed number, if the option is a number with such a bound."""
        return self.type.ge if isinstance(self.type, inspect.IntType | inspect.FloatType) else None

    @property
    def most(self) -> float | None:
        """The largest allowed number, if the option is a number with such a bound."""
        return self.type.le if isinstance(self.type, inspect.IntType | inspect.FloatType) else None

    @property
    def range(self) -> str:
        """The allowed numbers in words."""
        if self.most is None:
            return f"{self.least} or more"
        return f"at most {self.most}" if self.least is None else f"{self.least} to {self.most}"

    def fault(self, value: object) -> str:
        """Return what is wrong with a value in Python, ``""`` if nothing is."""
        if self.is_number and _is_number(value, whole=self.is_whole_number):
            number = float(value)  # type: ignore[arg-type]
            if self.allows(number):
                return ""
            return f"{self.name} {value} is out of range; give a number, {self.range}"
        return "" if self._has(value) else f"{self.name} is {value!r}, not {self._wanted}"

    def _has(self, value: object) -> bool:
        """Return whether a value has the type of an option that is no number."""
        if self.is_list:
            return isinstance(value, tuple) and all(isinstance(part, str) for part in value)
        if self.choices:
            return value in self.choices
        if self.is_number:
            return False
        return isinstance(value, bool if self.is_truth else str)

    @property
    def _wanted(self) -> str:
        """What a value of the option is, in words."""
        if self.choices:
            return " or ".join(map(repr, self.choices))
        if self.is_number:
            return "a whole number" if self.is_whole_number else "a number"
        if self.is_list:
            return "a list of texts"
        return "true or false" if self.is_truth else "a text"

    def allows(self, number: float) -> bool:
        """Return whether a number is within the bounds."""
        above = self.least is None or number >= self.least
        below = self.most is None or number <= self.most
        return above and below


def _is_number(value: object, *, whole: bool) -> bool:
    return isinstance(value, Integral if whole else Real) and not isinstance(value, bool)


@cache
def declared_options() -> tuple[Option, ...]:
    """Return all options, in the order of their declaration."""
    annotations = get_type_hints(WrittenOptions, include_extras=True)
    return tuple(_option_of(field, annotations[field.name]) for field in _fields_of(WrittenOptions))


def offered_on(surface: Surface) -> tuple[Option, ...]:
    """Return the options that a surface offers, in the order of their declaration."""
    return tuple(option for option in declared_options() if surface not in option.extra["absent"])


@cache
def stage_options() -> tuple[str, ...]:
    """Return the names of the options that are short for a stage, in the order in which the stages
    run.
    """
    return tuple(option.name for option in declared_options() if option.extra["stage"])


def check_options(search: Search) -> None:
    """Raise QueryError, naming the option, if a search has a value of another type or out of
    bounds.

    Python checks no types, and a value of another type that equals an allowed one would be
    remembered in its place. Bounds that the configuration sets are checked where it is known.
    """
    for option in declared_options():
        value = getattr(search, option.name, None)
        if value is None or isinstance(value, msgspec.Struct) or option.name in _CHECKED_ELSEWHERE:
            continue
        if fault := option.fault(value):
            raise QueryError(fault, field=option.name)


@cache
def only_shown(kind: type[msgspec.Struct]) -> frozenset[str]:
    """Return the fields of a type of request that change only which part of the list is shown."""
    shown = set()
    for field in _fields_of(kind):
        extra = getattr(field.type, "extra", None) or {}
        if extra.get("changes") == "shown":
            shown.add(field.name)
    return frozenset(shown)


def _fields_of(kind: type[msgspec.Struct]) -> tuple[inspect.Field, ...]:
    described = inspect.type_info(kind)
    return described.fields if isinstance(described, inspect.StructType) else ()


def _option_of(field: inspect.Field, annotation: Any) -> Option:
    declared = field.type
    if not isinstance(declared, inspect.Metadata) or "absent" not in (declared.extra or {}):
        raise TypeError(f"the field {field.name} has no declaration: annotate it with option(...)")
    described = declared.extra_json_schema or {}
    default = field.default
    if field.default_factory is not msgspec.NODEFAULT:
        default = field.default_factory()
    return Option(
        name=field.name,
        description=described["description"],
        default=default,
        annotation=annotation,
        type=_written_type(declared.type),
        extra=declared.extra or {},
    )


def _written_type(kind: inspect.Type) -> inspect.Type:
    """Return the type of an option without its descriptions, and of several types the one that a
    text can name.
    """
    if isinstance(kind, inspect.Metadata):
        return _written_type(kind.type)
    if isinstance(kind, inspect.UnionType):
        objects = inspect.NoneType | inspect.StructType
        (written,) = (part for part in kind.types if not isinstance(part, objects))
        return _written_type(written)
    return kind
