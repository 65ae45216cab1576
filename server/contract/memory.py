"""The memory that making an answer takes, charged to what a worker may spend before it is taken."""

from __future__ import annotations

import sys
from typing import Protocol

from flask import request

from ...retrieval.domain import Document
from ...retrieval.limit import WRITTEN
from ...retrieval.searcher import Searcher
from .errors import RefusedError

MEMORY = "engine.memory"
"""The key of an environ under which whoever runs the application leaves the :class:`Spendable` of a request."""


class Spendable(Protocol):
    """What a request holds of the memory that a worker may spend."""

    def take(self, size: int) -> bool:
        """Take more; return whether it could be had."""
        ...

    def give_back(self, size: int) -> None:
        """Give back so many bytes of what is held."""
        ...


class NoMemoryError(RefusedError):
    """There is no memory for what is asked beside what others are being answered."""

    status, slug = 503, "overloaded"

    def __init__(self) -> None:
        super().__init__("requests and answers fill the memory that this server has for them; try again", retry_after=1)


class AnswerMemory:
    """What one request may spend on its answer; without the engine that counts it, as much as it needs."""

    def __init__(self, charge: Spendable | None) -> None:
        self._charge = charge

    def spend(self, size: int) -> None:
        """Charge so many bytes.

        Raises NoMemoryError if they cannot be had.
        """
        if self._charge is not None and not self._charge.take(size):
            raise NoMemoryError

    def give_back(self, size: int) -> None:
        """Give back so many bytes."""
        if self._charge is not None:
            self._charge.give_back(size)


class PartMemory:
    """What one part of a streamed answer holds of the memory: taken while it is made, given back as it is sent."""

    def __init__(self, memory: AnswerMemory, most: int | None = None) -> None:
        """Hold nothing yet; a part that needs more than ``most`` bytes is refused whatever there is."""
        self._memory = memory
        self._most = most
        self._held = self._spent = self._needed = 0

    def spend(self, size: int) -> None:
        """Charge so many bytes.

        Raises NoMemoryError if they cannot be had, or are too many for one part.
        """
        spent = self._spent + size
        self._needed = max(self._needed, spent)
        if self._most is not None and spent > self._most:
            raise NoMemoryError
        self._hold(spent)
        self._spent = spent

    def give_back(self, size: int) -> None:
        """Let what follows in the same part use so many bytes again."""
        self._spent -= size

    def take_again(self) -> None:
        """Take at once what the part was found to need before it was refused.

        Raises NoMemoryError if that cannot be had: so nothing is read to no purpose.
        """
        self._spent = 0
        self._hold(self._needed)

    def keep(self, size: int) -> None:
        """Give back all but so many bytes."""
        if size < self._held:
            self._memory.give_back(self._held - size)
            self._held = size

    def _hold(self, size: int) -> None:
        if size > self._held:
            self._memory.spend(size - self._held)
            self._held = size


def answer_memory() -> AnswerMemory:
    """Return the memory of the current request."""
    return AnswerMemory(request.environ.get(MEMORY))


def charged_document(index: Searcher, docid: str) -> Document:
    """Return a document after charging what it takes to write it out.

    Raises NotFoundError if there is none of this id, NoMemoryError if there is no memory for it.
    """
    document = index.document(docid)
    answer_memory().spend((1 + WRITTEN) * sys.getsizeof(document.text))
    return document
