"""The searches of a page: one ranking of an index, all of its rankings, or one ranking over several
indexes.

Each hit has the reasons for its rank: its words, its rank and score in each ranking, and the effect
of the stages. Facets next to the hits, and chips of active choices, link to the state with or
without a choice.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec.structs import replace

from ...core.deadline import Deadline
from ...core.domain import Filter, Hit, Part, Total
from ...core.errors import FactseekError
from ...retrieval import retrievers, stages
from ...retrieval.filters import FIELDS
from ...retrieval.retrievers import RetrieverKind
from ...retrieval.search.answer import Answer, Question, Took
from ...retrieval.search.evidence import Evidence
from ...retrieval.search.federated import INDEX, FederatedAnswer, counts_of_many
from ...retrieval.search.options import Search
from ...retrieval.search.prepared_query import AnyQuery
from ...retrieval.search.query_syntax import QUERY, query_parts
from ..call import current_call
from ..errors import BadInput
from ..runtime import ServedIndex
from ..search import (
    KEEP,
    TimedOutError,
    answer,
    answer_of_many,
    query_errors_named,
    search_of,
)
from .i18n import name_of_language
from .notes import AbsentWord, show_absent_words
from .state import DATE, LONGEST_ADDRESS, UNFOLDED, PageState, further_options

if TYPE_CHECKING:
    from ...retrieval.search.index import Index

MANY = "many"  # the name of the one ranking over several indexes
_WORDS = 8  # the maximum number of words of a hit to show, those with the largest weight first


class IndexSearch(NamedTuple):
    """The search of one index: the question, the query to rank by, the options with the query's
    conditions, and these conditions alone.
    """

    served: ServedIndex
    question: Question
    query: AnyQuery
    search: Search
    condition: Filter | None

    @property
    def size(self) -> int:
        """The number of hits per page."""
        return self.search.k or self.served.index.settings.search.k


class ShownRanking(NamedTuple):
    """The hits of one ranking with their reasons; ``late`` names the parts that were cut off.

    ``ready`` is False if the whole ranking was cut off. ``related`` and ``absent_words`` are those
    of the answer.
    """

    name: str
    hits: list[Evidence]
    reasons: list[dict[str, Any]]
    took: Took | None
    more: bool = False
    note: str = ""
    late: tuple[str, ...] = ()
    ready: bool = True
    approximate: bool = False
    related: bool | None = None
    absent_words: tuple[str, ...] = ()


def searches_of(served: Sequence[ServedIndex], state: PageState) -> list[IndexSearch]:
    """Return the search of each index; raise BadInput if the state is invalid."""
    if state.like and (state.query or len(served) > 1):
        reason = (
            "'more like this' searches one index without a query; leave out the query and the "
            "other indexes"
        )
        raise BadInput("like", reason)
    fields = {pair.partition("=")[0] for pair in state.filter} - set(FIELDS)
    # An index without a field has no documents that a filter by this field accepts.
    fitting = [one for one in served if fields.issubset(one.index.info.filter_fields)]
    call = current_call()
    searches = []
    for one in fitting or served:
        search = search_of(
            call, state.options(one.index), one.index, k_name="hits", offset=state.offset
        )
        question = Question(
            query=state.query,
            search=search,
            like=state.like,
            syntax=state.syntax,
            undated=state.undated == KEEP,
        )
        with query_errors_named(call):
            asked = question.to(one.index)
        searches.append(IndexSearch(one, question, asked.query, asked.search, asked.condition))
    return searches


def ranking(searches: Sequence[IndexSearch], retriever: str = "") -> ShownRanking:
    """Return one ranking over these indexes, by ``retriever`` or their defaults; raise BadInput or
    TimedOutError.
    """
    if retriever:
        searches = [
            part._replace(
                search=replace(part.search, retriever=retriever),
                question=replace(
                    part.question, search=replace(part.question.search, retriever=retriever)
                ),
            )
            for part in searches
        ]
    # The page itself makes the remark on dates.
    notes = [
        part.served.index.note(part.query, replace(part.search, where=None)) for part in searches
    ]
    note = "\n".join(dict.fromkeys(filter(None, notes)))
    call = current_call()
    result: Answer | FederatedAnswer
    if len(searches) == 1:
        index = searches[0].served.index
        result = answer(call, index, searches[0].question)
        name, late, approximate = (
            result.retriever,
            tuple(dict.fromkeys(result.missing)),
            result.resolved.approximate,
        )
        why = reasons(index, searches[0].query, result.search, result.ranked, call.limit())
    else:
        indexes = {part.served.name: part.served.index for part in searches}
        questions = {part.served.name: part.question for part in searches}
        result = answer_of_many(call, indexes, questions, dict.fromkeys(indexes, 1.0))
        name, late = (
            retriever or MANY,
            tuple(each for each, part in result.indexes.items() if part.missing),
        )
        approximate = any(part.resolved.approximate for part in result.indexes.values())
        limit = call.limit()
        of_each = {}
        for served, _, query, search, _ in searches:
            own = [of for of in result.ranked if of.name == served.name]
            alone, hits, ranks = (
                replace(search, offset=0, sort=None),
                [of.hit for of in own],
                [of.rank for of in own],
            )
            of_each[served.name] = iter(
                reasons(served.index, query, alone, hits, limit, ranks=ranks)
            )
        why = [next(of_each[of.name]) for of in result.ranked]
    return ShownRanking(
        name,
        result.hits,
        why,
        result.took,
        result.more,
        note,
        late,
        approximate=approximate,
        related=result.related,
        absent_words=result.absent_words,
    )


def are_unrelated(shown: Sequence[ShownRanking]) -> bool:
    """Return whether no hit of any ranking seems related to the query, as far as they can tell."""
    verdicts = {ranked.related for ranked in shown}
    return False in verdicts and True not in verdicts


def absent_words_of(shown: Sequence[ShownRanking]) -> list[AbsentWord]:
    """Return the absent words that the first ranking with some names, for the page."""
    words = next((ranked.absent_words for ranked in shown if ranked.absent_words), ())
    texts = [hit.passage.text for ranked in shown for hit in ranked.hits]
    return show_absent_words(words, texts)


def rankings(searches: Sequence[IndexSearch]) -> list[ShownRanking]:
    """Return all rankings that the indexes share, with late ones marked; raise TimedOutError if
    none was ready.
    """
    each = []
    for name in kinds_of([part.served for part in searches]):
        try:
            each.append(ranking(searches, name))
        except TimedOutError:
            each.append(ShownRanking(name, [], [], None, ready=False))
    if not any(part.ready for part in each):
        raise TimedOutError("no ranking was ready in time; try again")
    return each


def reasons(
    index: Index,
    query: AnyQuery,
    search: Search,
    hits: Sequence[Hit],
    limit: Deadline,
    *,
    ranks: Sequence[int] = (),
) -> list[dict[str, Any]]:
    """Return the reasons for each hit's rank: the query's words in its passage, with their weights
    in BM25.

    ``rankings`` has its rank and score in each ranking and, in a fusion, what the ranking added to
    the score as ``vote``; ``missed`` the rankings that lack it, and ``steps`` the stages that
    changed its rank or score. Ranks begin after the offset; words are left out if there is no time
    for them.
    """
    resolved, of_stages = index.resolve(search), set(stages.names())
    none: list[dict[str, float]] = [{} for _ in hits]
    words = none if limit.is_over("reasons") else index.word_weights(query, hits, search)
    found = []
    for rank, hit, held in zip(ranks or count(search.offset + 1), hits, words, strict=False):
        parts = hit.parts or (Part(resolved.retriever, rank, hit.score, hit.score),)
        staged = [part for part in parts if part.retriever in of_stages] if len(parts) > 1 else []
        shown = []
        for part in parts:
            if part not in staged:
                label, help_ = labels_of(part.retriever)
                vote = part.vote if resolved.fuses and hit.score >= 0 else None
                head = {"name": part.retriever, "label": label, "help": help_}
                shown.append({**head, "rank": part.rank, "score": part.score, "vote": vote})
        missed = set(resolved.rankings) - {by["name"] for by in shown} if resolved.fuses else ()
        steps = []
        for part, after in zip(
            staged, [*(later.rank for later in staged[1:]), rank], strict=bool(staged)
        ):
            if part.vote or part.rank != after:
                label = stages.KINDS.load(part.retriever).LABEL
                steps.append(
                    {"label": label, "rank": part.rank, "after": after, "gave": part.vote or None}
                )
        reason = {
            "words": sorted(held.items(), key=lambda pair: (-pair[1], pair[0]))[:_WORDS],
            "rankings": shown,
            "missed": [labels_of(name)[0] for name in resolved.rankings if name in missed],
            "depth": resolved.settings.search.fusion.depth,
            "steps": steps,
            "fused": resolved.fuses,
        }
        found.append(reason)
    return found


def labels_of(retriever: str) -> tuple[str, str]:
    """Return a ranking's name and its explanation for people, as English texts of the page."""
    try:
        kind = retrievers.kind(retriever)
    except FactseekError:
        return retriever, ""
    return kind.label, kind.help


