"""A task's queries, judged or not, and searches for them in batches, with the task's own
settings.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import compress, groupby, islice
from pathlib import Path
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from msgspec.structs import replace

from ...core.domain import Filter, Hit, Qrels, ScoredDocids
from ...core.errors import QueryError
from ...core.progress import Progress
from ...core.records.dates import clean_date
from ...core.records.lines import quote_value
from ...core.text import ProfileName
from ...retrieval.filters import bound
from ...retrieval.search.evidence import Evidence
from ...retrieval.search.index import Index
from ...retrieval.search.options import Search
from ...retrieval.search.prepared_query import AnyQuery
from ..files.answers import TaskQuery
from ..files.report import near_miss
from ..tasks import RANKING

CHUNK = 64  # the maximum number of queries searched together


class SearchQuery(NamedTuple):
    """A query with the filter that its documents must pass and, if the user brings it, its
    vector.
    """

    qid: str
    text: str
    where: Filter | None
    vector: tuple[float, ...] | None = None


Ranking = TypeVar("Ranking", list[Hit], ScoredDocids)


class SearchedQuery(NamedTuple, Generic[Ranking]):
    """The hits or documents of a query; ``empty`` is true if the query has no words to search
    for.
    """

    qid: str
    ranking: Ranking
    empty: bool = False


def search_of(task: str, options: Search) -> Search:
    """Return ``options`` with the task's defaults instead of the options that are not set.

    Raises QueryError if ``options`` sets more hits than the task accepts, or names a topic although
    each query already searches only its own topic.
    """
    defaults = RANKING.load(task).DEFAULTS
    k = defaults.k if options.k is None else options.k
    if defaults.most is not None and k > defaults.most:
        raise QueryError(f"-k {k}: {task} accepts at most {defaults.most} hits a query")
    if defaults.own_topic and options.where and options.where.topic:
        searched = f"{task} already searches only the topic of each claim"
        raise QueryError(
            f"--filter topic={options.where.topic[0]}: {searched}", remedy="leave the filter out"
        )
    return replace(options, k=k, profile=options.profile or defaults.profile)


def filtered_queries(
    task: str,
    queries: Sequence[TaskQuery],
    search: Search,
    longest: int,
    *,
    as_of_query: bool = False,
    ignore_identical_ids: bool = False,
) -> list[SearchQuery]:
    """Return each query with its filter, which may exclude newer documents and the document of the
    query's own id.

    Raises QueryError, naming the query, if one is longer than ``longest`` characters, or has no
    date that ``as_of_query`` needs.
    """
    own_topic = RANKING.load(task).DEFAULTS.own_topic
    result = []
    for query in queries:
        if len(query.text) > longest:
            reason = (
                f"has {len(query.text)} characters, but at most {longest} are allowed "
                "(search.max_query_chars)"
            )
            raise QueryError(f"query {quote_value(query.qid)} {reason}")
        where = search.where or Filter()
        if own_topic:
            where = where._replace(topic=(query.topic,))
        if as_of_query:
            where = where._replace(as_of=_day(query))
        if ignore_identical_ids:
            where = where._replace(excluded=tuple(sorted({*where.excluded, query.qid})))
        result.append(SearchQuery(query.qid, query.text, where if where != Filter() else None))
    return result


def with_vectors(
    queries: Sequence[SearchQuery],
    vectors: Mapping[str, Sequence[float]],
    place: object,
    index: Index,
    search: Search,
) -> list[SearchQuery]:
    """Return the queries with their vectors by qid, for a search of an index.

    Raises QueryError, naming some of them, if queries have no vector. Raises QueryError, naming
    the qid, if a vector does not fit.
    """
    missing = [query.qid for query in queries if query.qid not in vectors]
    if missing:
        shown = ", ".join(missing[:_NAMED]) + (", …" if len(missing) > _NAMED else "")
        raise QueryError(
            f"{len(missing):,} of {len(queries):,} queries have no vector: {shown}", place=place
        )
    for query in queries:
        try:
            index.check_vector(vectors[query.qid], search)
        except QueryError as error:
            what = f"query {quote_value(query.qid)}: {error.what}"
            raise QueryError(what, place=place, remedy=error.remedy) from None
    return [query._replace(vector=tuple(map(float, vectors[query.qid]))) for query in queries]


def search_all(
    index: Index, queries: Sequence[SearchQuery], search: Search
) -> Iterator[list[SearchedQuery[list[Hit]]]]:
    """Yield the hits of the queries in their order, chunk by chunk."""
    return (_answer_chunk(index, index.search, chunk, search, []) for chunk in chunks(queries))


def with_evidence(
    index: Index, queries: Sequence[SearchQuery], search: Search, progress: Progress
) -> Iterator[tuple[SearchQuery, list[Hit], list[Evidence]]]:
    """Yield the queries in their order, each with its hits and their stored contents."""
    remaining = iter(queries)
    with closing(progress("reading hits", "query", len(queries))) as bar:
        for chunk in search_all(index, queries, search):
            ranked = [
                (query, done.ranking)
                for query, done in zip(islice(remaining, len(chunk)), chunk, strict=True)
            ]
            texts = [(query.text, hits) for query, hits in ranked]
            for (query, hits), evidence in zip(
                ranked, index.evidences(texts, search, highlight=False), strict=True
            ):
                yield query, hits, evidence
            bar.update(len(chunk))


def chunks(queries: Sequence[SearchQuery], most: int = CHUNK) -> Iterator[list[SearchQuery]]:
    """Yield the queries in their order, at most ``most`` in a chunk; each chunk has one filter."""
    for _, group in groupby(queries, lambda query: query.where):
        same = iter(group)
        while chunk := list(islice(same, most)):
            yield chunk


def search_docids(
    index: Index, chunk: Sequence[SearchQuery], search: Search
) -> list[SearchedQuery[ScoredDocids]]:
    """Return the documents found for queries that have the same filter."""
    return _answer_chunk(index, index.columns, chunk, search, ScoredDocids([], []))


def _answer_chunk(
    index: Index,
    find: Callable[[list[AnyQuery], Search], list[Ranking]],
    chunk: Sequence[SearchQuery],
    search: Search,
    nothing: Ranking,
) -> list[SearchedQuery[Ranking]]:
    search = replace(search, where=chunk[0].where)

    def prepared(query: SearchQuery) -> AnyQuery:
        if query.vector is None:
            return query.text
        return index.query_with_vector(query.text, query.vector, search)

    try:
        results = find([prepared(query) for query in chunk], search)
        return [SearchedQuery(query.qid, hits) for query, hits in zip(chunk, results, strict=True)]
    except QueryError:
        resolved = index.resolve(search)
        wordy = [resolved.has_words(query.text) for query in chunk]
        if all(wordy):
            raise
    some = iter(find([prepared(query) for query in compress(chunk, wordy)], search))
    pairs = zip(chunk, wordy, strict=True)
    return [
        SearchedQuery(query.qid, next(some) if has else nothing, empty=not has)
        for query, has in pairs
    ]


def _day(query: TaskQuery) -> str:
    """Return the day of a query in UTC; its date has any form that a document's date may have."""
    if not query.date:
        raise QueryError(
            f"query {quote_value(query.qid)} has no date",
            remedy="add a date, or leave out --as-of-query",
        )
    return bound(
        clean_date(query.date) or query.date, f"the date of query {quote_value(query.qid)}"
    )


