"""The retrievers: one file each, found by its name (``bm25`` is ``bm25.py``, ``bm25+rm3`` is
``bm25_rm3.py``).

Each module defines a :class:`RetrieverKind`. A name may carry a variant after a colon,
``dense:multilingual``; the module interprets it. Configuration, command line, HTTP, the page,
``bench`` and ``tune`` use the list of this package.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple, Protocol

from msgspec.structs import replace

from ...core.deadline import CutOffError, Deadline
from ...core.domain import Filter, Hit, ScoredDocids
from ...core.errors import FactseekError, IndexStateError, QueryError
from ...core.plugins import Plugins
from ...core.records.runs import best_documents
from ...core.terminal import join_words
from ..config import AUTO, Config, FusionSettings
from ..dense.vectors import Mask
from ..encoders.endpoint import EndpointError
from ..store.manifest import Manifest

if TYPE_CHECKING:
    from ..search.index_state import IndexState
    from ..search.prepared_query import PreparedQuery
    from ..search.snapshot import Snapshot


Ranked = dict[str, list[list[Hit]]]  # the hits of each query, by the name of the ranking


class Retriever(ABC):
    """A ranking of the passages of an index, for a batch of queries."""

    @abstractmethod
    def search(
        self,
        queries: Sequence[PreparedQuery],
        k: int,
        where: Filter | None = None,
        limit: Deadline | None = None,
    ) -> list[list[Hit]]:
        """Return at most ``k`` hits per query, in the total order; scores are float32 values.

        Threads may call it at once. ``PreparedQuery.text`` is not folded. Raises CutOffError if
        nothing is ready in time.
        """

    def columns(
        self,
        queries: Sequence[PreparedQuery],
        k: int,
        where: Filter | None = None,
        limit: Deadline | None = None,
    ) -> list[ScoredDocids]:
        """Return the documents of the hits of :meth:`search`; override it if this is possible
        without making hits.
        """
        return list(map(best_documents, self.search(queries, k, where, limit)))

    def matching(self, query: PreparedQuery) -> Mask | None:
        """Return a mask of the rows that contain a word of a query, without a filter; None, the
        default, means that the retriever finds passages without such a word too.

        A count calls the rows of a mask "hits that contain a word of the query".
        """
        return None


class Rankings(ABC):
    """Several rankings by name, made in this process or elsewhere."""

    names: Sequence[str]

    @abstractmethod
    def search(
        self,
        queries: Sequence[PreparedQuery],
        k: int,
        where: Filter | None = None,
        limit: Deadline | None = None,
    ) -> Ranked:
        """Return at most ``k`` hits per query for each ranking that is ready; raise CutOffError if
        none is.
        """

    def matching(self, query: PreparedQuery) -> Mask | None:
        """Return the passages that at least one of the rankings can find; None, the default, means
        all.
        """
        return None


class MissingComponent(NamedTuple):
    """A part that a retriever needs and the index lacks, and the remedy."""

    what: str
    remedy: str


class RetrieverKind(ABC):
    """A retriever as a plug-in: what it is called, what it needs of an index, and how it opens.

    A module of this package defines a subclass and one object of it, as ``KIND``. A subclass sets
    ``name``, ``label`` and ``help``, and defines :meth:`open`; everything else has a default. If
    the module defines ``SETTINGS``, the class of its own settings, the configuration has a group
    with the module's name.
    """

    name: str  # the name of its file, with + for _
    label: str  # its name for people, in a word or two
    help: str  # half a line on what it ranks by
    fuses = False  # whether it fuses other rankings
    weighs_words = False  # whether it ranks by words, with the settings ``bm25``
    # Whether it finds passages by their meaning, so that words of the query need not be in them.
    reads_meaning = False
    # Its weight in a fusion without configured weights, split among its variants; 0 excludes it.
    default_weight = 0.0
    # ``auto`` selects the available retriever with the highest priority. The default is below those
    # of the retrievers of factseek.
    priority = -10
    # Whether its search cannot be interrupted: in a fusion with a time limit, it then runs in its
    # own thread. If not, the search must ask ``limit.require_seconds`` where it may take long.
    blocking = False
    batches = False  # whether a batch of queries takes less time per query than single queries

    def names(self, manifest: Manifest) -> Sequence[str]:
        """Return its name, and the names of its variants, for an index of this manifest."""
        return (self.name,)

    def views(self, name: str, manifest: Manifest, config: Config) -> Sequence[str]:
        """Return the names of the views of a segment that it reads; none by default."""
        return ()

    def lacks(self, name: str, manifest: Manifest, config: Config) -> MissingComponent | None:
        """Return the part that the index lacks for this retriever; None if nothing is missing.

        By default it needs its views.
        """
        for view in self.views(name, manifest, config):
            if view not in manifest.views:
                return MissingComponent(
                    f"has no view {view}", f"add it with factseek compact --add {view}"
                )
        return None

    def rankings(self, name: str, config: Config) -> Sequence[str]:
        """Return the names of the rankings of its hits: those that it fuses, or itself."""
        return (name,)

    @abstractmethod
    def open(self, name: str, snapshot: Snapshot, config: Config, *, group: bool) -> Retriever:
        """Return the retriever over a snapshot; with ``group``, a document has the rank of its best
        passage.

        It is called for each combination of options and for each count, so it must be cheap. Data
        of the collection belong in a view that ``snapshot.view`` returns, which a build writes.
        ``snapshot`` also has ``rows`` (docid and passage number by row), ``mask`` (the rows that
        pass a filter and are not deleted, also without a filter), ``terms`` and ``segments``, whose
        ``documents.each_passage`` yields the title and the passage of each row. BM25 indexes them
        as ``flat_text`` joins them. The scores must not depend on the other passages of the
        snapshot, because a shard is a snapshot of its own.
        """


class ComposedKind(RetrieverKind):
    """A kind that ranks nothing itself: it fuses other rankings, or it expands queries for one."""

    @abstractmethod
    def open(self, name: str, snapshot: IndexState, config: Config, *, group: bool) -> Retriever:
        """Return the retriever over the state of an index of one folder, or of all shards
        together.
        """


class FusingKind(ComposedKind):
    """A kind that fuses other rankings."""

    fuses = True

    @abstractmethod
    def fusion_of(
        self, query: PreparedQuery, fusion: FusionSettings, language: str
    ) -> FusionSettings:
        """Return the fusion settings for one query in an index in ``language``."""


class ExpandingKind(ComposedKind):
    """A kind that expands a query by terms of another retriever's hits; an index does not list
    it.
    """

    @abstractmethod
    def open(
        self, name: str, snapshot: IndexState, config: Config, *, group: bool
    ) -> ExpandingRetriever:
        """Return the retriever over the state of an index of one folder, or of all shards
        together.
        """


class RetrieverModule(Protocol):
    """A module of this package."""

    KIND: RetrieverKind


class ExpandingRetriever(Retriever):
    """A retriever that expands a query by terms of the query's first hits."""

    @abstractmethod
    def expand(self, query: PreparedQuery, where: Filter | None) -> PreparedQuery:
        """Return the query expanded under a filter; a query that is already expanded is returned
        unchanged.
        """


