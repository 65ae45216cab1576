"""Plug-ins: the modules of a package, found by name, one file each."""

from __future__ import annotations

import importlib
import pkgutil
from functools import lru_cache
from typing import Generic, NamedTuple, TypeVar, cast

from .errors import UserError

Offered = TypeVar("Offered")


class NameOf(NamedTuple):
    """An annotation of a setting whose values must be names of plug-ins in ``package``, or words in
    ``also``.

    A name may start with ``begins``. The plug-in itself interprets the part after ``ends``. In a
    name, ``joint`` replaces the underscores of the module's name.
    """

    package: str
    noun: str
    also: tuple[str, ...] = ()
    begins: str = ""
    ends: str = ""
    joint: str = "_"

    def fault(self, name: str) -> str:
        """Return a message with the known names if ``name`` is unknown, else ``""``."""
        modules = names(f"{_ROOT}.{self.package}") if self.package else []
        there = [*self.also, *(module.replace("_", self.joint) for module in modules)]
        own = name.removeprefix(self.begins)
        if (own.partition(self.ends)[0] if self.ends else own) in there:
            return ""
        return f"unknown {self.noun} {name[:80]!r}; the {self.noun}s are {', '.join(there)}"


_ROOT = __name__.partition(".")[0]


def names(package: str) -> list[str]:
    """Return the names of a package's public modules, in alphabetical order, without importing
    them.
    """
    return list(_names(tuple(importlib.import_module(package).__path__)))


@lru_cache(maxsize=64)
def _names(path: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(
        sorted(
            module.name for module in pkgutil.iter_modules(path) if not module.name.startswith("_")
        )
    )


class Plugins(Generic[Offered]):
    """The plug-ins of one package; each is a module that implements the protocol ``Offered``.

    A plug-in's name is its module's, with ``joint`` instead of underscores: ``ct2021-1a`` is
    ``ct2021_1a.py``. ``unknown`` is the error for an unknown name. In its message, ``noun`` is the
    word for a plug-in, and ``listed`` introduces the list of names. ``variants`` ends the list with
    the form of further names.
    """

    def __init__(
        self,
        package: str,
        unknown: type[UserError],
        noun: str,
        listed: str,
        *,
        joint: str = "-",
        variants: str = "",
    ) -> None:
        self.package = package
        self._unknown = unknown
        self._noun = noun
        self._listed = listed
        self._joint = joint
        self._variants = variants

    def names(self) -> list[str]:
        """Return the names of the plug-ins, in alphabetical order, without importing them."""
        return sorted(name.replace("_", self._joint) for name in names(self.package))

    def load(self, name: str) -> Offered:
        """Return the plug-in of a name.

        Raises the error ``unknown``, with the list of names, if it does not exist.
        """
        there = self.names()
        if name not in there:
            listed = ", ".join(filter(None, (*there, self._variants)))
            raise self._unknown(
                f"unknown {self._noun} {name[:80]!r}", remedy=f"{self._listed} {listed}"
            )
        return cast(
            Offered, importlib.import_module(f"{self.package}.{name.replace(self._joint, '_')}")
        )