def kinds_of(served: Sequence[ServedIndex]) -> dict[str, RetrieverKind]:
    """Return the rankings that all indexes have, in the order of columns: fused ones after the
    first source.
    """
    common = set(served[0].retrievers).intersection(*(one.retrievers for one in served))
    # Word rankings first: they can say how many documents contain a word.
    names = sorted(common, key=lambda name: (not retrievers.kind(name).weighs_words, name))
    kinds = {name: retrievers.kind(name) for name in names}
    first = next((name for name in names if not kinds[name].fuses), "")
    return {
        name: kinds[name]
        for name in sorted(names, key=lambda name: (name != first, not kinds[name].fuses))
    }


VALUES, MOST_VALUES = 8, 60  # how many values a facet shows at first, and at most
NAMES = {
    "snippets": "Snippets",
    "webpages": "Web pages",
    "cord19": "Papers",
    "claimreview": "Fact-checks",
    "claims": "Verified claims",
    "fever": "Wikipedia",
    "jsonl": "Documents",
    "trec": "News",
    "beir": "Documents of BEIR",
    "feed": "Feed items",
    "true": "True",
    "mixed": "Mixed",
    "false": "False",
    "unproven": "Unproven",
}
"""The names of kinds of documents, and of verdicts, for people: English texts of the page."""
YEAR = "year"
_FIELDS = ("source", "topic", "language", "kind", YEAR)
# Of parts of a query; a field's label is its name.
_LABELS = {"phrases": "word for word", "without": "leaving out"}
_NARROWING = frozenset({"query", "since", "as_of", "filter", "stages"})  # can exclude documents
_MOST_PARTS = 50  # the most conditions that get a chip, whose link repeats the rest of the query


