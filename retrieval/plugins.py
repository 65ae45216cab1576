"""Plug-ins: the modules of a package, found by name, one file each."""

from __future__ import annotations

import importlib
import pkgutil
from types import ModuleType


def names(package: str) -> list[str]:
    """Name the modules of a package but for private ones, in alphabetical order; none is imported."""
    path = importlib.import_module(package).__path__
    return sorted(module.name for module in pkgutil.iter_modules(path) if not module.name.startswith("_"))


def load(package: str, name: str) -> ModuleType:
    """Import a module of a package; ``name`` must be one of :func:`names`, for it becomes part of a path."""
    return importlib.import_module(f"{package}.{name}")
