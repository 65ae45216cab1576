"""schema.org's ClaimReview of a document that is a review, for exports and listings of hits.

A review needs a claim, an address and a rating: schema.org's validator and Google's documentation
of fact checks require them. This module also puts related claims into groups, which a split of the
data keeps together.
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote

import msgspec

from ..domain import Claim, Document
from ..parts import first_part, parts_of

# The prefix of a percent-escaped docid, for the id of a review without a web address.
URN = "urn:x-factseek:"


def review_of(document: Document) -> dict[str, Any] | None:
    """Return a document as a ClaimReview, or None if the document lacks a required part."""
    known = document.metadata
    rating = next(filter(None, (_text(known, name) for name in ("rating", "label", "verdict"))), "")
    if (
        not document.text.strip()
        or not rating
        or not document.url.startswith(("https://", "http://"))
    ):
        return None
    return drop_empty(
        {
            "@type": "ClaimReview",
            "@id": name_of(document.docid),
            "url": document.url,
            "claimReviewed": first_part(document.text, known),
            "reviewBody": _body(document),
            "headline": document.title,
            "datePublished": document.date,
            "inLanguage": document.language,
            **_names(document),
            "reviewRating": drop_empty(
                {
                    "@type": "Rating",
                    "alternateName": rating,
                    **dict(
                        zip(
                            ("ratingValue", "bestRating", "worstRating"),
                            _scale(known),
                            strict=False,
                        )
                    ),
                    "ratingExplanation": _text(known, "explanation"),
                }
            ),
            "itemReviewed": _claim(known),
        }
    )


def _body(document: Document) -> str:
    """Return what the text of a review says besides its claim and its explanation."""
    _, *others = parts_of(document.text, document.metadata)
    texts = [document.text[part.start : part.end] for part in others]
    explanation = _text(document.metadata, "explanation").strip()
    return "\n".join(text for text in texts if text != explanation)


def name_of(docid: str) -> str:
    """Return a document's name in linked data: its docid if that is a web address, else a URN made
    from it.
    """
    return docid if docid.startswith(("https://", "http://")) else URN + quote(docid, safe="")


def make_typed(kind: str, **properties: Any) -> dict[str, Any]:
    """Return an object of a type, or an empty object if no property has a value."""
    worded = drop_empty(properties)
    return {"@type": kind, **worded} if worded else {}


def drop_empty(properties: Mapping[str, Any]) -> dict[str, Any]:
    """Return the properties that have a value."""
    return {name: value for name, value in properties.items() if value not in ("", None, [], {})}


def script_safe(linked: Mapping[str, Any]) -> str:
    """Return linked data as JSON without a ``<``, so that no text in it can end a page's script."""
    return msgspec.json.encode(linked).decode().replace("<", "\\u003c")


def _names(document: Document) -> dict[str, Any]:
    known = document.metadata
    name = _text(known, "publisher") or document.source
    address, image = _text(known, "publisher_url"), _text(known, "publisher_image")
    organisation = make_typed("Organization", name=name, url=address, image=image)
    author = _text(known, "author")
    if not author or author == name:
        return {"author": organisation}
    return {"author": make_typed("Person", name=author), "publisher": organisation}


def _scale(known: Mapping[str, Any]) -> Sequence[float]:
    """Return a rating's value and the best and worst value of its scale; nothing if they are not
    finite numbers.
    """
    scale = known.get("scale")
    if (
        not isinstance(scale, list | tuple)
        or len(scale) != 3
        or {type(value) for value in scale} - {int, float}
    ):
        return ()
    worst, value, best = scale
    return (value, best, worst) if all(map(math.isfinite, scale)) else ()


def _claim(known: Mapping[str, Any]) -> dict[str, Any]:
    name, job = _text(known, "claimant"), _text(known, "claimant_job")
    claimant = make_typed("Person", name=name, jobTitle=job, sameAs=_texts(known, "claimant_pages"))
    first = _text(known, "first_appearance")
    works = [make_typed("CreativeWork", url=address) for address in _texts(known, "appearances")]
    return make_typed(
        "Claim",
        author=claimant,
        datePublished=_text(known, "claim_date"),
        firstAppearance=make_typed("CreativeWork", url=first),
        appearance=[work for work in works if work.get("url") != first],
    )


def _texts(known: Mapping[str, Any], name: str) -> list[str]:
    values = known.get(name)
    return (
        [value for value in values if isinstance(value, str)]
        if isinstance(values, list | tuple)
        else []
    )


def _text(known: Mapping[str, Any], name: str) -> str:
    value = known.get(name)
    return value if isinstance(value, str) else ""


_WORD = re.compile(r"[^\W_]+(?:['’.,][^\W_]+)*")
# Two claims are near-duplicates if they have at least this share of all their words in common.
_NEAR = 0.5


def groups(claims: Sequence[Claim]) -> list[int]:
    """Return the number of each claim's group: claims with common evidence and near-duplicates are
    in one group.
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    first: dict[str, int] = {}
    pairs = [
        (row, first.setdefault(page, row))
        for row, claim in enumerate(claims)
        for page in {docid for group in claim.groups for docid, _ in group}
    ]
    pairs += _near([frozenset(_WORD.findall(claim.text.lower())) for claim in claims])
    rows, others = zip(*pairs, strict=True) if pairs else ((), ())
    graph = coo_array(([True] * len(pairs), (rows, others)), shape=(len(claims), len(claims)))
    numbers: list[int] = connected_components(graph, directed=False)[1].tolist()
    return numbers


def _near(words: Sequence[frozenset[str]]) -> Iterator[tuple[int, int]]:
    """Yield the pairs of near-duplicates; it compares only claims that share a word."""
    holders: dict[str, list[int]] = defaultdict(list)
    for row, mine in enumerate(words):
        shared = Counter(other for word in mine for other in holders[word])
        for other, common in shared.items():
            if common >= _NEAR * (len(mine) + len(words[other]) - common):
                yield row, other
        for word in mine:
            holders[word].append(row)
