"""The index that an integration searches, in a folder or on a server, and the hits
of a search.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import msgspec

from ..core.domain import ScoredDocids
from ..core.errors import FactseekError
from ..retrieval.filters import parse_filter
from ..retrieval.lucene.jvm import java_thread
from ..retrieval.search.evidence import Evidence
from ..retrieval.search.index import Index, open_index
from ..retrieval.search.options import Search, WrittenOptions
from ..settings import Config, read_config
from ._choices import pairs_of
from ._served import ServedSource

SCHEMES = ("http://", "https://")
TEXT_FIELDS = ("title", "url", "date", "language", "source", "topic", "kind")
"""The fields of a hit that are texts and may be unknown."""


def facts(hit: Evidence) -> dict[str, Any]:
    """Return everything but the text of a hit, as plain values for a library's metadata; leave out
    unknown values.
    """
    return {
        "docid": hit.docid,
        "rank": hit.rank,
        "score": hit.score,
        **{name: getattr(hit, name) for name in TEXT_FIELDS if getattr(hit, name)},
        "passage": hit.passage.number,
        "start": hit.passage.start,
        "end": hit.passage.end,
        "highlights": [list(stretch) for stretch in hit.passage.highlights],
        "retrievers": msgspec.to_builtins(hit.retrievers),
        "metadata": dict(hit.metadata),
    }


@contextmanager
def errors_as(kind: type[Exception]) -> Iterator[None]:
    """Raise each error of factseek as an error of the type ``kind``, which a library expects."""
    try:
        yield
    except FactseekError as error:
        raise kind(error.line) from error


def _config() -> Config:
    return (
        read_config()
        if os.environ.get("FACTSEEK_CONFIG") or Path("factseek.yaml").is_file()
        else Config()
    )


class LocalSource:
    """The index in ``folder``, opened at the first search; later searches use the same state until
    :meth:`close`.

    A query without words has no hits. It is safe for threads. The configuration is
    ``$FACTSEEK_CONFIG``, else ``./factseek.yaml``. A ``config.yaml`` may belong to the program that
    uses this library.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._opening = threading.Lock()
        self._index: Index | None = None

    def __reduce__(self) -> tuple[type[LocalSource], tuple[str]]:
        """Let a copy, also in another process, open the index again."""
        return LocalSource, (str(Path(self._folder).absolute()),)

    def passages(self, queries: Sequence[str], choices: WrittenOptions) -> list[list[Evidence]]:
        """Return the hits of each query with their passages, best first.

        Raises QueryError if a query or a choice is invalid, IndexStateError if the folder contains
        no index.
        """
        with self._use_index() as index:
            search, texts = _search_of(index, queries, choices)
            hits = index.search(texts, search) if texts else []
            evidence = index.evidences(list(zip(texts, hits, strict=True)), search)
            ranked = dict(zip(texts, evidence, strict=True))
            return [ranked.get(query, []) for query in queries]

    def columns(self, queries: Sequence[str], choices: WrittenOptions) -> list[ScoredDocids]:
        """Return the docids and scores (float32) of each query, best first; raise what
        :meth:`passages` raises.
        """
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
        """Yield the open index.

        Afterwards, detach this thread from Java unless it is the main thread.
        """
        is_main = threading.current_thread() is threading.main_thread()
        with nullcontext() if is_main else java_thread():
            with self._opening:
                if self._index is None:
                    self._index = open_index(self._folder, _config())
                index = self._index
            yield index


def _search_of(
    index: Index, queries: Sequence[str], choices: WrittenOptions
) -> tuple[Search, list[str]]:
    where = parse_filter(
        pairs_of(choices),
        as_of=choices.as_of,
        since=choices.since,
        undated=choices.undated == "keep",
        declared=index.info.filter_fields,
    )
    search = Search.of(choices, where=where)
    resolved = index.resolve(search)
    return search, [query for query in dict.fromkeys(queries) if resolved.has_words(query)]


def open_source(
    index: str, *, api_key: str = "", timeout: float = 30.0
) -> LocalSource | ServedSource:
    """Return the source of an index: a folder, or the address of a served index
    (``http://HOST:PORT/v1/NAME``).

    A folder is opened at the first search. ``timeout`` is the longest wait for data from a server,
    in seconds. Raises QueryError if ``index`` is a web address but not that of a served index.
    """
    if index.startswith(SCHEMES):
        return ServedSource(index, api_key=api_key, timeout=timeout)
    return LocalSource(index)
