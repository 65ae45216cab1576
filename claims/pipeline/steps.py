"""The whole pipeline: statements by how far they are worth checking, evidence for the first, and a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec

from ...retrieval.domain import Claim, Statement
from ...retrieval.profile import tweet
from ...retrieval.progress import Progress
from ..checkworthiness.rankers import Ranker
from ..checkworthiness.ranking import Ranked, Weight, explain, rank
from ..verdicts.verdict import Verdict, Verifier, record

_WORDS = 5
"""Words that are named for having weighed most in the ranking."""


class Checked(NamedTuple):
    """A statement with its place among all and the verdict on it; ``words`` are those that weighed most."""

    ranked: Ranked
    words: list[Weight]
    verdict: Verdict


def check(
    ranker: Ranker, verifier: Verifier, statements: Sequence[Statement], top: int, progress: Progress
) -> list[Checked]:
    """Return the ``top`` statements that are most worth checking, in that order, each with the verdict on it.

    Evidence is searched for with a statement's words, without addresses, accounts and the like.
    """
    first = rank(ranker, statements)[:top]
    claims = [_claim(ranked.statement) for ranked in first]
    bar = progress("finding evidence", "claims", len(claims))
    try:
        verdicts = list(verifier.verify(claims, bar))
    finally:
        bar.close()
    return [
        Checked(ranked, explain(ranker, ranked.statement, _WORDS) if ranker.explains else [], verdict)
        for ranked, verdict in zip(first, verdicts, strict=True)
    ]


def json_line(checked: Checked) -> str:
    """Return a checked statement as a JSON line."""
    return msgspec.json.encode(_record(checked)).decode() + "\n"


def _record(checked: Checked) -> dict[str, Any]:
    ranked = checked.ranked
    return {
        "rank": ranked.rank,
        "id": ranked.statement.qid,
        "topic": ranked.statement.topic,
        "speaker": ranked.statement.speaker,
        "text": ranked.statement.text,
        "check_worthiness": {
            "score": ranked.score,
            "probability": ranked.probability,
            "words": [{"word": word, "weight": round(weight, 4)} for word, weight in checked.words],
        },
        "verdict": record(checked.verdict),
    }


def _claim(statement: Statement) -> Claim:
    return Claim(statement.qid, tweet(statement.text), topic=statement.topic, place=statement.place)
