"""The settings for claims: rankers of check-worthiness, and verification."""

from __future__ import annotations

from types import MappingProxyType
from typing import Annotated

import msgspec

from ..core.plugins import NameOf
from ..core.settings import (
    Count,
    Positive,
    Settings,
    Strength,
    Unit,
    Weight,
)
from ..retrieval import config
from ..retrieval.config import AUTO, CrossEncoderSettings, Hits
from ..retrieval.search.score_normalizers import FusionKind

JOINT = "joint_"  # the prefix of the names of members that learn from all languages at once
CHARACTERS = "characters"
"""The name of the encoder of ``multilingual`` that is trained from scratch, together with its
heads.
"""
MEMBERS = ("days", "lexical", "neighbours", "signs", "vectors")
MemberName = Annotated[str, NameOf("", "member", also=MEMBERS, begins=JOINT)]
RankerName = Annotated[str, NameOf("claims.checkworthiness.rankers", "model")]


class BestSettings(Settings, frozen=True, kw_only=True):
    """The ranker ``best``: the members and settings to try, and the maximum number of negatives for
    each positive.
    """

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
    """The settings with which ``tune-encoder`` trains a whole sentence encoder."""

    epochs: Positive = 3
    batch: Positive = 16
    learning_rate: Strength = 2e-5


class MultilingualSettings(Settings, frozen=True, kw_only=True):
    """The ranker ``multilingual``: its encoder, its heads, and their training."""

    encoder: str = "multilingual-e5-small"
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
    """Rankers of check-worthiness: which one to use, and how to train it."""

    model: RankerName = "best"
    seed: Count = 0
    folds: Annotated[int, msgspec.Meta(ge=2, le=100)] = 5
    best: BestSettings = BestSettings()
    multilingual: MultilingualSettings = MultilingualSettings()


class VerdictSettings(Settings, frozen=True, kw_only=True):
    """Verification: which sentences are evidence, when it is too weak to decide, and how the
    classifier is trained.
    """

    removed = MappingProxyType({"most_wrong": "use verdict.max_risk"})
    sentences: Annotated[int, msgspec.Meta(ge=1, le=5)] = 5
    depth: Hits = 100
    fusion: FusionKind = "rrf"
    page_weight: Weight = 0.5
    min_coverage: Unit = 0.25
    need_numbers: bool = True
    min_confidence: Unit = 0.0
    max_risk: Unit = 0.15
    regularisation: Annotated[float, msgspec.Meta(gt=0, le=1e6)] = 0.01
    bearing_regularisation: Annotated[float, msgspec.Meta(gt=0, le=1e6)] = 0.1
    folds: Annotated[int, msgspec.Meta(ge=2, le=100)] = 5
    seed: Count = 0
    contrast: str = AUTO
    entailment: CrossEncoderSettings = CrossEncoderSettings()


class Config(config.Config, frozen=True, kw_only=True):
    """The settings of rankers and verifiers."""

    claims: ClaimsSettings = ClaimsSettings()
    verdict: VerdictSettings = VerdictSettings()
