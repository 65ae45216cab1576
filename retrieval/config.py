"""The settings of retrieval.

Each other package keeps its settings in a class of its own that extends :class:`Config`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Final, Literal, Self

import msgspec

from ..core.errors import ConfigError
from ..core.plugins import NameOf
from ..core.plugins import names as plugin_names
from ..core.settings import (
    Configuration,
    Count,
    Positive,
    Settings,
    Unit,
    Weight,
    anchored_path,
)
from ..core.text import ProfileName
from .search.score_normalizers import FusionKind

Hits = Annotated[int, msgspec.Meta(ge=1, le=1_000_000)]
RrfK = Hits
# Selects the preferred retriever of an index, or the encoder for the language of an index.
AUTO: Final = "auto"
RankingName = Annotated[str, NameOf("retrieval.retrievers", "retriever", ends=":", joint="+")]
RetrieverName = Annotated[
    str, NameOf("retrieval.retrievers", "retriever", also=(AUTO,), ends=":", joint="+")
]
StageName = Annotated[str, NameOf("retrieval.stages", "stage", ends="=")]
_FORMER_WEIGHT = "_weight"
"""The suffix of the former settings of fusion weights, ``NAME_weight``."""
_AUTO_NEEDS_NONE = "leave it out: dense.type auto needs no such setting"


class IndexSettings(Settings, frozen=True, kw_only=True):
    """The settings of an index; its language, analyzer and fields cannot change after the build."""

    language: str = "en"
    analyzer: str = ""
    fields: Literal["flat", "title_text"] = "flat"
    segment_passages: Positive = 200_000
    max_segments: Positive = 10
    signatures: bool = True
    words: bool = True
    phrases: bool = True
    parts: Literal["auto", "always", "never"] = "auto"
    filter_fields: tuple[str, ...] = ()
    verify: bool = False


class BM25Settings(Settings, frozen=True, kw_only=True):
    """The parameters of BM25; the weights apply only to an index built with ``fields:
    title_text``.
    """

    k1: Weight = 0.9
    b: Unit = 0.4
    title_weight: Weight = 1.0
    text_weight: Weight = 1.0


class DenseSettings(Settings, frozen=True, kw_only=True):
    """The settings of the FAISS index of a segment's vectors."""

    removed = MappingProxyType(
        {
            "flat_below": "use dense.auto_flat_below",
            "probes": "use dense.scan_probes",
            "hnsw_m": _AUTO_NEEDS_NONE,
            "ef_construction": _AUTO_NEEDS_NONE,
            "ef_search": _AUTO_NEEDS_NONE,
            "subquantizers": _AUTO_NEEDS_NONE,
        }
    )
    type: Literal["auto", "flat"] = "auto"
    auto_flat_below: Count = 100_000
    exact_below: Count = 2_000
    lists: Positive = 1_024
    scan_probes: Positive = 96
    train_sample: Positive = 100_000


class CrossEncoderSettings(Settings, frozen=True, kw_only=True):
    """A CrossEncoder, which reads two texts together: its model, and how it is exported."""

    model: str = ""
    precision: Literal["int8", "fp32"] = "int8"
    max_tokens: Count = 0
    cache: str = ""

    def anchor(self, folder: Path) -> Self:
        """Resolve the cache's path from ``folder``, and the path of the model unless the model is a
        name.
        """
        is_folder = (
            bool(self.model.strip()) and self.model != AUTO and (folder / self.model).is_dir()
        )
        model = anchored_path(self.model, folder) if is_folder else self.model
        cache = anchored_path(self.cache, folder) if self.cache else ""
        return msgspec.structs.replace(self, model=model, cache=cache)


class EncoderSettings(CrossEncoderSettings, frozen=True, kw_only=True):
    """The sentence-transformers model, or the endpoint, that makes the vectors, and how it runs."""

    model: str = AUTO
    backend: Literal["onnx", "torch"] = "onnx"
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"
    precision: Literal["auto", "int8", "fp32", "fp16", "bf16"] = "auto"  # type: ignore[assignment]
    truncate_dim: Count = 0
    similarity: Literal["auto", "cosine", "dot"] = "auto"
    key_env: str = ""
    query_prompt: str = ""
    document_prompt: str = ""
    languages: tuple[str, ...] = ()
    threads: Count = 0


