"""The options of a search, a search with every option resolved, and the description of an open
index.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import msgspec

from ...core.domain import Document, Filter, Span
from ...core.errors import PartMissingError, QueryError
from ...core.settings import Count, Positive
from ...core.terminal import format_count
from ...core.text import PROFILES, has_words, refuse_text
from ..config import BM25Settings, Config, FusionSettings
from ..store.manifest import VECTORS, EncoderInfo, Manifest
from .prepared_query import AnyQuery, PreparedQuery

if TYPE_CHECKING:
    from .index import Index


def _option(description: str, changes: Literal["list", "shown"] = "list") -> msgspec.Meta:
    """Return the description of an option, and whether it changes the ranked list or only which
    part of it is shown.
    """
    return msgspec.Meta(description=description, extra={"changes": changes})


class Search(msgspec.Struct, frozen=True):
    """The options of a search; ``None`` selects the configured value.

    The ``extra`` of each field says what the option ``changes``: the ranked ``list``, or only which
    part of it is ``shown``.
    """

    k: Annotated[Positive | None, _option("the number of hits, at most search.max_k", "shown")] = (
        None
    )
    retriever: Annotated[
        str | None, _option("the retriever; auto selects the best that the index supports")
    ] = None
    where: Annotated[
        Filter | None, _option("the condition on documents and passages; it applies before ranking")
    ] = None
    fusion: Annotated[
        FusionSettings | None, _option("how a retriever that fuses rankings fuses them")
    ] = None
    profile: Annotated[str | None, _option("how the text of a query is prepared")] = None
    group: Annotated[
        bool | None,
        _option("true: one hit per document, by its best passage; false: one hit per passage"),
    ] = None
    bm25: Annotated[BM25Settings | None, _option("the parameters of BM25")] = None
    stages: Annotated[
        tuple[str, ...] | None,
        _option("the stages that reorder or shorten the ranking, in this order"),
    ] = None
    collapse: Annotated[
        str, _option("near: groups near-duplicates under their best hit, after the stages")
    ] = ""
    sort: Annotated[
        str, _option("date: sorts the best hits by date, newest first, after collapse")
    ] = ""
    offset: Annotated[Count, _option("how many of the first hits to skip", "shown")] = 0


DEFAULT_SEARCH = Search()
MOST_SOURCES = 10  # the maximum number of sources that a description lists for a segment


class ResolvedSearch(NamedTuple):
    """A search for one index, with a value for every option.

    ``retriever`` answers it. ``rankings`` names the rankings to fuse, or the only ranking.
    ``views`` names the views that it reads: Lucene's index, vectors. ``settings`` are those of the
    index, changed by the options of the search. ``approximate`` says that the search uses an
    approximate vector index. Such an index may miss a few of the nearest passages, and other
    segments or shards may miss others. Scores are always exact.
    """

    retriever: str
    rankings: tuple[str, ...]
    views: tuple[str, ...]
    settings: Config
    approximate: bool = False

    @property
    def fuses(self) -> bool:
        """Whether hits come from several rankings, or from a ranking other than the retriever's."""
        return self.rankings != (self.retriever,)

    @property
    def encodes(self) -> bool:
        """Whether the search encodes queries."""
        return reads_vectors(self.views)

    def text(self, query: AnyQuery) -> str:
        """Return the text to search for: a query after the profile, or that of a prepared one."""
        return self.prepare(query).text

    def prepare(self, query: AnyQuery) -> PreparedQuery:
        """Return the query to search for, without the checks of :meth:`prepare_all`; one that is
        prepared already is returned unchanged.
        """
        if isinstance(query, PreparedQuery):
            return query
        return PreparedQuery(PROFILES[self.settings.search.profile](query))

    def prepare_all(self, queries: Sequence[AnyQuery]) -> list[PreparedQuery]:
        """Return the queries to search for.

        Raises QueryError if one is too long or contains no words.
        """
        refuse_text("queries", queries)
        # A prepared query was checked, or it is a document, which vectors alone may find.
        return [
            query if isinstance(query, PreparedQuery) else self._check_text(query)
            for query in queries
        ]

    def _check_text(self, query: str) -> PreparedQuery:
        if not isinstance(query, str):
            raise QueryError(f"the query {query!r} is not text")
        longest = self.settings.search.max_query_chars
        if len(query) > longest:
            limit = f"at most {longest} are allowed (search.max_query_chars)"
            raise QueryError(f"the query has {len(query)} characters, but {limit}")
        text = PROFILES[self.settings.search.profile](query)
        if not has_words(text):
            raise QueryError(f"the query {query[:60]!r} contains no words to search for")
        return PreparedQuery(text)

    def depth(self, offset: int) -> int:
        """Return the number of hits to find: ``k`` after the offset.

        Raises QueryError if either is out of range.
        """
        k, most = self.settings.search.k, self.settings.search.max_k
        if not 1 <= k <= most:
            raise QueryError(f"k {k} is out of range: ask for 1 to {most} hits")
        if not 0 <= offset <= most - k:
            raise QueryError(
                f"offset {offset} is out of range: with k {k} it may be 0 to {most - k}"
            )
        return offset + k

    def has_words(self, query: str) -> bool:
        """Return whether a query contains a word to search for; a search refuses a query without
        words.
        """
        return has_words(self.text(query))


