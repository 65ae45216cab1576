"""The kills of a run, and the table of them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

import msgspec

from factseek.eval.reports.page import markdown_table

KINDS = {
    "process": "the process of a shard without a replica; until all answer again",
    "node": "a node, two replicas of each shard; until all answer again",
    "worker": "one of two workers of a server; until there are two again and every query is answered",
    "server": "a server with its workers, started again at once; until every query is answered",
    "writer": "a command that deletes or updates; until what it left is opened and answers",
    "reshard": "a command that divides the index anew; until what it left is opened and answers",
    "append": "a command that appends by the cluster; until what it left is opened and answers",
    "appender": "a process that appends to a shard; until the command has ended, with every document",
    "builder": "a process that builds a shard, or its node; until the index is there",
}
"""What can be killed, and until when the seconds are counted."""
HEADER = (
    "killed",
    "kills",
    "answers meanwhile",
    "that named what they lack, or 503",
    "questions without an answer",
    "seconds: p50",
    "at most",
)


class Killed(msgspec.Struct):
    """A kill: what was killed, what was answered meanwhile, and the seconds until all was well.

    ``partial`` answers said that they lack something; ``unanswered`` questions met a connection that broke or was
    refused.
    """

    what: str
    answers: int = 0
    partial: int = 0
    unanswered: int = 0
    seconds: float = 0.0


class WrongAnswerError(Exception):
    """An answer, or an index, that is neither of the state before nor of that after, and does not say so."""


def table(killed: Sequence[Killed]) -> str:
    """Return what came of the kills as a Markdown table."""
    of_kinds = {words: [each for each in killed if each.what == what] for what, words in KINDS.items()}
    rows = [_row(words, some) for words, some in of_kinds.items() if some]
    return markdown_table(HEADER, [*rows, _row("all", killed)]).rstrip("\n")


def _row(words: str, some: Sequence[Killed]) -> list[str]:
    answers, lacking = sum(each.answers for each in some), sum(each.partial for each in some)
    unanswered, seconds = sum(each.unanswered for each in some), [each.seconds for each in some]
    counts = (f"{number:,}" for number in (len(some), answers, lacking, unanswered))
    return [words, *counts, f"{statistics.median(seconds):.1f}", f"{max(seconds):.1f}"]
