"""The manifest of an index: the one file that lists the live segments and describes how they were
made.

Everything else in an index directory is immutable once a manifest names it. Replacing the manifest
publishes a state.

Anybody may have written a manifest. Decoding checks every name in it that becomes part of a path.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import platform
import re
from bisect import bisect_right
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import cache
from os.path import isfile
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from ... import __version__
from ...core.errors import IndexStateError, QueryError
from ...core.files import open_regular, read_regular, sample, sha256, write_atomically
from ..filters import field_names
from ..lucene.analysis import ANALYSES, ANALYZERS, Analysis

LAYOUT = 4
NAME = "manifest.json"
# The file that describes an index in shards; each shard is an index with its own manifest.
SHARDS = "shards.json"
SEGMENTS = "segments"
BUILD = "build"
PART = "part-of"  # the file in a folder that is part of another index; it names that index
LOCK = "lock"
DOCUMENTS, LUCENE, VECTORS = "documents.sqlite", "lucene", "vectors"
"""The file of a segment's documents, and the views that retrieve passages."""
IMPACTS = "impacts"
"""The view of the weights of terms: learned sparse retrieval."""
COLUMNS, SIGNATURES, WORDS = "columns", "signatures", "words"
"""The views that count documents, detect near-duplicates and correct misspelt words."""
FILTER_FIELDS = "filter_fields"
"""The property of the view `lucene` that lists the metadata fields for filters and counts."""
ANALYSIS_VERSION = "analysis"
"""The property of the view `lucene` that has the version of the analysis; without it, 1."""
RESTORE = "restore the index from a snapshot, or rebuild it with --overwrite"
OTHER_MODEL = "restore the earlier model, or rebuild the index with --overwrite"
REBUILD = "rebuild it with: factseek index KIND SOURCE --index DIR --overwrite"
GIVEN = "given"
"""The name and the precision of vectors that the user brought: no encoder is known."""
HALF = ("fp16", "bf16")  # the precisions of half a float32
_PROBE_TOLERANCE = 0.02
"""How far a number of a probe may move: servers batch texts and compute in half precision, so a
digest of all bits would change from call to call.
"""
MOST = 2**31 - 1  # the maximum number of passages in a Lucene index
_SEGMENT = re.compile(r"[0-9]{1,18}")
VIEW_NAME = re.compile(r"[a-z][a-z0-9_]*(:[a-z0-9][a-z0-9_-]*)?")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f\\]")
Count = Annotated[int, msgspec.Meta(ge=0, le=MOST)]
Bytes = Annotated[int, msgspec.Meta(ge=0)]
Seconds = Annotated[float, msgspec.Meta(ge=0)]
Similarity = Literal["cosine", "dot"]


class ManifestPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base class of the parts of a manifest."""


class SourceInfo(ManifestPart, frozen=True, kw_only=True):
    """A source file, by its name and content."""

    name: str
    bytes: Bytes
    sha256: str


class FileInfo(ManifestPart, frozen=True, kw_only=True, omit_defaults=True):
    """A file of a segment; ``sample`` is a digest of a few bytes, cheap to compare on opening, or
    ``""``.
    """

    bytes: Bytes
    sha256: str
    sample: str = ""

    @classmethod
    def of(cls, path: Path) -> FileInfo:
        """Return the description of a file."""
        return cls(bytes=path.stat().st_size, sha256=sha256(path), sample=sample(path))


class Added(ManifestPart, frozen=True, kw_only=True, omit_defaults=True):
    """When documents were added, in UTC, and the name of the key by which, ``""`` if by a command.

    It applies to the document in ``row`` of a segment and to those that follow, up to the next
    entry.
    """

    row: Count
    time: str
    by: str = ""


class SegmentInfo(ManifestPart, frozen=True, kw_only=True):
    """A segment: documents and the views derived from them.

    Its files never change; ``deleted`` lists the rows of its deleted documents. ``text_seconds`` is
    the time for reading and indexing its text, ``vector_seconds`` the time for making its vectors
    and impacts. Both are times of the process that finished the segment. ``added`` is empty in
    segments of earlier versions. It is here and not in the files, so that the same documents give
    the same files.
    """

    name: str
    kind: str
    split: bool
    documents: Count
    passages: Count
    sources: tuple[SourceInfo, ...]
    files: dict[str, FileInfo]
    deleted: tuple[int, ...] = ()
    text_seconds: Seconds = 0.0
    vector_seconds: Seconds = 0.0
    sentences: bool | None = None
    added: tuple[Added, ...] = ()

    def __post_init__(self) -> None:
        if not _SEGMENT.fullmatch(self.name):
            raise ValueError(f"a segment is named {self.name[:60]!r}, which is not a number")
        for path in self.files:
            if _UNPRINTABLE.search(path) or not all(part.strip(".") for part in path.split("/")):
                raise ValueError(
                    f"segment {self.name} has a file {path[:60]!r}, which is not a path in it"
                )

    @property
    def of_sentences(self) -> bool:
        """Whether its passages are sentences of the source, each with its number."""
        # Older versions did not record this, and had only one such kind.
        return self.kind == "fever" if self.sentences is None else self.sentences

    def added_at(self, row: int) -> Added | None:
        """Return when the document in a row was added, or None if that was not recorded."""
        at = bisect_right(self.added, row, key=lambda added: added.row)
        return self.added[at - 1] if at and self.added[at - 1].time else None


class EncoderInfo(ManifestPart, frozen=True, kw_only=True, omit_defaults=True):
    """The encoder of the vectors; ``model`` and the later fields are the settings that locate the
    encoder again.
    """

    name: str
    revision: str
    dimension: Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
    precision: str
    model: str = ""
    max_tokens: Annotated[int, msgspec.Meta(ge=0)] = 0
    query_prompt: str = ""
    document_prompt: str = ""
    truncate_dim: Annotated[int, msgspec.Meta(ge=0)] = 0
    similarity: Similarity = "cosine"
    # For an endpoint: the cosines and first numbers of a few texts' vectors.
    probe: tuple[float, ...] = ()

    def __str__(self) -> str:
        if self.is_given:
            return f"vectors that were given ({self.dimension} dimensions, {self.similarity})"
        properties = f"{self.precision}, revision {self.revision}"
        if self.probe:
            # The revision of an endpoint is that of its name alone.
            digest = hashlib.sha256(repr(self.probe).encode()).hexdigest()[:8]
            properties += f", digest of its probes {digest}"
        return f"{self.name} ({properties})"

    def check(self, opened: EncoderInfo, place: Path, remedy: str = OTHER_MODEL) -> None:
        """Raise IndexStateError if ``opened`` is not this encoder, which made the vectors of the
        index ``place``.
        """
        if opened.identity != self.identity or not is_same_probe(opened.probe, self.probe):
            what = f"its vectors were made by {self}, and the model of that name is now {opened}"
            raise IndexStateError(what, place=place, remedy=remedy)

    @property
    def is_given(self) -> bool:
        """Whether the user brought the vectors: nothing can make the vector of another text."""
        return self.precision == GIVEN

    @property
    def identity(self) -> tuple[str, str, int, str, str]:
        """The properties that make vectors comparable: name, revision, dimension, precision and
        similarity.

        Vectors of half precision are comparable with those of fp32.
        """
        precision = "fp32" if self.precision in HALF else self.precision
        return self.name, self.revision, self.dimension, precision, self.similarity


class ImpactsInfo(ManifestPart, frozen=True, kw_only=True):
    """The sparse model that weighed the terms of passages: how to find it again, the number of its
    terms, and what weighs the terms of queries.
    """

    name: str
    revision: str
    model: str
    vocabulary: Annotated[int, msgspec.Meta(ge=1, le=10_000_000)]
    precision: Literal["int8", "fp32"]
    max_tokens: Count
    queries: Literal["model", "idf"]

    def __str__(self) -> str:
        return f"{self.name} ({self.precision}, revision {self.revision})"

    def check(self, opened: ImpactsInfo, place: Path, remedy: str = OTHER_MODEL) -> None:
        """Raise IndexStateError if ``opened`` is not this model, which weighed the terms of the
        index ``place``.
        """
        if opened.identity != self.identity:
            what = f"its impacts were made by {self}, and the model of that name is now {opened}"
            raise IndexStateError(what, place=place, remedy=remedy)

    @property
    def identity(self) -> tuple[str, str, int, str]:
        """The properties that make impacts comparable."""
        return self.name, self.revision, self.vocabulary, self.precision


def is_same_probe(one: Sequence[float], other: Sequence[float]) -> bool:
    """Return whether two probes come from one model, up to what rounding in a server changes."""
    return len(one) == len(other) and all(
        abs(first - second) <= _PROBE_TOLERANCE for first, second in zip(one, other, strict=True)
    )


class BM25Info(ManifestPart, frozen=True, kw_only=True):
    """BM25's parameters in the configuration of the build; a search uses its own configuration."""

    k1: float
    b: float


