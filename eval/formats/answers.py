"""The documents and scores of each query, as written into a submission and as read from one."""

from __future__ import annotations

from typing import NamedTuple

from ...retrieval.domain import Columns, Run
from ...retrieval.run_reader import ScoreTable
from ...retrieval.run_writer import best_documents

Answer = tuple[str, Columns]
"""A qid and the documents found for it."""


def answers_of(run: Run) -> list[Answer]:
    """Return the documents of the hits of each query.

    Raises QueryError if a score is not finite.
    """
    return [(qid, best_documents(hits)) for qid, hits in run.items()]


class RunScores(NamedTuple):
    """The scores of a run, and notes on oddities of its file for whoever reads the figures."""

    table: ScoreTable
    notes: tuple[str, ...] = ()