def reads_vectors(views: Iterable[str]) -> bool:
    """Return whether one of these views has vectors; a retriever that reads such a view encodes
    queries.
    """
    return any(view.startswith(VECTORS) for view in views)


@dataclass(frozen=True, slots=True)
class IndexInfo:
    """The description of an open index: its folder and its name, its manifest, and its retrievers,
    the default first.

    The later fields are those of the manifest with the same names.
    """

    place: Path
    name: str
    published: Manifest
    retrievers: tuple[str, ...]
    id: str
    documents: int
    passages: int
    language: str
    encoder: EncoderInfo | None
    encoders: dict[str, EncoderInfo]
    filter_fields: tuple[str, ...]

    @classmethod
    def of(cls, place: Path, manifest: Manifest, retrievers: tuple[str, ...]) -> IndexInfo:
        """Return the description of the index in the folder ``place``."""
        own = (getattr(manifest, field.name) for field in fields(cls)[4:])
        return cls(place, place.resolve().name, manifest, retrievers, *own)

    def __str__(self) -> str:
        """Describe the index and its retrievers, one line per property, as ``factseek info``
        does.
        """
        lines = [
            *description(self.place, self.published),
            ("retrievers", ", ".join(self.retrievers)),
        ]
        return "\n".join(
            f"{name:15} {value}" for name, value in (*lines, *segments(self.published))
        )


def description(index: Path, manifest: Manifest) -> list[tuple[str, str]]:
    """Return the names and values of the properties of an index as a whole."""
    encoder = manifest.encoder
    bytes_ = sum(file.bytes for segment in manifest.segments for file in segment.files.values())
    vectors = (
        f"{encoder.name} ({encoder.dimension} dimensions, {encoder.precision})"
        if encoder
        else "none (bm25 only)"
    )
    return [
        ("index", f"{index} ({manifest.id})"),
        (
            "documents",
            (
                f"{manifest.documents:,} in {format_count(manifest.passages, 'passage')}, "
                f"{bytes_ / 1e6:.1f} MB"
            ),
        ),
        (
            "language",
            f"{manifest.language} ({manifest.analyzer} analyzer, {manifest.fields} fields)",
        ),
        (
            "bm25",
            (
                f"k1 {manifest.bm25.k1}, b {manifest.bm25.b} when it was built; a search uses "
                "its own settings"
            ),
        ),
        ("vectors", vectors),
        ("created", f"{manifest.created} by factseek {manifest.versions.factseek}"),
    ]


def segments(manifest: Manifest) -> list[tuple[str, str]]:
    """Return the description of each segment of an index: its name and its contents."""
    described = []
    for segment in manifest.segments:
        names = [source.name for source in segment.sources]
        more = f" and {len(names) - MOST_SOURCES} more" if names[MOST_SOURCES:] else ""
        deleted = f", {len(segment.deleted)} of them deleted" if segment.deleted else ""
        kind = segment.kind.removesuffix("s") if segment.documents == 1 else segment.kind
        what = f"{segment.documents} {kind} from {', '.join(names[:MOST_SOURCES])}{more}{deleted}"
        described.append((f"segment {segment.name}", what))
    return described


class Footprint(NamedTuple):
    """The bytes on disk of the data that a retriever reads, documents included, and the seconds to
    build the data.
    """

    bytes: int
    seconds: float


def check_whole(index: Index, since: float) -> None:
    """Raise PartMissingError if a shard failed to answer after ``since``; for answers that cannot
    name that shard.
    """
    missing = index.missing_since(since)
    if missing:
        raise PartMissingError(
            f"{', '.join(missing)} did not answer, so the answer would be incomplete"
        )


ReadNote = Callable[[Document, Span], object]  # a callback that receives each passage as it is read


class CountQuery(NamedTuple):
    """A request to count; ``condition`` is the part of the filter that the query itself
    contains.
    """

    query: PreparedQuery
    resolved: ResolvedSearch
    where: Filter | None
    condition: Filter | None = None


class ReplicaHealth(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A replica of a shard: its node, and the result of this process's last request to it."""

    node: str
    state: Literal["answers", "lost", "unasked"]


class ShardHealth(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A shard on a cluster: the id of its published state, and its replicas."""

    name: str
    generation: str
    replicas: list[ReplicaHealth]
