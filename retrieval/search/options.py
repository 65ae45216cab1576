"""What is asked of an open index, and what describes it: the options of a search, and the index as it was published."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..config import BM25Settings, Config, FusionSettings
from ..deadline import Deadline
from ..domain import DocumentQuery, Filter
from ..errors import PartMissingError
from ..store.manifest import VECTORS, EncoderInfo, Manifest, SegmentInfo
from ..terminal import counted
from ..text import PROFILES, has_words

if TYPE_CHECKING:
    from .index import Index


class Search(NamedTuple):
    """The options of a search; ``None`` selects the configured value.

    ``stages`` reorder or thin the ranking, in their order; ``collapse="near"`` then folds near-duplicates, and
    ``sort="date"`` puts the newest of the first hits first.
    ``limit`` is the time that this one search has, and notes what was cut off. ``offset`` leaves out the first hits:
    the ``k`` hits after them are those of a longer list. ``typed`` is the part of ``where`` that the query itself asks
    for: no facet is counted without it.
    """

    k: int | None = None
    retriever: str | None = None
    where: Filter | None = None
    fusion: FusionSettings | None = None
    profile: str | None = None
    group: bool | None = None
    limit: Deadline | None = None
    bm25: BM25Settings | None = None
    stages: tuple[str, ...] | None = None
    collapse: str = ""
    sort: str = ""
    offset: int = 0
    typed: Filter | None = None


DEFAULT_SEARCH = Search()
MOST_SOURCES = 10
"""Of the sources of a segment, so many are named in a description."""


class ResolvedSearch(NamedTuple):
    """A search as one index understands it: every choice that was left open is made.

    ``retriever`` is the one that answers, ``rankings`` what its hits come from (those that are fused, or the one),
    ``views`` what it reads of the index. ``settings`` are the index's, with what the search varies. ``approximate``
    says that an approximate index of vectors is asked: a few of the nearest passages may be missing, other segments or
    shards may miss others, and each score is exact all the same.
    """

    retriever: str
    rankings: tuple[str, ...]
    views: tuple[str, ...]
    settings: Config
    approximate: bool = False

    @property
    def fuses(self) -> bool:
        """Whether hits come from several rankings, or from another than the retriever."""
        return self.rankings != (self.retriever,)

    @property
    def encodes(self) -> bool:
        """Whether queries are encoded."""
        return reads_vectors(self.views)

    def text(self, query: str) -> str:
        """Return what is searched for: ``query`` as the profile leaves it, the words of a document as they are."""
        return str(query) if isinstance(query, DocumentQuery) else PROFILES[self.settings.search.profile](query)

    def has_words(self, query: str) -> bool:
        """Return whether a query holds anything to search for; a search refuses one that does not."""
        return has_words(self.text(query))


def reads_vectors(views: Iterable[str]) -> bool:
    """Return whether one of these views holds vectors: whoever reads it encodes queries."""
    return any(view.startswith(VECTORS) for view in views)


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """The description of an open index: its folder, its manifest, and its retrievers, the default first."""

    place: Path
    published: Manifest
    retrievers: tuple[str, ...]

    def __str__(self) -> str:
        """Describe the index in a line for each thing, as ``factseek info`` does, with its retrievers."""
        lines = [*description(self.place, self.published), ("retrievers", ", ".join(self.retrievers))]
        return "\n".join(f"{name:15} {value}" for name, value in (*lines, *segments(self.published)))

    @property
    def name(self) -> str:
        """The name of its folder."""
        return self.place.resolve().name

    @property
    def id(self) -> str:
        """The id of the manifest that it answers from."""
        return self.published.id

    @property
    def documents(self) -> int:
        """The number of documents, without the deleted ones."""
        return self.published.documents

    @property
    def passages(self) -> int:
        """The number of passages, without those of deleted documents."""
        return self.published.passages

    @property
    def language(self) -> str:
        """The ISO 639-1 code of its documents."""
        return self.published.language

    @property
    def encoder(self) -> EncoderInfo | None:
        """The encoder of its vectors, None if it has none."""
        return self.published.encoder

    @property
    def filter_fields(self) -> tuple[str, ...]:
        """The fields of the documents' metadata that can be filtered and counted."""
        return self.published.filter_fields

    @property
    def encoders(self) -> dict[str, EncoderInfo]:
        """The encoders of its vectors, by the name of their view."""
        return self.published.encoders

    @property
    def weighs_titles(self) -> bool:
        """Whether a match in the title may weigh other than one in the text."""
        return self.published.fields == "title_text"

    @property
    def kinds_of_sentences(self) -> frozenset[str]:
        """The kinds of source whose passages are sentences."""
        return frozenset(segment.kind for segment in self.published.segments if segment.of_sentences)


def description(index: Path, manifest: Manifest) -> list[tuple[str, str]]:
    """Return what is said of an index as a whole: names and values."""
    encoder = manifest.encoder
    bytes_ = sum(file.bytes for segment in manifest.segments for file in segment.files.values())
    vectors = f"{encoder.name} ({encoder.dimension} dimensions, {encoder.precision})" if encoder else "none (bm25 only)"
    return [
        ("index", f"{index} ({manifest.id})"),
        ("documents", f"{manifest.documents:,} in {counted(manifest.passages, 'passage')}, {bytes_ / 1e6:.1f} MB"),
        ("language", f"{manifest.language} ({manifest.analyzer} analyzer, {manifest.fields} fields)"),
        ("bm25", f"k1 {manifest.bm25.k1}, b {manifest.bm25.b} when it was built; a search uses its own settings"),
        ("vectors", vectors),
        ("created", f"{manifest.created} by factseek {manifest.versions.factseek}"),
    ]


def segments(manifest: Manifest) -> list[tuple[str, str]]:
    """Return what is said of each segment of an index: its name and what it holds."""
    return [(f"segment {segment.name}", _described(segment)) for segment in manifest.segments]


def _described(segment: SegmentInfo) -> str:
    names = [source.name for source in segment.sources]
    shown = ", ".join(names[:MOST_SOURCES]) + (f" and {len(names) - MOST_SOURCES} more" if names[MOST_SOURCES:] else "")
    deleted = f", {len(segment.deleted)} of them deleted" if segment.deleted else ""
    kind = segment.kind.removesuffix("s") if segment.documents == 1 else segment.kind
    return f"{segment.documents} {kind} from {shown}{deleted}"


class Footprint(NamedTuple):
    """The size of what a retriever reads: bytes on disk, documents included, and the seconds of building it."""

    bytes: int
    seconds: float


def check_whole(index: Index, since: float) -> None:
    """Raise PartMissingError if a shard did not answer since a moment of :func:`time.monotonic`.

    It is for answers that have no place for a coverage.
    """
    missing = index.missing_since(since)
    if missing:
        raise PartMissingError(f"{', '.join(missing)} did not answer, so the answer would be incomplete")
