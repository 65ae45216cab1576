"""Limits of one worker process of the engine: plain numbers, set by the program that starts it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The bounds of one worker.

    Bytes: ``body`` of one body, ``memory`` of all bodies being read and all answers being made or waiting to be read.
    Numbers: ``threads`` that answer, requests ``waiting`` for one, ``connections``, and ``descriptors`` that the
    system grants the process (0: unknown). Seconds: ``idle`` is silence between two requests, ``reading`` the time for
    a request to come whole and for a client that takes nothing of its answer, ``answering`` that for a whole answer to
    be taken. ``changes`` says whether PUT and DELETE have threads of their own, and
    so have POSTs to the addresses of ``changing``.
    """

    body: int
    memory: int = 100_000_000
    threads: int = 4
    waiting: int = 64
    connections: int = 2_000
    descriptors: int = 0
    idle: float = 15.0
    reading: float = 20.0
    answering: float = 600.0
    changes: bool = False
    changing: frozenset[bytes] = frozenset()
