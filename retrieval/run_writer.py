"""Say hits as lines of a run: in the total order, each document once, scores in digits that read back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import accumulate, pairwise
from operator import gt
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import numpy as np

from retrieval.domain import Hit
from retrieval.errors import QueryError
from retrieval.lines import shown
from retrieval.order import float32, ordered
from retrieval.run_reader import LARGEST

if TYPE_CHECKING:
    from numpy.typing import NDArray

_POWERS = np.array([float(f"1e{exponent}") for exponent in range(23)])
"""Powers of ten that a float64 holds exactly."""

_PLAIN = (1e-4, 1e7)
"""From the first to below the second, numbers are written without an exponent, and their powers are in ``_POWERS``."""


class Answers(NamedTuple):
    """The hits of several queries in the total order, a document once a query.

    ``docids`` and ``scores`` run over all queries; those of query ``at`` begin at ``starts[at]`` and end at
    ``starts[at + 1]``.
    """

    starts: list[int]
    docids: list[str]
    scores: NDArray[np.float32]


def run_lines(qid: str, hits: Iterable[Hit], tag: str) -> str:
    """Say the hits of one query as lines of a TREC run.

    A document is named once, by its best passage. Scores read back to the same float32, and the order of ranks is
    the order of scores. Raises QueryError if an id or the tag cannot stand in a column.
    """
    return runs_lines([(qid, list(hits))], tag)[0]


def runs_lines(answers: Sequence[tuple[str, Sequence[Hit]]], tag: str) -> list[str]:
    """Say the hits of several queries as :func:`run_lines` does; together they take half the time."""
    starts, docids, scores = in_order([hits for _, hits in answers])
    columns([tag, *(qid for qid, _ in answers)])
    columns(docids)
    texts = score_texts(scores)
    return [
        _lines(qid, docids[a:b], texts[a:b], tag) for (qid, _), a, b in zip(answers, starts, starts[1:], strict=False)
    ]


def _lines(qid: str, docids: list[str], scores: list[str], tag: str) -> str:
    pieces = [f" {tag}\n{qid} Q0 "] * (4 * len(docids))
    pieces[0::4] = docids
    pieces[1::4] = _ranks(len(docids))
    pieces[2::4] = scores
    return f"{qid} Q0 {''.join(pieces[:-1])} {tag}\n" if pieces else ""


def best_documents(hits: Iterable[Hit]) -> tuple[list[str], NDArray[np.float32]]:
    """Return docids and scores, rounded to float32, in the total order; a document stands by its best passage.

    Raises QueryError if a score is not finite.
    """
    _, docids, scores = in_order([list(hits)])
    return docids, scores


def in_order(rankings: Sequence[Sequence[Hit]]) -> Answers:
    """Put the hits of each query into the total order of their float32 scores, a document by its best passage.

    Raises QueryError if a score is not finite.
    """
    starts = list(accumulate(map(len, rankings), initial=0))
    docids = [hit.docid for hits in rankings for hit in hits]
    wide = np.fromiter((hit.score for hits in rankings for hit in hits), np.float64, len(docids))
    if not (np.abs(wide) <= LARGEST).all():
        raise QueryError("a score is not a finite number: it cannot be written")
    answers = Answers(starts, docids, wide.astype(np.float32))
    # What a retriever gives is in order already; to sort is for the rankings of others.
    return answers if _ordered(answers) else in_order([_sorted(hits) for hits in rankings])


def _sorted(hits: Sequence[Hit]) -> list[Hit]:
    scores = float32(hit.score for hit in hits)
    best: dict[str, Hit] = {}
    for hit in ordered(Hit(hit.docid, score, hit.passage) for hit, score in zip(hits, scores, strict=True)):
        best.setdefault(hit.docid, hit)
    return list(best.values())


def score_texts(scores: NDArray[np.float32]) -> list[str]:
    """Say float32 scores without an exponent, in few digits that read back to the same float32."""
    wide = scores.astype(np.float64)
    size = np.abs(wide)
    plain = (size >= _PLAIN[0]) & (size < _PLAIN[1])
    texts = _plain_texts(np.where(plain, wide, 1.0))
    for at in np.flatnonzero(~plain).tolist():
        texts[at] = np.format_float_positional(scores[at], unique=True, trim="0")
    return texts


def _plain_texts(values: NDArray[np.float64]) -> list[str]:
    """Say the values of float32, of a size that is written without an exponent."""
    # The decimal of seven digits that is nearest, as the float64 whose own text it is; where that is another float32,
    # the one of eight, and last of nine digits, which tell any two float32 apart.
    exponents = np.floor(np.log10(np.abs(values))).astype(np.int64)
    said = values
    for digits in (9, 8, 7):
        power = _POWERS[np.maximum(digits - 1 - exponents, 0)]
        nearest = np.rint(values * power) / power
        said = np.where(nearest.astype(np.float32) == values, nearest, said)
    text = msgspec.json.encode(said.tolist()).decode()
    return text[1:-1].split(",") if len(values) else []


def column(value: str) -> str:
    """Return ``value`` if it can stand in a column of a file.

    Raises QueryError if it is empty, holds white space or cannot be written as UTF-8.
    """
    if value.isascii() and value.isalnum():
        return value
    if not value or len(value.split()) != 1 or value.strip() != value or "\0" in value:
        raise QueryError(f"{shown(value)} is empty or holds white space: it cannot stand in a column of a file")
    if not encodable(value):
        raise QueryError(f"{shown(value)} is not text that UTF-8 can write: it cannot stand in a column of a file")
    return value


def columns(values: Sequence[str]) -> None:
    """Refuse values that cannot stand in a column of a file.

    Raises QueryError at the first that is empty, holds white space or cannot be written as UTF-8.
    """
    text = " ".join(values)
    # One look at all, as the ids of a run are many: what is printable has no white space but blanks, and no surrogates.
    apart = text and text.count(" ") == len(values) - 1 and "  " not in text and text == text.strip()
    if not (apart and text.isprintable()):
        for value in values:
            column(value)


def encodable(text: str) -> bool:
    """Tell whether UTF-8 can write a text: a lone half of a surrogate pair, as JSON's escapes allow, it cannot."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _ordered(answers: Answers) -> bool:
    """Tell whether hits are in the total order already, no document twice for a query."""
    starts, docids, scores = answers
    within = np.ones(max(len(docids) - 1, 0), dtype=np.bool_)
    within[[start - 1 for start in starts if 0 < start < len(docids)]] = False
    if (within & (scores[1:] > scores[:-1])).any():
        return False
    tied = np.flatnonzero(within & (scores[1:] == scores[:-1]))
    before, after = (map(docids.__getitem__, rows.tolist()) for rows in (tied, tied + 1))
    return all(map(gt, before, after)) and sum(len(set(docids[a:b])) for a, b in pairwise(starts)) == len(docids)


@lru_cache(maxsize=4)
def _ranks(count: int) -> tuple[str, ...]:
    return tuple(f" {rank} " for rank in range(1, count + 1))