def facets_of(each: Sequence[IndexSearch], state: PageState) -> tuple[Total, list[dict[str, Any]]]:
    """Return the number of documents that match a search, and their facets as the template shows
    them.

    These are the documents that contain a word of the query, according to the first retriever that
    can tell, else all.
    """
    indexes, searches = {part.served.name: part.served.index for part in each}, {}
    for served, _, query, search, _ in each:
        bare = replace(search, stages=(), collapse=None, sort=None)
        by_each = [replace(bare, retriever=name) for name in kinds_of([served])]
        matching = (search for search in by_each if served.index.count(query, search).matching)
        searches[served.name] = next(matching, by_each[0])
    own = dict.fromkeys(field for index in indexes.values() for field in index.info.filter_fields)
    counts = counts_of_many(
        indexes,
        each[0].query,
        searches,
        dict.fromkeys((INDEX, *_FIELDS, *own), MOST_VALUES),
        condition=each[0].condition,
    )
    boxes = []
    for field, facet in counts.facets.items():
        entries = [_entry(field, value, count, state) for value, count in facet.values]
        names_ids = field == "topic" and all(
            (name := one["name"]).isascii() and name == name.upper() for one in entries
        )
        if (len(entries) > 1 and not names_ids) or any(entry["chosen"] for entry in entries):
            entries.sort(key=lambda entry: not entry["chosen"])
            shown, further = entries[:VALUES], entries[VALUES:]
            boxes.append(
                {
                    "label": field.replace("_", " "),
                    "entries": shown,
                    "further": further,
                    "more": facet.more,
                }
            )
    return counts.total, boxes


