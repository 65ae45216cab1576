"""The searches of a page: one ranking of an index, all of its rankings, or one ranking over several indexes.

Each hit has the reasons for its rank: its words, its rank and score in each ranking, and the effect of the stages.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import count
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from ...retrieval import retrievers, stages
from ...retrieval.deadline import Deadline
from ...retrieval.domain import Hit, Part
from ...retrieval.errors import FactseekError
from ...retrieval.filters import FIELDS
from ...retrieval.retrievers import RetrieverKind
from ...retrieval.search.answer import Question, Took
from ...retrieval.search.evidence import Evidence
from ...retrieval.search.options import ResolvedSearch, Search
from ..errors import BadInput
from ..runtime import ServedIndex
from ..search import KEEP, TimedOutError, answer, answer_of_many, limit_of, query_errors_named, search_of
from .state import PageState

if TYPE_CHECKING:
    from ...retrieval.search.index import Index

MANY = "many"
"""The name of the one ranking over several indexes."""
_WORDS = 8
"""The most words of a hit to show, heaviest first."""


class IndexSearch(NamedTuple):
    """The search of one index: the question, the text to rank by, and the search with the conditions of the query."""

    served: ServedIndex
    question: Question
    text: str
    search: Search

    @property
    def size(self) -> int:
        """The number of hits per page."""
        return self.search.k or self.served.index.settings.search.k


class RankedBy(NamedTuple):
    """A ranking with the rank and the score that it gave the hit; ``vote`` is None if nothing is fused.

    ``help`` explains the ranking.
    """

    name: str
    label: str
    help: str
    rank: int
    score: float
    vote: float | None


class Step(NamedTuple):
    """A stage with the ranks before and after it, and the score that it gave the hit, if any."""

    name: str
    label: str
    rank: int
    after: int
    gave: float | None


class Reason(NamedTuple):
    """The reasons for a hit's rank: the query's words in its passage, with their weights in BM25.

    ``missed`` lists the rankings without the hit, ``depth`` is the number of hits of each ranking that are fused, and
    ``steps`` lists the stages that changed the hit's rank or score.
    """

    words: list[tuple[str, float]]
    rankings: list[RankedBy]
    missed: list[str]
    depth: int
    steps: list[Step]
    fused: bool


class ShownRanking(NamedTuple):
    """The hits of one ranking with their reasons; ``late`` names the parts that were cut off.

    ``ready`` is False if the whole ranking was cut off. ``bears`` is False if no hit is related to the claim: none is
    close in meaning, and none contains half of its words.
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
    bears: bool = True


def asked_of(served: Sequence[ServedIndex], state: PageState) -> list[IndexSearch]:
    """Return the search of each index.

    Raises BadInput if the state is invalid.
    """
    if state.like and (state.query or len(served) > 1):
        reason = "'more like this' searches one index without a query; leave out the other"
        raise BadInput("like", reason)
    fields = {pair.partition("=")[0] for pair in state.filter} - set(FIELDS)
    # An index without a field has no documents that a filter by this field accepts.
    fitting = [one for one in served if fields.issubset(one.index.info.filter_fields)]
    asked = []
    for one in fitting or served:
        search = search_of(state.options(one.index), one.index, k_name="hits", offset=state.offset)
        question = Question(
            query=state.query, search=search, like=state.like, syntax=state.syntax, undated=state.undated == KEEP
        )
        with query_errors_named():
            text, search, _ = question.to(one.index)
        asked.append(IndexSearch(one, question, text, search))
    return asked


def ranking(asked: IndexSearch, retriever: str = "") -> ShownRanking:
    """Return one ranking of an index, by its default retriever unless one is named."""
    index, search = asked.served.index, asked.question.search
    question = replace(asked.question, search=search._replace(retriever=retriever or search.retriever))
    result = answer(index, question)
    why = reasons(index, result.text, result.search, result.ranked, limit_of())
    return ShownRanking(
        result.retriever,
        result.hits,
        why,
        result.took,
        result.more,
        _note(asked),
        tuple(dict.fromkeys(result.missing)),
        approximate=result.approximate,
        bears=any(map(partial(_bears, index, result.text), result.hits, why)),
    )


def rankings(asked: Sequence[IndexSearch]) -> list[ShownRanking]:
    """Return all rankings that the indexes share, in the order of their columns; a late one is marked as not ready.

    Raises TimedOutError if none was ready in time.
    """
    each = []
    for name in shared_kinds([part.served for part in asked]):
        try:
            each.append(ranking(asked[0], name) if len(asked) == 1 else ranking_of_many(asked, name))
        except TimedOutError:
            each.append(ShownRanking(name, [], [], None, ready=False))
    if not any(part.ready for part in each):
        raise TimedOutError("no ranking was ready in time; try again")
    return each