VARIANTS = "dense:NAME, impact:NAME"
"""How lists of retrievers end: with the names for further vectors or impacts of an index."""
_MODULES: Plugins[RetrieverModule] = Plugins(
    __name__, QueryError, "retriever", "the retrievers are", joint="+", variants=VARIANTS
)


names = _MODULES.names


def kind(name: str) -> RetrieverKind:
    """Return the kind of a retriever; its name may carry a variant.

    Raises QueryError if it does not exist.
    """
    return _MODULES.load(name.partition(":")[0]).KIND


def fusing(name: str) -> FusingKind | None:
    """Return the kind of a retriever if it fuses other rankings, else None.

    Raises QueryError if it does not exist.
    """
    fused = kind(name)
    return fused if isinstance(fused, FusingKind) else None


class ParallelRankings(Rankings):
    """The rankings of open retrievers in this process, by name.

    Under a time limit, they run in parallel.

    Retrievers that cannot be interrupted continue after the limit.
    """

    def __init__(self, parts: Mapping[str, Retriever]) -> None:
        self._parts = parts
        self._blocking = [name for name in parts if kind(name).blocking]
        self.names: Sequence[str] = tuple(parts)

    def search(
        self,
        queries: Sequence[PreparedQuery],
        k: int,
        where: Filter | None = None,
        limit: Deadline | None = None,
    ) -> Ranked:
        """Return the hits of each ranking that is ready in time."""
        if limit is None:
            return {name: part.search(queries, k, where) for name, part in self._parts.items()}
        pending = {
            name: limit.beside.submit(self._parts[name].search, queries, k, where)
            for name in self._blocking
        }
        ranked: Ranked = {}
        late: list[FactseekError] = []
        try:
            # Retrievers that can be interrupted run in this thread while the others run in
            # parallel.
            for name, part in sorted(self._parts.items(), key=lambda entry: entry[0] in pending):
                try:
                    work = pending.get(name)
                    ranked[name] = (
                        limit.wait(name, work) if work else part.search(queries, k, where, limit)
                    )
                except CutOffError as error:
                    late.append(error)
                except EndpointError as error:
                    # The answer says what is missing, as if the endpoint had been too slow.
                    limit.cut_off(name)
                    late.append(error)
        finally:
            for future in pending.values():
                future.cancel()
        if not ranked:
            raise late[-1]
        return ranked

    def matching(self, query: PreparedQuery) -> Mask | None:
        """Return the union of the rankings' masks."""
        united: Mask | None = None
        for part in self._parts.values():
            matching = part.matching(query)
            if matching is None:
                return None
            united = matching if united is None else united | matching
        return united