def name_of(field: str, value: str) -> str:
    """Return the name of a field's value for people."""
    if field == "language":
        return name_of_language(value)
    return NAMES.get(value, value) if field in ("kind", "verdict") else value


def _entry(field: str, value: str, count: int, state: PageState) -> dict[str, Any]:
    pair, year = f"{field}={value}", _year_of(state)
    if field == INDEX:
        chosen, address = False, state.address(index=[value])
    elif field != YEAR:
        others = _without(pair, state.filter)
        chosen = pair in state.filter
        address = state.address(filter=others if chosen else [*others, pair])
    else:
        chosen = year == value
        address = (
            state.address(since="", as_of="")
            if chosen
            else state.address(since=value, as_of=value, undated="")
        )
    return {"name": name_of(field, value), "documents": count, "chosen": chosen, "address": address}


def _year_of(state: PageState) -> str:
    return state.since if state.since == state.as_of and len(state.since) == 4 else ""


def quotations_of(state: PageState) -> list[str]:
    """Return the quotations of a query that has no other conditions: a claim may contain quotation
    marks by chance.
    """
    parts = query_parts(state.query, _MOST_PARTS) if state.syntax == QUERY else ()
    return [part.value for part in parts] if all(part.kind == "phrases" for part in parts) else []


def chips_of(state: PageState) -> list[dict[str, Any]]:
    """Return a chip for each active choice; removing one that ``narrows`` may add hits.

    A long query has no chips.
    """
    if len(state.query) > LONGEST_ADDRESS:
        return []
    year, several = _year_of(state), len(state.index) > 1
    parts = query_parts(state.query, _MOST_PARTS) if state.syntax == QUERY else ()
    filters = [(pair, *pair.partition("=")[::2]) for pair in dict.fromkeys(state.filter)]
    chips: list[tuple[str, str | None, dict[str, Any]]] = [
        *(
            ("index", name, {"index": _without(name, state.index)})
            for name in state.index
            if several
        ),
        ("more like", state.like or None, {"like": ""}),
        *(
            (_LABELS.get(part.kind, part.kind), part.value, {"query": part.rest or part.value})
            for part in parts
        ),
        (YEAR, year or None, {"since": "", "as_of": ""}),
        ("from", None if year else state.since or None, {"since": ""}),
        ("published until", None if year else state.as_of or None, {"as_of": ""}),
        ("undated", "included" if state.undated == "keep" else None, {"undated": ""}),
        *(
            (field, name_of(field, value), {"filter": _without(pair, state.filter)})
            for pair, field, value in filters
        ),
        ("read as", "a tweet" if state.profile == "tweet" else None, {"profile": ""}),
        ("ranked by", labels_of(state.retriever)[0] or None, {"retriever": ""}),
        *(("stage", stage, {"stages": _without(stage, state.stages)}) for stage in state.stages),
        (
            "near-duplicates",
            "shown separately" if state.collapse == UNFOLDED else None,
            {"collapse": ""},
        ),
        ("sorted by", "date" if state.sort == DATE else None, {"sort": ""}),
        ("hits per page", str(state.hits) if state.hits else None, {"hits": 0}),
        *_further_chips(state),
    ]
    return [
        {
            "label": label,
            "value": value,
            "address": state.address(**changes),
            "narrows": not _NARROWING.isdisjoint(changes),
        }
        for label, value, changes in chips
        if value is not None
    ]


def _further_chips(state: PageState) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the label, the value and the removal of each chosen option that no template places."""
    given = state.parameters()
    for option in further_options():
        name = option.name_on("page")
        label = option.label
        value = given.get(name)
        if option.is_list:
            values = value or ()
            for text in values:
                yield label, text, {name: tuple(_without(text, values))}
        elif value is not None:
            yield label, str(value), {name: None if option.is_number else ""}


def _without(value: str, values: Sequence[str]) -> list[str]:
    return [other for other in values if other != value]
