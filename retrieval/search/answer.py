"""A question to an index and its answer: what is asked and said, composed once for everyone who asks.

Command line, HTTP, page, agents and adapters only decode a :class:`Question` and encode an :class:`Answer`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Literal, NamedTuple

import msgspec

from ..deadline import Deadline
from ..domain import FacetCounts, Hit, Total
from ..errors import NotFoundError, QueryError
from ..lucene.spelling import respelt
from .evidence import Answer as Fields
from .evidence import Evidence
from .explaining import Explanation, explanation
from .options import DEFAULT_SEARCH, ResolvedSearch, Search
from .query_syntax import PLAIN, QUERY, ParsedQuery, parse_query

if TYPE_CHECKING:
    from .index import Index

Coverage = dict[str, Literal["complete", "cut off"]]
"""Each ranking, and the highlights, by whether they were ready in time."""


class Took(Fields):
    """Milliseconds by stage: ranking, and reading what a person is shown."""

    retrieve: float
    evidence: float


class Question(msgspec.Struct, frozen=True):
    """A query with its search, and what is to be said of the hits.

    ``syntax`` says how ``query`` is read; ``like``, a docid of the index, stands in its place. ``undated`` keeps what
    has no date under the dates of the query itself. ``passages`` are all that hold a word of the query, ``facets`` the
    fields whose values are counted, each with how many of them are named.
    """

    query: str = ""
    search: Search = DEFAULT_SEARCH
    like: str = ""
    syntax: str = PLAIN
    undated: bool = False
    highlight: bool = True
    passages: bool = False
    explain: bool = False
    count: bool = False
    facets: Mapping[str, int] = msgspec.field(default_factory=dict)

    def to(self, index: Index) -> IndexQuestion:
        """Return the question as an index understands it.

        Raises QueryError, naming the field, if the query is of the query language and makes no sense, or there is no
        document that it is to be ``like``.
        """
        if self.like:
            try:
                text, search = index.like(self.like, self.search)
            except NotFoundError as error:
                raise QueryError(error.what, field="like") from None
            return IndexQuestion(text, search)
        if self.syntax != QUERY:
            return IndexQuestion(self.query, self.search)
        parsed = parse_query(self.query, self.search, undated=self.undated)
        return IndexQuestion(parsed.text, parsed.search, parsed)


class IndexQuestion(NamedTuple):
    """The text that is searched for, the search with what the query itself asks for, and the query as it was read."""

    text: str
    search: Search
    parsed: ParsedQuery | None = None


class Answer(msgspec.Struct, kw_only=True):
    """The hits of a question and what is said of them."""

    text: str
    """What was searched for."""
    search: Search
    resolved: ResolvedSearch
    hits: list[Evidence]
    ranked: list[Hit]
    more: bool
    """Whether hits follow that may be asked for."""
    note: str
    suggestion: str
    """The query with its misspelt words put right, ``""`` if it has none."""
    missing: tuple[str, ...]
    """Rankings, highlights and shards that were not ready in time."""
    parsed: ParsedQuery | None = None
    total: Total | None = None
    facets: dict[str, FacetCounts] = {}
    explanation: Explanation | None = None
    took: Took

    @property
    def retriever(self) -> str:
        """The retriever that answered."""
        return self.resolved.retriever

    @property
    def depth(self) -> int:
        """How many hits of each ranking were fused; 0 if the hits are of one ranking."""
        return self.resolved.settings.search.fusion.depth if self.resolved.fuses else 0

    @property
    def approximate(self) -> bool:
        """Whether an approximate index of vectors was asked."""
        return self.resolved.approximate

    @property
    def coverage(self) -> Coverage:
        """What was ready in time and what was not; empty if all was."""
        return coverage(self.resolved.rankings, self.missing)


def coverage(rankings: Iterable[str], missing: Sequence[str]) -> Coverage:
    """Return of each ranking whether it was ready, and what else was not; empty if nothing is missing."""
    if not missing:
        return {}
    return {name: "cut off" if name in missing else "complete" for name in (*rankings, *missing)}


def answer(index: Index, question: Question) -> Answer:
    """Answer a question; what takes longer than its limit is ``missing``.

    Raises QueryError, naming the field where one is to blame, CutOffError if no ranking was ready in time.
    """
    since = monotonic()
    text, search, parsed = question.to(index)
    facets, total = {}, None
    if question.count or question.facets:
        facets, total = index.facets(text, question.facets, search), index.count(text, search)
    began = perf_counter()
    ranked, more, resolved = _ranked(index, text, search)
    retrieved = perf_counter()
    reading = again(search.limit)  # its own: what a stuck retriever took is not lacking here
    told = search._replace(limit=reading)
    hits = index.evidence(text, ranked, told, highlight=question.highlight)
    if question.passages:
        hits = index.with_passages(text, hits, told)
    limits = [limit.missing for limit in (search.limit, reading) if limit]
    return Answer(
        text=text,
        search=search,
        resolved=resolved,
        hits=hits,
        ranked=ranked,
        more=more,
        note=index.note(text, search),
        suggestion=respelt(question.query, spelt) if (spelt := index.spellings(text, search)) else "",
        missing=(*(name for names in limits for name in names), *index.missing_since(since)),
        parsed=parsed,
        total=total,
        facets=facets,
        explanation=explanation(index, text, search, ranked) if question.explain else None,
        took=Took(retrieve=milliseconds(began, retrieved), evidence=milliseconds(retrieved, perf_counter())),
    )


def _ranked(index: Index, text: str, search: Search) -> tuple[list[Hit], bool, ResolvedSearch]:
    """Return the hits of a page and whether more follow, which one hit more says."""
    resolved = index.resolve(search)
    settings = resolved.settings.search
    further = int(search.offset + settings.k < settings.max_k)
    (hits,) = index.search([text], search._replace(k=settings.k + further))
    return hits[: settings.k], len(hits) > settings.k, resolved


def again(limit: Deadline | None) -> Deadline | None:
    """Return a limit of as many seconds from now on."""
    return limit.anew() if limit else None


def milliseconds(began: float, ended: float) -> float:
    """Return the time between two readings of the clock in milliseconds, to a hundredth."""
    return round((ended - began) * 1000, 2)
