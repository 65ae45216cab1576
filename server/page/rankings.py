"""The searches of a page: one ranking of an index, all of its rankings, or one ranking over several indexes.

Each hit says why it stands where it does: its words, what each ranking made of it, what its stages did.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import count
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from ...retrieval import retrievers, stages
from ...retrieval.deadline import CutOffError, Deadline
from ...retrieval.domain import Hit, Part
from ...retrieval.errors import FactseekError, NotFoundError, QueryError
from ...retrieval.retrievers import RetrieverKind
from ...retrieval.search.evidence import Evidence
from ...retrieval.search.federated import MergedPage, chosen_weights, evidence_of, fused
from ...retrieval.search.options import ResolvedSearch, Search
from ..errors import BadInput
from ..runtime import ServedIndex
from ..schemas import Took
from ..search import KEEP, TimedOutError, limit_of, milliseconds, note_search, ranked_evidence, search_of, understood
from .state import PageState

if TYPE_CHECKING:
    from ...retrieval.search.index import Index

MANY = "many"
"""The name of the one ranking over several indexes."""
_WORDS = 8
"""Words of a hit that are shown, heaviest first."""


class IndexSearch(NamedTuple):
    """What one index is asked: the text that is ranked by, and the search."""

    served: ServedIndex
    text: str
    search: Search

    @property
    def size(self) -> int:
        """How many hits a page has."""
        return self.search.k or self.served.index.settings.search.k


class RankedBy(NamedTuple):
    """A ranking by its label: the rank that it gave the hit and its score; ``vote`` is None where nothing is fused.

    ``help`` says by what it ranks.
    """

    name: str
    label: str
    help: str
    rank: int
    score: float
    vote: float | None


class Step(NamedTuple):
    """A stage by its name and label, the ranks before and after it, and the score that it gave the hit, if it did."""

    name: str
    label: str
    rank: int
    after: int
    gave: float | None


class Reason(NamedTuple):
    """Why a hit stands at its rank: the words of the query that its passage holds, with what BM25 counts them as.

    ``missed`` are the rankings that do not have it, ``depth`` is how far they look, ``steps`` are the stages that did
    something to it.
    """

    words: list[tuple[str, float]]
    rankings: list[RankedBy]
    missed: list[str]
    depth: int
    steps: list[Step]
    fused: bool


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
    late: tuple[str, ...] = ()
    ready: bool = True
    approximate: bool = False


def asked_of(served: Sequence[ServedIndex], state: PageState) -> list[IndexSearch]:
    """Return what each index is asked.

    Raises BadInput if it makes no sense.
    """
    if state.like and (state.query or len(served) > 1):
        reason = "more like a document is asked of one index, without a query; leave out the other"
        raise BadInput("like", reason)
    asked = []
    for one in served:
        try:
            search = search_of(state.options(one.index), one.index, k_name="hits", offset=state.offset)
            if state.like:
                text, search = one.index.like(state.like, search)
            else:
                text, search, _ = understood(state.query, search, state.syntax, undated=state.undated == KEEP)
        except NotFoundError as error:
            raise BadInput("like", error.line) from None
        except BadInput:
            raise
        except QueryError as error:
            raise BadInput("query", error.line) from None
        asked.append(IndexSearch(one, text, search))
    return asked


def ranking(asked: IndexSearch, retriever: str = "") -> ShownRanking:
    """Return one ranking of an index, by its default retriever unless one is named."""
    index, text = asked.served.index, asked.text
    search = asked.search._replace(retriever=retriever or asked.search.retriever)
    result = ranked_evidence(index, text, search)
    return ShownRanking(
        result.retriever,
        result.hits,
        reasons(index, text, search, result.ranked, limit_of()),
        result.took,
        result.more,
        _note(asked),
        tuple(name for name, state in (result.coverage or {}).items() if state != "complete"),
        approximate=bool(result.approximate),
    )


def rankings(asked: IndexSearch) -> list[ShownRanking]:
    """Return all rankings of an index in the order of their columns; one that took too long is not ready.

    Raises TimedOutError if none was ready in time.
    """
    each = []
    for name in kinds_of(asked.served):
        try:
            each.append(ranking(asked, name))
        except TimedOutError:
            each.append(ShownRanking(name, [], [], None, ready=False))
    if not any(part.ready for part in each):
        raise TimedOutError("no ranking was ready in time; try again")
    return each


class _SeveralIndexes(msgspec.Struct):
    """A search of several indexes as logs and metrics see it."""

    took: Took
    retriever: str = MANY


def ranking_of_many(asked: Sequence[IndexSearch], state: PageState) -> ShownRanking:
    """Return one ranking over several indexes, fused by rank; each hit says its index, and stands in it for a reason.

    Raises BadInput if an index cannot answer, TimedOutError if none was ready in time.
    """
    began, settings = perf_counter(), asked[0].served.index.settings.search
    indexes = {part.served.name: part.served.index for part in asked}
    page = MergedPage(asked[0].size, state.offset, state.sort, settings.fusion.depth)
    searches: dict[str, Search] = {}
    lists: dict[str, list[Hit]] = {}
    for part in asked:
        name, index = part.served.name, part.served.index
        searches[name] = page.asked(part.search, index.settings.search.max_k)._replace(limit=limit_of())
        try:
            lists[name] = index.search([part.text], searches[name])[0]
        except QueryError as error:
            raise BadInput("query", f"{name}: {error.line}") from None
        except CutOffError:
            lists[name] = []
    late = tuple(name for name, search in searches.items() if search.limit and search.limit.missing)
    if len(late) == len(asked) and not any(lists.values()):
        raise TimedOutError("no index was ready in time; try again")
    ranked = fused(lists, chosen_weights(lists, None), settings.fusion.rrf_k, page.deepest)
    shown, more = page.of(ranked, indexes)
    retrieved, reading = perf_counter(), limit_of()
    own = {name: search._replace(limit=reading) for name, search in searches.items()}
    hits = evidence_of(indexes, asked[0].text, own, shown, after=state.offset)
    took = Took(retrieve=milliseconds(began, retrieved), evidence=milliseconds(retrieved, perf_counter()))
    note_search(state.query, _SeveralIndexes(took))
    limit, why = limit_of(), {}
    for part in asked:
        mine = [of for of in shown if of.name == part.served.name]
        alone, ranks = part.search._replace(offset=0, sort=""), [of.rank for of in mine]
        why[part.served.name] = iter(
            reasons(part.served.index, part.text, alone, [of.hit for of in mine], limit, ranks=ranks)
        )
    return ShownRanking(
        MANY,
        hits,
        [next(why[of.name]) for of in shown],
        took,
        more,
        " ".join(dict.fromkeys(filter(None, map(_note, asked)))),
        late,
        approximate=any(part.served.index.resolve(part.search).approximate for part in asked),
    )


def _note(asked: IndexSearch) -> str:
    """Return what a reader of the hits should know, but for what the dates leave out, which the page says itself."""
    return asked.served.index.note(asked.text, asked.search._replace(where=None))


def reasons(
    index: Index, query: str, asked: Search, hits: Sequence[Hit], limit: Deadline, *, ranks: Sequence[int] = ()
) -> list[Reason]:
    """Return the reason of each hit of a search; without its words if there is no time for them.

    ``ranks`` are those of the hits in the list of the index, one after the other from the offset on if none is given.
    """
    resolved = index.resolve(asked)
    none: list[dict[str, float]] = [{} for _ in hits]
    words = none if limit.is_over("reasons") else index.word_weights(query, hits, asked)
    places = ranks or count(asked.offset + 1)
    return [_reason(rank, hit, held, resolved) for rank, hit, held in zip(places, hits, words, strict=False)]


def _reason(rank: int, hit: Hit, words: Mapping[str, float], resolved: ResolvedSearch) -> Reason:
    parts = hit.parts or (Part(resolved.retriever, rank, hit.score, hit.score),)
    names = set(stages.names()) if len(parts) > 1 else set()
    fused = resolved.rankings != (resolved.retriever,)
    ranked = [part for part in parts if part.retriever not in names]
    staged = [part for part in parts if part.retriever in names]
    having = {part.retriever for part in ranked}
    steps = zip(staged, [*(part.rank for part in staged[1:]), rank], strict=bool(staged))
    return Reason(
        words=sorted(words.items(), key=lambda pair: (-pair[1], pair[0]))[:_WORDS],
        rankings=[
            RankedBy(
                part.retriever,
                *labels_of(part.retriever),
                part.rank,
                part.score,
                part.vote if fused and hit.score >= 0 else None,
            )
            for part in ranked
        ],
        missed=[labels_of(name)[0] for name in resolved.rankings if fused and name not in having],
        depth=resolved.settings.search.fusion.depth,
        steps=[
            Step(part.retriever, stages.KINDS.load(part.retriever).LABEL, part.rank, after, part.vote or None)
            for part, after in steps
            if part.vote or part.rank != after
        ],
        fused=fused,
    )


def labels_of(retriever: str) -> tuple[str, str]:
    """Return a ranking's name for people, and by what it ranks, in English texts of the page."""
    try:
        kind = retrievers.kind(retriever)
    except FactseekError:
        return retriever, ""
    return kind.LABEL, kind.HELP


def kinds_of(served: ServedIndex) -> dict[str, RetrieverKind]:
    """Return the rankings of an index in the order of their columns.

    What is fused stands behind the first of its sources, between what it was made of.
    """
    kinds = {name: retrievers.kind(name) for name in sorted(served.retrievers)}
    fusing = [name for name in kinds if kinds[name].FUSES]
    sources = [name for name in kinds if name not in fusing]
    return {name: kinds[name] for name in (*sources[:1], *fusing, *sources[1:])}
