"""The view ``lucene``: an index of the passages' words and filter tokens, which BM25 searches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import closing
from typing import Any

from ...core.domain import Document, Span
from ...core.errors import IndexStateError
from ..config import Config
from ..filters import field_names, token, tokens
from ..lucene.analysis import ANALYSIS
from ..lucene.index import PassageSearcher, PassageWriter, passage_ids
from ..lucene.jvm import start
from ..store.integrity import REMEDY
from ..store.manifest import ANALYSIS_VERSION, FILTER_FIELDS, LUCENE, Manifest
from . import Check, Encoders, OpenSegment, SegmentPlace, Tools, View


class LuceneView(View):
    """Lucene's index of the passages."""

    @classmethod
    def describe(cls, name: str, config: Config, encoders: Encoders) -> dict[str, Any] | None:
        declared = field_names(config.index.filter_fields)
        phrases: dict[str, Any] = {"phrases": True} if config.index.phrases else {}
        parts = {} if config.index.parts == "auto" else {"parts": config.index.parts == "always"}
        version = {ANALYSIS_VERSION: ANALYSIS}
        return version | phrases | parts | ({FILTER_FIELDS: list(declared)} if declared else {})

    def owns(self, file: str) -> bool:
        return file.startswith(f"{LUCENE}/")

    def prepare(self, tools: Tools) -> None:
        start(tools.config.java.heap)

    def sink(self, segment: SegmentPlace, tools: Tools) -> _LuceneSink:
        start(tools.config.java.heap)
        return _LuceneSink(segment, tools.manifest, tools.config.build.lucene_buffer_mb)

    def checks(self, segment: SegmentPlace, tools: Tools) -> Sequence[Check]:
        start(tools.config.java.heap)
        return (Check(LUCENE, lambda: _find_misnamed(segment)),)

    def open(
        self, segments: Sequence[OpenSegment], manifest: Manifest, config: Config
    ) -> PassageSearcher:
        start(config.java.heap)
        folders = [segment.folder / LUCENE for segment in segments]
        deleted = [
            segment.base + row for segment in segments for row in segment.documents.deleted_rows()
        ]
        searcher = PassageSearcher(
            folders, manifest.analysis, manifest.fields, deleted, parts=manifest.has_parts
        )
        for folder, rows, segment in zip(folders, searcher.segment_rows, segments, strict=True):
            if rows != segment.info.passages:
                searcher.close()
                what = f"contains {rows} passages, but the manifest says {segment.info.passages}"
                raise IndexStateError(what, place=folder, remedy=REMEDY)
        return searcher


view = LuceneView


class _LuceneSink(PassageWriter):
    def __init__(self, segment: SegmentPlace, manifest: Manifest, buffer_mb: int) -> None:
        options = {"phrases": manifest.has_phrases, "parts": manifest.has_parts}
        super().__init__(
            segment.folder / LUCENE, manifest.analysis, manifest.fields, buffer_mb, **options
        )
        self._segment, self._declared = segment, manifest.filter_fields

    def add(self, document: Document, spans: Sequence[Span]) -> None:
        segment = self._segment
        filters = tokens(document, segment.kind, segment.name, self._analysis, self._declared)
        for span in spans:
            self.add_passage(document.title, document.text[span.start : span.end], filters)


def _find_misnamed(segment: SegmentPlace) -> Iterator[str]:
    with closing(segment.documents()) as documents:
        docids = [passage.docid for _, passage in documents.each_passage()]
    missing = set(range(len(docids)))
    for name, row in passage_ids(segment.folder / LUCENE):
        if row < len(docids) and name == token("id", f"{segment.name}:{docids[row]}"):
            missing.discard(row)
        else:
            yield f"passage {row} is indexed under {name}, which is not the id of its document"
    yield from (f"lacks passage {row}, of document {docids[row]!r}" for row in sorted(missing))
