"""One published state of an index that stays open: its live segments, its rows and its views.

It is the :class:`factseek.retrieval.search.index_state.IndexState` of an index in one folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from itertools import accumulate, groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...core.caching import OpenedOnce, cache_method, opened_once
from ...core.domain import Document, FacetCounts, Filter, Passage, Total
from ...core.errors import IndexStateError, NotFoundError
from .. import retrievers, views
from ..config import BM25Settings, Config, ImpactSettings
from ..dense.noise import made_up_vectors, nearest_of_segments, noise_similarities
from ..dense.vectors import Mask, VectorFiles, VectorIndex, Vectors, mean_vector
from ..encoders.given import GivenVectors
from ..lucene.analysis import Analyzer
from ..lucene.index import PassageSearcher
from ..lucene.jvm import start
from ..lucene.spelling import WordNearby
from ..retrievers import ParallelRankings, Rankings, Retriever
from ..sparse.impacts import ImpactIndex, SparseVector, TermCounts
from ..sparse.queries import CountTerms, QueryWeights
from ..store.columns import DocumentColumns
from ..store.documents import Addition, Place, ShortField, Stored
from ..store.index_folder import Lease, open_documents, open_leased, take_segments
from ..store.integrity import REMEDY, check_files, check_own
from ..store.manifest import COLUMNS, LUCENE, SEGMENTS, SIGNATURES, WORDS, EncoderInfo, Manifest
from ..store.signatures import Signatures
from ..views import OpenSegment
from ..views.words import SegmentWords
from .collection_statistics import FieldStatistics, Term, TermCount
from .counting import both, without
from .cut import Rows
from .options import CountQuery, ReadNote, ShardHealth
from .prepared_query import PreparedQuery

if TYPE_CHECKING:
    from ..encoders.encoder import Encoder

T = TypeVar("T")
IndexEncoders = Callable[[EncoderInfo, Path], "Encoder"]
"""A function that opens an encoder, from its description in a manifest and the folder of the
index.
"""
MASKS = 16
"""The number of filters whose rows stay in memory, a byte per row: finding the rows takes longer
than a search.
"""
_STRETCH = 1 << 16  # the number of rows of a mask to examine at a time
MATCHES = 16
"""The number of queries whose matches stay in memory, a byte per passage, for later pages and other
filters.
"""
# The number of query words to remember, each with whether the index contains it.
REMEMBERED = 20_000
REMEMBERED_NEAR = 1_000
"""The number of misspelt query words whose similar words stay in memory, some hundred bytes
each.
"""


class Snapshot:
    """The last published state of an index at the time of opening.

    It prevents the removal of its files until it is closed. It opens large parts on demand.
    """

    def __init__(
        self,
        folder: Path,
        config: Config,
        encoders: IndexEncoders,
        *,
        manifest: Manifest | None = None,
    ) -> None:
        """Open the index in ``folder``; ``manifest`` replaces the last published state.

        Raises IndexStateError if the index is missing, incomplete, damaged, or of another layout;
        if ``index.verify`` is set, also if a file does not match its checksum.
        """
        self.folder = folder
        self.config = config
        self._encoders = encoders
        if manifest is None:
            self.manifest, self._lease = open_leased(folder)
        else:
            self.manifest, self._lease = manifest, Lease()
            take_segments(self._lease, folder, manifest)
        if config.index.verify:
            for info in self.manifest.segments:
                check_files(folder / SEGMENTS / info.name, info)
        bases = accumulate((info.passages for info in self.manifest.segments), initial=0)
        self.segments = tuple(
            OpenSegment(folder / SEGMENTS / info.name, info, open_documents(folder, info), base)
            for info, base in zip(self.manifest.segments, bases, strict=False)
        )
        self._filtered = cache_method(MASKS, self._passing)
        self._undated = cache_method(MASKS, self._undated_documents)
        self._opened = OpenedOnce()
        self._matches: dict[tuple[object, ...], Mask | None] = {}
        # A name in the news that the index lacks appears in many queries, so cache the answer.
        self._unwritten = cache_method(REMEMBERED, self._is_unwritten)
        self._is_held = cache_method(REMEMBERED, self._is_indexed)
        self._near = cache_method(REMEMBERED_NEAR, self._stored_near)

    @opened_once
    def encoder_of(self, view: str) -> Encoder:
        """Return the encoder of a view's vectors.

        Raises IndexStateError if there is none, or if it has changed.
        """
        return fitting_encoder(self.manifest, view, self._encoders, self.folder)

    @opened_once
    def view(self, name: str) -> Any:
        """Return the view of this name, opened over all segments.

        Raises IndexStateError if there is none.
        """
        if name not in self.manifest.views:
            remedy = f"add it with factseek compact --add {name}" if name in views.kinds() else ""
            raise IndexStateError(f"has no view {name}", place=self.folder, remedy=remedy)
        view = views.view(name, self.manifest)
        for segment in self.segments:
            check_own(segment.folder, segment.info, view.owns)
        return view.open(self.segments, self.manifest, self.config)

    @property
    @opened_once
    def terms(self) -> Analyzer:
        """The analyzer."""
        start(self.config.java.heap)
        return Analyzer(self.manifest.analysis, parts=self.manifest.has_parts)

    @property
    @opened_once
    def rows(self) -> Rows:
        """The docid and the passage number of each row."""
        return self.columns.rows

    def rows_of(self, docid: str) -> range:
        """Return the rows of a document's passages, which are adjacent; an empty range if it does
        not exist.
        """
        for segment in reversed(self.segments):
            rows = segment.documents.passage_rows(docid)
            if rows:
                return range(segment.base + rows.start, segment.base + rows.stop)
        return range(0)

    @property
    def columns(self) -> DocumentColumns:
        """The docids of all passages, and the values of all documents in the countable fields."""
        columns: DocumentColumns = self.view(COLUMNS)
        return columns

    def mask(self, where: Filter | None) -> Mask | None:
        """Return a mask of the rows that pass the filter and are not deleted; None if all do."""
        if where is None or where._replace(undated=False) == Filter():
            return self._live
        if where.excluded:
            admitted = self.mask(where._replace(excluded=()))
            keep = (
                np.ones(len(self.rows.docids), dtype=np.bool_)
                if admitted is None
                else admitted.copy()
            )
            for docid in where.excluded:
                keep[self.rows_of(docid)] = False
            return keep
        return self._filtered(where)

    def document(self, docid: str) -> Document:
        """Return the document of this docid."""
        return self._find(docid)[1]

    def addition(self, docid: str) -> Addition:
        """Return when and how the document of this docid was added."""
        for segment in reversed(self.segments):
            row = segment.documents.row(docid)
            if row is not None:
                added = segment.info.added_at(row)
                return Addition(segment.info.kind, *((added.time, added.by) if added else ()))
        raise _no_document(docid)

    def _find(self, docid: str) -> tuple[OpenSegment, Document]:
        for segment in reversed(self.segments):
            document = segment.documents.document(docid)
            if document is not None:
                return segment, document
        raise _no_document(docid)

    def passages_of(self, docids: Sequence[str]) -> dict[str, list[Passage]]:
        """Return the passages of each of these documents, in order."""
        passages: dict[str, list[Passage]] = {}
        missing = list(docids)
        for segment in reversed(self.segments):
            passages |= segment.documents.passages_of(missing)
            missing = [docid for docid in missing if docid not in passages]
            if not missing:
                break
        for docid in missing:
            raise _no_document(docid)
        return passages

    def read_passages(self, places: Iterable[Place], note: ReadNote) -> dict[Place, Stored]:
        """Return passages by docid and number, read segment by segment; ``note`` receives each
        passage.
        """
        read: dict[Place, Stored] = {}
        missing = list(places)
        for segment in reversed(self.segments):
            for document, span in segment.documents.with_passages(missing, note):
                read[document.docid, span.number] = Stored(document, span, segment.info.kind)
            missing = [place for place in missing if place not in read]
            if not missing:
                break
        for docid, passage in missing:
            raise self._missing(docid, passage)
        return read

    def _missing(self, docid: str, passage: int) -> NotFoundError | IndexStateError:
        """Return the error for a missing passage: if the index has a row for the passage, the index
        is damaged.
        """
        what = f"there is no passage {passage} of a document {docid!r} in this index"
        places = zip(self.rows.docids, self.rows.numbers, strict=True)
        rows = [row for row, place in enumerate(places) if place == (docid, passage)]
        if rows and (self._live is None or self._live[rows].any()):
            return IndexStateError(
                f"{what}, although the index has a row for it", place=self.folder, remedy=REMEDY
            )
        return NotFoundError(what)

    def documents(
        self, where: Filter | None = None, after: str | None = None
    ) -> Iterator[Document]:
        """Yield the documents that can be found and pass the filter, ignoring its conditions on
        words.

        If ``after`` is given, begin after the document of this docid.
        """
        begin, first = (0, 0) if after is None else self._behind(after)
        keep = self.mask(where.of_documents) if where is not None else None
        if keep is None:
            for number, segment in enumerate(self.segments[begin:]):
                yield from segment.documents.each(0 if number else first)
            return
        start = self.rows_of(after).stop if after is not None else 0
        rows = (
            row  # the mask is examined only as far as the caller reads
            for at in range(start, len(keep), _STRETCH)
            for row in (np.flatnonzero(keep[at : at + _STRETCH]) + at).tolist()
        )
        docids = (self.rows.docids[row] for row in rows)
        yield from (self.document(docid) for docid, _ in groupby(docids))

    def _behind(self, docid: str) -> tuple[int, int]:
        """Return where the documents after this one begin: the number of its segment, and the row
        after its own.
        """
        for number, segment in enumerate(self.segments):
            row = segment.documents.row(docid)
            if row is not None:
                return number, row + 1
        raise _no_document(docid)

    def ranking(self, name: str, config: Config) -> Retriever:
        """Return the retriever of this name with these settings."""
        return retrievers.kind(name).open(name, self, config, group=config.search.group)

    def rankings(self, names: Sequence[str], config: Config) -> Rankings:
        """Return the rankings of these names, made together with these settings."""
        return ParallelRankings({name: self.ranking(name, config) for name in names})

    def count(self, question: CountQuery) -> Total:
        """Return how many documents, or passages if passages are ranked, can be found."""
        matching, group = self._matching(question), question.resolved.settings.search.group
        rows = both(matching, self.mask(question.where))
        if rows is None:
            hits = self.manifest.documents if group else len(self.rows.docids)
        else:
            hits = int(np.count_nonzero(self.columns.documents(rows) if group else rows))
        return Total(hits, matching is not None)

    def facets(self, question: CountQuery, fields: Mapping[str, int]) -> dict[str, FacetCounts]:
        """Count the documents by the values of each field, without the filter's condition on that
        field.
        """
        where, matching = question.where, self._matching(question)
        filtered = dict(where.values()) if where is not None else {}
        facets, masks = {}, {}
        for field, most in fields.items():
            others = without(where, field) if where is not None else None
            if others not in masks:
                rows = both(both(matching, self.mask(others)), self.mask(question.condition))
                masks[others] = None if rows is None else self.columns.documents(rows)
            facets[field] = self.columns.facet(field, most, masks[others], filtered.get(field, ()))
        return facets

    def _matching(self, question: CountQuery) -> Mask | None:
        """Return the passages that match a query, whatever the filter; None means all, as for a
        vector retriever.
        """
        query, resolved = question.query, question.resolved
        weighed = [
            (view, vector.terms.tobytes()) for view, vector in sorted(query.weighed_terms.items())
        ]
        key = (resolved.retriever, resolved.rankings, query.text, query.terms, tuple(weighed))
        with suppress(KeyError):
            return self._matches[key]
        rows = self.ranking(resolved.retriever, resolved.settings).matching(query)
        for old in list(self._matches)[: len(self._matches) + 1 - MATCHES]:
            self._matches.pop(old, None)
        self._matches[key] = rows
        return rows

    def docids(self) -> Iterator[str]:
        """Yield the docid of each passage, including deleted passages that no merge has removed
        yet.
        """
        return iter(self.rows.docids)

    def field_statistics(self) -> Sequence[FieldStatistics]:
        """Return the statistics of the searched text fields."""
        return self._lucene.field_statistics()

    def term_counts(self, terms: Sequence[Term]) -> list[TermCount]:
        """Return, for each term, the number of passages that contain it and the number of its
        occurrences.
        """
        return self._lucene.term_counts(terms)

    def term_weights(
        self, query: PreparedQuery, places: Sequence[Place], weights: BM25Settings
    ) -> list[dict[str, float]]:
        """Return, for each passage, the terms of a query that it contains, each with its part of
        the score.
        """
        return self._lucene.term_weights(query, self._rows_at(places), weights)

    def find_unwritten(self, words: Sequence[str]) -> list[str]:
        """Return those of the lower-case ``words`` of which the index contains no form."""
        return list(filter(self._unwritten, words))

    def find_unbegun(self, beginnings: Sequence[str]) -> list[str]:
        """Return those of the lower-case ``beginnings`` with which no word of the index begins."""
        return [
            beginning
            for beginning in beginnings
            if not any(segment.begins(beginning) for segment in self._words)
        ]

    def _is_unwritten(self, word: str) -> bool:
        stored = any(segment.holds(word) for segment in self._words)
        return not stored and not self._lucene.holds(word) and bool(self.terms(word))

    def _is_indexed(self, word: str) -> bool:
        return self._lucene.holds(word)

    def _stored_near(self, word: str, edits: int) -> Sequence[WordNearby]:
        return [near for segment in self._words for near in segment.near(word, edits)]

    def words_near(self, word: str, edits: int) -> Sequence[WordNearby]:
        """Return the words of the index within ``edits`` edits of a word."""
        return self._near(word, edits)

    def has_word(self, word: str, where: Filter | None) -> bool:
        """Return whether a passage of a document that passes the filter contains a word."""
        keep = self.mask(where.of_documents if where else None)
        if keep is None:
            return self._is_held(word)
        return bool((self._lucene.having_words(PreparedQuery(word)) & keep).any())

    def signatures(self, places: Sequence[Place]) -> Signatures:
        """Return the signatures of passages, in their order."""
        signatures: Signatures = self.view(SIGNATURES).of_rows(self._rows_at(places))
        return signatures

    def near_copies(
        self, signatures: Signatures, most: int, where: Filter | None
    ) -> list[set[str]]:
        """Return, for each signature, the docids of its near-duplicates under a filter.

        A near-duplicate's signature has at most ``most`` disagreements with it.
        """
        keep, docids = self.mask(where), self.rows.docids
        near = self.view(SIGNATURES).near
        return [{docids[row] for row in near(signature, most, keep)} for signature in signatures]

    def passage_vectors(self, places: Sequence[Place], view: str) -> Vectors:
        """Return the vectors of passages in a view, in their order, shape (places, dimension)."""
        vectors: VectorIndex = self.view(view)
        return vectors.of_rows(self._rows_at(places))

    def document_vector(self, docid: str, view: str) -> Vectors:
        """Return the mean direction of a document's vectors in a view."""
        self._find(docid)
        vectors: VectorIndex = self.view(view)
        return mean_vector(vectors.of_rows(self.rows_of(docid)), vectors.similarity)

    def weigh_terms(self, view: str, text: str) -> SparseVector:
        """Return the terms of a query with their weights, for a view of impacts."""
        return self.query_weights(view)(text)

    @opened_once
    def query_weights(self, view: str) -> QueryWeights:
        """Return what weighs the terms of queries for a view of impacts."""
        impacts: ImpactIndex = self.view(view)
        return fitting_weights(
            self.manifest, view, self.config.impact, self.folder, impacts.count_terms
        )

    def count_impacts(self, view: str, terms: NDArray[np.int32]) -> TermCounts:
        """Return the number of passages, and of those with each term of a view of impacts."""
        impacts: ImpactIndex = self.view(view)
        return impacts.count_terms(terms)

    def impacts_of(
        self, query: PreparedQuery, places: Sequence[Place], view: str
    ) -> list[list[tuple[int, float]]]:
        """Return, for each passage, the terms of a query that it has in a view of impacts, each
        with its part of the score.
        """
        impacts: ImpactIndex = self.view(view)
        weighed = query.weighed_terms.get(view)
        if weighed is None:
            weighed = self.weigh_terms(view, query.text)
        return [impacts.term_scores(weighed, row) for row in self._rows_at(places)]

    def missing_since(self, moment: float) -> Sequence[str]:
        """Return the names of the parts that failed to answer since a moment of
        :func:`time.monotonic`.
        """
        return ()

    def shards(self) -> Sequence[ShardHealth]:
        """Return the shards that other processes serve; none if this process reads the index
        itself.
        """
        return ()

    @property
    def _lucene(self) -> PassageSearcher:
        searcher: PassageSearcher = self.view(LUCENE)
        return searcher

    def document_values(self, places: Sequence[Place], field: ShortField) -> list[str]:
        """Return a field of the document of each passage, in the order of the passages."""

        def read(segment: OpenSegment, some: Sequence[Place]) -> Iterable[tuple[Place, str]]:
            return segment.documents.values_at(some, field)

        return self._look_up(places, read)

    def _rows_at(self, places: Sequence[Place]) -> list[int]:
        def read(segment: OpenSegment, some: Sequence[Place]) -> Iterable[tuple[Place, int]]:
            for place, row in segment.documents.rows_at(some):
                yield place, segment.base + row

        return self._look_up(places, read)

    def _look_up(
        self,
        places: Sequence[Place],
        read: Callable[[OpenSegment, Sequence[Place]], Iterable[tuple[Place, T]]],
    ) -> list[T]:
        """Return what ``read`` finds for each passage, in the order of the passages, from the
        newest segment that has it.
        """
        values: dict[Place, T] = {}
        missing = list(places)
        for segment in reversed(self.segments):
            values.update(read(segment, missing))
            missing = [place for place in missing if place not in values]
            if not missing:
                break
        for docid, number in missing:
            raise self._missing(docid, number)
        return [values[place] for place in places]

    @property
    def _words(self) -> list[SegmentWords]:
        words: list[SegmentWords] = self.view(WORDS)
        return words

    def close(self) -> None:
        """Close the files; a second call does nothing."""
        for name, opened in self._opened.end(self.folder).items():
            # Other indexes share the encoders.
            if "encoder_of" not in name and hasattr(opened, "close"):
                opened.close()
        for remembering in (
            self._filtered,
            self._undated,
            self._unwritten,
            self._is_held,
            self._near,
        ):
            remembering.cache_clear()
        self._matches.clear()
        for segment in self.segments:
            segment.documents.close()
        self._lease.close()

    def count_undated(self, where: Filter) -> int:
        """Return how many documents a date bound excludes because they have no date, ignoring
        conditions on words.
        """
        if where.undated or not (where.as_of or where.since):
            return 0
        return self._undated(where._replace(as_of="", since="", excluded=()).of_documents)

    def _undated_documents(self, where: Filter) -> int:
        ever = where._replace(as_of="9999-12-31")
        dated, every = self._passing(ever), self._passing(ever._replace(undated=True))
        return len({self.rows.docids[row] for row in np.flatnonzero(every & ~dated).tolist()})

    @opened_once
    def noise_similarities(self, view: str) -> list[float]:
        """Return the stored cosine of the nearest passage to each random query; compute it if none
        is stored.
        """
        name = VectorFiles.for_variant(view.partition(":")[2]).chance
        vectors: VectorIndex = self.view(view)
        if self.manifest.encoders[view].is_given:
            return []
        paths = [
            self.folder / SEGMENTS / info.name / name
            for info in self.manifest.segments
            if info.passages
        ]
        kept = nearest_of_segments(paths, vectors.dimension, vectors.similarity)
        if kept is not None:
            return kept
        return noise_similarities(made_up_vectors(self.encoder_of(view)), vectors, self.mask(None))

    def _passing(self, where: Filter) -> Mask:
        keep = self._lucene.matching(where)
        if self._live is not None:
            keep = keep & self._live
        keep.flags.writeable = False
        return keep

    @cached_property
    def _live(self) -> Mask | None:
        if not any(segment.info.deleted for segment in self.segments):
            return None
        keep = np.ones(len(self.rows.docids), dtype=np.bool_)
        for segment in self.segments:
            keep[np.asarray(segment.documents.deleted_rows(), dtype=np.int64) + segment.base] = (
                False
            )
        keep.flags.writeable = False
        return keep


def _no_document(docid: str) -> NotFoundError:
    return NotFoundError(f"there is no document {docid!r} in this index")


def fitting_encoder(
    manifest: Manifest, view: str, encoders: IndexEncoders, folder: Path
) -> Encoder:
    """Return the encoder of the vectors of a view. Raises IndexStateError if the index has none."""
    made_by = manifest.encoder_of(view) if view in manifest.views else None
    if made_by is None:
        raise IndexStateError("was built without vectors", place=folder)
    if made_by.is_given:
        # Over HTTP, an error may name the index, but no folder of the machine.
        return GivenVectors(made_by, place=folder.name)
    return encoders(made_by, folder)


def fitting_weights(
    manifest: Manifest, view: str, settings: ImpactSettings, folder: Path, count: CountTerms
) -> QueryWeights:
    """Return what weighs the terms of queries for a view of impacts. Raises IndexStateError if the
    index has none.
    """
    info = manifest.impacts_of(view)
    if info is None:
        raise IndexStateError(f"has no {view}", place=folder)
    return QueryWeights(info, settings, folder, count)