class ImpactSettings(CrossEncoderSettings, frozen=True, kw_only=True):
    """The sparse model that weighs the terms of passages, how it runs, and what weighs those of
    queries.
    """

    queries: Literal["auto", "model", "idf"] = "auto"
    threads: Count = 0


class BuildSettings(Settings, frozen=True, kw_only=True):
    """The settings for writing a new segment's views (Lucene's index, vectors, ...); the indexer
    extends this class.
    """

    lucene_buffer_mb: Positive = 128


class FusionSettings(Settings, frozen=True, kw_only=True):
    """The settings for fusing rankings; if ``weights`` (by ranking) is empty, the retrievers'
    default weights apply.
    """

    kind: FusionKind = "auto"
    rrf_k: RrfK = 10
    weights: dict[RankingName, Weight] = msgspec.field(default_factory=dict)
    depth: Hits = 100

    @classmethod
    def explain_removed(cls, name: str) -> str:
        """Return where the weight of a ranking, ``NAME_weight``, stands now, else ``""``."""
        ranking = formerly_weighed(name)
        return ranking and f"is now search.fusion.weights: {{{ranking}: 0.5}}"

    def __hash__(self) -> int:
        """Return a hash of the values, because the dictionary ``weights`` has none."""
        return hash((self.kind, self.rrf_k, frozenset(self.weights.items()), self.depth))


class SearchSettings(Settings, frozen=True, kw_only=True):
    """The defaults of a search's options."""

    retriever: RetrieverName = AUTO
    k: Hits = 10
    max_k: Hits = 10_000
    max_query_chars: Positive = 10_000
    profile: ProfileName = "plain"
    group: bool = True
    fusion: FusionSettings = FusionSettings()
    stages: tuple[StageName, ...] = ()


class JavaSettings(Settings, frozen=True, kw_only=True):
    """The Java virtual machine that runs Lucene."""

    heap: Annotated[str, msgspec.Meta(pattern=r"^[1-9]\d*[mgMG]$")] = "512m"


class Config(Configuration, frozen=True, kw_only=True):
    """The settings of retrieval; indexer, claims and server each extend it with their own
    groups.
    """

    index: IndexSettings = IndexSettings()
    build: BuildSettings = BuildSettings()
    bm25: BM25Settings = BM25Settings()
    dense: DenseSettings = DenseSettings()
    encoder: EncoderSettings = EncoderSettings()
    impact: ImpactSettings = ImpactSettings()
    search: SearchSettings = SearchSettings()
    java: JavaSettings = JavaSettings()

    @classmethod
    def plugin_groups(cls, only: Collection[str] | None = None) -> dict[str, type[Settings]]:
        """Return the class of the settings of each retriever and stage, by the name of its
        module.
        """
        return plugin_settings(only)

    def reconcile(self, place: str) -> Self:
        """Lower the default of ``search.k`` to ``search.max_k``.

        Raises ConfigError if ``search.k`` was set to more, or if ``search.stages`` names a stage
        twice.
        """
        search = self.search
        times = Counter(stage.partition("=")[0] for stage in search.stages)
        twice = next((name for name, count in times.items() if count > 1), "")
        if twice:
            what = f"search.stages: names the stage {twice} twice"
            raise ConfigError(what, place=place, remedy="leave one out")
        if search.k <= search.max_k:
            return self
        if search.k != SearchSettings().k:
            raise ConfigError(
                f"search.k: {search.k} is more than search.max_k, {search.max_k}", place=place
            )
        return msgspec.structs.replace(self, search=msgspec.structs.replace(search, k=search.max_k))


def plugin_settings(only: Collection[str] | None = None) -> dict[str, type[Settings]]:
    """Return the class ``SETTINGS`` of each retriever and stage, or ``only`` of these modules, by
    module name.
    """
    modules = {
        name: import_module(f"{package}.{name}")
        for package in (f"{__package__}.retrievers", f"{__package__}.stages")
        for name in plugin_names(package)
        if only is None or name in only
    }
    return {
        name: module.SETTINGS for name, module in modules.items() if hasattr(module, "SETTINGS")
    }


def formerly_weighed(setting: str) -> str:
    """Return the ranking whose weight this fusion setting contained in earlier versions, else
    ``""``.
    """
    return setting.removesuffix(_FORMER_WEIGHT) if setting.endswith(_FORMER_WEIGHT) else ""
