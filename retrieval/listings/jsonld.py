"""JSON-LD in the words of schema.org: a list of what a review of a claim cites, and of reviews that are there already.

A hit that is a review of a claim is a ``ClaimReview`` as search engines ask for it; papers are ``ScholarlyArticle``,
pages ``WebPage``, the rest ``CreativeWork``: each may stand as it is under ``citation`` or ``appearance`` of a review.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..domain import Document
from ..records.claim_review import filled, name_of, review_of, script_safe, typed
from ..search.evidence import Evidence
from ._citation import citation

MEDIA, SUFFIX = "application/ld+json", "jsonld"
HELP = "JSON-LD of schema.org: reviews of claims, and what a review cites"
_TYPES = {"cord19": "ScholarlyArticle", "webpages": "WebPage"}
_WEB = ("https://", "http://")


def write(hits: Sequence[Evidence], qid: str) -> str:
    """Return one ``ItemList``, a hit an item; it may stand in the script of a page as it is."""
    items = [{"@type": "ListItem", "position": hit.rank, "item": _item(hit)} for hit in hits]
    listed = {"@context": "https://schema.org", "@type": "ItemList", "itemListElement": items}
    return script_safe(listed) + "\n"


def _item(hit: Evidence) -> dict[str, Any]:
    document = Document(
        hit.docid, hit.passage.text, hit.title, hit.url, hit.date, hit.language, hit.source, hit.topic, hit.metadata
    )
    return review_of(document) or _cited(hit)


def _cited(hit: Evidence) -> dict[str, Any]:
    cited = citation(hit)
    return filled(
        {
            "@type": _TYPES.get(hit.kind, "CreativeWork"),
            "@id": name_of(hit.docid),
            "name": cited.title,
            "text": hit.passage.text,
            "url": hit.url if hit.url.startswith(_WEB) else "",
            "datePublished": hit.date,
            "inLanguage": hit.language,
            "author": [typed("Person", name=author) for author in cited.authors],
            "publisher": typed("Organization", name=hit.source),
            "sameAs": f"https://doi.org/{cited.doi}" if cited.doi else "",
        }
    )
