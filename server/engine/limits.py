"""What one worker process of the engine takes: plain numbers, given by whoever starts it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The bounds of one worker: bytes of a body, requests that wait, connections, and seconds of patience.

    ``idle`` is silence between two requests, ``reading`` the time for a request to come whole and for a client that
    takes nothing of its answer. ``changes`` says whether PUT and DELETE have threads of their own.
    """

    body: int
    waiting: int = 64
    connections: int = 2_000
    idle: float = 15.0
    reading: float = 20.0
    changes: bool = False
