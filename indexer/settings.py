"""The settings of the indexer: passages, building, watching."""

from __future__ import annotations

from typing import Annotated

import msgspec

from ..core.plugins import NameOf
from ..core.settings import Count, Positive, Settings, Weight
from ..retrieval import config


class PassageSettings(Settings, frozen=True, kw_only=True):
    """How the text of a long document is split into passages."""

    words: Positive = 200
    overlap_sentences: Count = 1
    split: dict[Annotated[str, NameOf("indexer.collections", "kind")], bool] = msgspec.field(
        default_factory=dict
    )


class BuildSettings(config.BuildSettings, frozen=True, kw_only=True):
    """Limits for reading, and the memory for building."""

    skip_bad_lines: Count = 0
    max_line_bytes: Positive = 10_000_000
    max_file_bytes: Positive = 50_000_000


class WatchSettings(Settings, frozen=True, kw_only=True):
    """How a folder is watched for new files."""

    settle_seconds: Weight = 1.0
    batch_files: Positive = 100
    rescan_seconds: Weight = 60.0


class FetchSettings(Settings, frozen=True, kw_only=True):
    """How addresses are fetched: the pause between two requests to a host, and limits of each."""

    seconds_between: Weight = 1.0
    seconds: Annotated[float, msgspec.Meta(gt=0, le=3600)] = 30.0
    max_bytes: Positive = 20_000_000


class Config(config.Config, frozen=True, kw_only=True):
    """The settings of the indexer."""

    passages: PassageSettings = PassageSettings()
    build: BuildSettings = BuildSettings()
    watch: WatchSettings = WatchSettings()
    fetch: FetchSettings = FetchSettings()
