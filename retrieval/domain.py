"""The words of the product: what is indexed, asked and answered.

Records that stream are immutable and compare by value. Identifiers are always strings: ``"007"`` is not ``7``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, Self

import msgspec

from .folding import folded_value
from .languages import language_code

NO_METADATA: Mapping[str, Any] = MappingProxyType({})


class Document(NamedTuple):
    """One thing that can be cited: a snippet, a web page, a paper, a verified claim.

    ``date`` is ISO 8601 and may be partial (``2020``, ``2020-03``, ``2020-03-01``); ``language`` is an
    ISO 639-1 code; ``source`` is who published it (a site's host, a journal). Unknown is ``""``.
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
    """A stretch of a document's text: ``text[start:end]`` in characters, with its number in the document.

    Numbers rise along the text and need not be contiguous (a FEVER sentence keeps its line number).
    """

    number: int
    start: int
    end: int


class Passage(NamedTuple):
    """A passage of a document, the unit that is indexed; a snippet is a document with one passage."""

    docid: str
    number: int
    start: int
    end: int
    text: str


class Statement(NamedTuple):
    """A tweet or a sentence that may hold a claim worth checking.

    ``label`` is 1 if it is worth checking, 0 if not, ``None`` where nobody said; ``place`` says where it was read
    (``file:line``). ``language`` is an ISO 639-1 code. Unknown is ``""``.
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

    ``label`` is the right verdict, and each of ``groups`` is evidence that suffices for it: docids with the numbers
    of their passages. ``place`` says where it was read (``file:line``). Unknown is ``""`` or empty.
    """

    qid: str
    text: str
    topic: str = ""
    label: str = ""
    groups: tuple[tuple[tuple[str, int], ...], ...] = ()
    place: str = ""


class Query(NamedTuple):
    """A claim, a tweet or a question, with the id that a submission names it by."""

    qid: str
    text: str


class DocumentQuery(str):
    """A document of the index as a query: a text of its heaviest words.

    Whoever ranks by words takes it for any other text; whoever ranks by vectors looks up those of ``docid``.
    """

    __slots__ = ("docid",)

    docid: str

    def __new__(cls, words: str, docid: str) -> Self:
        """Return the query of a document of these words."""
        query = super().__new__(cls, words)
        query.docid = docid
        return query

    def __reduce__(self) -> tuple[type[Self], tuple[str, str]]:
        """Return what a copy in another process is made of."""
        return type(self), (str(self), self.docid)


class VectorQuery(str):
    """A text whose vector is given, of any length but 0.

    Whoever ranks by vectors takes the vector, whoever ranks by words the text.
    """

    __slots__ = ("vector",)

    vector: tuple[float, ...]

    def __new__(cls, text: str, vector: tuple[float, ...]) -> Self:
        """Return the query of a text and its vector."""
        query = super().__new__(cls, text)
        query.vector = vector
        return query

    def __reduce__(self) -> tuple[type[Self], tuple[str, tuple[float, ...]]]:
        """Return what a copy in another process is made of."""
        return type(self), (str(self), self.vector)


class Part(NamedTuple):
    """A retriever's or a stage's part in a hit: rank from 1, score, and what that added to a fused score."""

    retriever: str
    rank: int
    score: float
    vote: float = 0.0


class Hit(msgspec.Struct, frozen=True, gc=False, array_like=True):
    """A ranked passage of a document; ``score`` is a float32's value, ``passage`` the passage's number.

    A Struct and not a NamedTuple: hits are made by the million, and this takes a third of the time.
    """

    docid: str
    score: float
    passage: int = 0
    parts: tuple[Part, ...] = ()


class ScoredDocids(NamedTuple):
    """The documents found for one query in the total order, each once, with the scores of their best passages.

    What a run needs of hits, which are made by the million.
    """

    docids: list[str]
    scores: list[float]


Run = dict[str, list[Hit]]
"""Hits of each qid, best first."""

Qrels = dict[str, dict[str, int]]
"""Relevance of each docid for each qid."""


class Filter(NamedTuple):
    """The condition on the documents that may be ranked: applied before ranking, never after.

    A field admits any of its values; an empty tuple admits everything. ``as_of`` and ``since`` are inclusive
    days (``YYYY-MM-DD``, UTC); a partial date counts as its last day. Undated documents are left out under
    a date bound unless ``undated`` is true. ``metadata`` holds, in the order of their names, the fields of the
    documents' metadata that the index was declared with, each with the values that it admits.

    The documents of ``excluded`` are left out, by their ids.

    Of a passage itself it may be asked that it hold ``phrases`` and hold nothing of what is to be found ``without``,
    each words that stand side by side, and that its document's title hold all words of ``title``.
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
        """What is asked of the words alone."""
        return Filter(phrases=self.phrases, without=self.without, title=self.title)

    @property
    def of_documents(self) -> Filter:
        """What is asked of documents, whatever their words."""
        return self._replace(phrases=(), without=(), title=())

    def values(self) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield each field that is filtered, with the values that it admits as documents have them."""
        languages = tuple(language_code(value) or value for value in self.language)
        built_in = (("topic", self.topic), ("source", self.source), ("language", languages), ("kind", self.kind))
        yield from ((name, tuple(map(folded_value, each))) for name, each in (*built_in, *self.metadata) if each)


class Total(NamedTuple):
    """How many hits a search has in all: documents, or passages where passages are ranked.

    ``matching`` says that these hold a word of the query; else they are all that could be ranked, near or far: whoever
    ranks by meaning ranks everything.
    """

    hits: int
    matching: bool


class FacetCounts(NamedTuple):
    """The values of a field among the documents of a search, each with their number, most frequent first.

    ``more`` is how many values are not named, ``missing`` how many documents have none.
    """

    values: list[tuple[str, int]]
    more: int
    missing: int
