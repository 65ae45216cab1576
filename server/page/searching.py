"""The searches of a page: one ranking of an index, all of its rankings, or one ranking over several indexes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from time import perf_counter
from typing import NamedTuple

import msgspec

from ...retrieval import retrievers
from ...retrieval.deadline import CutOffError
from ...retrieval.domain import Hit
from ...retrieval.errors import NotFoundError, QueryError
from ...retrieval.lucene.spelling import respelt
from ...retrieval.retrievers import RetrieverKind
from ...retrieval.search.answer import Took
from ...retrieval.search.evidence import Evidence
from ...retrieval.search.federated import IndexedHit, MergedPage, chosen_weights, evidence_of, fused
from ...retrieval.search.options import Search
from ..errors import BadInput
from ..runtime import ServedIndex
from ..search import (
    KEEP,
    TimedOutError,
    limit_of,
    milliseconds,
    note_search,
    ranked_evidence,
    search_of,
    understood,
)
from .reasons import Reason, label_of, reasons
from .state import PageState

MANY = "many"
"""The name of the one ranking over several indexes."""


class IndexSearch(NamedTuple):
    """What one index is asked: the text that is ranked by, and the search."""

    served: ServedIndex
    text: str
    search: Search

    @property
    def size(self) -> int:
        """How many hits a page has."""
        return self.search.k or self.served.index.settings.search.k


class ShownRanking(NamedTuple):
    """The hits of one ranking with the reason of each; ``late`` names what was cut off.

    ``ready`` is False of a ranking that was cut off itself.
    """

    name: str
    hits: list[Evidence]
    reasons: list[Reason]
    took: Took | None
    more: bool = False
    note: str = ""
    depth: int = 0
    late: tuple[str, ...] = ()
    ready: bool = True
    approximate: bool = False


def asked_of(served: Sequence[ServedIndex], state: PageState) -> list[IndexSearch]:
    """Return what each index is asked.

    Raises QueryError if it makes no sense, naming the index if there are several.
    """
    if state.like and (state.query or len(served) > 1):
        reason = "more like a document is asked of one index, without a query; leave out the other"
        raise BadInput("like", reason)
    try:
        return [_asked_of(part, state) for part in served]
    except BadInput:
        raise
    except QueryError as error:
        raise BadInput("query", error.line) from None


def _asked_of(served: ServedIndex, state: PageState) -> IndexSearch:
    search = search_of(state.options(served.index), served.index, k_name="hits", offset=state.offset)
    if state.like:
        try:
            return IndexSearch(served, *served.index.like(state.like, search))
        except NotFoundError as error:
            raise BadInput("like", error.line) from None
    text, search, _ = understood(state.query, search, state.syntax, undated=state.undated == KEEP)
    return IndexSearch(served, text, search)


def suggestions(asked: Sequence[IndexSearch], state: PageState) -> Iterator[str]:
    """Yield the query with its misspelt words put right, by each index in which one is nowhere."""
    for part in asked:
        spellings = part.served.index.spellings(part.text, part.search)
        if spellings:
            yield respelt(state.query, spellings)


def ranking(asked: IndexSearch, retriever: str = "") -> ShownRanking:
    """Return one ranking of an index, by its default retriever unless one is named."""
    index, text = asked.served.index, asked.text
    search = asked.search._replace(retriever=retriever or asked.search.retriever)
    result = ranked_evidence(index, text, search)
    late = tuple(name for name, state in (result.coverage or {}).items() if state != "complete")
    why = reasons(index, text, search, result.ranked, limit_of())
    note = _note(asked)
    shown = ShownRanking(result.retriever, result.hits, why, result.took, result.more, note, result.depth, late)
    return shown._replace(approximate=bool(result.approximate))


def rankings(asked: IndexSearch) -> list[ShownRanking]:
    """Return all rankings of an index in the order of their columns; one that took too long is not ready.

    Raises TimedOutError if none was ready in time.
    """
    each = [_in_time(asked, name) for name in kinds_of(asked.served)]
    if not any(part.ready for part in each):
        raise TimedOutError("no ranking was ready in time; try again")
    return each


def _in_time(asked: IndexSearch, name: str) -> ShownRanking:
    try:
        return ranking(asked, name)
    except TimedOutError:
        return ShownRanking(name, [], [], None, ready=False)


def ranking_of_many(asked: Sequence[IndexSearch], state: PageState) -> ShownRanking:
    """Return one ranking over several indexes, fused by rank; each hit says its index.

    Raises BadInput if an index cannot answer, TimedOutError if none was ready in time.
    """
    began, settings = perf_counter(), asked[0].served.index.settings.search
    page = MergedPage(asked[0].size, state.offset, state.sort, settings.fusion.depth)
    searches = {part.served.name: _deeper(part, page) for part in asked}
    lists = {part.served.name: _hits(part, searches[part.served.name]) for part in asked}
    late = tuple(name for name, search in searches.items() if search.limit and search.limit.missing)
    if len(late) == len(asked) and not any(lists.values()):
        raise TimedOutError("no index was ready in time; try again")
    ranked = fused(lists, chosen_weights(lists, None), settings.fusion.rrf_k, page.deepest)
    shown, more = page.of(ranked, {part.served.name: part.served.index for part in asked})
    retrieved = perf_counter()
    hits = _evidence(asked, shown, searches, state.offset)
    took = Took(retrieve=milliseconds(began, retrieved), evidence=milliseconds(retrieved, perf_counter()))
    note = " ".join(dict.fromkeys(filter(None, map(_note, asked))))
    approximate = any(part.served.index.resolve(part.search).approximate for part in asked)
    why = _reasons(asked, shown)
    result = ShownRanking(MANY, hits, why, took, more, note, late=late, approximate=approximate)
    note_search(state.query, _SeveralIndexes(took))
    return result


class _SeveralIndexes(msgspec.Struct):
    """A search of several indexes as logs and metrics see it."""

    took: Took
    retriever: str = MANY


def undated(asked: Sequence[IndexSearch]) -> int:
    """Return how many documents of all indexes are left out because they have no date, whatever their words."""
    return sum(part.served.index.undated(part.search) for part in asked)


def _note(asked: IndexSearch) -> str:
    """Return what a reader of the hits should know, but for what the dates leave out, which the page says itself."""
    return asked.served.index.note(asked.text, asked.search._replace(where=None))


def _deeper(asked: IndexSearch, page: MergedPage) -> Search:
    most = asked.served.index.settings.search.max_k
    return page.asked(asked.search, most)._replace(limit=limit_of())


def _hits(asked: IndexSearch, search: Search) -> list[Hit]:
    try:
        return asked.served.index.search([asked.text], search)[0]
    except QueryError as error:
        raise BadInput("query", f"{asked.served.name}: {error.line}") from None
    except CutOffError:
        return []


def _evidence(
    asked: Sequence[IndexSearch], shown: Sequence[IndexedHit], searches: Mapping[str, Search], before: int
) -> list[Evidence]:
    reading = limit_of()
    indexes = {part.served.name: part.served.index for part in asked}
    own = {name: search._replace(limit=reading) for name, search in searches.items()}
    return evidence_of(indexes, asked[0].text, own, shown, after=before)


def _reasons(asked: Sequence[IndexSearch], shown: Sequence[IndexedHit]) -> list[Reason]:
    """Return why each hit stands where it does in its own index."""
    limit, each = limit_of(), {}
    for part in asked:
        own = [of for of in shown if of.name == part.served.name]
        hits, ranks = [of.hit for of in own], [of.rank for of in own]
        why = reasons(part.served.index, part.text, part.search._replace(offset=0, sort=""), hits, limit, ranks=ranks)
        each[part.served.name] = iter(why)
    return [next(each[of.name]) for of in shown]


def kinds_of(served: ServedIndex) -> dict[str, RetrieverKind]:
    """Return the rankings of an index in the order of their columns.

    What is fused stands behind the first of its sources, between what it was made of.
    """
    names = sorted(served.retrievers)
    kinds = {name: retrievers.kind(name) for name in names}
    fusing = [name for name in names if kinds[name].FUSES]
    sources = [name for name in names if name not in fusing]
    return {name: kinds[name] for name in (*sources[:1], *fusing, *sources[1:])}


def late_labels(names: Sequence[str]) -> str:
    """Return the labels of what was cut off, in a row."""
    return ", ".join(label_of(name).lower() for name in names)
