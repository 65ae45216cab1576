"""Turn objects of the type ClaimReview into the fields of documents.

The claim is the document's text, the headline its title, the review's address its URL. ``metadata``
has, as far as known: ``claimant``, ``claimant_job``, ``claimant_pages`` (addresses about the
claimant), ``claim_date``, ``appearances``, ``first_appearance`` if the review names it, ``rating``
in the words of the review, ``verdict`` (true, mixed, false or unproven), ``scale`` ([worst, value,
best]), ``explanation``, ``publisher``, ``publisher_url``, ``publisher_image`` and ``author``.

Fact-checkers rate in their own words or on their own scales. Ratings are mapped to four verdicts if
possible. Any rating between true and false is ``mixed``, as in ClaimsKG's normalisation. A rating
with unknown words and no scale keeps its words and gets no verdict: a guess would be worse. If a
review has several ratings, their order does not matter, because lists of schema.org have none:
:func:`ratings_of` says which one is used.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple
from urllib.parse import unquote, urljoin

from ...core.records.claim_review import URN
from ...core.records.columns import plain_name
from ...core.records.names import ANY_TABLE
from ...core.text import unescape
from ._documents import host
from ._linked_data import Node

DOCID = "docid"
"""The property that contains the docid of a table row.

It is not ``@id``, which may be any word in a page.
"""
_WEB = ("https://", "http://")
TRUE, MIXED, FALSE, UNPROVEN = "true", "mixed", "false", "unproven"
_WORDS = {
    TRUE: """
        true|correct|accurate|verified|confirmed|fact|right|legit|correct attribution|wahr|
        richtig|stimmt|vrai|exact|verdadero|cierto|verdadeiro|vero|doğru|صحيح|صحيحة|حقيقي|حقيقة|
        صح|правда
    """,
    MIXED: """
        mostly true|half true|partly true|partially true|mixture|mixed|mostly false|partly false|
        partially false|misleading|missing context|lacks context|needs context|out of context|
        exaggerated|cherry picked|distorted|distorts the facts|spins the facts|outdated|half flip|
        mostly correct|partly correct|teilweise richtig|teilweise falsch|größtenteils richtig|
        größtenteils falsch|irreführend|fehlender kontext|plutôt vrai|plutôt faux|
        partiellement faux|trompeur|engañoso|verdad a medias|enganoso|enganador|impreciso|
        fuorviante|kısmen doğru|yanıltıcı|مضلل|مضللة|مضلل جزئيا|زائف جزئيا|صحيح جزئيا|ناقص|
        خارج السياق
    """,
    FALSE: """
        false|incorrect|inaccurate|wrong|fake|fake news|hoax|fabricated|pants on fire|bogus|
        debunked|untrue|scam|not true|misattributed|miscaptioned|altered|manipulated|doctored|no|
        four pinocchios|falsch|fälschung|frei erfunden|faux|infox|falso|bulo|fals|falsa|falsità|
        yanlış|sahte|زائف|زائفة|خطأ|خاطئ|خاطئة|كاذب|كاذبة|مفبرك|مفبركة|غير صحيح|غير صحيحة|
        غير دقيق|غير دقيقة|ложь|фейк
    """,
    UNPROVEN: """
        unproven|unverified|no evidence|unsupported|unsubstantiated|insufficient evidence|
        not enough evidence|unknown|undetermined|inconclusive|unbelegt|nicht belegt|unbewiesen|
        invérifiable|non vérifié|no verificable|sin pruebas|sem provas|insustentável|
        non verificabile|belirsiz|غير مثبت|غير مؤكد|بلا دليل|لا دليل
    """,
}
_VERDICTS = {
    " ".join(phrase.casefold().split()): verdict
    for verdict, phrases in _WORDS.items()
    for phrase in phrases.split("|")
}
_WORDS_OF_RATING = re.compile(r"[^\W_](?:.*[^\W_])?", re.DOTALL)
"""Matches from the first letter or digit to the last.

