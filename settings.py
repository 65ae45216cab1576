"""All settings together: everything that a configuration file may hold, whichever command reads
it.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from .core import settings
from .server.settings import Config

__all__ = ["Config", "convert", "read", "read_config"]


def read_config(path: str | Path | None = None) -> Config:
    """Read the configuration: ``path``, else ``$FACTSEEK_CONFIG``, else ``./factseek.yaml``, else
    ``./config.yaml``.

    If none of these is given or exists, return the defaults. A ``config.yaml`` without a factseek
    setting is ignored, and a line on standard error says so. Paths in the file are relative to the
    file's folder. Raises ConfigError, with the file and the dotted key, if the file cannot be read
    or a setting is wrong.
    """
    return settings.load(path, Config)


read = partial(settings.read, kind=Config)
convert = partial(settings.convert, kind=Config)
