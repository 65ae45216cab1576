"""Readiness: each index has answered a real search."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping

from retrieval.errors import FactseekError
from retrieval.index import Index, Search

READY = "ready"
_log = logging.getLogger("factseek.server")


class Readiness:
    """Asks each index for a search until it has answered one. Safe for threads."""

    def __init__(self, indexes: Mapping[str, Index]) -> None:
        self._indexes = indexes
        self._ready: set[str] = set()
        self._asking = threading.Lock()

    def states(self) -> dict[str, str]:
        """Say of each index ``ready`` or ``unavailable``, asking those that have not answered yet."""
        if len(self._ready) < len(self._indexes):
            with self._asking:
                for name in self._indexes.keys() - self._ready:
                    self._ask(name)
        return {name: READY if name in self._ready else "unavailable" for name in self._indexes}

    def _ask(self, name: str) -> None:
        index = self._indexes[name]
        try:
            hits = index.search([_words(index)], Search(k=1))[0]
            index.evidence("", hits)
        except FactseekError as error:
            _log.error("%s is not ready: %s", name, error.line)
        except Exception:  # noqa: BLE001  a damaged index may raise anything: the others go on
            _log.exception("%s is not ready", name)
        else:
            self._ready.add(name)


def _words(index: Index) -> str:
    """Return words that the index can be asked for: the beginning of its first document."""
    for segment in index.segments:
        for document in segment.documents.each():
            words = f"{document.title} {document.text}"[:200]
            return words if any(map(str.isalnum, words)) else "evidence"
    return "evidence"
