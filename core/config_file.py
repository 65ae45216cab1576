"""Read the YAML of a configuration file: it may contain only data, and a repeated key is an
error.
"""

from __future__ import annotations

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from .errors import ConfigError
from .files import read_regular


def read_yaml(path: Path, noun: str = "configuration file") -> Any:
    """Return the content of a YAML file, None if it is empty.

    ``noun`` is the word for the file in a message. Raises ConfigError if the file cannot be read or
    is invalid. The error names the file and, if known, the line.
    """
    try:
        # It makes nothing that SafeLoader does not.
        return yaml.load(read_regular(path).decode("utf-8"), _UniqueKeyLoader)  # noqa: S506
    except FileNotFoundError:
        raise ConfigError(f"there is no such {noun}", place=path) from None
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", place=path) from None
    except UnicodeDecodeError:
        raise ConfigError("is not UTF-8 text", place=path) from None
    except RecursionError:
        raise ConfigError("is nested too deeply", place=path) from None
    except ConfigError as error:
        raise ConfigError(error.what, place=f"{path}:{error.place}", remedy=error.remedy) from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{path}:{mark.line + 1}" if mark else path
        raise ConfigError(f"is not YAML: {getattr(error, 'problem', error)}", place=place) from None
    except ValueError as error:  # an invalid date, or a number of too many digits
        raise ConfigError(f"contains an invalid value: {error}", place=path) from None


class _UniqueKeyLoader(yaml.SafeLoader):
    """Reads what SafeLoader reads, but refuses a mapping that repeats a key; SafeLoader keeps the
    last value.
    """

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        lines: dict[tuple[str, str], int] = {}
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode):
                name, line = (key.tag, key.value), key.start_mark.line + 1
                if name in lines:
                    what = f"the key {key.value!r} is already on line {lines[name]}"
                    raise ConfigError(what, place=line, remedy="keep one")
                lines[name] = line
        return super().construct_mapping(node, deep)
