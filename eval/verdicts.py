"""Claims to verify, with what is right of them where that is said, and the verdicts that are handed in."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from ..retrieval.domain import Claim
from ..retrieval.errors import SourceError
from ..retrieval.lines import Strict, shown
from .formats.claims import key, read_claims
from .formats.lines import json_objects, text_lines
from .formats.tweets import VERDICTS
from .tasks import ct2020_verification, fever

TASKS: tuple[str, ...] = ("ct2020-verification", "fever")
"""The tasks that ask for verdicts."""

LABELS: dict[str, tuple[str, ...]] = {TASKS[0]: ct2020_verification.LABELS, TASKS[1]: fever.LABELS}
"""What a verdict of each task may be."""


def read(name: str, path: Path, *, labelled: bool) -> list[Claim]:
    """Read the claims of a task in their order.

    Raises SourceError at the first that is empty or, if they are to be ``labelled``, has no label of the task's.
    """
    if name == "fever":
        return _fever(path, labelled)
    return _tweets(path, labelled)


def write(name: str, records: Iterable[tuple[Claim, str, Sequence[tuple[str, int]]]], path: Path, run_id: str) -> None:
    """Write claim, label and sentences (document and number) of each verdict as the task's submission.

    Raises QueryError if a label is none of the task's, or an id cannot stand in the file.
    """
    if name == "fever":
        fever.write(((claim.qid, label, evidence) for claim, label, evidence in records), path, run_id)
        return
    rows = ((claim.topic, claim.qid.removeprefix(key(claim.topic, "")), label) for claim, label, _ in records)
    ct2020_verification.write(rows, path, run_id)


def _fever(path: Path, labelled: bool) -> list[Claim]:
    claims = [Claim(query.qid, query.text) for query in fever.read_queries(path)]
    lines = [number for number, _ in json_objects(path, Strict(path))]
    claims = [claim._replace(place=f"{path}:{line}") for claim, line in zip(claims, lines, strict=True)]
    if not labelled:
        return claims
    _require(path, _keys(path), ("label",))
    truths = fever.read_gold([path])
    return [
        claim._replace(label=truth.label, groups=_named(truth)) for claim, truth in zip(claims, truths, strict=True)
    ]


def _named(truth: fever.Truth) -> tuple[tuple[tuple[str, int], ...], ...]:
    """Return the groups that name sentences; a claim without evidence has one that names none."""
    groups = ([(page, line) for page, line in group if page is not None and line is not None] for group in truth.groups)
    return tuple(tuple(group) for group in groups if group)


def _tweets(path: Path, labelled: bool) -> list[Claim]:
    tweets = read_claims(path)
    if labelled and not any(tweet.verdict for tweet in tweets):
        _require(path, _columns(path), VERDICTS)
    faults = Strict(path)
    found = []
    for tweet in tweets:
        label = tweet.verdict.upper() if labelled else ""
        if labelled and label not in ct2020_verification.LABELS:
            faults.error(tweet.line, f"label {shown(tweet.verdict)} is neither TRUE nor FALSE")
        qid = key(tweet.topic, tweet.tweet_id)
        found.append(Claim(qid, tweet.text, topic=tweet.topic, label=label, place=f"{path}:{tweet.line}"))
    return found


def _require(path: Path, there: Sequence[str], wanted: Sequence[str]) -> None:
    """Raise SourceError if none of the columns that are wanted is there, or none says anything."""
    if not set(wanted) & {name.strip('" ').lower() for name in there}:
        raise SourceError(
            f"{path}:1: has no labels: its columns are {', '.join(there)}; looked for {', '.join(wanted)}"
        )


def _columns(path: Path) -> list[str]:
    first = next(text for _, text in text_lines(path, Strict(path)) if text.strip())
    return _keys(path) if first.lstrip().startswith("{") else [cell.strip() for cell in first.split("\t")]


def _keys(path: Path) -> list[str]:
    """Name the keys of the first JSON object of a file."""
    return list(next(row for _, row in json_objects(path, Strict(path))))
