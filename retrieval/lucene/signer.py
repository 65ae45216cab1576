"""Sign the passages of a segment in a thread of Java, while Python continues to read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

from ...core.errors import MachineError
from ..store.signatures import BITS, orders
from .characters import teach_java
from .jvm import call_java, java, pack

_TEXTS_AT_ONCE, _CHARACTERS_AT_ONCE = 4_096, 1 << 20


class Signer:
    """Makes the signatures of :func:`factseek.retrieval.store.signatures.signatures_of`.

    Java signs a batch of texts while the next one is gathered. The methods raise MachineError if
    Java has too little memory, but perhaps only when later texts are added.
    """

    def __init__(self, folder: Path) -> None:
        """Open a signer; ``folder`` is the place for messages."""
        self._folder = folder
        factors, shifts = orders()
        self._signer: int = java("Signer").open(factors.tobytes(), shifts.tobytes(), BITS)
        self._gathered: list[str] = []
        self._size = 0

    def add(self, text: str) -> bytes:
        """Add a text; return the stored form of the signatures of earlier texts that are ready."""
        if not text.isascii():
            teach_java()
            text = text.casefold()
        self._gathered.append(text)
        self._size += len(text)
        is_full = len(self._gathered) >= _TEXTS_AT_ONCE or self._size >= _CHARACTERS_AT_ONCE
        return self._hand_over() if is_full else b""

    def end(self) -> bytes:
        """Start the last work in the background; return the signatures that are ready."""
        return self._hand_over()

    def finish(self) -> bytes:
        """Wait for the signatures of the last texts, return them and close the signer."""
        return self._call_java(partial(java("Signer").finish, self._signer))

    def abandon(self) -> None:
        """Close without the remaining signatures; a second call does nothing."""
        java("Handles").close(self._signer)

    def _hand_over(self) -> bytes:
        texts, self._gathered, self._size = pack(self._gathered), [], 0
        return self._call_java(partial(java("Signer").add, self._signer, texts))

    def _call_java(self, call: Callable[[], str]) -> bytes:
        signed = call_java(call, self._folder, MachineError, "its passages cannot be signed ({})")
        return signed.encode("latin-1")
