"""The index that an integration asks: a folder on this machine, or an index that a server answers from."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..retrieval.domain import ScoredDocids
from ._records import RankedPassage, SearchChoices

SCHEMES = ("http://", "https://")


class EvidenceSource(Protocol):
    """An index as integrations ask it, wherever it lies.

    A query that holds no words has no hits. A source is safe for threads.
    """

    def passages(self, queries: Sequence[str], choices: SearchChoices) -> list[list[RankedPassage]]:
        """Return the hits of each query with their passages, best first.

        Raises QueryError if a query or a choice makes no sense, NotFoundError if there is no such index, MachineError
        if the server cannot be asked.
        """
        ...

    def columns(self, queries: Sequence[str], choices: SearchChoices) -> list[ScoredDocids]:
        """Return the docids and scores of each query, best first: what a run needs. Scores are those of a float32.

        Raises what :meth:`passages` raises.
        """
        ...

    def close(self) -> None:
        """Let go of what is open; asked again, it is opened again."""
        ...


def open_source(index: str, *, api_key: str = "", timeout: float = 30.0) -> EvidenceSource:
    """Return the source of an index: a folder, or the address of a served index (``http://HOST:PORT/v1/NAME``).

    A folder is opened when it is first asked. ``timeout`` is in seconds, for one answer of a server.
    Raises QueryError if an address is none of a served index.
    """
    if index.startswith(SCHEMES):
        from ._served import ServedSource

        return ServedSource(index, api_key=api_key, timeout=timeout)
    from ._local import LocalSource

    return LocalSource(index)
