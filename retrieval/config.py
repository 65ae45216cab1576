"""Every setting, with its default: what ``config.yaml`` may say, checked on reading.

``config.yaml`` at the top of the project documents each setting and its unit; a test holds the two equal.
"""

from __future__ import annotations

import os
import re
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal, get_args, get_type_hints

import msgspec

from .config_file import read_yaml
from .errors import ConfigError

Positive = Annotated[int, msgspec.Meta(ge=1)]
Hits = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Count = Annotated[int, msgspec.Meta(ge=0)]
RrfK = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
Weight = Annotated[float, msgspec.Meta(ge=0, le=1e6)]
Strength = Annotated[float, msgspec.Meta(gt=0, le=1e6)]
Unit = Annotated[float, msgspec.Meta(ge=0, le=1)]

FusionKind = Literal["rrf", "minmax", "zscore"]
ProfileName = Literal["plain", "tweet"]
MemberName = Literal["lexical", "neighbours", "signs", "vectors", "days", "joint_lexical", "joint_signs"]
DenseType = Literal["flat", "hnsw", "ivfpq"]


RENAMED = {f"search.fusion.{name}_weight": f"search.fusion.weights: {{{name}: 0.5}}" for name in ("bm25", "dense")}
"""Settings of earlier versions, and what to write instead."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The base of every group of settings: immutable, and an unknown key is an error."""


class IndexSettings(Settings, frozen=True, kw_only=True):
    """What is fixed when an index is built."""

    language: str = "en"
    analyzer: str = ""
    fields: Literal["flat", "title_text"] = "flat"
    segment_passages: Positive = 200_000
    max_segments: Positive = 10
    verify: bool = False


class BM25Settings(Settings, frozen=True, kw_only=True):
    """Lucene's BM25; the weights count only in an index built with ``fields: title_text``."""

    k1: Weight = 0.9
    b: Unit = 0.4
    title_weight: Weight = 1.0
    text_weight: Weight = 1.0


class DenseSettings(Settings, frozen=True, kw_only=True):
    """The FAISS index of a segment's vectors."""

    type: DenseType = "flat"
    flat_below: Count = 20_000
    exact_below: Count = 2_000
    hnsw_m: Annotated[int, msgspec.Meta(ge=2, le=512)] = 32
    ef_construction: Positive = 200
    ef_search: Positive = 128
    lists: Positive = 1_024
    probes: Positive = 32
    subquantizers: Positive = 48
    train_sample: Positive = 100_000


class EncoderSettings(Settings, frozen=True, kw_only=True):
    """The sentence-transformers model that makes the vectors, and how it is run."""

    model: str = "all-MiniLM-L6-v2"
    precision: Literal["int8", "fp32"] = "int8"
    max_tokens: Count = 0
    query_prompt: str = ""
    document_prompt: str = ""
    languages: tuple[str, ...] = ("en",)
    threads: Count = 0
    cache: str = ""


class PassageSettings(Settings, frozen=True, kw_only=True):
    """How the text of a long document becomes passages."""

    words: Positive = 200
    overlap_sentences: Count = 1
    split: dict[str, bool] = {}


class BuildSettings(Settings, frozen=True, kw_only=True):
    """Limits of reading and the memory of building."""

    skip_bad_lines: Count = 0
    max_line_bytes: Positive = 10_000_000
    max_file_bytes: Positive = 50_000_000
    lucene_buffer_mb: Positive = 128


class WatchSettings(Settings, frozen=True, kw_only=True):
    """How a folder is watched for files."""

    settle_seconds: Weight = 1.0
    batch_files: Positive = 100
    rescan_seconds: Weight = 60.0


class FusionSettings(Settings, frozen=True, kw_only=True):
    """How several rankings become one; ``weights`` names them."""

    kind: FusionKind = "rrf"
    rrf_k: RrfK = 10
    weights: dict[str, Weight] = msgspec.field(default_factory=lambda: {"bm25": 0.5, "dense": 0.5})
    depth: Hits = 100

    def __hash__(self) -> int:
        """Hash by value, as frozen settings do whose members can."""
        return hash((self.kind, self.rrf_k, frozenset(self.weights.items()), self.depth))


class SearchSettings(Settings, frozen=True, kw_only=True):
    """What a search does when the caller does not say."""

    retriever: str = "auto"
    k: Hits = 10
    max_k: Hits = 10_000
    max_query_chars: Positive = 10_000
    profile: ProfileName = "plain"
    group: bool = True
    fusion: FusionSettings = FusionSettings()
    stages: tuple[str, ...] = ()


