"""The index that an integration searches, in a folder or on a server, with the choices and the hits
of a search.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from ..core.domain import ScoredDocids
from ..core.errors import FactseekError, QueryError
from ..retrieval.filters import parse_filter
from ..retrieval.lucene.jvm import java_thread
from ..retrieval.search.evidence import Evidence
from ..retrieval.search.index import Index, open_index
from ..retrieval.search.options import Search
from ..settings import Config, read_config

if TYPE_CHECKING:
    from ._served import ServedSource

SCHEMES = ("http://", "https://")
TEXT_FIELDS = ("title", "url", "date", "language", "source", "topic", "kind")
"""The fields of a hit that are texts and may be unknown."""


class SearchChoices(NamedTuple):
    """The choices of a search; a choice that is left out has the configured value.

    ``filter`` maps a field to its allowed value or values; fields are those of ``factseek search
    --filter``. ``as_of`` and ``since`` are days, months or years, both inclusive.
    """

    k: int | None = None
    retriever: str | None = None
    filter: Mapping[str, str | Sequence[str]] = MappingProxyType({})
    as_of: str = ""
    since: str = ""
    undated: bool = False
    profile: str | None = None
    stages: Sequence[str] | None = None
    collapse: str | None = None

    def pairs(self) -> Iterator[str]:
        """Yield the filter as ``field=value`` pairs; raise QueryError if a value is not text, or a
        field has none.
        """
        for name, admitted in self.filter.items():
            if not admitted:
                raise QueryError(
                    f"filter {name} is empty", remedy="give a value, or leave the field out"
                )
            for value in [admitted] if isinstance(admitted, str) else admitted:
                if not isinstance(value, str):
                    raise QueryError(
                        f"filter {name}: {value!r} is not text",
                        remedy="give a text, or a list of texts",
                    )
                yield f"{name}={value}"


def parse_choices(k: int, named: Mapping[str, Any]) -> SearchChoices:
    """Return the choices that are given as keyword arguments.

    Raises QueryError if ``k`` is below 1, a name is unknown, ``filter`` is not a mapping, or
    ``stages`` is a text.
    """
    names = [name for name in SearchChoices._fields if name != "k"]
    unknown = sorted(named.keys() - set(names))
    if unknown:
        raise QueryError(
            f"there is no argument {unknown[0]!r}", remedy=f"use one of {', '.join(names)}"
        )
    if not isinstance(named.get("filter", {}), Mapping) or isinstance(named.get("stages"), str):
        remedy = 'write filter={"kind": "cord19"}, stages=["rerank"]'
        raise QueryError("filter must be a mapping, and stages a list", remedy=remedy)
    if k < 1:
        raise QueryError(f"k {k} is out of range", remedy="give a number, 1 or more")
    # A dictionary, unlike other mappings, can be copied and pickled with the retriever.
    return SearchChoices(k=k, **{**named, "filter": dict(named.get("filter", {}))})


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

    def passages(self, queries: Sequence[str], choices: SearchChoices) -> list[list[Evidence]]:
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

    def columns(self, queries: Sequence[str], choices: SearchChoices) -> list[ScoredDocids]:
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
    index: Index, queries: Sequence[str], choices: SearchChoices
) -> tuple[Search, list[str]]:
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


def open_source(
    index: str, *, api_key: str = "", timeout: float = 30.0
) -> LocalSource | ServedSource:
    """Return the source of an index: a folder, or the address of a served index
    (``http://HOST:PORT/v1/NAME``).

    A folder is opened at the first search. ``timeout`` is the longest wait for data from a server,
    in seconds. Raises QueryError if ``index`` is a web address but not that of a served index.
    """
    if index.startswith(SCHEMES):
        from ._served import ServedSource

        return ServedSource(index, api_key=api_key, timeout=timeout)
    return LocalSource(index)
