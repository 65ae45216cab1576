"""The index of one machine: a snapshot of its live segments, searched as one."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

import msgspec

from .. import retrievers, stages
from ..config import Config
from ..domain import Columns, Document, Hit, Part, Passage
from ..encoder import Encoder
from ..encoders.runtime import open_encoder
from ..errors import QueryError
from ..evidence import Evidence
from ..highlight import query_terms
from ..languages import unknown_language
from ..limit import CutOffError
from ..live.snapshot import Snapshot
from ..manifest import LUCENE, VECTORS
from ..profile import PROFILES
from ..retrievers import Retriever
from ..run_writer import best_documents
from ..searcher import DEFAULT_SEARCH, Footprint, IndexInfo, Search, Searcher
from ..stages import Named
from ..vocabulary import Vocabulary
from .evidence_reader import EvidenceReader
from .footprint import footprint

_WORD = re.compile(r"\w")


def open_index(
    folder: str | Path, config: Config | None = None, *, encoder: Callable[[], Encoder] | None = None
) -> Searcher:
    """Open the index in ``folder`` for searching; use it as a context manager, or close it.

    ``encoder`` gives an encoder that stays open when the index is closed. Raises IndexStateError if the index is
    missing, half-built, damaged, or of another layout.
    """
    return Index(folder, config, encoder=encoder)


class Index:
    """An index directory, opened for reading: a :class:`factseek.retrieval.searcher.Searcher`.

    It is safe for threads and not to be carried across a ``fork``. It keeps the snapshot that it opened, and its files,
    until it is closed: segments published later are seen by the next one who opens.
    """

    def __init__(
        self, folder: str | Path, config: Config | None = None, *, encoder: Callable[[], Encoder] | None = None
    ) -> None:
        """Open the index in ``folder``; ``encoder`` gives an encoder that stays open when the index is closed.

        Raises what :class:`factseek.retrieval.live.snapshot.Snapshot` raises.
        """
        self._config = config or Config()
        self._own_encoder: Encoder | None = None
        self._snapshot = Snapshot(Path(folder), self._config, encoder or self._opened_encoder)
        self._reader = EvidenceReader(self._snapshot)
        offered = retrievers.offered(self._snapshot.manifest, self._config)
        self.info = IndexInfo(Path(folder), self._snapshot.manifest, offered)

    @property
    def settings(self) -> Config:
        """The settings that hold where a search says nothing."""
        return self._config

    @property
    def terms(self) -> Vocabulary:
        """The analyzer, opened when it is first needed."""
        return self._snapshot.terms

    @property
    def encoder(self) -> Encoder:
        """The encoder that made the vectors, opened when it is first needed.

        Raises IndexStateError if the configured encoder is another one.
        """
        return self._snapshot.encoder_of(VECTORS)

    def search(self, queries: Sequence[str], asked: Search = DEFAULT_SEARCH) -> list[list[Hit]]:
        """Return the hits of each query, best first; see :meth:`factseek.retrieval.searcher.Searcher.search`."""
        texts, k = self._checked(queries, asked)
        staged = self._stages(asked)
        retriever = self._retriever(asked)
        if not staged:
            return retriever.search(texts, k, asked.where, asked.limit)
        return self._staged(texts, k, asked, retriever, staged)

    def columns(self, queries: Sequence[str], asked: Search = DEFAULT_SEARCH) -> list[Columns]:
        """Return the documents of what :meth:`search` returns."""
        if self._stages(asked):
            return list(map(best_documents, self.search(queries, asked)))
        texts, k = self._checked(queries, asked)
        return self._retriever(asked).columns(texts, k, asked.where, asked.limit)

    def has_words(self, query: str, asked: Search = DEFAULT_SEARCH) -> bool:
        """Tell whether a query holds anything to search for."""
        return bool(_WORD.search(self.read_as(query, asked)))

    def encodes(self, retriever: str) -> bool:
        """Tell whether a retriever encodes its queries."""
        return any(view.startswith(VECTORS) for view in self._views(retriever))

    def footprint(self, retriever: str) -> Footprint:
        """Return what a retriever needs of the index; the documents are counted for every one."""
        return footprint(self.info.published, self._views(retriever))

    def read_as(self, query: str, asked: Search = DEFAULT_SEARCH) -> str:
        """Return what is searched for: ``query`` as its profile leaves it."""
        return self._profile(asked)(query)

    def resolved(self, name: str | None = None) -> str:
        """Return the name of the retriever that ``name``, or the configured one, stands for in this index."""
        return self._resolved(name, self._config)

    def rankings(self, asked: Search = DEFAULT_SEARCH) -> tuple[str, ...]:
        """Name the rankings that the hits of a search come from."""
        config = self._effective(asked)
        name = self._resolved(asked.retriever, config)
        return tuple(retrievers.kind(name).rankings(name, config))

    def evidence(
        self, query: str, hits: Sequence[Hit], asked: Search = DEFAULT_SEARCH, *, highlight: bool = True
    ) -> list[Evidence]:
        """Return what a person reads of the hits of ``query``."""
        return next(self.evidences([(query, hits)], asked, highlight=highlight))

    def evidences(
        self, ranked: Sequence[tuple[str, Sequence[Hit]]], asked: Search = DEFAULT_SEARCH, *, highlight: bool = True
    ) -> Iterator[list[Evidence]]:
        """Yield what a person reads of the hits of each query; those reached after the limit have no highlights."""
        profile = self._profile(asked)
        read = [(profile(query), hits) for query, hits in ranked]
        limit = asked.limit
        name = self._resolved(asked.retriever, self._effective(asked))
        return self._reader.evidences(read, name, highlight=highlight, limit=limit)

    def document(self, docid: str) -> Document:
        """Return the document of this id."""
        return self._snapshot.document(docid)[1]

    def documents(self) -> Iterator[Document]:
        """Yield the documents that can be found."""
        return self._snapshot.documents()

    def passages(self, docid: str) -> list[Passage]:
        """Return the passages of the document of this id, in order."""
        return self._snapshot.passages(docid)

    def note(self, query: str, retriever: str | None = None) -> str:
        """Return what a reader of the hits of ``query`` should know, else ``""``.

        That is: in stop words nothing can be looked for word by word, and an encoder does not know every language.
        """
        rankings = self.rankings(Search(retriever=retriever))
        only_words = all(set(self._views(name)) == {LUCENE} for name in rankings)
        if only_words and not query_terms(query, self.terms):
            return f"the analyzer {self.info.published.analyzer} leaves no word of this query to search for"
        if self.info.encoder is None or not any(map(self.encodes, rankings)):
            return ""
        known = self._config.encoder.languages
        language = unknown_language(query, known)
        if not language:
            return ""
        return (
            f"the encoder {self.info.encoder.name} knows only {', '.join(known)}, the query looks like {language}; "
            "trust bm25 more than dense or hybrid, or configure a multilingual encoder"
        )

    def held(self, docids: Iterable[str]) -> set[str]:
        """Return those of ``docids`` that are in the index."""
        return set(self._snapshot.rows.docids).intersection(docids)

    def docids(self) -> Iterator[str]:
        """Yield the docid of each passage."""
        return iter(self._snapshot.rows.docids)

    def some_words(self) -> str:
        """Return words that the index can be asked for: the beginning of its first document."""
        document = next(self._snapshot.documents(), None)
        words = f"{document.title} {document.text}"[:200] if document else ""
        return words if any(map(str.isalnum, words)) else "evidence"

    def close(self) -> None:
        """Close what was opened."""
        self._snapshot.close()
        if self._own_encoder is not None:
            self._own_encoder.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _checked(self, queries: Sequence[str], asked: Search) -> tuple[list[str], int]:
        """Return what is searched for, and how many hits are asked."""
        settings = self._config.search
        profile = self._profile(asked)
        k = settings.k if asked.k is None else asked.k
        if not 1 <= k <= settings.max_k:
            raise QueryError(f"k {k} is out of range: ask for 1 to {settings.max_k} hits")
        return [self._worded(query, profile(query)) for query in queries], k

    def _worded(self, query: str, text: str) -> str:
        """Return ``text``, what the profile leaves of ``query``, if it can be searched for."""
        longest = self._config.search.max_query_chars
        if len(query) > longest:
            raise QueryError(
                f"the query has {len(query)} characters, at most {longest} are searched (search.max_query_chars)"
            )
        if not _WORD.search(text):
            raise QueryError(f"the query {query[:60]!r} holds no words to search for")
        return text

    def _profile(self, asked: Search) -> Callable[[str], str]:
        name = asked.profile or self._config.search.profile
        if name not in PROFILES:
            raise QueryError(f"there is no profile {name!r}", remedy=f"there are {' and '.join(sorted(PROFILES))}")
        return PROFILES[name]

    def _effective(self, asked: Search) -> Config:
        """Return the configuration with what this search varies of it."""
        config = self._config
        if asked.bm25 is not None:
            config = msgspec.structs.replace(config, bm25=asked.bm25)
        if asked.fusion is not None:
            config = msgspec.structs.replace(config, search=msgspec.structs.replace(config.search, fusion=asked.fusion))
        return config

    def _resolved(self, name: str | None, config: Config) -> str:
        snapshot = self._snapshot
        return retrievers.resolve(
            config.search.retriever if name is None else name, snapshot.manifest, config, snapshot.folder
        )

    def _retriever(self, asked: Search) -> Retriever:
        config = self._effective(asked)
        name = self._resolved(asked.retriever, config)
        group = config.search.group if asked.group is None else asked.group
        return retrievers.kind(name).open(name, self._snapshot, config, group=group)

    def _stages(self, asked: Search) -> list[Named]:
        return stages.opened(self._config.search.stages if asked.stages is None else asked.stages)

    def _staged(
        self, texts: list[str], k: int, asked: Search, retriever: Retriever, staged: Sequence[Named]
    ) -> list[list[Hit]]:
        """Return the hits after the stages; a query that has too few left is asked again, deeper, by itself."""
        name = self._resolved(asked.retriever, self._effective(asked))
        most, depth = self._config.search.max_k, k
        for _, stage in reversed(staged):
            depth = stage.depth(depth)
        depth = min(depth, most)

        def after_stages(some: list[str], ranked: list[list[Hit]]) -> list[list[Hit]]:
            own = [_with_own_parts(hits, name) for hits in ranked]
            return stages.applied(staged, some, own, self._reader.texts, asked.limit)

        ranked = retriever.search(texts, depth, asked.where, asked.limit)
        left = after_stages(texts, ranked)
        for at, text in enumerate(texts):
            deeper, hits = depth, ranked[at]
            while len(left[at]) < k and len(hits) == deeper < most:
                deeper = min(2 * deeper, most)
                try:
                    (hits,) = retriever.search([text], deeper, asked.where, asked.limit)
                except CutOffError:
                    break  # what is left is an answer; the limit notes what is missing
                (left[at],) = after_stages([text], [hits])
        return [hits[:k] for hits in left]

    def _views(self, retriever: str) -> Sequence[str]:
        return retrievers.kind(retriever).views(retriever, self.info.published, self._config)

    def _opened_encoder(self) -> Encoder:
        if self._own_encoder is None:
            self._own_encoder = open_encoder(self._config.encoder)
        return self._own_encoder


def _with_own_parts(hits: Sequence[Hit], retriever: str) -> list[Hit]:
    """Have each hit say what its retriever made of it, before a stage adds its own part."""
    return [
        hit if hit.parts else msgspec.structs.replace(hit, parts=(Part(retriever, rank, hit.score, hit.score),))
        for rank, hit in enumerate(hits, 1)
    ]
