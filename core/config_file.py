"""Read the YAML of a configuration or a description: data alone, with the plain values of YAML 1.2.

In YAML 1.1, which PyYAML reads by default, ``10:30`` is 630, ``010`` is 8 and ``no`` is false.
Here, they are texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import yaml

from .errors import ConfigError
from .files import read_regular

MOST_VALUES = 100_000
"""The maximum number of values of a file, if each alias is replaced by its value."""
_TAG = "tag:yaml.org,2002:"


class _Kind(NamedTuple):
    """A kind of plain values: the pattern of its texts, their first characters, and the value of a
    text.
    """

    pattern: str
    first: tuple[str, ...]
    value_of: Callable[[str], Any]


def _float(text: str) -> float:
    return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))


_DECIMAL = r"((0|[1-9][0-9]*)(\.[0-9]*)?|\.[0-9]+)([eE][-+]?[0-9]+)?"
_KINDS = {
    "null": _Kind(r"~|null|Null|NULL|", ("~", "n", "N", ""), lambda _: None),
    "bool": _Kind(
        r"true|True|TRUE|false|False|FALSE", tuple("tTfF"), lambda text: text.lower() == "true"
    ),
    "int": _Kind(r"[-+]?(0|[1-9][0-9]*)", tuple("-+0123456789"), int),
    "float": _Kind(
        rf"[-+]?({_DECIMAL}|\.(inf|Inf|INF))|\.(nan|NaN|NAN)", tuple("-+.0123456789"), _float
    ),
    "merge": _Kind(r"<<", ("<",), str),
}
"""The kinds of plain values by their tags; ``int`` is before ``float``, whose pattern it matches
too.
"""


def read_yaml(path: Path, noun: str = "configuration file") -> Any:
    """Return the content of a YAML file, None if it is empty.

    Numbers are decimal, as in JSON, and only ``true`` and ``false`` are truth values; a date is a
    text. ``noun`` is the word for the file in a message. Raises ConfigError if the file cannot be
    read or is invalid. The error names the file and, if known, the line.
    """
    try:
        text = read_regular(path).decode("utf-8")
    except FileNotFoundError:
        raise ConfigError(f"there is no such {noun}", place=path) from None
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror}", place=path) from None
    except UnicodeDecodeError:
        raise ConfigError("is not UTF-8 text", place=path) from None
    try:
        return _load(text)
    except RecursionError:
        raise ConfigError("is nested too deeply", place=path) from None
    except ConfigError as error:
        raise ConfigError(error.what, place=f"{path}:{error.place}", remedy=error.remedy) from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        what = f"is not YAML: the character U+{ord(text[error.position]):04X} is not allowed"
        raise ConfigError(what, place=f"{path}:{line}") from None
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f"{path}:{mark.line + 1}" if mark else path
        raise ConfigError(f"is not YAML: {getattr(error, 'problem', error)}", place=place) from None
    # An escape such as "\UFFFFFFFF", or a number of too many digits.
    except (ValueError, OverflowError) as error:
        raise ConfigError(f"contains an invalid value: {error}", place=path) from None


def _load(text: str) -> Any:
    loader = _Loader(text)
    try:
        root = loader.get_single_node()
        if root is None:
            return None
        _check_node(root, {})
        return loader.construct_document(root)
    finally:
        loader.dispose()


def _check_node(node: yaml.Node, sizes: dict[yaml.Node, int]) -> int:
    """Return the number of values in a node, with each alias replaced by its value; ``sizes``
    remembers the numbers.

    Raises ConfigError if they are too many, if a mapping repeats a key, or if a value contains
    itself.
    """
    line = node.start_mark.line + 1
    if node in sizes:
        if not sizes[node]:
            raise ConfigError(
                "a value contains an alias of itself", place=line, remedy="write it out"
            )
        return sizes[node]
    sizes[node] = 0  # a mark for a node whose parts are being counted
    parts: list[yaml.Node] = []
    if isinstance(node, yaml.MappingNode):
        _check_keys(node)
        parts = [part for pair in node.value for part in pair]
    elif isinstance(node, yaml.SequenceNode):
        parts = node.value
    size = 1 + sum(_check_node(part, sizes) for part in parts)
    if size > MOST_VALUES:
        what = f"has more than {MOST_VALUES:,} values with its aliases written out"
        raise ConfigError(what, place=line, remedy="use fewer aliases")
    sizes[node] = size
    return size


def _check_keys(mapping: yaml.MappingNode) -> None:
    """Raise ConfigError if a mapping repeats a key, because PyYAML would keep its last value."""
    lines: dict[tuple[str, str], int] = {}
    for key, _ in mapping.value:
        if isinstance(key, yaml.ScalarNode):
            name, line = (key.tag, key.value), key.start_mark.line + 1
            if name in lines:
                what = f"the key {key.value!r} is already on line {lines[name]}"
                raise ConfigError(what, place=line, remedy="keep one")
            lines[name] = line


class _Loader(yaml.SafeLoader):
    """Reads mappings, lists, texts and the kinds of :data:`_KINDS`, and refuses other tags."""

    # PyYAML adds to these dictionaries. They are not those of SafeLoader, which knows more kinds
    # and tags.
    yaml_implicit_resolvers = {}  # noqa: RUF012
    yaml_constructors: ClassVar[dict[str | None, Any]] = {
        _TAG + "seq": yaml.SafeLoader.construct_yaml_seq,
        _TAG + "map": yaml.SafeLoader.construct_yaml_map,
        None: yaml.SafeLoader.construct_undefined,
    }


def _text(loader: _Loader, node: yaml.ScalarNode) -> str:
    text = str(loader.construct_scalar(node))
    try:
        # A character may be escaped as a pair of surrogates, as in JSON.
        return text.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        what = "a text has half of a surrogate pair"
        raise ConfigError(
            what, place=node.start_mark.line + 1, remedy="write the character itself"
        ) from None


def _plain(loader: _Loader, node: yaml.ScalarNode) -> Any:
    """Return the value of a node of one of the kinds; its tag may be written, so its text need not
    fit.
    """
    name = node.tag.removeprefix(_TAG)
    kind, text, line = _KINDS[name], str(node.value), node.start_mark.line + 1
    if not re.fullmatch(kind.pattern, text):
        raise ConfigError(
            f"{text[:80]!r} is no {name}", place=line, remedy=f"leave out the tag !!{name}"
        )
    try:
        return kind.value_of(text)
    except ValueError:
        raise ConfigError("a number has too many digits", place=line) from None


for _name, _kind in _KINDS.items():
    _Loader.add_implicit_resolver(
        _TAG + _name, re.compile(rf"(?:{_kind.pattern})\Z"), list(_kind.first)
    )
    _Loader.add_constructor(_TAG + _name, _plain)
_Loader.add_constructor(_TAG + "str", _text)
