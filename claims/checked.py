"""Find the fact-check of a statement: whether somebody has checked the same claim before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..core.deadline import CutOffError, Deadline
from ..core.domain import Document, Filter
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
    return not kinds.isdisjoint(KINDS) and bool(_rankings(index))


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


def _rankings(index: Index) -> list[str]:
    """Return the rankings of an index whose scores tell how like two texts are."""
    return [name for name in index.info.retrievers if index.likeness({name: 1.0}) is not None]


def _nearest(
    name: str, index: Index, texts: Sequence[str], limit: Deadline | None
) -> list[CheckedBefore | None]:
    """Return the nearest fact-check of each text in one index, if it is near enough."""
    nearest: list[tuple[float, str]] = [(LIKENESS, "")] * len(texts)
    for ranking in _rankings(index):
        options = Search(k=1, retriever=ranking, where=Filter(kind=KINDS), profile="tweet")
        for number, hits in enumerate(index.search(texts, options, limit)):
            for hit in hits:
                likeness = index.likeness({ranking: hit.score}) or 0.0
                if likeness > nearest[number][0]:
                    nearest[number] = likeness, hit.docid

    checked = []
    for text, (likeness, docid) in zip(texts, nearest, strict=True):
        found = _described(name, index.document(docid), likeness) if docid else None
        if found and _differ_in_negation(text, found.claim, index.info.language):
            found = None
        checked.append(found)
    return checked


def _differ_in_negation(text: str, claim: str, language: str) -> bool:
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
