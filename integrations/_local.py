"""An index in a folder of this machine, as a source for integrations."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext

from ..retrieval.domain import ScoredDocids
from ..retrieval.filters import parse_filter
from ..retrieval.lucene.jvm import java_thread
from ..retrieval.search.evidence import Evidence
from ..retrieval.search.index import Index, open_index
from ..retrieval.search.options import Search
from ..settings import load
from ._source import SearchChoices


class LocalSource:
    """The index in ``folder``, opened at the first search; later searches use the same state until :meth:`close`.

    The configuration is that of the working directory or of ``$FACTSEEK_CONFIG``, as for a command.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._opening = threading.Lock()
        self._index: Index | None = None

    def passages(self, queries: Sequence[str], choices: SearchChoices) -> list[list[Evidence]]:
        with self._use_index() as index:
            search, texts = _search_of(index, queries, choices)
            hits = index.search(texts, search) if texts else []
            evidence = index.evidences(list(zip(texts, hits, strict=True)), search)
            ranked = dict(zip(texts, evidence, strict=True))
            return [ranked.get(query, []) for query in queries]

    def columns(self, queries: Sequence[str], choices: SearchChoices) -> list[ScoredDocids]:
        with self._use_index() as index:
            search, texts = _search_of(index, queries, choices)
            ranked = dict(zip(texts, index.columns(texts, search) if texts else [], strict=True))
            return [ranked.get(query, ScoredDocids([], [])) for query in queries]

    def close(self) -> None:
        with self._opening:
            if self._index is not None:
                self._index.close()
            self._index = None

    @contextmanager
    def _use_index(self) -> Iterator[Index]:
        """Yield the open index. Afterwards, detach this thread from Java unless it is the main thread."""
        is_main = threading.current_thread() is threading.main_thread()
        with nullcontext() if is_main else java_thread():
            with self._opening:
                if self._index is None:
                    self._index = open_index(self._folder, load())
                index = self._index
            yield index


def _search_of(index: Index, queries: Sequence[str], choices: SearchChoices) -> tuple[Search, list[str]]:
    """Return the search that the choices express, and the distinct queries that contain words to search for."""
    where = parse_filter(
        list(choices.pairs()),
        as_of=choices.as_of,
        since=choices.since,
        undated=choices.undated,
        declared=index.info.filter_fields,
    )
    search = Search(
        k=choices.k,
        retriever=choices.retriever,
        where=where,
        profile=choices.profile,
        stages=None if choices.stages is None else tuple(choices.stages),
        collapse=choices.collapse or "",
    )
    resolved = index.resolve(search)
    return search, [query for query in dict.fromkeys(queries) if resolved.has_words(query)]