class JavaSettings(Settings, frozen=True, kw_only=True):
    """The Java virtual machine that runs Lucene."""

    heap: Annotated[str, msgspec.Meta(pattern=r"^[1-9]\d*[mgMG]$")] = "512m"


class ServerSettings(Settings, frozen=True, kw_only=True):
    """The HTTP server; ``indexes`` maps the names it serves to directories, ``rankers`` theirs to files."""

    host: str = "127.0.0.1"
    port: Annotated[int, msgspec.Meta(ge=0, le=65_535)] = 8000
    workers: Positive = 2
    threads: Positive = 4
    max_waiting: Count = 64
    max_connections: Positive = 2_000
    memory_bytes: Positive = 200_000_000
    answer_seconds: Annotated[float, msgspec.Meta(gt=0, le=86_400)] = 600.0
    search_seconds: Annotated[float, msgspec.Meta(gt=0, le=3600)] = 10.0
    per_minute: Count = 0
    keys: dict[str, Annotated[str, msgspec.Meta(pattern=r"^[0-9a-f]{64}$")]] = {}
    log_queries: bool = False
    max_body_bytes: Positive = 2_000_000
    max_batch: Positive = 1_000
    max_batch_hits: Positive = 1_000_000
    max_filter_values: Positive = 1_000
    writes: bool = False
    write_seconds: Annotated[float, msgspec.Meta(gt=0, le=3600)] = 30.0
    max_bulk: Positive = 10_000
    max_queued: Positive = 100
    keep_jobs: Positive = 1_000
    keep_job_days: Annotated[float, msgspec.Meta(gt=0, le=36_500)] = 7.0
    max_claims: Positive = 1_000
    max_claim_chars: Positive = 10_000
    indexes: dict[str, str] = {}
    rankers: dict[str, str] = {}


class BestSettings(Settings, frozen=True, kw_only=True):
    """The ranker ``best``: the members that are tried, and how freely each may learn."""

    members: tuple[MemberName, ...] = (
        "lexical", "neighbours", "signs", "vectors", "days", "joint_lexical", "joint_signs",
    )  # fmt: skip
    strengths: tuple[Strength, ...] = (0.3, 1.0, 3.0)
    sharpnesses: tuple[Strength, ...] = (1.0, 2.0)
    spans: tuple[Strength, ...] = (1.0, 3.0, 7.0)
    trees: Positive = 100
    leaf: Positive = 10
    most_negatives: Count = 20


class TuningSettings(Settings, frozen=True, kw_only=True):
    """How ``tune-encoder`` trains a whole sentence encoder."""

    epochs: Positive = 3
    batch: Positive = 16
    learning_rate: Strength = 2e-5


class MultilingualSettings(Settings, frozen=True, kw_only=True):
    """The ranker ``multilingual``: its encoder, its heads, and how they are trained."""

    encoder: str = "sentence-transformers/quora-distilbert-multilingual"
    max_tokens: Count = 128
    claim_weight: Unit = 0.6
    shared: Count = 128
    hidden: Positive = 64
    dropout: Annotated[float, msgspec.Meta(ge=0, lt=1)] = 0.1
    epochs: Positive = 4
    batch: Positive = 32
    learning_rate: Strength = 1e-2
    weight_decay: Weight = 0.01
    warmup: Unit = 0.1
    clip: Strength = 1.0
    buckets: Positive = 16_384
    dimension: Positive = 64
    tuning: TuningSettings = TuningSettings()


class ClaimsSettings(Settings, frozen=True, kw_only=True):
    """Rankers of check-worthiness: which one, and how it is trained."""

    model: Literal["best", "multilingual", "ngram", "random"] = "best"
    seed: Count = 0
    folds: Annotated[int, msgspec.Meta(ge=2, le=100)] = 5
    best: BestSettings = BestSettings()
    multilingual: MultilingualSettings = MultilingualSettings()


class VerdictSettings(Settings, frozen=True, kw_only=True):
    """Verification: which sentences are evidence, when they are too thin to decide, how the classifier is trained."""

    sentences: Annotated[int, msgspec.Meta(ge=1, le=5)] = 5
    depth: Hits = 100
    page_weight: Weight = 0.5
    min_coverage: Unit = 0.25
    min_confidence: Unit = 0.0
    regularisation: Annotated[float, msgspec.Meta(gt=0, le=1e6)] = 0.01
    folds: Annotated[int, msgspec.Meta(ge=2, le=100)] = 5
    seed: Count = 0