class Versions(ManifestPart, frozen=True, kw_only=True):
    """The versions that wrote the index."""

    factseek: str
    python: str
    anserini: str
    faiss: str


class Manifest(ManifestPart, frozen=True, kw_only=True):
    """The description of an index's state; every change publishes a new description.

    ``documents`` and ``passages`` count those that are not deleted. A view of vectors is described
    by its encoder. ``shared`` is unused; earlier versions listed files in it.
    """

    layout: int
    created: str
    language: str
    analyzer: str
    fields: Literal["flat", "title_text"]
    bm25: BM25Info
    views: dict[str, dict[str, Any]]
    versions: Versions
    documents: Annotated[int, msgspec.Meta(ge=0)]
    passages: Annotated[int, msgspec.Meta(ge=0)]
    segments: tuple[SegmentInfo, ...]
    shared: dict[str, str] = {}

    def __post_init__(self) -> None:
        for name in self.views:
            if not VIEW_NAME.fullmatch(name):
                raise ValueError(f"a view has the invalid name {name[:60]!r}")
            self.encoder_of(name)
            self.impacts_of(name)
        self.filter_fields  # noqa: B018  it raises
        names = [segment.name for segment in self.segments]
        if len(set(names)) < len(names):
            raise ValueError("two segments have the same name")

    @property
    def encoders(self) -> dict[str, EncoderInfo]:
        """The encoder of each view of vectors, by view."""
        described = {view: self.encoder_of(view) for view in sorted(self.views)}
        return {view: encoder for view, encoder in described.items() if encoder is not None}

    @property
    def encoder(self) -> EncoderInfo | None:
        """The encoder of the first view of vectors, or None if the index has no vectors."""
        return self.encoder_of(VECTORS)

    def encoder_of(self, view: str) -> EncoderInfo | None:
        """Return the encoder of a view's vectors, or None.

        Raises ValueError if its description is invalid.
        """
        if view.partition(":")[0] != VECTORS or view not in self.views:
            return None
        try:
            return msgspec.convert(self.views[view], EncoderInfo)
        except msgspec.ValidationError as error:
            raise ValueError(f"the encoder of {view} is not described: {error}") from None

    def impacts_of(self, view: str) -> ImpactsInfo | None:
        """Return the sparse model of a view of impacts, or None.

        Raises ValueError if its description is invalid.
        """
        if view.partition(":")[0] != IMPACTS or view not in self.views:
            return None
        try:
            return msgspec.convert(self.views[view], ImpactsInfo)
        except msgspec.ValidationError as error:
            raise ValueError(f"the model of {view} is not described: {error}") from None

    @property
    def impact_views(self) -> tuple[str, ...]:
        """The names of the views of impacts."""
        return tuple(name for name in sorted(self.views) if name.partition(":")[0] == IMPACTS)

    @property
    def has_phrases(self) -> bool:
        """Whether the index has word positions and title words, so that a search can match
        phrases.
        """
        return self.views.get(LUCENE, {}).get("phrases") is True

    @property
    def has_parts(self) -> bool:
        """Whether the index has words inside longer words.

        English indexes have none by default, as in Pyserini.
        """
        parts = self.views.get(LUCENE, {}).get("parts")
        return parts if isinstance(parts, bool) else self.language != "en"

    @property
    def analysis(self) -> Analysis:
        """How the index makes terms of texts.

        An index keeps the version that it was built with until a compaction.
        """
        version = self.views.get(LUCENE, {}).get(ANALYSIS_VERSION, 1)
        return Analysis(self.analyzer, version)

    @property
    def has_signatures(self) -> bool:
        """Whether passages have signatures, which detect near-duplicates."""
        return SIGNATURES in self.views

    @property
    def filter_fields(self) -> tuple[str, ...]:
        """The metadata fields that can be filtered and counted, in order.

        Raises ValueError if they are not names.
        """
        names = self.views.get(LUCENE, {}).get(FILTER_FIELDS, [])
        if not isinstance(names, list) or not all(isinstance(name, str) for name in names):
            raise ValueError("the filter fields are not a list of names")
        try:
            return field_names(names)
        except QueryError as error:
            raise ValueError(error.what) from None

    @property
    def id(self) -> str:
        """The id of this state of the index: the first 16 digits of the SHA-256 of the manifest."""
        return hashlib.sha256(encode(self)).hexdigest()[:16]


