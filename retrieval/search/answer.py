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
from .plan import Plan
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
    fields to count, each with the number of values to return. ``vector`` is the vector of the
    query; nothing is then encoded.
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
    vector: tuple[float, ...] | None = None

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
            return IndexQuestion(self._with_vector(self.query, self.search, index), self.search)
        parsed = parse_query(self.query, self.search, undated=self.undated)
        if parsed.condition and not has_words(parsed.text):
            raise QueryError("the query has only conditions", remedy="add words to search for")
        query = self._with_vector(parsed.text, parsed.search, index)
        return IndexQuestion(query, parsed.search, parsed)

    def _with_vector(self, text: str, search: Search, index: Index) -> AnyQuery:
        if self.vector is None:
            return text
        return index.query_with_vector(text, self.vector, search)


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
    related: bool | None = None
    """Whether the first hits seem related to the question; None if nobody can tell."""
    absent_words: tuple[str, ...] = ()
    """The telling words of the question that no document contains, if its first hits are related,
    but only rather near.
    """
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
    query = on_index.query
    plan = index.plan(on_index.search)
    facets, total = {}, None
    if question.count or question.facets:
        facets = plan.facets(query, question.facets, on_index.condition)
        total = plan.count(query)
        # A new limit, so that slow counts take no time from the ranking.
        limit = limit.renew() if limit else None
    began = perf_counter()
    # One hit more than the page shows, to know whether more follow.
    ((first, hits),) = plan.hits_and_first([query], limit, further=1)
    ranked = hits[: plan.resolved.settings.search.k]
    relatedness = plan.relatedness(query, first)
    retrieved = perf_counter()
    # A new limit, so that a slow retriever takes no time from the evidence.
    reading = limit.renew() if limit else None
    evidence = plan.evidence(query, ranked, reading, highlight=question.highlight)
    if question.passages:
        evidence = plan.with_passages(query, evidence, reading)
    return Answer(
        **remarks(plan, on_index, question.query),
        missing=missing_parts(index, since, (limit, reading)),
        hits=evidence,
        ranked=ranked,
        more=len(hits) > len(ranked),
        related=relatedness.related,
        absent_words=plan.absent_words(query) if relatedness.asks_for_absent_words else (),
        total=total,
        facets=facets,
        explanation=explanation(plan, query, ranked) if question.explain else None,
        took=Took(
            retrieve=milliseconds(began, retrieved),
            evidence=milliseconds(retrieved, perf_counter()),
        ),
    )


def remarks(plan: Plan, on_index: IndexQuestion, typed: str) -> dict[str, Any]:
    """Return the fields of an :class:`IndexAnswer` that the search, notes, and the spelling of the
    query as the user ``typed`` it fill.
    """
    spelt = plan.spellings(on_index.query)
    return {
        "text": str(on_index.query),
        "search": on_index.search,
        "resolved": plan.resolved,
        "note": plan.note(on_index.query),
        "suggestion": respelt(typed, spelt) if spelt else "",
        "parsed": on_index.parsed,
    }


def missing_parts(index: Index, since: float, limits: Iterable[Deadline | None]) -> tuple[str, ...]:
    """Return the names of the parts that ``limits`` cut off, and of the shards that failed to
    answer after ``since``.
    """
    late = [name for limit in limits if limit for name in limit.missing]
    return (*late, *index.missing_since(since))


def milliseconds(began: float, ended: float) -> float:
    """Return the milliseconds between two clock readings, rounded to a hundredth."""
    return round((ended - began) * 1000, 2)
