"""The index that an integration asks: a folder on this machine, or an index on a server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..retrieval.domain import ScoredDocids
from ._records import RankedPassage, SearchChoices

SCHEMES = ("http://", "https://")


class EvidenceSource(Protocol):
    """An index as integrations see it, in a folder or on a server.

    A query without words has no hits. A source is safe for threads.
    """

    def passages(self, queries: Sequence[str], choices: SearchChoices) -> list[list[RankedPassage]]:
        """Return the hits of each query with their passages, best first.

        Raises QueryError if a query or a choice is invalid, NotFoundError if there is no such index, MachineError if
        the server cannot be reached.
        """
        ...

    def columns(self, queries: Sequence[str], choices: SearchChoices) -> list[ScoredDocids]:
        """Return the docids and scores of each query, best first, as a run needs them. Scores have float32 precision.

        Raises what :meth:`passages` raises.
        """
        ...

    def close(self) -> None:
        """Close what is open; the next search opens it again."""
        ...


def open_source(index: str, *, api_key: str = "", timeout: float = 30.0) -> EvidenceSource:
    """Return the source of an index: a folder, or the address of a served index (``http://HOST:PORT/v1/NAME``).

    A folder is opened at the first search. ``timeout`` is in seconds, for one answer of a server.
    Raises QueryError if ``index`` is a web address but not one of a served index.
    """
    if index.startswith(SCHEMES):
        from ._served import ServedSource

        return ServedSource(index, api_key=api_key, timeout=timeout)
    from ._local import LocalSource

    return LocalSource(index)
