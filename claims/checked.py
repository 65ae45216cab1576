"""Find the fact-check of a statement: whether somebody has checked the same claim before."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ..core.deadline import CutOffError, Deadline
from ..core.domain import Document, Filter, Hit
from ..core.languages import foreign_language
from ..core.parts import parts_of
from ..core.text import tweet
from ..retrieval.search.evidence import AnswerPart
from ..retrieval.search.index import Index
from ..retrieval.search.options import Search
from .text.polarity import lexicon, polarity
from .text.quantities import find_unstated, quantities

KINDS = ("claimreview", "claims")
"""The kinds of documents that are fact-checks."""
LIKENESS = 0.48
"""The least likeness of a statement and a fact-check of the same claim.

It was chosen on the train tweets of CheckThat! 2020 task 2, with and without their claim in the
collection. On dev, 95 % of the matches are right, and 34 % of the tweets find their claim:
``python -m benchmarks.checked_before`` measures it.
"""
REVIEWS = Search(k=1, where=Filter(kind=KINDS), profile="tweet")
"""The search for the fact-check of a statement. The first hit of the default retriever is more
often right than the nearest by vectors.
"""
_QUESTION_MARKS = ("?", "？", "؟")
_NAME = re.compile(r"(?<![.!?\"“:'’] )(?<!^)(?<![\"“'‘])\b[A-Z][a-z]+\b|\b[A-Z]{2,}\b")
_WORD = re.compile(r"\w+")
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
    if differs(text, checked.claim, index.info.language):
        return None
    return checked


def differs(text: str, claim: str, language: str) -> bool:
    """Return whether a text says something else than a claim that is like it: the rating of the
    claim would then mislead.

    It does if one of the two is negated, if one says more and the other less, or if the numbers or
    the names of the claim are replaced by others. A question says nothing.
    """
    said = tweet(text)
    if said.rstrip().endswith(_QUESTION_MARKS):
        return True
    return (
        _is_opposite(said, claim, language)
        or _has_other_numbers(said, claim)
        or _has_other_names(said, claim)
    )


def _is_opposite(text: str, claim: str, language: str) -> bool:
    if foreign_language(text, (language,)):
        return False  # the words that negate are those of the language of the claim
    words = lexicon(language)
    said, checked = polarity(text, words), polarity(claim, words)
    return said.negations % 2 != checked.negations % 2 or said.direction * checked.direction < 0


def _has_other_numbers(text: str, claim: str) -> bool:
    said, checked = quantities(text), quantities(claim)
    return bool(said and checked) and len(find_unstated(checked, said)) == len(checked)


def _has_other_names(text: str, claim: str) -> bool:
    """Return whether a text has none of the names of a claim, but others."""
    checked, said = _names(claim), _names(text)
    return bool(checked) and checked.isdisjoint(_words(text)) and not said.issubset(_words(claim))


def _names(text: str) -> set[str]:
    """Return the words with a capital that do not begin a sentence, and abbreviations, in lower
    case.
    """
    return {match[0].lower() for match in _NAME.finditer(text)}


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.lower()))


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
