"""Readiness: each index has answered a real search, and nothing has been heard against it since."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

from ...retrieval.errors import FactseekError
from ...retrieval.searcher import Search

if TYPE_CHECKING:
    from ...retrieval.index.local import Index

READY = "ready"
UNAVAILABLE = "unavailable"
GONE = "gone"
"""The directory of the index is not there any more; what was opened of it may still answer."""
_log = logging.getLogger("factseek.server")


class Readiness:
    """The state of each index: whether it can be searched. Safe for threads.

    An index whose state nobody has recorded is asked for a search until it has answered one.
    """

    def __init__(self, indexes: Mapping[str, Index]) -> None:
        self._indexes = indexes
        self._states: dict[str, str] = {}
        self._asking = threading.Lock()

    def states(self) -> dict[str, str]:
        """Return the state of each index: ``ready``, ``unavailable`` or ``gone``."""
        if any(self._states.get(name) is None for name in self._indexes):
            with self._asking:
                for name in [name for name in self._indexes if self._states.get(name) is None]:
                    self._ask(name)
        return {name: self._states.get(name, UNAVAILABLE) for name in {**self._indexes, **self._states}}

    def record(self, name: str, state: str) -> None:
        """Keep ``state`` as the state of an index, which is asked for no search any more."""
        self._states[name] = state

    def _ask(self, name: str) -> None:
        if answers(name, self._indexes[name]):
            self._states[name] = READY


def answers(name: str, index: Index) -> bool:
    """Return whether an index answers a search that opens all of its parts; log what goes wrong."""
    try:
        hits = index.search([_some_words(index)], Search(k=1))[0]
        index.evidence("", hits)
        for ranking in index.info.retrievers:  # so that no user waits for what is measured of a ranking once
            alone = Search(k=1, retriever=ranking)
            if index.resolve(alone).rankings == (ranking,):
                index.evidence("", index.search([_some_words(index)], alone)[0], alone)
    except FactseekError as error:
        _log.error("%s is not ready: %s", name, error.line)
    except Exception:  # noqa: BLE001  a damaged index may raise anything: the others go on
        _log.exception("%s is not ready", name)
    else:
        return True
    return False


def _some_words(index: Index) -> str:
    """Return words that the index can be asked for: the beginning of its first document."""
    document = next(index.documents(), None)
    words = f"{document.title} {document.text}"[:200] if document else ""
    return words if any(map(str.isalnum, words)) else "evidence"