class Config(Settings, frozen=True, kw_only=True):
    """All settings."""

    index: IndexSettings = IndexSettings()
    passages: PassageSettings = PassageSettings()
    build: BuildSettings = BuildSettings()
    watch: WatchSettings = WatchSettings()
    bm25: BM25Settings = BM25Settings()
    dense: DenseSettings = DenseSettings()
    encoder: EncoderSettings = EncoderSettings()
    search: SearchSettings = SearchSettings()
    java: JavaSettings = JavaSettings()
    server: ServerSettings = ServerSettings()
    claims: ClaimsSettings = ClaimsSettings()
    verdict: VerdictSettings = VerdictSettings()


def load(path: str | Path | None = None) -> Config:
    """Read the configuration: ``path``, else ``$FACTSEEK_CONFIG``, else ``./config.yaml``, else the defaults.

    Paths in the file are taken from the file's own folder.
    Raises ConfigError, naming file and dotted key, if the file cannot be read or a setting is wrong.
    """
    chosen = path or os.environ.get("FACTSEEK_CONFIG")
    if chosen is None:
        here = Path("config.yaml")
        return read(here) if here.is_file() else Config()
    return read(Path(chosen))


def read(path: Path) -> Config:
    """Read one configuration file.

    Raises ConfigError, naming file and dotted key.
    """
    raw = read_yaml(path)
    config = convert(raw if raw is not None else {}, str(path))
    return _anchored(config, path.parent)


def convert(raw: Any, place: str) -> Config:
    """Check ``raw``, the mapping that a configuration file holds, and make it a Config.

    Raises ConfigError, naming ``place`` and the dotted key.
    """
    try:
        return msgspec.convert(_without_empty(raw), Config)
    except msgspec.ValidationError as error:
        raise ConfigError(explain(error), place=place) from None
    except RecursionError:
        raise ConfigError("is nested too deeply", place=place) from None


def explain(error: msgspec.ValidationError) -> str:
    """Say a validation error as ``bm25.k1: expected float, got str``."""
    reason, _, where = str(error).partition(" - at `")
    inside = where.removeprefix("key` in `")
    key = inside.rstrip("`").removeprefix("$").lstrip(".")
    if inside != where:
        return f"{f'{key}: ' if key else ''}a key is not a string; write it in quotes"
    unknown = re.fullmatch(r"Object contains unknown field `(.*)`", reason)
    if unknown:
        dotted = f"{key}.{unknown[1]}" if key else unknown[1]
        if dotted in RENAMED:
            return f"{dotted}: is now {RENAMED[dotted]}"
        near = get_close_matches(dotted, _settings(), n=1)
        return f"{dotted}: there is no such setting" + (f"; did you mean {near[0]}?" if near else "")
    if reason.startswith("Invalid enum value"):
        reason += f"; there are {', '.join(map(str, get_args(_settings()[key])))}"
    reason = reason[:1].lower() + reason[1:].replace("`", "")
    return f"{key}: {reason}" if key else reason


def _settings() -> dict[str, Any]:
    """Return the type of every setting by its dotted key."""
    found: dict[str, Any] = {}

    def collect(group: type[Settings], prefix: str) -> None:
        for name, kind in get_type_hints(group).items():
            found[prefix + name] = kind
            if isinstance(kind, type) and issubclass(kind, Settings):
                collect(kind, f"{prefix}{name}.")

    collect(Config, "")
    return found


def _without_empty(raw: Any) -> Any:
    """Drop groups that a file names without saying anything in them."""
    if isinstance(raw, dict):
        return {key: value for key, value in raw.items() if value is not None}
    return raw


def _anchored(config: Config, folder: Path) -> Config:
    """Take the paths of a configuration file from the file's own folder."""

    def anchored(path: str) -> str:
        return str(folder / Path(path).expanduser())

    server = config.server
    indexes, rankers = (
        {name: anchored(path) for name, path in named.items()} for named in (server.indexes, server.rankers)
    )
    encoder = config.encoder
    # A model is a path only if there is such a folder; else it is a name.
    is_folder = bool(encoder.model.strip()) and (folder / encoder.model).is_dir()
    model = anchored(encoder.model) if is_folder else encoder.model
    cache = anchored(encoder.cache) if encoder.cache else ""
    return msgspec.structs.replace(
        config,
        server=msgspec.structs.replace(server, indexes=indexes, rankers=rankers),
        encoder=msgspec.structs.replace(encoder, model=model, cache=cache),
    )