def encode(manifest: Manifest) -> bytes:
    """Return a manifest as indented JSON."""
    return (
        msgspec.json.format(msgspec.json.encode(manifest, order="deterministic"), indent=2) + b"\n"
    )


def publish(folder: Path, manifest: Manifest) -> None:
    """Make ``manifest`` the state of the index in ``folder``, in one atomic step."""
    write_atomically(folder / NAME, encode(manifest))


def read(folder: Path) -> Manifest:
    """Read the manifest of the index in ``folder``.

    Raises IndexStateError, which says why, if there is none.
    """
    path = folder / NAME
    check_whole(folder)
    try:
        content = read_regular(path)
    except (FileNotFoundError, NotADirectoryError):
        raise _missing_index(folder) from None
    except OSError as error:
        raise IndexStateError(f"cannot be read: {error.strerror}", place=path) from None
    return convert_manifest(path, decoded_json(path, content))


def check_whole(folder: Path) -> None:
    """Raise IndexStateError if the index in ``folder`` is in shards."""
    if isfile(folder / SHARDS):
        remedy = "factseek unshard turns it into an index without shards"
        raise IndexStateError(
            "is a sharded index, which this command does not support", place=folder, remedy=remedy
        )


def decoded_json(path: Path, content: bytes) -> Any:
    """Return the decoded JSON of a file of an index. Raises IndexStateError if it is not JSON."""
    try:
        return msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise IndexStateError(
            f"is damaged (not JSON: {error})", place=path, remedy=RESTORE
        ) from None


def convert_manifest(path: Path | str, raw: Any) -> Manifest:
    """Return the manifest in the decoded JSON of a file.

    Raises IndexStateError if this version cannot read it.
    """
    if not isinstance(raw, dict) or "layout" not in raw:
        raise IndexStateError("is not the manifest of a factseek index", place=path)
    if raw["layout"] != LAYOUT:
        what = f"has layout {raw['layout']!r}, but this factseek reads layout {LAYOUT}"
        raise IndexStateError(what, place=path, remedy=REBUILD)
    try:
        manifest = msgspec.convert(raw, Manifest)
    except (msgspec.ValidationError, RecursionError) as error:
        raise IndexStateError(f"is damaged ({error})", place=path, remedy=RESTORE) from None
    if manifest.analysis.version not in ANALYSES:
        what = f"this factseek has no version {manifest.analysis.version!r} of the analysis"
        raise IndexStateError(what, place=path, remedy=REBUILD)
    if manifest.analyzer not in ANALYZERS:
        raise IndexStateError(
            f"this factseek has no analyzer {manifest.analyzer!r}", place=path, remedy=REBUILD
        )
    return manifest


def _missing_index(folder: Path) -> IndexStateError:
    what, remedy = f"is not a factseek index (it has no {NAME})", ""
    if _has_writer(folder):
        what, remedy = (
            "the index is being built for the first time",
            "search it when the build is done",
        )
    elif not folder.exists() or (
        folder.is_dir() and {path.name for path in folder.iterdir()} <= {LOCK}
    ):
        what, remedy = (
            "there is no index",
            f"build one with: factseek index KIND SOURCE --index {folder}",
        )
    elif not folder.is_dir():
        what = "is a file, not an index directory"
    elif (folder / BUILD).is_dir() or any(folder.glob(f"shards/*/{BUILD}")):
        what, remedy = (
            "the index is half-built",
            "run the same factseek index command again to continue",
        )
    return IndexStateError(what, place=folder, remedy=remedy)


def _has_writer(folder: Path) -> bool:
    with suppress(OSError), open_regular(folder / LOCK) as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return f'"process": {os.getpid()},'.encode() not in lock.read(4096)
    return False


@cache
def versions() -> Versions:
    """Return the versions that affect the content of an index."""
    # Importing it takes a fiftieth of a second, which a search saves.
    from importlib import metadata

    from ..lucene.jvm import anserini_jar

    anserini = anserini_jar().name.removeprefix("anserini-").removesuffix("-fatjar.jar")
    python, faiss = platform.python_version(), metadata.version("faiss-cpu")
    return Versions(factseek=__version__, python=python, anserini=anserini, faiss=faiss)


def now() -> str:
    """Return the time in UTC, to the second."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
