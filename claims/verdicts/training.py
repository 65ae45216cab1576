"""Train a model of verdicts with its manifest on labelled claims, and load saved models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from ... import __version__
from ...core.domain import Claim
from ...core.errors import SourceError
from ...core.files import sha256, storable
from ...core.progress import Progress
from ...core.records.claim_review import groups
from ...core.records.model_file import restored_from
from ..evidence.features import (
    CONTRASTED,
    ENTAILED,
    NAMES,
    NO_EXTRACTORS,
    FeatureExtractors,
    reopen,
)
from ..evidence.sentences import Finder
from ..learning.figures import figures, risk_curve
from ..learning.models import load_for
from ..settings import Config, VerdictSettings
from . import models
from .models import Cases
from .verdict import (
    AT_ONCE,
    RISK,
    ClaimsFile,
    TrainedVerdicts,
    VerdictManifest,
    cases_of,
    refuse_long,
    risk_of,
    setting_of,
)  # fmt: skip

UNDECIDED = "NOT ENOUGH INFO"
WITHOUT_ENTAILMENT = "evidence without entailment"
"""The name of the figures of the same model without its entailment features."""
_VERSIONED = ("numpy", "scikit-learn")


class Lesson(NamedTuple):
    """The training data: a task with its possible labels, and files of labelled claims."""

    task: str
    labels: tuple[str, ...]
    sources: Sequence[tuple[Path, list[Claim]]]


def train(
    name: str,
    lesson: Lesson,
    finder: Finder,
    settings: VerdictSettings,
    progress: Progress,
    *,
    extractors: FeatureExtractors = NO_EXTRACTORS,
) -> TrainedVerdicts:
    """Train the model ``name`` on evidence that is retrieved for the claims, as in its later use.

    Raises SourceError if there are fewer than two labels, QueryError if a claim is longer than a
    query may be.
    """
    claims = [claim for _, labelled in lesson.sources for claim in labelled]
    counts = Counter(claim.label for claim in claims)
    if len(counts) < 2:
        named = ", ".join(str(path) for path, _ in lesson.sources)
        only = f"every label is {next(iter(counts))}" if counts else "there are no claims"
        raise SourceError(
            f"{named}: {only}",
            remedy=f"a model learns from at least two of {', '.join(lesson.labels)}",
        )
    labels = tuple(label for label in lesson.labels if label in counts)
    refuse_long(claims, finder)
    classes = np.array([labels.index(claim.label) for claim in claims], dtype=np.int64)
    contrast, entailment = extractors
    parts = []
    with closing(progress("finding evidence", "claim", len(claims))) as bar:
        for start in range(0, len(claims), AT_ONCE):
            chunk = claims[start : start + AT_ONCE]
            found = finder.find([claim.text for claim in chunk])
            parts.append(cases_of(chunk, found, finder, extractors).features)
            bar.update(len(chunk))
    cases = Cases([claim.text for claim in claims], np.vstack(parts))
    model = models.kind(name).fit(cases, classes, labels, settings)
    parted = split(labels, classes, groups(claims), settings)
    manifest = VerdictManifest(
        task=lesson.task,
        model=name,
        labels=labels,
        # A task without a label for undecided claims gets the most frequent label.
        undecided=UNDECIDED
        if UNDECIDED in lesson.labels
        else max(labels, key=lambda label: counts[label]),
        **setting_of(finder),
        index=finder.index.info.id,
        sources=tuple(_describe_file(path, labelled) for path, labelled in lesson.sources),
        settings=msgspec.to_builtins(settings),
        versions={"factseek": __version__} | {name: metadata.version(name) for name in _VERSIONED},
        figures=_figures(name, cases, parted, settings, entailed=bool(entailment)),
        contrast=contrast.info if contrast else None,
        entailment=entailment.info if entailment else None,
    )
    return TrainedVerdicts(model, manifest, extractors)


def _describe_file(path: Path, claims: Sequence[Claim]) -> ClaimsFile:
    labels = Counter(claim.label for claim in claims)
    return ClaimsFile(
        name=storable(path.name), sha256=sha256(path), labels=dict(sorted(labels.items()))
    )


def load(path: Path, config: Config, task: str = "") -> TrainedVerdicts:
    """Load a saved model, for one task or, without ``task``, for any.

    Also opens the models whose features it was trained on; ``config`` names the folders of exported
    models. Raises SourceError if the file is not such a model, or one of those models has changed.
    Raises QueryError if it was trained for another task, MachineError if one of those models is not
    on this machine.
    """
    manifest, state = load_for(path, VerdictManifest, task, models.names())
    with restored_from(path):
        model = models.kind(manifest.model).restore(state)
        risk_of(manifest.figures)
        added = (
            *(CONTRASTED if manifest.contrast else ()),
            *(ENTAILED if manifest.entailment else ()),
        )
        trial = model.probabilities(
            Cases(["Trying: 2 words."], np.zeros((1, len(NAMES) + len(added))))
        )
        if trial.shape != (1, len(manifest.labels)) or not np.isfinite(trial).all():
            raise ValueError("a probability is missing or not a finite number")
    extractors = reopen(manifest.contrast, manifest.entailment, config, manifest.language, path)
    return TrainedVerdicts(model, manifest, extractors)


def _figures(
    name: str, cases: Cases, parted: Split, settings: VerdictSettings, *, entailed: bool
) -> dict[str, Any]:
    """Return cross-validated figures of every model, and the risk curve of ``name``; nothing for
    too few claims.
    """
    if not parted.parts:
        return {}
    classes = parted.classes
    judged = {name: out_of_fold(name, parted, settings, cases) for name in models.names()}
    if entailed:
        plain = cases._replace(features=cases.features[:, : -len(ENTAILED)])
        judged[WITHOUT_ENTAILMENT] = out_of_fold("evidence", parted, settings, plain)
    figures_of = {
        name: figures(classes, probabilities, parted.labels)
        for name, probabilities in judged.items()
    }
    measured = {
        "folds": len(parted.parts),
        "claims": len(classes),
        RISK: risk_curve(classes, judged[name]),
    }
    return msgspec.to_builtins(measured | figures_of)  # type: ignore[no-any-return]


class Split(NamedTuple):
    """The class of each claim, a position in ``labels``, and the rows of each fold; no folds if
    claims are too few.
    """

    labels: tuple[str, ...]
    classes: NDArray[np.int64]
    parts: list[NDArray[np.int64]]


def split(
    labels: Sequence[str],
    classes: NDArray[np.int64],
    groups: Sequence[int],
    settings: VerdictSettings,
) -> Split:
    """Divide claims into folds that do not divide groups and have about the same share of each
    class.

    The settings give the number of folds. It is smaller if a class has fewer groups, and 0 if a
    class has only one.
    """
    from sklearn.model_selection import StratifiedGroupKFold

    of_group = np.asarray(groups)
    least = min(len(set(of_group[classes == number])) for number in set(classes.tolist()))
    number = min(settings.folds, least)
    if number < 2:
        return Split(tuple(labels), classes, [])
    splitter = StratifiedGroupKFold(number, shuffle=True, random_state=settings.seed)
    parts = [rows for _, rows in splitter.split(np.zeros(len(classes)), classes, of_group)]
    whole = set(classes.tolist())
    learnable = all(set(np.delete(classes, rows).tolist()) == whole for rows in parts)
    return Split(tuple(labels), classes, parts if learnable else [])


def out_of_fold(
    name: str, split: Split, settings: VerdictSettings, cases: Cases
) -> NDArray[np.float64]:
    """Return each claim's probabilities from a model trained on the other folds, shape (claims,
    classes).
    """
    probabilities = np.empty((len(split.classes), len(split.labels)))
    for rows in split.parts:
        others = np.setdiff1d(np.arange(len(split.classes)), rows)
        model = models.kind(name).fit(
            cases.subset(others), split.classes[others], split.labels, settings
        )
        probabilities[rows] = model.probabilities(cases.subset(rows))
    return probabilities
