"""The types of what factseek indexes, what it searches for, and what it answers.

Records (tuples and structs) are immutable and compare by value. Identifiers are always strings:
``"007"`` is not ``7``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from .folding import folded_value
from .languages import language_code

NO_METADATA: Mapping[str, Any] = MappingProxyType({})


class Document(NamedTuple):
    """One document that can be cited: a snippet, a web page, a paper, a verified claim.

    ``date`` is ISO 8601 and may be partial (``2020``, ``2020-03``, ``2020-03-01``). ``language`` is
    an ISO 639-1 code. ``source`` is the publisher (a site's host, a journal). An unknown value is
    ``""``.
    """

    docid: str
    text: str
    title: str = ""
    url: str = ""
    date: str = ""
    language: str = ""
    source: str = ""
    topic: str = ""
    metadata: Mapping[str, Any] = NO_METADATA


class Span(NamedTuple):
    """A slice of a document's text, ``text[start:end]`` in characters, with its number in the
    document.

    Numbers increase along the text and may have gaps (a FEVER sentence keeps its line number).
    """

    number: int
    start: int
    end: int


class Passage(NamedTuple):
    """A passage of a document: the unit that the index stores.

    A snippet is a document with one passage.
    """

    docid: str
    number: int
    start: int
    end: int
    text: str


class Statement(NamedTuple):
    """A tweet or a sentence that may contain a claim worth checking.

    ``label`` is 1 if the statement is worth checking, 0 if not, ``None`` if unlabelled. ``place``
    is its position in the input (``file:line``). ``language`` is an ISO 639-1 code. An unknown
    value is ``""``.
    """

    qid: str
    text: str
    topic: str = ""
    speaker: str = ""
    label: int | None = None
    language: str = ""
    place: str = ""


class Claim(NamedTuple):
    """A claim to verify.

    ``label`` is the correct verdict. Each of ``groups`` is sufficient evidence for this verdict:
    docids with passage numbers. ``place`` is the position of the claim in the input
    (``file:line``). An unknown value is ``""`` or empty.
    """

    qid: str
    text: str
    topic: str = ""
    label: str = ""
    groups: tuple[tuple[tuple[str, int], ...], ...] = ()
    place: str = ""


class Query(NamedTuple):
    """A claim, a tweet or a question, with its qid."""

    qid: str
    text: str


class Part(NamedTuple):
    """The rank (from 1) and score of a hit in a ranking, or before a stage.

    ``retriever`` names the ranking or the stage. ``vote`` is what the ranking added to the fused
    score, or the score that the stage gave.
    """

    retriever: str
    rank: int
    score: float
    vote: float = 0.0


class Hit(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A ranked passage of a document; ``score`` is a float32 value, ``passage`` is the passage's
    number.

    It is a Struct because a search creates millions of hits: creating NamedTuples takes three times
    as long.
    """

    docid: str
    score: float
    passage: int = 0
    parts: tuple[Part, ...] = ()


class ScoredDocids(NamedTuple):
    """The documents ranked for one query, in the total order, each once, with the score of its best
    passage.

    A run needs only these. Creating millions of hits would be slow.
    """

    docids: list[str]
    scores: list[float]


Run = dict[str, list[Hit]]
"""The hits of each qid, best first."""
Qrels = dict[str, dict[str, int]]
"""The relevance of each docid for each qid."""


class Filter(NamedTuple):
    """A condition on the documents and passages that may be ranked.

    It applies before the ranking, never after.

    A field admits any of its values; an empty tuple admits everything. ``since`` and ``as_of`` are
    the first and the last day (UTC), each as a day, a month or a year (``2020-03-01``, ``2020-03``,
    ``2020``). The partial date of a document counts as its last day. A date bound excludes undated
    documents unless ``undated`` is true. ``metadata`` lists the filtered metadata fields, sorted by
    name, each with its admitted values.

    ``excluded`` lists the docids of documents to leave out.

    A passage must contain each of ``phrases`` and none of ``without``; the words of a phrase are
    adjacent. The title of its document must contain all words of ``title``.
    """

    topic: tuple[str, ...] = ()
    source: tuple[str, ...] = ()
    language: tuple[str, ...] = ()
    kind: tuple[str, ...] = ()
    as_of: str = ""
    since: str = ""
    undated: bool = False
    phrases: tuple[str, ...] = ()
    without: tuple[str, ...] = ()
    title: tuple[str, ...] = ()
    metadata: tuple[tuple[str, tuple[str, ...]], ...] = ()
    excluded: tuple[str, ...] = ()

    @property
    def of_words(self) -> Filter:
        """The conditions on words alone."""
        return Filter(phrases=self.phrases, without=self.without, title=self.title)

    @property
    def of_documents(self) -> Filter:
        """The conditions on documents alone, without those on words."""
        return self._replace(phrases=(), without=(), title=())

    def values(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield each filtered field with its admitted values, in the form in which documents store
        them.
        """
        languages = tuple(language_code(value) or value for value in self.language)
        built_in = (
            ("topic", self.topic),
            ("source", self.source),
            ("language", languages),
            ("kind", self.kind),
        )
        yield from (
            (name, tuple(map(folded_value, each)))
            for name, each in (*built_in, *self.metadata)
            if each
        )


class Total(NamedTuple):
    """The total number of hits of a search: documents, or passages if passages are ranked.

    If ``matching`` is true, each hit contains a word of the query. Otherwise the hits are all that
    can be ranked: a vector retriever ranks everything.
    """

    hits: int
    matching: bool


class FacetCounts(NamedTuple):
    """The values of a field among the documents of a search, each with its number of documents,
    most frequent first.

    ``more`` is the number of values left out. ``missing`` is the number of documents without a
    value.
    """

    values: list[tuple[str, int]]
    more: int
    missing: int