A search for the punctuation after these may be quadratic.
"""
_BETWEEN = re.compile(r"[\s_–—-]+")
_LONGEST_PHRASE = max(len(phrase.split()) for phrase in _VERDICTS)
_FALSE_UP_TO, _TRUE_FROM = 0.25, 0.75
_NEGATIONS = frozenset(
    "not no never neither non nothing cannot isnt wasnt nicht kein keine pas nunca nem não غير ليس "
    "ليست не".split()
)
_NEGATIONS_BEHIND = frozenset({"nicht", "değil"})
_CONTRACTED_NOT = re.compile(r"n['\u2019]t\b")


def verdict_of(
    rating: str, value: float | None = None, worst: float | None = None, best: float | None = None
) -> str:
    """Return ``true``, ``mixed``, ``false`` or ``unproven``, or ``""`` if a rating is none of them.

    If the whole rating is a known phrase, that phrase decides. Otherwise the position of ``value``
    between ``worst`` and ``best`` decides, unless words in the rating contradict this position.
    """
    inner = _WORDS_OF_RATING.search(_CONTRACTED_NOT.sub(" not", rating.casefold()))
    phrase = _BETWEEN.sub(" ", inner[0]) if inner else ""
    if phrase in _VERDICTS:
        return _VERDICTS[phrase]
    if (
        value is None
        or worst is None
        or best is None
        or not worst < best
        or not worst <= value <= best
    ):
        return ""
    share = (value - worst) / (best - worst)
    verdict = FALSE if share <= _FALSE_UP_TO else TRUE if share >= _TRUE_FROM else MIXED
    said = _verdicts_in(re.findall(r"[^\W_]+", phrase[:1000]))
    return verdict if not said or (verdict in said and "" not in said) else ""


def with_rating(metadata: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the metadata of a table's row.

    A known rating becomes ``rating``, in the same words, and ``verdict``.
    """
    for name, words in metadata.items():
        if (
            plain_name(name) in ANY_TABLE["rating"]
            and isinstance(words, str)
            and (verdict := verdict_of(words))
        ):
            others = {key: value for key, value in metadata.items() if key != name}
            return {**others, "rating": words, "verdict": verdict}
    return metadata


def _verdicts_in(words: Sequence[str]) -> set[str]:
    """Return the verdicts in a list of words, from the longest phrase at each place; a negated
    verdict is ``""``.
    """
    said: set[str] = set()
    at = 0
    while at < len(words):
        phrases = {n: " ".join(words[at : at + n]) for n in range(1, _LONGEST_PHRASE + 1)}
        n = max(
            (n for n, phrase in phrases.items() if phrase in _VERDICTS and phrase != "no"),
            default=0,
        )
        if n:
            before, behind = words[max(0, at - 2) : at], words[at + n : at + n + 1]
            negated = _NEGATIONS.intersection(before) or _NEGATIONS_BEHIND.intersection(behind)
            said.add("" if negated else _VERDICTS[phrases[n]])
        at += n or 1
    return said


def docid_in(node: Node) -> str:
    """Return the docid of a review from an export or a table, else its ``@id`` if it is a web
    address, else ``""``.
    """
    known = node.get(DOCID, node.get("@id"))
    if not isinstance(known, str):
        return ""
    if DOCID in node:
        return known
    if known.startswith(URN):
        return unquote(known.removeprefix(URN))
    return known if known.startswith(_WEB) else ""


def fields_of(node: Node, base: str = "") -> dict[str, str]:
    """Return the fields of a review's document except its docid; unknown fields are ``""``.

    ``base`` is the address of the page with the review. It is the review's address if the review
    has no ``url``, and the base of relative addresses.
    """
    claim, publisher = _first_object(node.get("itemReviewed")), _publisher(node)
    texts = (_first_object(node.get("claimReviewed")), claim)
    claimed = (
        text_in(each, "text", "claimReviewed", "name", "headline", "description") for each in texts
    )
    relative = next(
        (each for each in _each(node.get("url")) if isinstance(each, str) and each.strip()), ""
    )
    url = address_in(node, "url") or (base and urljoin(base, relative.strip()))
    url = url or address_in(node, "mainEntityOfPage", "@id")
    language = node.get("inLanguage")
    return {
        "text": text_in(node, "claimReviewed") or next(filter(None, claimed), ""),
        "title": text_in(node, "headline", "name"),
        "url": url if url.startswith(_WEB) else "",
        "date": text_in(node, "datePublished", "dateCreated", "dateModified"),
        "language": text_in(
            language if isinstance(language, dict) else {"name": language}, "alternateName", "name"
        ),
        "source": host(url) or host(address_in(publisher, "url", "sameAs")),
    }


def metadata_of(node: Node) -> dict[str, Any]:
    """Return the metadata of a review's document, as far as known."""
    claim, rating = _first_object(node.get("itemReviewed")), next(iter(ratings_of(node)), Rating())
    claimant, publisher = _claimant(claim), _publisher(node)
    author = text_in(_first_object(node.get("author")), "name")
    known = {
        "claimant": text_in(claimant, "name"),
        "claimant_job": text_in(claimant, "jobTitle"),
        "claimant_pages": list(dict.fromkeys(_addresses(claimant, "sameAs", "url"))),
        "claim_date": text_in(claim, "datePublished", "dateCreated"),
        "first_appearance": address_in({"url": claim.get("firstAppearance")}, "url"),
        "appearances": list(
            dict.fromkeys(_addresses(claim, "firstAppearance", "appearance", "sameAs", "url"))
        ),
        "rating": rating.words,
        "verdict": rating.verdict,
        "scale": [] if None in rating.scale else [*rating.scale],
        "explanation": rating.explanation or body_of(node),
        "publisher": text_in(publisher, "name"),
        "publisher_url": address_in(publisher, "url", "sameAs"),
        "publisher_image": address_in(publisher, "image", "logo"),
        "author": "" if author == text_in(publisher, "name") else author,
    }
    return {name: part for name, part in known.items() if part}


