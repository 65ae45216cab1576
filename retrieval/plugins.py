"""Plug-ins: the modules of a package, found by name, one file each."""

from __future__ import annotations

import importlib
import pkgutil
import sys
from functools import lru_cache
from types import ModuleType
from typing import Generic, NamedTuple, TypeVar, cast

from .errors import UserError

Offered = TypeVar("Offered")


class NameOf(NamedTuple):
    """What the names in a setting name, said in its annotation: plug-ins of ``package``, such as ``retrieval.stages``.

    ``also`` are names with a meaning of their own, or all that there are if ``package`` is empty; a name may begin with
    ``begins``, and what follows ``ends`` in it is the plug-in's to understand.
    """

    package: str
    noun: str
    also: tuple[str, ...] = ()
    begins: str = ""
    ends: str = ""

    def fault(self, name: str) -> str:
        """Return what is wrong with a name, with the names that there are; ``""`` if nothing is."""
        there = [*self.also, *(names(f"{_ROOT}.{self.package}") if self.package else ())]
        own = name.removeprefix(self.begins)
        if (own.partition(self.ends)[0] if self.ends else own) in there:
            return ""
        return f"unknown {self.noun} {name[:80]!r}; there are {', '.join(there)}"


_ROOT = __name__.partition(".")[0]


def names(package: str) -> list[str]:
    """Return the names of a package's modules but for private ones, in alphabetical order; none is imported."""
    return list(_names(tuple(importlib.import_module(package).__path__)))


@lru_cache(maxsize=64)
def _names(path: tuple[str, ...]) -> tuple[str, ...]:
    """Return the names of the modules in a package's folders: looked up once, for every search asks for them."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(path) if not module.name.startswith("_")))


def load(package: str, name: str) -> ModuleType:
    """Return a module of a package; ``name`` must be one of :func:`names`, for it becomes part of a path."""
    return importlib.import_module(f"{package}.{name}")


class Plugins(Generic[Offered]):
    """The plug-ins of one package, each a module that offers what the protocol ``Offered`` says.

    A name is the module's, with ``hyphens`` in the place of underscores: ``ct2021-1a`` is ``ct2021_1a.py``.
    ``unknown`` is the error for a name that there is not, ``noun`` what a plug-in is called, and ``listed`` begins the
    list of those there are.
    """

    def __init__(self, package: str, unknown: type[UserError], noun: str, listed: str, *, hyphens: bool = True) -> None:
        self.package = package
        self._unknown = unknown
        self._noun = noun
        self._listed = listed
        self._hyphens = hyphens
        self._loaded: dict[tuple[tuple[str, ...], str], Offered] = {}
        """By the folders that plug-ins are looked for in, and the name: every search asks for some."""

    def names(self) -> list[str]:
        """Return the names of the plug-ins, with hyphens, in alphabetical order; none is imported."""
        there = names(self.package)
        return sorted(name.replace("_", "-") for name in there) if self._hyphens else there

    def load(self, name: str) -> Offered:
        """Return the plug-in of a name.

        Raises the error of these plug-ins, with the list of their names, if there is none of that name.
        """
        package = sys.modules.get(self.package) or importlib.import_module(self.package)
        path = tuple(package.__path__)
        if (path, name) not in self._loaded:
            there = self.names()
            if name not in there:
                raise self._unknown(f"unknown {self._noun} {name[:80]!r}", remedy=f"{self._listed} {', '.join(there)}")
            module = load(self.package, name.replace("-", "_") if self._hyphens else name)
            self._loaded[path, name] = cast(Offered, module)
        return self._loaded[path, name]
