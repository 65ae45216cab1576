"""All settings, composed: what a configuration file may say, whichever command reads it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .retrieval import config
from .server.settings import Config

__all__ = ["Config", "convert", "load", "read"]


def load(path: str | Path | None = None) -> Config:
    """Read the configuration: ``path``, else ``$FACTSEEK_CONFIG``, else ``./factseek.yaml``, else ``./config.yaml``.

    Without any of them it is the defaults. A ``config.yaml`` that says nothing of ours is passed over with a line on
    standard error. Paths in the file are taken from the file's own folder.
    Raises ConfigError, naming file and dotted key, if the file cannot be read or a setting is wrong.
    """
    return config.load(path, Config)


def read(path: Path) -> Config:
    """Read one configuration file.

    Raises ConfigError, naming file and dotted key.
    """
    return config.read(path, Config)


def convert(raw: Any, place: str) -> Config:
    """Return the Config of ``raw``, the mapping that a configuration file holds, after checking it.

    Raises ConfigError, naming ``place`` and the dotted key.
    """
    return config.convert(raw, place, Config)
