"""The judged queries that tune and bench measure on, and that train learns from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from ...retrieval.domain import Qrels
from ...retrieval.errors import QueryError
from ...retrieval.records.lines import shown
from ...retrieval.search.options import Search
from ...retrieval.text import ProfileName
from ..files.report import near_miss
from ..tasks import RANKING
from .batch import SearchQuery, filtered_queries, search_of

if TYPE_CHECKING:
    from ...retrieval.search.index import Index

DEPTH = 1000
"""The number of hits that a measure without a cutoff uses."""
_NAMED = 3
"""The number of documents that a note names if many are missing."""


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
    """Judged queries in the order of their file, their judgements in the same order, and the task's search options."""

    queries: tuple[SearchQuery, ...]
    qrels: Qrels
    search: Search
    notes: tuple[str, ...]


def read_judged(files: JudgedFiles, index: Index, *, sample: int | None = None, seed: int = 0) -> Judged:
    """Read the judged queries: all of them, or ``sample`` of them drawn with ``seed``.

    Raises QueryError if queries and judgements have no qid in common, or the index contains no judged document,
    SourceError if a file cannot be read.
    """
    chosen = RANKING.load(files.task)
    notes: list[str] = []
    queries = chosen.read_queries(files.queries)
    qrels = chosen.read_gold([files.qrels], notes.append)
    judged = [query for query in queries if query.qid in qrels]
    if not judged:
        hint = near_miss([query.qid for query in queries], qrels)
        examples = f"the file has {shown(queries[0].qid)}, the judgements {shown(next(iter(qrels)))}{hint}"
        raise QueryError(f"no query in common with {files.qrels}: {examples}", place=files.queries)
    docids = list(index.docids())
    indexed = set(docids)
    documents = dict.fromkeys(docid for of_query in qrels.values() for docid in of_query)
    if documents.keys().isdisjoint(indexed):
        there = shown(docids[0]) if docids else "no document"
        examples = f"the file has {shown(next(iter(documents)))}, the index {there}{near_miss(documents, indexed)}"
        raise QueryError(f"no docid in common with the index {index.info.place}: {examples}", place=files.qrels)
    if len(judged) < len(qrels):
        notes.append(f"{len(qrels) - len(judged):,} of {len(qrels):,} judged queries are not in {files.queries.name}")
    if sample is not None and len(judged) > sample:
        notes.append(f"{sample:,} of {len(judged):,} judged queries were drawn")
        judged = [judged[at] for at in drawn(len(judged), sample, seed)]
    kept = {query.qid: qrels[query.qid] for query in judged}
    relevant = {docid for of_query in kept.values() for docid, grade in of_query.items() if grade > 0}
    if missing := sorted(relevant - indexed):
        some = ", ".join(map(shown, missing[:_NAMED])) + (", ..." if len(missing) > _NAMED else "")
        notes.append(f"{len(missing):,} of {len(relevant):,} relevant documents are not in the index: {some}")
    search = search_of(files.task, Search(profile=files.profile))
    longest = index.settings.search.max_query_chars
    identical = files.ignore_identical_ids
    filtered = filtered_queries(files.task, judged, search, longest, ignore_identical_ids=identical)
    return Judged(queries=tuple(filtered), qrels=kept, search=search, notes=tuple(notes))


def drawn(count: int, sample: int, seed: int) -> list[int]:
    """Draw ``sample`` of the numbers from 0 to ``count`` - 1; return them in ascending order."""
    import numpy as np

    return sorted(np.random.default_rng((seed, 3)).permutation(count)[:sample].tolist())


def depth_of(measures: Sequence[str]) -> int:
    """Return how many hits the measures use: the largest cutoff, or 1,000 if a measure has none."""
    from ir_measures import parse_measure

    cuts = [parse_measure(name).params.get("cutoff") for name in measures]
    return max(cut if isinstance(cut, int) else DEPTH for cut in cuts)
