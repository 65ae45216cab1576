"""The options of a search, a search with every option resolved, and the description of an open
index.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import msgspec

from ...core.domain import Document, Filter, Span
from ...core.errors import PartMissingError, QueryError
from ...core.notebook import html
from ...core.settings import Count, Positive
from ...core.terminal import format_count
from ...core.text import PROFILES, ProfileName, has_words, hashtags_of_words, refuse_text
from ..config import BM25Settings, Config, FusionSettings, RrfK
from ..store.manifest import IMPACTS, VECTORS, EncoderInfo, Manifest
from .prepared_query import AnyQuery, PreparedQuery
from .score_normalizers import FusionKind

if TYPE_CHECKING:
    from .index import Index


Surface = Literal["command", "page", "agents", "libraries"]
"""Where users write options: the command line, the page, the tools of MCP, integrations. The HTTP
API has every option, by its own name.
"""
Name = Annotated[str, msgspec.Meta(max_length=80)]


def option(
    description: str,
    changes: Literal["list", "shown"] = "list",
    *,
    names: Mapping[Surface, str] = MappingProxyType({}),
    absent: Collection[Surface] = (),
    metavar: str = "",
    unit: str = "",
    off: str = "",
    stage: bool = False,
) -> msgspec.Meta:
    """Return the declaration of an option.

    ``changes`` says whether it changes the ranked list or only which part of it is shown: a cursor
    goes on if only such options differ. ``names`` has the names on surfaces where they differ from
    that of the field, ``absent`` the surfaces that do not offer the option. ``metavar`` stands for
    a value on the command line, and a number counts ``unit``. ``off`` describes the flag of the
    command line if the flag sets the option to false.
    With ``stage``, the option is short for the stage of its name, ``NAME=VALUE``, which runs after
    all others.
    """
    extra = {
        "changes": changes,
        "names": dict(names),
        "absent": frozenset(absent),
        "metavar": metavar,
        "unit": unit,
        "off": off,
        "stage": stage,
    }
    return msgspec.Meta(description=description, extra=extra)


class CommonOptions(msgspec.Struct):
    """The options that a search has as users write them; ``None`` selects the configured value.

    Every surface derives its options from this class and :class:`WrittenOptions`: a new option is a
    field here and its use.
    """

    k: Annotated[
        Positive | None,
        option(
            "the number of hits",
            "shown",
            names={"command": "-k", "page": "hits"},
            unit="hits",
        ),
    ] = None
    retriever: Annotated[
        Name | None,
        option(
            "the retriever (default: as configured; auto: hybrid if there are vectors, else bm25)"
        ),
    ] = None
    profile: Annotated[
        ProfileName | None,
        option(
            "how the text of a query is prepared; tweet: drops links, mentions and RT, and "
            "searches hashtags whole and split",
            absent=["agents"],
        ),
    ] = None
    group: Annotated[
        bool | None,
        option(
            "true: one hit per document, by its best passage; false: one hit per passage",
            names={"command": "--passages"},
            off="rank passages (default: documents, each by its best passage)",
            absent=["page", "agents", "libraries"],
        ),
    ] = None
    stages: Annotated[
        Annotated[tuple[Name, ...], msgspec.Meta(max_length=16)] | None,
        option(
            "stages that reorder or shorten the ranking, in this order, each as NAME or NAME=VALUE",
            names={"command": "--stage"},
            absent=["agents"],
            metavar="NAME[=VALUE]",
        ),
    ] = None
    collapse: Annotated[
        Literal["near"] | None,
        option(
            "near: groups near-duplicates under their best hit, and counts and lists them",
            absent=["agents"],
            stage=True,
        ),
    ] = None
    sort: Annotated[
        Literal["date"] | None,
        option(
            "date: hits with at least half of the best score, newest first; then the others",
            absent=["agents", "libraries"],
            stage=True,
        ),
    ] = None


class FilterRequest(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Allowed values for each field. A document must match one value of every given field."""

    topic: Annotated[
        str | list[str], msgspec.Meta(description="the topic, as in the collection")
    ] = []
    source: Annotated[
        str | list[str],
        msgspec.Meta(description="the publisher: a site's host, a journal"),
    ] = []
    language: Annotated[str | list[str], msgspec.Meta(description="ISO 639-1 code")] = []
    kind: Annotated[
        str | list[str],
        msgspec.Meta(description="the kind of source: snippets, webpages, cord19, ..."),
    ] = []
    metadata: Annotated[
        dict[str, str | list[str]],
        msgspec.Meta(description="metadata fields that the index declares for filters"),
    ] = {}

    def values(self) -> dict[str, list[str]]:
        """Return the values of each field."""
        named = {
            name: getattr(self, name) for name in self.__struct_fields__ if name != "metadata"
        } | self.metadata
        return {name: [value] if isinstance(value, str) else value for name, value in named.items()}


FusionWeight = Annotated[
    float, msgspec.Meta(ge=0, le=1_000, description="the weight of this ranking")
]
Weights = Annotated[dict[Name, FusionWeight], msgspec.Meta(max_length=16)]