DEPTH = 1000  # the number of hits that a measure without a cutoff uses
_NAMED = 3  # the number of documents that a note names if many are missing


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedFiles:
    """Queries and judgements in the files of a ranking task."""

    task: str
    queries: Path
    qrels: Path
    profile: ProfileName | None = None
    ignore_identical_ids: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Judged queries in the order of their file, their judgements in the same order, and the task's
    search options.

    ``own_texts`` maps the qid of a query that was made of a document to the document's text without
    the query.
    """

    queries: tuple[SearchQuery, ...]
    qrels: Qrels
    search: Search
    notes: tuple[str, ...] = ()
    own_texts: Mapping[str, str] = field(default_factory=dict)


def read_judged(
    files: JudgedFiles, index: Index, *, sample: int | None = None, seed: int = 0
) -> Judged:
    """Read the judged queries: all of them, or ``sample`` of them drawn with ``seed``.

    Raises QueryError if queries and judgements have no qid in common, or the index contains no
    judged document, SourceError if a file cannot be read.
    """
    chosen = RANKING.load(files.task)
    notes: list[str] = []
    queries = chosen.read_queries(files.queries)
    qrels = chosen.read_gold([files.qrels], notes.append)
    judged = judge_queries(
        index,
        queries,
        qrels,
        task=files.task,
        profile=files.profile,
        ignore_identical_ids=files.ignore_identical_ids,
        names=(files.queries, files.qrels),
        sample=sample,
        seed=seed,
    )
    return dataclasses.replace(judged, notes=(*notes, *judged.notes))


def judge_queries(
    index: Index,
    queries: Sequence[TaskQuery],
    qrels: Qrels,
    *,
    task: str = "",
    profile: ProfileName | None = None,
    ignore_identical_ids: bool = False,
    names: tuple[object, object] = ("the queries", "the judgements"),
    sample: int | None = None,
    seed: int = 0,
) -> Judged:
    """Return the queries that are judged, with their judgements; ``names`` are those of both for
    messages.

    Raises QueryError if they have no qid in common, or the index contains no judged document.
    """
    task = task or RANKING.default()
    of_queries, of_qrels = names
    notes: list[str] = []
    judged = [query for query in queries if query.qid in qrels]
    if not judged:
        if not queries:
            raise QueryError("there are no queries", place=of_queries)
        hint = near_miss([query.qid for query in queries], qrels)
        examples = (
            f"the file has {quote_value(queries[0].qid)}, the judgements "
            f"{quote_value(next(iter(qrels)))}{hint}"
        )
        raise QueryError(f"no query in common with {of_qrels}: {examples}", place=of_queries)
    docids = list(index.docids())
    indexed = set(docids)
    documents = dict.fromkeys(docid for of_query in qrels.values() for docid in of_query)
    if documents.keys().isdisjoint(indexed):
        there = (quote_value(docids[0]) if docids else "no document") + near_miss(
            documents, indexed
        )
        examples = f"the file has {quote_value(next(iter(documents)))}, the index {there}"
        raise QueryError(
            f"no docid in common with the index {index.info.place}: {examples}", place=of_qrels
        )
    if len(judged) < len(qrels):
        notes.append(
            f"{len(qrels) - len(judged):,} of {len(qrels):,} judged queries are not in "
            f"{Path(str(of_queries)).name}"
        )
    if sample is not None and len(judged) > sample:
        notes.append(f"{sample:,} of {len(judged):,} judged queries were drawn")
        judged = [judged[at] for at in draw_numbers(len(judged), sample, seed)]
    kept = {query.qid: qrels[query.qid] for query in judged}
    relevant = {
        docid for of_query in kept.values() for docid, grade in of_query.items() if grade > 0
    }
    if missing := sorted(relevant - indexed):
        some = ", ".join(map(quote_value, missing[:_NAMED])) + (
            ", ..." if len(missing) > _NAMED else ""
        )
        notes.append(
            f"{len(missing):,} of {len(relevant):,} relevant documents are not in the index: {some}"
        )
    search = search_of(task, Search(profile=profile))
    filtered = filtered_queries(
        task,
        judged,
        search,
        index.settings.search.max_query_chars,
        ignore_identical_ids=ignore_identical_ids,
    )
    return Judged(queries=tuple(filtered), qrels=kept, search=search, notes=tuple(notes))


def draw_numbers(count: int, sample: int, seed: int) -> list[int]:
    """Draw ``sample`` of the numbers from 0 to ``count`` - 1; return them in ascending order."""
    return sorted(np.random.default_rng((seed, 3)).permutation(count)[:sample].tolist())


def depth_of(measures: Sequence[str]) -> int:
    """Return how many hits the measures use: the largest cutoff, or 1,000 if a measure has none."""
    from ir_measures import parse_measure

    cuts = [parse_measure(name).params.get("cutoff") for name in measures]
    return max(cut if isinstance(cut, int) else DEPTH for cut in cuts)
