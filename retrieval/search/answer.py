"""A question to an index, and its answer.

The command line, HTTP, the page, agents and adapters only decode a :class:`Question` and encode an
:class:`Answer`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from ...core.deadline import Deadline
from ...core.domain import FacetCounts, Filter, Hit, Total
from ...core.errors import NotFoundError, QueryError
from ...core.text import has_words
from ..lucene.spelling import respelt
from .evidence import AnswerPart, Evidence
from .explaining import Explanation, explanation
from .options import DEFAULT_SEARCH, ResolvedSearch, Search
from .prepared_query import AnyQuery
from .query_syntax import PLAIN, QUERY, ParsedQuery, parse_query

if TYPE_CHECKING:
    from .index import Index

Coverage = dict[str, Literal["complete", "cut off"]]
"""Whether each ranking, and each missing part of the answer, was ready in time."""


@dataclass(frozen=True, slots=True)
class IndexQuestion:
    """A question in the form that an index searches: the query, the search with the conditions of
    the query added, and the query as it was parsed, if it was.
    """

    query: AnyQuery
    search: Search
    parsed: ParsedQuery | None = None

    @property
    def condition(self) -> Filter | None:
        """The part of the filter that the query itself contains."""
        return self.parsed.condition if self.parsed else None


class Took(AnswerPart):
    """The time that each step took, in milliseconds: ranking, and reading the evidence."""

    retrieve: float
    evidence: float


class Question(msgspec.Struct, frozen=True):
    """A query, the options of its search, and what the answer should contain.

    ``syntax`` says how to read ``query``. ``like``, a docid of the index, replaces the query. If
    the query itself has a date bound, ``undated`` keeps undated documents. ``passages`` asks for
    all passages of the hits' documents that contain a word of the query. ``facets`` names the
    fields to count, each with the number of values to return.
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
        """Return the question in the form that an index searches.

        Raises QueryError, naming the field, if the query does not follow the query language or has
        only conditions, or if the document ``like`` does not exist.
        """
        if self.like:
            try:
                document, search = index.like(self.like, self.search)
            except NotFoundError as error:
                raise QueryError(error.what, field="like") from None
            return IndexQuestion(document, search)
        if self.syntax != QUERY:
            return IndexQuestion(self.query, self.search)
        parsed = parse_query(self.query, self.search, undated=self.undated)
        if any(parsed[1:-1]) and not has_words(parsed.text):
            raise QueryError("the query has only conditions", remedy="add words to search for")
        return IndexQuestion(parsed.text, parsed.search, parsed)


class IndexAnswer(msgspec.Struct, kw_only=True):
    """What an index says to a question besides its hits: the resolved search, and notes for the
    reader.
    """

    text: str
    """The text that was searched for."""
    search: Search
    resolved: ResolvedSearch
    note: str
    suggestion: str
    """The query with its misspelt words corrected, ``""`` if there are none."""
    missing: tuple[str, ...]
    """The names of the rankings, other parts and shards that were not ready in time."""
    parsed: ParsedQuery | None = None
    weight: float = 1.0
    """The weight of the index among several."""

    @property
    def coverage(self) -> Coverage:
        """Which parts were ready in time and which were not; empty if all were."""
        return coverage(self.resolved.rankings, self.missing)


class Answer(IndexAnswer, kw_only=True):
    """The hits of a question, with counts, notes and explanations."""

    hits: list[Evidence]
    ranked: list[Hit]
    more: bool
    """Whether more hits follow."""
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
        """The number of hits fused from each ranking; 0 if the hits come from one ranking."""
        return self.resolved.settings.search.fusion.depth if self.resolved.fuses else 0


def coverage(rankings: Iterable[str], missing: Sequence[str]) -> Coverage:
    """Return, for each ranking and each missing part, whether it was ready; empty if nothing is
    missing.
    """
    if not missing:
        return {}
    return {name: "cut off" if name in missing else "complete" for name in (*rankings, *missing)}


def answer(index: Index, question: Question, limit: Deadline | None = None) -> Answer:
    """Answer a question; the answer's ``missing`` names the parts that were not ready in time.

    Raises QueryError if the question is invalid, naming the field at fault. Raises CutOffError if
    no ranking was ready in time.
    """
    since = monotonic()
    on_index = question.to(index)
    query, search = on_index.query, on_index.search
    facets, total = {}, None
    if question.count or question.facets:
        facets = index.facets(query, question.facets, search, on_index.condition)
        total = index.count(query, search)
        # A new limit, so that slow counts take no time from the ranking.
        limit = limit.renew() if limit else None
    began = perf_counter()
    resolved = index.resolve(search)
    k, most = resolved.settings.search.k, resolved.settings.search.max_k
    # One hit more than the page shows, to know whether more follow; an invalid number stays as it
    # was given.
    (hits,) = index.search(
        [query], search._replace(k=k + int(k > 0 and 0 <= search.offset < most - k)), limit
    )
    ranked, retrieved = hits[:k], perf_counter()
    # A new limit, so that a slow retriever takes no time from the evidence.
    reading = limit.renew() if limit else None
    evidence = index.evidence(query, ranked, search, highlight=question.highlight, limit=reading)
    if question.passages:
        evidence = index.with_passages(query, evidence, search, reading)
    return Answer(
        **remarks(index, on_index, question.query, since, (limit, reading)),
        hits=evidence,
        ranked=ranked,
        more=len(hits) > k,
        total=total,
        facets=facets,
        explanation=explanation(index, query, search, ranked) if question.explain else None,
        took=Took(
            retrieve=milliseconds(began, retrieved),
            evidence=milliseconds(retrieved, perf_counter()),
        ),
    )


def remarks(
    index: Index,
    on_index: IndexQuestion,
    query: str,
    since: float,
    limits: Iterable[Deadline | None],
) -> dict[str, Any]:
    """Return the fields of an :class:`IndexAnswer` that notes, the spelling of ``query`` and late
    parts fill.

    ``limits`` are those of the ranking and of the evidence. Shards that failed to answer after
    ``since`` are missing.
    """
    asked, search = on_index.query, on_index.search
    spelt = index.spellings(asked, search)
    late = [name for limit in limits if limit for name in limit.missing]
    return {
        "text": str(asked),
        "search": search,
        "resolved": index.resolve(search),
        "note": index.note(asked, search),
        "suggestion": respelt(query, spelt) if spelt else "",
        "missing": (*late, *index.missing_since(since)),
        "parsed": on_index.parsed,
    }


def milliseconds(began: float, ended: float) -> float:
    """Return the milliseconds between two clock readings, rounded to a hundredth."""
    return round((ended - began) * 1000, 2)
