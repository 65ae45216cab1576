"""Find the fact-check of a statement: whether somebody has checked the same claim before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..core.deadline import CutOffError, Deadline
from ..core.domain import Document, Filter, Hit
from ..core.languages import foreign_language
from ..core.parts import parts_of
from ..retrieval.search.evidence import AnswerPart
from ..retrieval.search.index import Index
from ..retrieval.search.options import Search
from .text.polarity import lexicon, polarity

KINDS = ("claimreview", "claims")
"""The kinds of documents that are fact-checks."""
LIKENESS = 0.46
"""The least likeness of a statement and a fact-check of the same claim.

It was chosen on the train tweets of CheckThat! 2020 task 2, with and without their claim in the
collection. On dev, 95 % of the matches are right, and 40 % of the tweets find their claim:
``python -m benchmarks.checked_before`` measures it.
"""
REVIEWS = Search(k=1, where=Filter(kind=KINDS), profile="tweet")
"""The search for the fact-check of a statement. The first hit of the default retriever is more
often right than the nearest by vectors.
"""
_AT_ONCE = 16
"""The number of statements to search for between two looks at the clock."""


class CheckedBefore(AnswerPart, kw_only=True):
    """A fact-check of the same claim.

    ``index`` is the name of its index, and ``claim`` the claim that was checked. ``rating`` has the
    words of the fact-checker, and ``verdict`` is one of true, mixed, false and unproven; both may
    be empty. ``likeness`` is 0 for texts as near as random ones, and 1 for equal texts.
    """

    index: str
    docid: str
    claim: str
    rating: str
    verdict: str
    publisher: str
    url: str
    date: str
    likeness: float


def has_reviews(index: Index) -> bool:
    """Return whether an index has fact-checks, and vectors to compare statements with them."""
    kinds = {segment.kind for segment in index.info.published.segments}
    tells_likeness = any(
        index.likeness({name: 1.0}) is not None for name in index.resolve(REVIEWS).rankings
    )
    return not kinds.isdisjoint(KINDS) and tells_likeness


def find_checked(
    indexes: Mapping[str, Index], texts: Sequence[str], limit: Deadline | None = None
) -> Iterator[CheckedBefore | None]:
    """Yield, for each text, the fact-check in one of the indexes that is most like it; None if none
    is like it enough.

    After the time limit, it yields no more. Of equally like ones, the first index counts.
    """
    reviewed = {name: index for name, index in indexes.items() if has_reviews(index)}
    for start in range(0, len(texts), _AT_ONCE):
        some = texts[start : start + _AT_ONCE]
        best: list[CheckedBefore | None] = [None] * len(some)
        try:
            for name, index in reviewed.items():
                for number, found in enumerate(_nearest(name, index, some, limit)):
                    known = best[number]
                    if found and (known is None or found.likeness > known.likeness):
                        best[number] = found
        except CutOffError:
            return
        yield from best


def _nearest(
    name: str, index: Index, texts: Sequence[str], limit: Deadline | None
) -> list[CheckedBefore | None]:
    """Return the first fact-check for each text in one index, if it is a match."""
    found = []
    for text, hits in zip(texts, index.search(texts, REVIEWS, limit), strict=True):
        found.append(match(name, index, text, hits[0]) if hits else None)
    return found


def match(name: str, index: Index, text: str, hit: Hit) -> CheckedBefore | None:
    """Return the fact-check of a hit if it is one of the same claim as ``text``, else None.

    ``name`` is the name of the index, and the hit one of a search with :data:`REVIEWS`.
    """
    scores = {part.retriever: part.score for part in hit.parts}
    scores = scores or {index.resolve(REVIEWS).retriever: hit.score}
    likeness = index.likeness(scores)
    if likeness is None or likeness < LIKENESS:
        return None
    checked = _described(name, index.document(hit.docid), likeness)
    if differ_in_negation(text, checked.claim, index.info.language):
        return None
    return checked


def differ_in_negation(text: str, claim: str, language: str) -> bool:
    """Return whether one of two texts is negated and the other is not: the rating of a claim does
    not fit its opposite.
    """
    if foreign_language(text, (language,)):
        return False  # the words that negate are those of the language of the claim
    words = lexicon(language)
    negations = [polarity(each, words).negations for each in (text, claim)]
    return negations[0] % 2 != negations[1] % 2


def _described(index: str, document: Document, likeness: float) -> CheckedBefore:
    claim = parts_of(document.text, document.metadata)[0]
    texts = {field: value for field, value in document.metadata.items() if isinstance(value, str)}
    return CheckedBefore(
        index=index,
        docid=document.docid,
        claim=document.text[claim.start : claim.end],
        rating=texts.get("rating", ""),
        verdict=texts.get("verdict", ""),
        publisher=texts.get("publisher", "") or document.source,
        url=document.url,
        date=document.date,
        likeness=likeness,
    )
