"""Claims named by topic and tweet: the inputs of the evidence and verification tasks of CheckThat! 2020."""

from __future__ import annotations

from pathlib import Path

from ...retrieval.errors import SourceError
from ...retrieval.lines import shown
from .queries import TaskQuery
from .tweets import Tweet, read_tweets


def key(topic: str, tweet_id: str) -> str:
    """Return the qid of a claim: ``topic/tweet``."""
    return f"{topic}/{tweet_id}"


def read_claims(path: Path) -> list[Tweet]:
    """Read claims in their order.

    Raises SourceError if one has no topic, or comes twice.
    """
    claims = read_tweets(path)
    first: dict[str, int] = {}
    for claim in claims:
        if len(claim.topic.split()) != 1:
            raise SourceError(f"tweet {shown(claim.tweet_id)} has no topic_id", place=f"{path}:{claim.line}")
        qid = key(claim.topic, claim.tweet_id)
        if qid in first:
            raise SourceError(f"claim {shown(qid)} is on line {first[qid]} already", place=f"{path}:{claim.line}")
        first[qid] = claim.line
    return claims


def as_queries(claims: list[Tweet]) -> list[TaskQuery]:
    """Return claims as queries named by topic and tweet."""
    return [TaskQuery(key(claim.topic, claim.tweet_id), claim.text, claim.topic, claim.date) for claim in claims]
