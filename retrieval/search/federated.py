"""One search over several indexes of any languages and encoders: fusion by rank merges their
rankings.

Scores of different indexes are not comparable, but ranks are. A hit's score is the weight of its
index, divided by the sum of a constant and the hit's rank (reciprocal rank fusion). If the first
hit of an index seems unrelated to the query, the weight of the index is halved. Its best hit then
follows the first page of the other indexes' hits. Documents of two indexes are always distinct.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterator, Mapping, Sequence
from contextlib import contextmanager
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from ...core.deadline import CutOffError, Deadline
from ...core.domain import FacetCounts, Filter, Hit, Part, Total
from ...core.errors import QueryError
from ...core.order import float32, scores_below
from ..filters import last_day
from .absent_words import words_to_name
from .answer import IndexAnswer, Question, Took, milliseconds, missing_parts, remarks
from .counting import MOST_VALUES
from .declared import check_options
from .evidence import Evidence
from .options import DEFAULT_SEARCH, Search
from .plan import Plan
from .prepared_query import AnyQuery
from .relatedness import JUDGED, together

if TYPE_CHECKING:
    from .index import Index


INDEX = "index"  # the field of a hit that names its index, in a search of several indexes
# The factor for the weight of an index whose first hit seems unrelated to the query.
_UNLIKELY = 0.5


class IndexedHit(NamedTuple):
    """A hit with the name of its index, its rank there, and its score in the merged ranking."""

    name: str
    rank: int
    score: float
    hit: Hit


class CountsOfMany(NamedTuple):
    """The counts of a search over several indexes: those of each index, by name, and those of all
    indexes together.
    """

    totals: dict[str, Total]
    of_each: dict[str, dict[str, FacetCounts]]
    facets: dict[str, FacetCounts]

    @property
    def total(self) -> Total:
        """The total number of hits of all indexes; ``matching`` is true if it is true for every
        index.
        """
        counted = self.totals.values()
        return Total(sum(total.hits for total in counted), all(total.matching for total in counted))


class FederatedAnswer(NamedTuple):
    """One ranking over several indexes, each hit with its index, and the notes of each index by its
    name.

    ``retriever`` is the word that stands for the retriever in logs and metrics.
    """

    hits: list[Evidence]
    ranked: list[IndexedHit]
    more: bool
    rrf_k: int
    took: Took
    indexes: dict[str, IndexAnswer]
    counts: CountsOfMany | None = None
    retriever: str = "many"
    related: bool | None = None
    """Whether the first hits of an index seem related to the query; None if nobody can tell."""
    absent_words: tuple[str, ...] = ()
    """The telling words of the query that no document of any index contains."""


def search_many(
    indexes: Mapping[str, Index],
    query: str,
    options: Search | Mapping[str, Search] = DEFAULT_SEARCH,
    *,
    weights: Mapping[str, float] | None = None,
    highlight: bool = True,
) -> list[Evidence]:
    """Return the evidence for a query from several indexes, by name, in one ranking; each hit names
    its index.

    ``options`` is one search for all indexes, or maps each name to a search. Each index uses its
    own default retriever unless the search names one. A missing weight is 1. The first index's
    search sets the number of hits, ``offset`` and ``sort``. A shorter list is the beginning of a
    longer one. Raises QueryError, naming the index, if an index cannot answer.
    """
    if not isinstance(options, Search) and options.keys() != indexes.keys():
        raise QueryError(
            f"the searches are for {', '.join(options)}, but the indexes are {', '.join(indexes)}"
        )
    questions = {
        name: Question(
            query, options if isinstance(options, Search) else options[name], highlight=highlight
        )
        for name in indexes
    }
    return answer(indexes, questions, weights).hits


def answer(
    indexes: Mapping[str, Index],
    questions: Mapping[str, Question],
    weights: Mapping[str, float] | None = None,
    rrf_k: int = 0,
    limits: Mapping[str, Deadline] | None = None,
) -> FederatedAnswer:
    """Answer a question from several indexes, by name, in one ranking.

    The questions differ only in the search of each index. The first question sets the number of
    hits, their offset, their order, and what the answer contains. If ``rrf_k`` is 0, the
    configuration sets it. ``limits`` has the time limit of each index, by name. Raises QueryError,
    naming the index, if an index cannot answer. Raises CutOffError if no index was ready in time.
    """
    since, chosen = monotonic(), chosen_weights(indexes, weights)
    on_index = {name: questions[name].to(index) for name, index in indexes.items()}
    searches = {name: asked.search for name, asked in on_index.items()}
    first = next(iter(questions.values()))
    # Its number of hits is that of the whole list, so that no index is to blame for it.
    check_options(first.search)
    first_on_index = next(iter(on_index.values()))
    query = first_on_index.query
    limits = limits or {}
    counts = None
    if first.count or first.facets:
        condition = first_on_index.condition
        counts = counts_of_many(indexes, query, searches, first.facets, condition=condition)
    began = perf_counter()
    plans = {}
    for name, index in indexes.items():
        with _index_named(name):
            # The offset applies to the merged ranking, not to the ranking of each index.
            plans[name] = index.plan(replace(searches[name], offset=0))
    resolved = next(iter(plans.values())).resolved
    settings = resolved.settings.search
    start = first.search.offset
    end = resolved.depth(start)
    window = settings.fusion.depth
    # One hit more than the page shows, to know whether more follow.
    deepest = max(end + 1, window if first.search.sort else JUDGED)
    rankings, cut_off = {}, []
    for name, index in indexes.items():
        k = min(deepest, index.settings.search.max_k)
        try:
            with _index_named(name):
                unsorted = index.plan(replace(searches[name], k=k, offset=0, sort=None))
                (rankings[name],) = unsorted.hits([query], limits.get(name))
        except CutOffError:
            rankings[name] = []
            cut_off.append(name)
    if len(cut_off) == len(indexes):
        raise CutOffError("no index was ready in time; try again")
    for name, hits_of in rankings.items():
        if hits_of and not _bears(indexes[name], plans[name], query, hits_of[0]):
            chosen[name] *= _UNLIKELY
    relatedness = together(
        [plans[name].relatedness(query, hits[:JUDGED]) for name, hits in rankings.items() if hits]
    )
    rrf_k = rrf_k or settings.fusion.rrf_k
    ranked = fuse_indexes(rankings, chosen, rrf_k, deepest)
    if first.search.sort:
        ranked = _newest_first(ranked, plans, window)
    shown, more = ranked[start:end], len(ranked) > end and end < settings.max_k
    retrieved = perf_counter()
    # A new limit for the evidence of all indexes together.
    reading = next((limit.renew() for limit in limits.values()), None)
    hits = _read_evidence(plans, query, shown, reading, highlight=first.highlight)
    hits = [replace(hit, rank=rank) for rank, hit in enumerate(hits, start + 1)]
    if first.passages:
        hits = _with_passages(plans, query, hits, reading)
    each = {
        name: IndexAnswer(
            **remarks(plans[name], on_index[name], first.query),
            missing=missing_parts(index, since, (limits.get(name), reading)),
            weight=chosen[name],
        )
        for name, index in indexes.items()
    }
    took = Took(
        retrieve=milliseconds(began, retrieved), evidence=milliseconds(retrieved, perf_counter())
    )
    return FederatedAnswer(
        hits,
        shown,
        more,
        rrf_k,
        took,
        each,
        counts,
        related=relatedness.related,
        absent_words=_absent_words(plans.values(), query)
        if relatedness.asks_for_absent_words
        else (),
    )


def _absent_words(plans: Collection[Plan], query: AnyQuery) -> tuple[str, ...]:
    """Return the telling words of a query that no document of any index contains."""
    for plan in plans:
        # The words that tell something in the first language that the query may be in.
        if not plan.is_foreign(query) and (words := plan.content_words(query)):
            absent = words
            for other in plans:
                absent = other.absent_among(query, absent)
            return words_to_name(absent, words)
    return ()


def _read_evidence(
    plans: Mapping[str, Plan],
    query: AnyQuery,
    shown: Sequence[IndexedHit],
    limit: Deadline | None,
    *,
    highlight: bool,
) -> list[Evidence]:
    """Return the evidence of hits, in their order, each with its index and its merged score."""
    of_indexes = {}
    for name, plan in plans.items():
        retriever = plan.resolved.retriever
        # A hit with parts already has its rank in its own index.
        own = [
            of.hit
            if of.hit.parts
            else replace(of.hit, parts=(Part(retriever, of.rank, of.hit.score),))
            for of in shown
            if of.name == name
        ]
        of_indexes[name] = iter(plan.evidence(query, own, limit, highlight=highlight))
    return [replace(next(of_indexes[of.name]), score=of.score, index=of.name) for of in shown]


def _with_passages(
    plans: Mapping[str, Plan], query: AnyQuery, hits: Sequence[Evidence], limit: Deadline | None
) -> list[Evidence]:
    """Return the hits, in their order, each with the passages of its document that match."""
    of_indexes = {}
    for name, plan in plans.items():
        own = [hit for hit in hits if hit.index == name]
        of_indexes[name] = iter(plan.with_passages(query, own, limit))
    return [next(of_indexes[str(hit.index)]) for hit in hits]


def _bears(index: Index, plan: Plan, query: AnyQuery, hit: Hit) -> bool:
    resolved = plan.resolved  # a stage's part says nothing about relevance
    scores = {
        part.retriever: part.score for part in hit.parts if part.retriever in resolved.rankings
    }
    scores = scores or {resolved.retriever: hit.score}
    return index.bears(str(query), scores, plan.word_weights(query, [hit])[0])


@contextmanager
def _index_named(name: str) -> Iterator[None]:
    """Add the name of the index to a QueryError that is raised in this context."""
    try:
        yield
    except QueryError as error:
        raise QueryError(f"{name}: {error.what}", remedy=error.remedy, field=error.field) from None


def counts_of_many(
    indexes: Mapping[str, Index],
    query: AnyQuery,
    searches: Mapping[str, Search],
    fields: Mapping[str, int],
    *,
    condition: Filter | None = None,
) -> CountsOfMany:
    """Count the hits of each index, and of all, by the values of fields; ``index`` is also a field.

    For each field, it adds up the thousand most frequent values of each index that has the field.
    At least one index must have it. ``condition`` is the part of the filter that the query itself
    contains.
    """
    totals: dict[str, Total] = {}
    documents: dict[str, int] = {}
    each: dict[str, dict[str, FacetCounts]] = {}
    declared = {field for index in indexes.values() for field in index.info.filter_fields}
    for name, index in indexes.items():
        lacking = declared.difference(index.info.filter_fields)
        wanted = {field: MOST_VALUES for field in fields if field != INDEX and field not in lacking}
        with _index_named(name):
            totals[name] = index.count(query, searches[name])
            documents[name] = totals[name].hits
            # Facets count documents, even if the hits are passages.
            if INDEX in fields and not index.resolve(searches[name]).settings.search.group:
                documents[name] = index.count(query, replace(searches[name], group=True)).hits
            each[name] = index.facets(query, wanted, searches[name], condition)
    filtered = [dict(search.where.values()) for search in searches.values() if search.where]
    chosen = {
        field: {value for admitted in filtered for value in admitted.get(field, ())}
        for field in fields
    }
    return CountsOfMany(
        totals,
        {
            name: {
                field: _cut(facet, fields[field], chosen[field]) for field, facet in facets.items()
            }
            for name, facets in each.items()
        },
        {
            field: _cut(_add_counts(field, documents, each), most, chosen[field])
            for field, most in fields.items()
        },
    )


def chosen_weights(
    names: Mapping[str, object], weights: Mapping[str, float] | None
) -> dict[str, float]:
    """Return the weight of each index.

    Raises QueryError for an unknown index or a weight out of range.
    """
    chosen = dict.fromkeys(names, 1.0) | dict(weights or {})
    if not names:
        raise QueryError("give an index to search")
    for name in chosen.keys() - names.keys():
        raise QueryError(
            f"{name[:80]} has a weight, but is not searched",
            remedy=f"the indexes are {', '.join(names)}",
        )
    for name, weight in chosen.items():
        if not 0 <= weight <= 1_000_000:
            raise QueryError(f"the weight of {name} is {weight}: give a number from 0 to 1000000")
    if not any(chosen.values()):
        raise QueryError("all weights are 0: no index would count")
    return chosen


def fuse_indexes(
    rankings: Mapping[str, Sequence[Hit]], weights: Mapping[str, float], rrf_k: int, k: int
) -> list[IndexedHit]:
    """Return the first ``k`` hits of all indexes: by score descending, docid descending, then the
    index's name.
    """
    counted = sorted(name for name in rankings if weights[name])
    hits = [(name, rank, hit) for name in counted for rank, hit in enumerate(rankings[name], 1)]
    scores = float32(weights[name] / (rrf_k + rank) for name, rank, _ in hits)
    scored = [
        IndexedHit(name, rank, score, hit)
        for (name, rank, hit), score in zip(hits, scores, strict=True)
    ]
    return sorted(scored, key=lambda each: (each.score, each.hit.docid), reverse=True)[:k]


def _newest_first(
    ranked: Sequence[IndexedHit], plans: Mapping[str, Plan], window: int
) -> list[IndexedHit]:
    first, rest = ranked[:window], ranked[window:]
    dates = {}
    for name, plan in plans.items():
        own = [(of.hit.docid, of.hit.passage) for of in first if of.name == name]
        dates[name] = iter(plan.context.state.document_values(own, "date"))
    days = [last_day(next(dates[of.name])) for of in first]
    places = sorted(range(len(first)), key=days.__getitem__, reverse=True)
    newest = [
        first[at]._replace(score=float(len(first) - place)) for place, at in enumerate(places)
    ]
    below = zip(rest, scores_below(1.0, len(rest)), strict=True)
    return newest + [of._replace(score=score) for of, score in below]


def _add_counts(
    field: str, documents: Mapping[str, int], each: Mapping[str, Mapping[str, FacetCounts]]
) -> FacetCounts:
    """Return the counts of a field's values over all indexes, highest first; equal counts are in
    alphabetical order.
    """
    if field == INDEX:
        return FacetCounts(_in_order(documents), 0, 0)
    values: Counter[str] = Counter()
    having = [facets[field] for facets in each.values() if field in facets]
    for facet in having:
        values.update(dict(facet.values))
    return FacetCounts(
        _in_order(values),
        sum(facet.more for facet in having),
        sum(facet.missing for facet in having),
    )


def _in_order(values: Mapping[str, int]) -> list[tuple[str, int]]:
    return sorted(values.items(), key=lambda pair: (-pair[1], pair[0]))


def _cut(facet: FacetCounts, most: int, chosen: Container[str]) -> FacetCounts:
    """Return the ``most`` most frequent values and the ``chosen`` ones; ``more`` counts the
    others.
    """
    first = [pair for pair in facet.values[:most] if pair[1]]
    named = [pair for pair in facet.values if pair not in first and pair[0] in chosen]
    left_out = sum(count > 0 for _, count in facet.values) - len(first)
    return facet._replace(values=first + named, more=facet.more + left_out)
