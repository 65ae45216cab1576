"""An index in a folder of this machine, as a source for integrations."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING

import msgspec

from ..retrieval.domain import ScoredDocids
from ..retrieval.filters import parse_filter
from ..retrieval.lucene.jvm import java_thread
from ..retrieval.search.index import open_index
from ..retrieval.search.options import Search
from ._records import RankedPassage, SearchChoices

if TYPE_CHECKING:
    from ..retrieval.search.index import Index


class LocalSource:
    """The index in ``folder``, opened at the first search; later searches use the same state until it is closed."""

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._opening = threading.Lock()
        self._index: Index | None = None

    def passages(self, queries: Sequence[str], choices: SearchChoices) -> list[list[RankedPassage]]:
        """Return the hits of each query with their passages, best first.

        Raises the errors of :class:`factseek.integrations._source.EvidenceSource`, and IndexStateError if the folder
        contains no index.
        """
        with self._opened() as index:
            asked = search_of(index, choices)
            texts = _with_words(index, queries, asked)
            hits = index.search(texts, asked) if texts else []
            evidence = index.evidences(list(zip(texts, hits, strict=True)), asked)
            ranked = {
                text: [msgspec.convert(hit, RankedPassage, from_attributes=True) for hit in of_text]
                for text, of_text in zip(texts, evidence, strict=True)
            }
            return [ranked.get(query, []) for query in queries]

    def columns(self, queries: Sequence[str], choices: SearchChoices) -> list[ScoredDocids]:
        """Return the docids and scores of each query, best first.

        Raises what :meth:`passages` raises.
        """
        with self._opened() as index:
            asked = search_of(index, choices)
            texts = _with_words(index, queries, asked)
            ranked = dict(zip(texts, index.columns(texts, asked) if texts else [], strict=True))
            return [ranked.get(query, ScoredDocids([], [])) for query in queries]

    def close(self) -> None:
        """Close the index; the next search opens its newest state."""
        with self._opening:
            if self._index is not None:
                self._index.close()
            self._index = None

    @contextmanager
    def _opened(self) -> Iterator[Index]:
        """Give the open index; afterwards, detach a thread of a library's own pool from Java."""
        is_main = threading.current_thread() is threading.main_thread()
        with nullcontext() if is_main else java_thread():
            with self._opening:
                if self._index is None:
                    self._index = open_index(self._folder)
                index = self._index
            yield index


def search_of(index: Index, choices: SearchChoices) -> Search:
    """Return the search of ``index`` that the choices express.

    Raises QueryError if a filter or a date is invalid.
    """
    where = parse_filter(
        choices.pairs(),
        as_of=choices.as_of,
        since=choices.since,
        undated=choices.undated,
        declared=index.info.filter_fields,
    )
    return Search(
        k=choices.k,
        retriever=choices.retriever,
        where=where,
        profile=choices.profile,
        stages=None if choices.stages is None else tuple(choices.stages),
        collapse=choices.collapse or "",
    )


def _with_words(index: Index, queries: Sequence[str], asked: Search) -> list[str]:
    """Return the distinct queries that hold words to search for."""
    resolved = index.resolve(asked)
    return [query for query in dict.fromkeys(queries) if resolved.has_words(query)]
