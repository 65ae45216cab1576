"""The fields of an object of the type ClaimReview, and the documents that are such reviews.

What a review says stands in a document like this: the claim is its text, the headline its title, the review's address
its URL; ``metadata`` holds ``claimant``, ``claimant_job``, ``claimant_pages`` (addresses that are about the claimant),
``claim_date``, ``appearances``, ``first_appearance`` if one of them is said to be the first, ``rating`` as it is said,
``verdict`` (true, mixed, false or unproven), ``scale`` ([worst, value, best]), ``explanation``, ``publisher``,
``publisher_url``, ``publisher_image`` and ``author``, as far as they are known.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote

from ...retrieval.records.claim_review import URN
from ...retrieval.text import unescaped
from ._documents import host
from ._linked_data import Node
from ._ratings import verdict_of

DOCID = "docid"
"""The property of a row of a table that is its docid: an ``@id`` within a page may be any word."""


def docid_in(node: Node) -> str:
    """Return the docid that a review was exported or tabled with, or the address that it is known by, else ``""``."""
    known = node.get("@id", node.get(DOCID))
    if not isinstance(known, str):
        return ""
    if DOCID in node:
        return known
    if known.startswith(URN):
        return unquote(known.removeprefix(URN))
    return known if known.startswith(("https://", "http://")) else ""


def fields_of(node: Node) -> dict[str, str]:
    """Return the fields of a review's document but for its docid; unknown is ``""``."""
    return {
        "text": text_in(node, "claimReviewed") or text_in(_claim(node), "name", "headline", "description"),
        "title": text_in(node, "headline", "name"),
        "url": address_in(node, "url"),
        "date": text_in(node, "datePublished", "dateCreated", "dateModified"),
        "language": _language(node),
        "source": host(address_in(node, "url")) or host(address_in(_publisher(node), "url", "sameAs")),
    }


def metadata_of(node: Node) -> dict[str, Any]:
    """Return what a review says of the claim, the rating and the publisher, as far as it says it."""
    claim, rating = _claim(node), _first_object(node.get("reviewRating"))
    claimant, publisher = _claimant(claim), _publisher(node)
    words = _rating_words(node, rating)
    worst, value, best = _scale(rating)
    known = {
        "claimant": text_in(claimant, "name"),
        "claimant_job": text_in(claimant, "jobTitle"),
        "claimant_pages": list(dict.fromkeys(_addresses(claimant, "sameAs", "url"))),
        "claim_date": text_in(claim, "datePublished", "dateCreated"),
        "first_appearance": address_in({"url": claim.get("firstAppearance")}, "url"),
        "appearances": list(dict.fromkeys(_addresses(claim, "firstAppearance", "appearance", "sameAs", "url"))),
        "rating": words,
        "verdict": verdict_of(words, value, worst, best),
        "scale": [] if None in (worst, value, best) else [worst, value, best],
        "explanation": text_in(rating, "ratingExplanation", "description"),
        "publisher": text_in(publisher, "name"),
        "publisher_url": address_in(publisher, "url", "sameAs"),
        "publisher_image": address_in(publisher, "image", "logo"),
        "author": _author(node),
    }
    return {name: part for name, part in known.items() if part}


def text_in(node: Node, *names: str) -> str:
    """Return the first text, or number as text, that a node has under one of ``names``, on one line; else ``""``."""
    for name in names:
        for value in _each(node.get(name)):
            if isinstance(value, str | int | float) and not isinstance(value, bool):
                text = " ".join(unescaped(str(value)).replace("\0", " ").split())
                if text:
                    return text
    return ""


def address_in(node: Node, *names: str) -> str:
    """Return the first address of the web that a node has under one of ``names``, else ``""``."""
    for name in names:
        for value in _each(node.get(name)):
            candidate = value.get("url", value.get("@id", "")) if isinstance(value, dict) else value
            if isinstance(candidate, str) and candidate.strip().startswith(("https://", "http://")):
                return candidate.strip()
    return ""


def number_in(node: Node, name: str) -> float | None:
    """Return the finite number that a node has under ``name``, as a number or as text, else None."""
    for value in _each(node.get(name)):
        try:
            number = float(str(value).replace(",", ".")) if not isinstance(value, bool | dict) else math.nan
        except ValueError:
            continue
        if math.isfinite(number):
            return number
    return None


def _each(value: Any) -> Iterator[Any]:
    yield from value if isinstance(value, list) else [] if value is None else [value]


def _first_object(value: Any) -> Node:
    """Return the first object of a value; a text counts as its name."""
    for part in _each(value):
        if isinstance(part, dict):
            return part
        if isinstance(part, str) and part.strip():
            return {"name": part}
    return {}


def _claim(node: Node) -> Node:
    return _first_object(node.get("itemReviewed"))


def _claimant(claim: Node) -> Node:
    """Return whoever made the claim; older markup names them of the work that holds it."""
    for holder in (claim, _first_object(claim.get("appearance")), _first_object(claim.get("firstAppearance"))):
        for name in ("author", "creator"):
            person = _first_object(holder.get(name))
            if text_in(person, "name"):
                return person
    return {}


def _publisher(node: Node) -> Node:
    """Return who published the review: its publisher, else its author, which Google asks to be the organisation."""
    publisher = _first_object(node.get("publisher"))
    return publisher if text_in(publisher, "name") else _first_object(node.get("author"))


def _author(node: Node) -> str:
    """Return the author of the review where that is another than the publisher."""
    author = text_in(_first_object(node.get("author")), "name")
    return "" if author == text_in(_publisher(node), "name") else author


def _rating_words(node: Node, rating: Node) -> str:
    """Return the rating as it is said: as its alternate name, its name, or a text; else its number as text."""
    return text_in(rating, "alternateName", "name") or text_in(node, "reviewRating") or text_in(rating, "ratingValue")


def _scale(rating: Node) -> tuple[float | None, float | None, float | None]:
    """Return the worst value of a scale, the value given, and the best.

    Where one end is named and the other is not, the scale goes from 1 to 5, as schema.org defines it.
    """
    worst, value, best = (number_in(rating, name) for name in ("worstRating", "ratingValue", "bestRating"))
    if worst is None and best is not None:
        worst = 1.0
    elif best is None and worst is not None:
        best = 5.0
    return worst, value, best


def _addresses(node: Node, *names: str) -> Iterator[str]:
    """Yield every address of the web that a node has under one of ``names``."""
    for name in names:
        for value in _each(node.get(name)):
            address = address_in({"url": value}, "url")
            if address:
                yield address


def _language(node: Node) -> str:
    language = node.get("inLanguage")
    return text_in(language, "alternateName", "name") if isinstance(language, dict) else text_in(node, "inLanguage")
