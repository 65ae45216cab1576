"""The arguments that commands share that read an index, and the settings that a command runs
with.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import msgspec

from ..core.settings import AnyConfig, load, view
from ..core.terminal import add_config
from .config import Config


def add_index(parser: argparse.ArgumentParser) -> None:
    """Add ``--index`` and ``--config``."""
    parser.add_argument(
        "--index", type=Path, required=True, metavar="DIR", help="the index directory"
    )
    add_config(parser)


def add_verify(parser: argparse.ArgumentParser) -> None:
    """Add ``--verify``."""
    parser.add_argument(
        "--verify",
        action="store_true",
        help="check every file of the index against its checksum first",
    )


def add_filter(parser: argparse.ArgumentParser, what: str = "only documents") -> None:
    """Add ``--filter``; ``what`` is the beginning of its help."""
    parser.add_argument(
        "--filter",
        action="append",
        default=[],
        metavar="FIELD=VALUE",
        help=f"{what} with this value; repeatable: values of one field are alternatives, different "
        "fields must all"
        " match; fields: topic, source, language, kind and those of index --filter-field",
    )


def config_of(args: argparse.Namespace, kind: type[AnyConfig]) -> AnyConfig:
    """Return the groups of the class ``kind`` from the settings of :func:`full_config_of`."""
    return view(full_config_of(args), kind)


def full_config_of(args: argparse.Namespace) -> Config:
    """Return all settings from the configuration of ``--config``, with ``--verify`` if the command
    has it.

    The program sets ``config_type`` to the class of all settings, so one file works for every
    command. Raises ConfigError if the file cannot be read or a setting is invalid.
    """
    kind: type[Config] = args.config_type
    config = load(args.config, kind)
    if getattr(args, "verify", False):
        config = msgspec.structs.replace(
            config, index=msgspec.structs.replace(config.index, verify=True)
        )
    return config
