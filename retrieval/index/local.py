"""The open index: one snapshot of its live segments, searched as one."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .. import manifest as manifests
from ..config import Config, FusionSettings, RetrieverName
from ..documents import Place, SegmentDocuments
from ..domain import Columns, Document, Filter, Hit, Part, Passage, Retriever, Span
from ..encoder import Encoder
from ..encoders.runtime import open_encoder
from ..errors import NotFoundError, QueryError
from ..evidence import Evidence, PassageAnswer, RetrieverPart
from ..highlight import Highlighter, highlighter, query_terms
from ..integrity import check_files
from ..java import start
from ..languages import unknown_language
from ..lease import open_leased
from ..limit import HIGHLIGHTS, Limit, LimitedRetriever
from ..lucene import PassageSearcher, TermFinder, Weights
from ..manifest import EncoderInfo, SegmentInfo
from ..order import Rows
from ..profile import PROFILES
from ..retrievers.bm25 import BM25Retriever
from ..retrievers.dense import DenseRetriever
from ..retrievers.hybrid import HybridRetriever
from ..run_writer import best_documents
from ..vectors import Mask, VectorIndex
from ..views import OpenSegment, lucene, vectors

_WORD = re.compile(r"\w")
T = TypeVar("T")
MASKS = 8
"""Filters whose rows are remembered, a byte each: to find them takes longer than a search."""


class Segment(NamedTuple):
    """A live segment: what the manifest says of it, its documents, and its first row among all rows."""

    info: SegmentInfo
    documents: SegmentDocuments
    base: int


class _Shown(NamedTuple):
    """What is read of a hit."""

    segment: Segment
    document: Document
    span: Span


class Search(NamedTuple):
    """What a search is asked beside its queries; ``None`` leaves a choice to the configuration.

    ``limit`` is the time that this one search has, and notes what was cut off.
    """

    k: int | None = None
    retriever: RetrieverName | None = None
    where: Filter | None = None
    fusion: FusionSettings | None = None
    profile: str | None = None
    group: bool | None = None
    limit: Limit | None = None


DEFAULT_SEARCH = Search()


class Index:
    """An index directory, opened for reading. Safe for threads; not to be carried across a ``fork``.

    It keeps the snapshot that it opened, and its files, until it is closed: segments published later are seen by the
    next one who opens.
    """

    def __init__(
        self, folder: str | Path, config: Config | None = None, *, encoder: Callable[[], Encoder] | None = None
    ) -> None:
        """Open the index in ``folder``; ``encoder`` gives an encoder that stays open when the index is closed.

        Raises IndexStateError if it is missing, half-built, damaged, or of another layout; with ``index.verify`` also
        if a file is not what its checksum says.
        """
        self.folder = Path(folder)
        self.config = config or Config()
        self._shared_encoder = encoder
        self.manifest, self._lease = open_leased(self.folder)
        if self.config.index.verify:
            for info in self.manifest.segments:
                check_files(self.folder, info)
        self.segments = self._opened()
        self._kept = lru_cache(maxsize=MASKS)(partial(_kept, self.segments))
        self._opening = threading.RLock()
        self._open: dict[str, Any] = {}

    def search(self, queries: Sequence[str], asked: Search = DEFAULT_SEARCH) -> list[list[Hit]]:
        """Return the hits of each query, best first.

        Raises QueryError if a query has no words or is too long, ``k`` is out of range, or the index lacks what the
        retriever needs; CutOffError if nothing was found within the limit.
        """
        texts, k = self._checked(queries, asked)
        return self._retriever(asked).search(texts, k, asked.where)

    def columns(self, queries: Sequence[str], asked: Search = DEFAULT_SEARCH) -> list[Columns]:
        """Return the documents of what :meth:`search` returns, without a :class:`Hit` for each where that is faster.

        Raises what :meth:`search` raises.
        """
        texts, k = self._checked(queries, asked)
        retriever = self._retriever(asked)
        if isinstance(retriever, BM25Retriever):
            return retriever.columns(texts, k, asked.where)
        return list(map(best_documents, retriever.search(texts, k, asked.where)))

    def has_words(self, query: str, asked: Search = DEFAULT_SEARCH) -> bool:
        """Say whether a query holds anything to search for; :meth:`search` refuses one that does not."""
        return bool(_WORD.search(self._profile(asked)(query)))

    def retriever(
        self,
        name: RetrieverName | None = None,
        fusion: FusionSettings | None = None,
        *,
        group: bool | None = None,
        limit: Limit | None = None,
    ) -> Retriever:
        """Return the retriever of this name; ``auto`` is hybrid where there are vectors, else bm25.

        Raises QueryError if the name is unknown or the index has no vectors for it.
        """
        name = self.resolved(name)
        group = self.config.search.group if group is None else group
        if name == "bm25":
            return self._bm25(group, limit)
        if self.manifest.encoder is None:
            raise QueryError(
                f"{self.folder}: was built without vectors: it answers bm25, not {name}; rebuild it without --no-dense"
            )
        dense: Retriever = self._dense(group)
        if limit is not None:
            dense = LimitedRetriever("dense", dense, limit)
        if name == "dense":
            return dense
        return HybridRetriever(self._bm25(group, limit), dense, fusion or self.config.search.fusion, group=group)

    def resolved(self, name: RetrieverName | None = None) -> RetrieverName:
        """Say which retriever ``name``, or the configured one, stands for in this index."""
        name = name or self.config.search.retriever
        if name not in ("auto", "bm25", "dense", "hybrid"):
            raise QueryError(f"there is no retriever {name!r}; there are bm25, dense and hybrid")
        if name == "auto":
            return "bm25" if self.manifest.encoder is None else "hybrid"
        return name

    def evidence(
        self, query: str, hits: Sequence[Hit], asked: Search = DEFAULT_SEARCH, *, highlight: bool = True
    ) -> list[Evidence]:
        """Return what a person reads of the hits of ``query``."""
        return next(self.evidences([(query, hits)], asked, highlight=highlight))

    def evidences(
        self, found: Sequence[tuple[str, Sequence[Hit]]], asked: Search = DEFAULT_SEARCH, *, highlight: bool = True
    ) -> Iterator[list[Evidence]]:
        """Yield what a person reads of the hits of each query; what is stored of them is read at once for all.

        Hits that are reached after the limit of ``asked`` have no highlights, and the limit notes it.

        Raises NotFoundError if a passage is not there.
        """
        name = self.resolved(asked.retriever)
        shown = self._shown([hit for _, hits in found for hit in hits])
        for query, hits in found:
            marked = self._highlighter(query, asked) if highlight and hits else _unmarked
            yield [self._evidence(marked, rank, hit, name, shown) for rank, hit in enumerate(hits, 1)]

    def _highlighter(self, query: str, asked: Search) -> Highlighter:
        """Return what highlights passages, and stops when the time of the search is over."""
        limit, marked = asked.limit, highlighter(self._profile(asked)(query), self.terms)
        if limit is None:
            return marked
        return lambda text: [] if limit.is_over(HIGHLIGHTS) else marked(text)

    def document(self, docid: str) -> Document:
        """Return the document of this id.

        Raises NotFoundError if there is none.
        """
        return self._place(docid)[1]

    def passages(self, docid: str) -> list[Passage]:
        """Return the passages of the document of this id, in order.

        Raises NotFoundError if there is none.
        """
        segment, document = self._place(docid)
        return [_cut(document, span) for span in segment.documents.spans(docid)]

    def note(self, query: str, retriever: RetrieverName | None = None) -> str:
        """Return what a reader of the hits of ``query`` should know, else ``""``.

        That is: bm25 has nothing to look for in stop words, and an encoder does not know every language.
        """
        name = self.resolved(retriever)
        if name == "bm25" and not query_terms(query, self.terms):
            return f"the analyzer {self.manifest.analyzer} leaves no word of this query to search for"
        if self.manifest.encoder is None or name == "bm25":
            return ""
        known = self.config.encoder.languages
        language = unknown_language(query, known)
        if not language:
            return ""
        return (
            f"the encoder {self.manifest.encoder.name} knows only {', '.join(known)}, the query looks like {language}; "
            "trust bm25 more than dense or hybrid, or configure a multilingual encoder"
        )

    @property
    def encoder(self) -> Encoder:
        """The encoder that made the vectors, opened when it is first needed.

        Raises IndexStateError if the configured encoder is another one.
        """
        return self._once("encoder", self._fitting_encoder)

    @property
    def searcher(self) -> PassageSearcher:
        """Lucene, opened when it is first needed."""
        return self._once("searcher", self._opened_searcher)

    @property
    def terms(self) -> TermFinder:
        """The analyzer, opened when it is first needed."""
        return self._once("terms", self._opened_terms)

    @property
    def vectors(self) -> VectorIndex:
        """The vectors of all segments, opened when they are first needed."""
        return self._once("vectors", self._opened_vectors)

    @property
    def rows(self) -> Rows:
        """What each row stands for."""
        return self._once("rows", self._read_rows)

    def _checked(self, queries: Sequence[str], asked: Search) -> tuple[list[str], int]:
        """Return what is searched for, and how many hits are asked."""
        settings = self.config.search
        profile = self._profile(asked)
        k = settings.k if asked.k is None else asked.k
        if not 1 <= k <= settings.max_k:
            raise QueryError(f"k {k} is out of range: ask for 1 to {settings.max_k} hits")
        return [self._sound(query, profile(query)) for query in queries], k

    def _retriever(self, asked: Search) -> Retriever:
        return self.retriever(asked.retriever, asked.fusion, group=asked.group, limit=asked.limit)

    def _profile(self, asked: Search) -> Callable[[str], str]:
        name = asked.profile or self.config.search.profile
        if name not in PROFILES:
            raise QueryError(f"there is no profile {name!r}; there are {' and '.join(sorted(PROFILES))}")
        return PROFILES[name]

    def _once(self, name: str, make: Callable[[], T]) -> T:
        """Return what ``make`` gave the first time; threads that come meanwhile wait for it."""
        with self._opening:
            if name not in self._open:
                self._open[name] = make()
            opened: T = self._open[name]
            return opened

    def _opened_searcher(self) -> PassageSearcher:
        return lucene.view(manifests.LUCENE, self.manifest).open(self._parts(), self.manifest, self.config)

    def _parts(self) -> list[OpenSegment]:
        return [OpenSegment(self._segment_folder(part.info), part.info, part.documents) for part in self.segments]

    def _opened_terms(self) -> TermFinder:
        start(self.config.java.heap)
        return TermFinder(self.manifest.analyzer)

    def _opened_vectors(self) -> VectorIndex:
        return vectors.view(manifests.VECTORS, self.manifest).open(self._parts(), self.manifest, self.config)

    def _read_rows(self) -> Rows:
        docids: list[str] = []
        numbers: list[int] = []
        for segment in self.segments:
            more_docids, more_numbers = segment.documents.rows()
            docids += more_docids
            numbers += more_numbers
        split = any(segment.info.passages != segment.info.documents for segment in self.segments)
        return Rows(docids, numbers, split)

    def close(self) -> None:
        """Close what was opened."""
        owned = ("searcher", "terms") if self._shared_encoder else ("searcher", "terms", "encoder")
        for name in owned:
            if name in self._open:
                self._open[name].close()
        for segment in self.segments:
            segment.documents.close()
        self._lease.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _opened(self) -> tuple[Segment, ...]:
        segments, base = [], 0
        for info in self.manifest.segments:
            documents = SegmentDocuments(self._segment_folder(info) / manifests.DOCUMENTS, info.deleted)
            segments.append(Segment(info, documents, base))
            base += info.passages
        return tuple(segments)

    def _segment_folder(self, info: SegmentInfo) -> Path:
        return self.folder / manifests.SEGMENTS / info.name

    def _bm25(self, group: bool, limit: Limit | None) -> BM25Retriever:
        settings = self.config.bm25
        weights = Weights(settings.k1, settings.b, settings.title_weight, settings.text_weight)
        return BM25Retriever(self.searcher, self.rows, weights, group=group, limit=limit)

    def _dense(self, group: bool) -> DenseRetriever:
        return DenseRetriever(self.encoder, self.vectors, self.rows, self._mask, group=group)

    def _mask(self, where: Filter | None) -> Mask | None:
        """Say of each row whether it may be found: it passes the filter and is not deleted; None if all may."""
        if where is None:
            return self._once("live", self._live)
        return self._kept(where)

    def _live(self) -> Mask | None:
        """Say of each row whether it is not deleted, once for all searches without a filter; None if none is."""
        if not any(segment.info.deleted for segment in self.segments):
            return None
        keep = np.ones(len(self.rows.docids), dtype=np.bool_)
        for segment in self.segments:
            keep[np.asarray(segment.documents.deleted_rows(), dtype=np.int64) + segment.base] = False
        keep.flags.writeable = False
        return keep

    def _fitting_encoder(self) -> Encoder:
        encoder = self._shared_encoder() if self._shared_encoder else open_encoder(self.config.encoder)
        if self.manifest.encoder is not None:
            self.manifest.encoder.check(EncoderInfo.of(encoder), self.folder, ", or rebuild with --overwrite")
        return encoder

    def _sound(self, query: str, text: str) -> str:
        longest = self.config.search.max_query_chars
        if len(query) > longest:
            raise QueryError(
                f"the query has {len(query)} characters, at most {longest} are searched (search.max_query_chars)"
            )
        if not _WORD.search(text):
            raise QueryError(f"the query {query[:60]!r} holds no words to search for")
        return text

    def _place(self, docid: str) -> tuple[Segment, Document]:
        for segment in reversed(self.segments):
            document = segment.documents.document(docid)
            if document is not None:
                return segment, document
        raise NotFoundError(f"there is no document {docid!r} in this index")

    def _shown(self, hits: Sequence[Hit]) -> dict[Place, _Shown]:
        """Read the documents of hits, all of a segment at once.

        Raises NotFoundError if one is not there.
        """
        shown: dict[Place, _Shown] = {}
        missing = [(hit.docid, hit.passage) for hit in hits]
        for segment in reversed(self.segments):
            found = segment.documents.with_passages(missing)
            shown.update((place, _Shown(segment, *there)) for place, there in found.items())
            missing = [place for place in missing if place not in shown]
            if not missing:
                break
        for docid, passage in missing:
            raise NotFoundError(f"there is no passage {passage} of a document {docid!r} in this index")
        return shown

    def _evidence(
        self, marked: Highlighter, rank: int, hit: Hit, retriever: str, shown: Mapping[Place, _Shown]
    ) -> Evidence:
        segment, document, span = shown[hit.docid, hit.passage]
        passage = _cut(document, span)
        parts = hit.parts or (Part(retriever, rank, hit.score),)
        return Evidence(
            rank=rank,
            docid=hit.docid,
            score=hit.score,
            retrievers={part.retriever: RetrieverPart(rank=part.rank, score=part.score) for part in parts},
            title=document.title,
            passage=PassageAnswer(
                number=passage.number,
                start=passage.start,
                end=passage.end,
                text=passage.text,
                highlights=marked(passage.text),
            ),
            url=document.url,
            date=document.date,
            language=document.language,
            source=document.source,
            topic=document.topic,
            kind=segment.info.kind,
            metadata=dict(document.metadata),
        )


def _kept(segments: Sequence[Segment], where: Filter) -> Mask:
    """Say of each row whether it passes a filter and is not deleted."""
    keep = np.zeros(sum(segment.info.passages for segment in segments), dtype=np.bool_)
    for segment in segments:
        if not where.kind or segment.info.kind in where.kind:
            keep[np.asarray(segment.documents.kept(where), dtype=np.int64) + segment.base] = True
    keep.flags.writeable = False
    return keep


def _cut(document: Document, span: Span) -> Passage:
    return Passage(document.docid, span.number, span.start, span.end, document.text[span.start : span.end])


def _unmarked(_: str) -> list[tuple[int, int]]:
    return []
