"""Questions to shards and their answers, as bytes.

Ray would take every argument and every answer apart in Python; bytes it sends as they are.
"""

from __future__ import annotations

import pickle
import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from ..retrieval.config import Config
from ..retrieval.domain import Filter, Hit
from ..retrieval.errors import FactseekError

SETTINGS_REMEMBERED = 64
"""Settings whose bytes are remembered: searches that differ in query and filter alone share them."""


class RankingQuestion(NamedTuple):
    """What rankings of a shard, by their names, are asked for.

    ``settings`` are those of the search, as :class:`PackedSettings` packs them; the time left is in seconds, None for
    as long as it takes.
    """

    names: Sequence[str]
    settings: bytes
    queries: Sequence[str]
    k: int
    where: Filter | None
    seconds: float | None


class ShardAnswer(NamedTuple):
    """What a shard answers: a value, or the error that it raised.

    ``unopened``: it has no state of that generation. ``fault`` is the trace of what nobody raised on purpose. What
    answers to opening a state names its ``node``.
    """

    value: Any = None
    error: FactseekError | None = None
    unopened: bool = False
    fault: str = ""
    node: str = ""


def packed(value: Any) -> bytes:
    """Return a value as bytes."""
    return pickle.dumps(value, pickle.HIGHEST_PROTOCOL)


def unpacked(data: bytes) -> Any:
    """Return the value of such bytes, which come from a process of the same cluster, as what Ray unpickles does."""
    return pickle.loads(data)  # noqa: S301


def packed_hits(hits: list[list[Hit]]) -> list[list[list[Any]]]:
    """Return hits as lists of their fields: their class would be looked up for each."""
    lists: list[list[list[Any]]] = msgspec.to_builtins(hits)
    return lists


def unpacked_hits(lists: list[list[list[Any]]]) -> list[list[Hit]]:
    """Return the hits of such lists."""
    return msgspec.convert(lists, list[list[Hit]])


class PackedSettings:
    """Packs settings, each once. Safe for threads."""

    def __init__(self) -> None:
        self._packed: OrderedDict[int, tuple[Config, bytes]] = OrderedDict()
        self._adding = threading.Lock()

    def __call__(self, config: Config) -> bytes:
        """Return settings as bytes."""
        # By identity: settings hold mappings and have no hash. An entry keeps its settings, so no others get their id.
        entry = self._packed.get(id(config))
        if entry is None:
            entry = config, packed(config)
            with self._adding:
                self._packed[id(config)] = entry
                if len(self._packed) > SETTINGS_REMEMBERED:
                    self._packed.popitem(last=False)
        return entry[1]


@lru_cache(maxsize=SETTINGS_REMEMBERED)
def settings_of(data: bytes) -> Config:
    """Return the settings of such bytes."""
    config: Config = unpacked(data)
    return config