def body_of(node: Node) -> str:
    """Return the text of a review, ``""`` if it has only a claim and a rating."""
    return text_in(node, "reviewBody")


class Rating(NamedTuple):
    """A rating of a review; ``scale`` is its worst value, its value and its best value, each None
    if unknown.
    """

    words: str = ""
    verdict: str = ""
    scale: tuple[float | None, float | None, float | None] = (None, None, None)
    explanation: str = ""

    def __str__(self) -> str:
        """Return the words, with the value if the review gives one."""
        value = self.scale[1]
        return repr(self.words) if value is None else f"{self.words!r} ({value:g})"


def ratings_of(node: Node) -> list[Rating]:
    """Return the different ratings of a review.

    The first one is used, in whatever order the review lists them.

    Ratings with a verdict come first, then those with words, then those with a scale; else the
    alphabet decides.
    """
    ratings: dict[str, Rating] = {}
    for part in _each(node.get("reviewRating")):
        own = part if isinstance(part, dict) else {"name": part}
        worst, value, best = scale = _scale(own)
        explanation = text_in(own, "ratingExplanation", "description")
        texts = (
            _texts_in(own, "alternateName")
            or _texts_in(own, "name")
            or [text_in(own, "ratingValue")]
        )
        for words in texts:
            rating = Rating(words, verdict_of(words, value, worst, best), scale, explanation)
            if words or rating.explanation:
                ratings.setdefault(str(rating).casefold(), rating)
    return sorted(ratings.values(), key=_preference)


def _preference(rating: Rating) -> tuple[bool, bool, bool, str]:
    is_number = rating.words.replace(".", "", 1).isdecimal()
    return not rating.verdict, is_number, None in rating.scale, str(rating).casefold()


def _scale(rating: Node) -> tuple[float | None, float | None, float | None]:
    worst, value, best = (
        number_in(rating, name) for name in ("worstRating", "ratingValue", "bestRating")
    )
    if worst is None and best is not None:  # schema.org: a missing end of the scale is 1 or 5
        worst = 1.0
    elif best is None and worst is not None:
        best = 5.0
    return worst, value, best


def text_in(node: Node, *names: str) -> str:
    """Return the first text, or number as text, of a node under one of ``names``, on one line; else
    ``""``.
    """
    return next((text for name in names for text in _texts_in(node, name)), "")


def _texts_in(node: Node, name: str) -> list[str]:
    values = [value for value in _each(node.get(name)) if isinstance(value, str | int | float)]
    texts = [
        unescape(str(value)).replace("\0", " ") for value in values if not isinstance(value, bool)
    ]
    return [" ".join(text.split()) for text in texts if text.strip()]


def address_in(node: Node, *names: str) -> str:
    """Return the first web address of a node under one of ``names``, else ``""``."""
    return next(_addresses(node, *names), "")


def number_in(node: Node, name: str) -> float | None:
    """Return the first finite number of a node under ``name``, given as number or text, else
    None.
    """
    for value in _each(node.get(name)):
        try:
            number = (
                float(str(value).replace(",", "."))
                if not isinstance(value, bool | dict)
                else math.nan
            )
        except ValueError:
            continue
        if math.isfinite(number):
            return number
    return None


def _each(value: Any) -> Iterator[Any]:
    yield from value if isinstance(value, list) else [] if value is None else [value]


def _addresses(node: Node, *names: str) -> Iterator[str]:
    for value in (value for name in names for value in _each(node.get(name))):
        candidate = value.get("url", value.get("@id", "")) if isinstance(value, dict) else value
        for address in _each(candidate):
            if isinstance(address, str) and address.strip().startswith(_WEB):
                yield address.strip()


def _first_object(value: Any) -> Node:
    """Return the first object of a value; a text becomes an object with this name."""
    for part in _each(value):
        if isinstance(part, dict):
            return part
        if isinstance(part, str) and part.strip():
            return {"name": part}
    return {}


def _claimant(claim: Node) -> Node:
    for holder in (
        claim,
        _first_object(claim.get("appearance")),
        _first_object(claim.get("firstAppearance")),
    ):
        for name in ("author", "creator"):
            person = _first_object(holder.get(name))
            if text_in(person, "name"):
                return person
    return {}


def _publisher(node: Node) -> Node:
    """Return the publisher of a review, else its author: Google requires the author to be the
    organisation.
    """
    publisher = _first_object(node.get("publisher"))
    return publisher if text_in(publisher, "name") else _first_object(node.get("author"))
