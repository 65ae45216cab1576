"""The rankings that a search may ask for: one file each, found by its name (``bm25`` is ``bm25.py``).

A module offers what :class:`RetrieverKind` says; a name may carry a variant behind a colon, ``dense:multilingual``,
which is the module's own to understand. Configuration, command line, HTTP, the page, ``bench`` and ``tune`` take the
list from here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple, Protocol, cast

from msgspec.structs import replace

from ..config import AUTO, Config, FusionSettings
from ..errors import IndexStateError, QueryError
from ..plugins import Plugins
from ..search.retriever import Rankings, Retriever
from ..search.side_by_side import SideBySide
from ..store.manifest import Manifest
from ..terminal import listed

if TYPE_CHECKING:
    from ..search.snapshot import Snapshot


class MissingComponent(NamedTuple):
    """The part of an index that a retriever needs and the index lacks, and how to mend that."""

    what: str
    remedy: str


class RetrieverKind(Protocol):
    """The interface of a module of this package.

    One that ``FUSES`` is also a :class:`FusingKind`.
    """

    LABEL: str
    """Its name for people, a word."""
    HELP: str
    """Half a line on what it ranks by."""
    FUSES: bool
    """Whether it ranks by fusing other rankings."""
    WEIGHS_WORDS: bool
    """Whether it ranks by words, weighed as the settings ``bm25`` say."""
    DEFAULT_WEIGHT: float
    """Its weight in a fusion for which no weights are set, divided among its variants; 0: it does not vote there."""
    PRIORITY: int
    """Of the retrievers that an index answers, ``auto`` is the one of the highest preference."""
    BLOCKING: bool
    """Whether it cannot be interrupted: under a time limit it then works in a thread of its own."""
    BATCHES: bool
    """Whether queries that are searched together take less time each."""

    def names(self, manifest: Manifest) -> Sequence[str]:
        """Return its name, and those of its variants, that an index of this manifest may be asked for."""
        ...

    def lacks(self, name: str, manifest: Manifest, config: Config) -> MissingComponent | None:
        """Return the part that the index lacks for this retriever; None if it can answer."""
        ...

    def views(self, name: str, manifest: Manifest, config: Config) -> Sequence[str]:
        """Return the names of the views of a segment that it reads."""
        ...

    def rankings(self, name: str, config: Config) -> Sequence[str]:
        """Return the names of the rankings that its hits come from: those that it fuses, or itself."""
        ...

    def open(self, name: str, snapshot: Snapshot, config: Config, *, group: bool) -> Retriever:
        """Return the retriever over a snapshot; with ``group``, a document is ranked by its best passage."""
        ...


class FusingKind(RetrieverKind, Protocol):
    """The interface of a module that fuses other rankings."""

    def fused(self, ranked: Rankings, config: Config, language: str, *, group: bool) -> Retriever:
        """Return the fusion of rankings, wherever these are made, of an index in a language."""
        ...

    def fusion_of(self, query: str, fusion: FusionSettings, language: str) -> FusionSettings:
        """Return the settings by which the rankings of one query are fused in an index in a language."""
        ...


KINDS: Plugins[RetrieverKind] = Plugins(__name__, QueryError, "retriever", "there are", hyphens=False)


def names() -> list[str]:
    """Return the names of the kinds of retriever, in alphabetical order."""
    return KINDS.names()


def kind(name: str) -> RetrieverKind:
    """Return the kind of a retriever, whose name may carry a variant.

    Raises QueryError if there is none of that name.
    """
    return KINDS.load(name.partition(":")[0])


def fusing(name: str) -> FusingKind | None:
    """Return the kind of a retriever if it fuses others, else None.

    Raises QueryError if there is none of that name.
    """
    named = kind(name)
    return cast(FusingKind, named) if named.FUSES else None


def side_by_side(parts: Mapping[str, Retriever]) -> Rankings:
    """Return open retrievers, by their names, as rankings that are made together in this process."""
    return SideBySide(parts, [name for name in parts if kind(name).BLOCKING])


def offered(manifest: Manifest, config: Config) -> tuple[str, ...]:
    """Return the names of the retrievers that an index answers: that of ``auto`` first, then in alphabetical order."""
    able = [
        (name, of_kind)
        for of_kind in map(kind, names())
        for name in of_kind.names(manifest)
        if _answers(of_kind, name, manifest, config)
    ]
    able.sort(key=lambda entry: -entry[1].PRIORITY)
    return tuple([name for name, _ in able[:1]] + sorted(name for name, _ in able[1:]))


def with_default_weights(config: Config, manifest: Manifest) -> Config:
    """Return settings whose fusion has weights: those that are set, else what the retrievers of an index say.

    The vote of a kind is divided among its variants, so that a second encoder takes no weight from the words.
    """
    if config.search.fusion.weights:
        return config
    voting = [(each.DEFAULT_WEIGHT, each.names(manifest)) for each in map(kind, names()) if each.DEFAULT_WEIGHT]
    weights = {name: vote / len(variants) for vote, variants in voting for name in variants}
    return replace(config, search=replace(config.search, fusion=replace(config.search.fusion, weights=weights)))


def resolve(name: str, manifest: Manifest, config: Config, place: object) -> str:
    """Return the retriever that ``name`` stands for in an index.

    Raises QueryError if there is none of that name, or the index, which is at ``place``, lacks what it needs.
    """
    if name == AUTO:
        for each in names():  # a configuration that makes no sense is said, not passed over
            kind(each).lacks(each, manifest, config)
        answered = offered(manifest, config)
        if not answered:
            raise IndexStateError("contains nothing that a retriever can search", place=place)
        return answered[0]
    lack = kind(name).lacks(name, manifest, config)
    if lack is None and name not in kind(name).names(manifest):
        lack = MissingComponent(f"has no {name}", "")
    if lack is not None:
        answered = offered(manifest, config)
        raise QueryError(f"{lack.what}: it answers {listed(answered)}, not {name}", place=place, remedy=lack.remedy)
    return name


def _answers(of_kind: RetrieverKind, name: str, manifest: Manifest, config: Config) -> bool:
    """Return whether an index answers a retriever; one that is configured wrongly answers nobody."""
    try:
        return of_kind.lacks(name, manifest, config) is None
    except QueryError:
        return False