def ranking_of_many(asked: Sequence[IndexSearch], retriever: str = "") -> ShownRanking:
    """Return one ranking over several indexes, fused by rank; each hit names its index and its rank there.

    Each index uses its default retriever unless one is named. Raises BadInput if an index cannot answer, TimedOutError
    if none was ready in time.
    """
    if retriever:
        asked = [
            part._replace(
                search=part.search._replace(retriever=retriever),
                question=replace(part.question, search=part.question.search._replace(retriever=retriever)),
            )
            for part in asked
        ]
    indexes = {part.served.name: part.served.index for part in asked}
    result = answer_of_many(indexes, {part.served.name: part.question for part in asked}, dict.fromkeys(indexes, 1.0))
    limit, why, text_of = limit_of(), {}, {part.served.name: part.text for part in asked}
    for part in asked:
        own = [of for of in result.ranked if of.name == part.served.name]
        alone, ranks = part.search._replace(offset=0, sort=""), [of.rank for of in own]
        hits = [of.hit for of in own]
        why[part.served.name] = iter(reasons(part.served.index, part.text, alone, hits, limit, ranks=ranks))
    in_order = [next(why[of.name]) for of in result.ranked]
    return ShownRanking(
        retriever or MANY,
        result.hits,
        in_order,
        result.took,
        result.more,
        " ".join(dict.fromkeys(filter(None, map(_note, asked)))),
        tuple(name for name, part in result.indexes.items() if part.missing),
        approximate=any(part.resolved.approximate for part in result.indexes.values()),
        bears=any(
            _bears(indexes[of.name], text_of[of.name], hit, reason)
            for of, hit, reason in zip(result.ranked, result.hits, in_order, strict=True)
        ),
    )


def _bears(index: Index, text: str, hit: Evidence, reason: Reason) -> bool:
    scores = {name: part.score for name, part in hit.retrievers.items()}
    return index.bears(text, scores, [word for word, _ in reason.words])


def _note(asked: IndexSearch) -> str:
    """Return the note for readers of the hits, without the remark on dates, which the page makes itself."""
    return asked.served.index.note(asked.text, asked.search._replace(where=None))


def reasons(
    index: Index, query: str, asked: Search, hits: Sequence[Hit], limit: Deadline, *, ranks: Sequence[int] = ()
) -> list[Reason]:
    """Return the reasons of each hit of a search; without its words if there is no time for them.

    ``ranks`` are the ranks of the hits in the index's list; by default they count on from the offset.
    """
    resolved = index.resolve(asked)
    none: list[dict[str, float]] = [{} for _ in hits]
    words = none if limit.is_over("reasons") else index.word_weights(query, hits, asked)
    places = ranks or count(asked.offset + 1)
    return [_reason(rank, hit, held, resolved) for rank, hit, held in zip(places, hits, words, strict=False)]


def _reason(rank: int, hit: Hit, words: Mapping[str, float], resolved: ResolvedSearch) -> Reason:
    parts = hit.parts or (Part(resolved.retriever, rank, hit.score, hit.score),)
    names = set(stages.names()) if len(parts) > 1 else set()
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
                part.vote if resolved.fuses and hit.score >= 0 else None,
            )
            for part in ranked
        ],
        missed=[labels_of(name)[0] for name in resolved.rankings if resolved.fuses and name not in having],
        depth=resolved.settings.search.fusion.depth,
        steps=[
            Step(part.retriever, stages.KINDS.load(part.retriever).LABEL, part.rank, after, part.vote or None)
            for part, after in steps
            if part.vote or part.rank != after
        ],
        fused=resolved.fuses,
    )


def labels_of(retriever: str) -> tuple[str, str]:
    """Return a ranking's name and its explanation for people, as English texts of the page."""
    try:
        kind = retrievers.kind(retriever)
    except FactseekError:
        return retriever, ""
    return kind.LABEL, kind.HELP


def shared_kinds(served: Sequence[ServedIndex]) -> dict[str, RetrieverKind]:
    """Return the rankings that all of these indexes have, in the order of their columns."""
    return {name: kind for name, kind in kinds_of(served[0]).items() if all(name in one.retrievers for one in served)}


def kinds_of(served: ServedIndex) -> dict[str, RetrieverKind]:
    """Return the rankings of an index in the order of their columns.

    A fused ranking comes after its first source and before the others.
    """
    kinds = {name: retrievers.kind(name) for name in sorted(served.retrievers)}
    fusing = [name for name in kinds if kinds[name].FUSES]
    sources = [name for name in kinds if name not in fusing]
    return {name: kinds[name] for name in (*sources[:1], *fusing, *sources[1:])}
