"""The inputs of a task."""

from __future__ import annotations

from typing import NamedTuple


class TaskQuery(NamedTuple):
    """One input of a task: ``qid`` is what a :data:`factseek.retrieval.domain.Run` names it by; unknown is ``""``."""

    qid: str
    text: str
    topic: str = ""
    date: str = ""