def list_retrievers(manifest: Manifest, config: Config) -> tuple[str, ...]:
    """Return the names of the retrievers of an index: the choice of ``auto``, then the others in
    alphabetical order.

    ``auto`` chooses none that needs the vector of a query: most queries have none.
    """
    priorities = {}
    for listed in map(kind, names()):
        if isinstance(listed, ExpandingKind):
            continue
        for name in listed.names(manifest):
            with suppress(QueryError):  # an invalid configuration makes it unavailable
                if listed.lacks(name, manifest, config) is None:
                    is_ready = not needs_query_vector(name, manifest, config)
                    priorities[name] = is_ready, listed.priority
    first = max(priorities, key=priorities.__getitem__, default="")
    return tuple(sorted(priorities, key=lambda name: (name != first, name)))


def needs_query_vector(name: str, manifest: Manifest, config: Config) -> bool:
    """Return whether all vectors that a retriever reads were given: it then needs the vector of
    each query.
    """
    encoders = manifest.encoders
    read = [view for view in kind(name).views(name, manifest, config) if view in encoders]
    return bool(read) and all(encoders[view].is_given for view in read)


def voting_weights(
    query: PreparedQuery, weights: Mapping[str, float], manifest: Manifest, config: Config
) -> dict[str, float]:
    """Return the weights of the rankings that a fusion for a query counts.

    Given vectors are left out if the query has no vector for them, and other vectors are there. The
    other variants of their kind get their weight: ``dense`` then weighs what ``dense`` and
    ``dense:mine`` weigh together. If the query has no vector for any, nothing is left out, and the
    search is an error.
    """
    encoders = manifest.encoders
    left_out: list[str] = []
    compares_vectors = False
    for name in weights:
        for view in kind(name).views(name, manifest, config):
            if view not in encoders:
                continue
            if encoders[view].is_given and not query.has_vector_for(view):
                left_out.append(name)
            else:
                compares_vectors = True
    if not left_out or not compares_vectors:
        return dict(weights)
    counted = {name: weight for name, weight in weights.items() if name not in left_out}
    for name in left_out:
        variants = [other for other in counted if _kind_name(other) == _kind_name(name)]
        share = sum(counted[other] for other in variants)
        for other in variants:
            if share:
                counted[other] *= 1 + weights[name] / share
    return counted


def _kind_name(name: str) -> str:
    """Return the name of a retriever without its variant."""
    return name.partition(":")[0]


def with_default_weights(config: Config, manifest: Manifest) -> Config:
    """Return the settings with fusion weights: the configured ones, else the defaults of the
    index's retrievers.

    The variants of a kind split its weight, so a second encoder takes no weight from word rankings.
    """
    if config.search.fusion.weights:
        return config
    weights: dict[str, float] = {}
    for voting in map(kind, names()):
        if voting.default_weight:
            variants = voting.names(manifest)
            for name in variants:
                weights[name] = voting.default_weight / len(variants)
    return replace(
        config, search=replace(config.search, fusion=replace(config.search.fusion, weights=weights))
    )


def weighed_in_vain(config: Config, manifest: Manifest) -> list[str]:
    """Return the rankings with a configured weight that an index with vectors lacks."""
    weights = config.search.fusion.weights if manifest.encoders else ()
    return [name for name in weights if missing(name, manifest, config)]


def without_rankings(config: Config, lacking: Sequence[str]) -> Config | None:
    """Return the settings with weights of the other rankings alone; None if fewer than two of these
    count.
    """
    fusion = config.search.fusion
    weights = {name: weight for name, weight in fusion.weights.items() if name not in lacking}
    if sum(weight > 0 for weight in weights.values()) < 2:
        return None
    search = replace(config.search, fusion=replace(fusion, weights=weights))
    return replace(config, search=search)


def resolve(name: str, manifest: Manifest, config: Config, place: object) -> str:
    """Return the retriever that ``name`` selects.

    Raises QueryError if the index at ``place`` does not support it.
    """
    if name == AUTO:
        for each in names():  # report an invalid configuration, rather than ignore it
            kind(each).lacks(each, manifest, config)
        answered = list_retrievers(manifest, config)
        if not answered:
            raise IndexStateError("contains nothing that a retriever can search", place=place)
        return answered[0]
    if lack := missing(name, manifest, config):
        answered = list_retrievers(manifest, config)
        raise QueryError(
            f"{lack.what}: it supports {join_words(answered)}, not {name}",
            place=place,
            remedy=lack.remedy,
        )
    return name


def missing(name: str, manifest: Manifest, config: Config) -> MissingComponent | None:
    """Return the part that an index lacks for a retriever or for this variant of it; None if
    nothing is missing.
    """
    lack = kind(name).lacks(name, manifest, config)
    return (
        MissingComponent(f"has no {name}", "")
        if not lack and name not in kind(name).names(manifest)
        else lack
    )