class FusionRequest(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """The fusion of this search; omitted fields keep their configured values."""

    kind: Annotated[
        FusionKind | None,
        msgspec.Meta(
            description="the kind of fusion: reciprocal ranks, or a sum of normalised scores"
        ),
    ] = None
    rrf_k: Annotated[
        RrfK | None,
        msgspec.Meta(
            description="the constant of reciprocal rank fusion; without kind, it selects rrf"
        ),
    ] = None
    weights: Annotated[
        Weights | None, msgspec.Meta(description="the rankings to fuse, each with its weight")
    ] = None
    depth: Annotated[
        Positive | None, msgspec.Meta(description="the number of hits of each ranking to fuse")
    ] = None


class WrittenOptions(CommonOptions, kw_only=True):
    """The options as users write them, before they are understood: conditions are texts, and a
    fusion may name its kind alone.
    """

    filter: Annotated[
        FilterRequest | list[str],
        option(
            "filters as an object of fields, or as a list of field=value; applied before ranking",
            absent=["agents"],
            metavar="FIELD=VALUE",
        ),
    ] = []
    as_of: Annotated[
        str,
        option(
            "only documents up to this day, month or year, such as 2020-03",
            metavar="DATE",
        ),
    ] = ""
    since: Annotated[
        str,
        option("only documents from this day, month or year on", absent=["agents"], metavar="DATE"),
    ] = ""
    undated: Annotated[
        Literal["drop", "keep"],
        option("what bounds on dates do with undated documents", absent=["agents"]),
    ] = "drop"
    fusion: Annotated[
        FusionRequest | FusionKind | None,
        option(
            "how hybrid fuses its rankings (default: as configured)",
            absent=["page", "agents", "libraries"],
        ),
    ] = None


class Search(CommonOptions, frozen=True):  # type: ignore[misc]  # msgspec allows it
    """The options of a search; ``None`` selects the configured value.

    The ``extra`` of each field says what the option ``changes``: the ranked ``list``, or only which
    part of it is ``shown``.
    """

    where: Annotated[
        Filter | None, option("the condition on documents and passages; it applies before ranking")
    ] = None
    fusion: Annotated[
        FusionSettings | None, option("how a retriever that fuses rankings fuses them")
    ] = None
    bm25: Annotated[BM25Settings | None, option("the parameters of BM25")] = None
    offset: Annotated[Count, option("how many of the first hits to skip", "shown")] = 0

    @classmethod
    def of(
        cls,
        written: CommonOptions,
        *,
        where: Filter | None = None,
        fusion: FusionSettings | None = None,
        offset: int = 0,
    ) -> Search:
        """Return the search of options as they were written, with those that were understood."""
        common = {name: getattr(written, name) for name in CommonOptions.__struct_fields__}
        return cls(**common, where=where, fusion=fusion, offset=offset)


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
        return PreparedQuery(
            PROFILES[self.settings.search.profile](query), hashtags=self._hashtags(query)
        )

    def _hashtags(self, query: str) -> tuple[tuple[str, str], ...]:
        return hashtags_of_words(query) if self.settings.search.profile == "tweet" else ()

    def prepare_all(self, queries: Sequence[AnyQuery]) -> list[PreparedQuery]:
        """Return the queries to search for.

        Raises QueryError if one is too long or contains no words.
        """
        refuse_text("queries", queries)
        if not isinstance(queries, Iterable):
            raise QueryError(f"the query {queries!r} is not text")
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
        return PreparedQuery(text, hashtags=self._hashtags(query))

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


def is_impacts(view: str) -> bool:
    """Return whether a view has impacts; a retriever that reads it weighs the terms of queries."""
    return view.partition(":")[0] == IMPACTS


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
        return "\n".join(f"{name:15} {value}" for name, value in self._properties())

    def _repr_html_(self) -> str:
        """Return the properties as HTML, for a notebook."""
        return html(f"index {self.name}", (("property", "value"), self._properties()))

    def _properties(self) -> list[tuple[str, str]]:
        return [
            *description(self.place, self.published),
            ("retrievers", ", ".join(self.retrievers)),
            *segments(self.published),
        ]


def description(index: Path, manifest: Manifest) -> list[tuple[str, str]]:
    """Return the names and values of the properties of an index as a whole."""
    bytes_ = sum(file.bytes for segment in manifest.segments for file in segment.files.values())
    vectors = [(view, _describe_vectors(info)) for view, info in manifest.encoders.items()]
    described = ((view, manifest.impacts_of(view)) for view in manifest.impact_views)
    impacts = [(view, info) for view, info in described if info is not None]
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
        *(vectors or [("vectors", "none (bm25 only)")]),
        *((view, f"{info}, queries by {info.queries}") for view, info in impacts),
        ("created", f"{manifest.created} by factseek {manifest.versions.factseek}"),
    ]


def _describe_vectors(encoder: EncoderInfo) -> str:
    """Return the name of the encoder of a view of vectors, and what the vectors are like."""
    dimensions = f"{encoder.dimension} dimensions"
    if encoder.is_given:
        return f"given ({dimensions}, {encoder.similarity})"
    settings = _recorded_settings(encoder)
    return f"{encoder.name} ({dimensions}, {encoder.precision}{settings})"


def _recorded_settings(encoder: EncoderInfo) -> str:
    """Return the settings that an index records for its encoder, other than the usual ones."""
    recorded = {
        "similarity": "" if encoder.similarity == "cosine" else encoder.similarity,
        "truncate_dim": encoder.truncate_dim,
        "max_tokens": encoder.max_tokens,
        "query_prompt": encoder.query_prompt and repr(encoder.query_prompt),
        "document_prompt": encoder.document_prompt and repr(encoder.document_prompt),
    }
    return "".join(f", {name} {value}" for name, value in recorded.items() if value)


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
