"""Weights of the words of a query: what each adds to the score of a passage, as Lucene itself explains it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from .java import exclusive, java_cast, java_class

_TERM = re.compile(r"weight\([^:()]+:(.+) in \d+\)")


@exclusive
def term_weights(searcher: Any, query: Any, rows: Sequence[int]) -> list[dict[str, float]]:
    """Return the terms of the query that the passage of each row holds, each with what it adds to the score."""
    searcher = java_cast("org.apache.lucene.search.IndexSearcher", searcher)
    mapper = java_class("com.fasterxml.jackson.databind.ObjectMapper")()
    weighed = []
    for row in rows:
        explained = mapper.writeValueAsString(java_cast("java.lang.Object", searcher.explain(query, row)))
        weights: dict[str, float] = {}
        for term, weight in _weights(msgspec.json.decode(explained)):
            weights[term] = weights.get(term, 0.0) + weight
        weighed.append(weights)
    return weighed


def _weights(explained: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield the terms of an explanation with their weights; a term of several fields comes several times."""
    if match := _TERM.match(explained["description"]):
        yield match[1], float(explained["value"])
        return
    for detail in explained["details"]:
        yield from _weights(detail)
