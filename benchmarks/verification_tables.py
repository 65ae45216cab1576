"""The tables on verdicts: how good they are, what retrieved evidence costs, what abstaining gains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from factseek.claims.evidence.sentences import ClaimEvidence
from factseek.claims.learning.figures import VerdictFigures, figures
from factseek.claims.settings import VerdictSettings
from factseek.claims.verdicts.crossval import Split, out_of_fold, split
from factseek.claims.verdicts.models import Cases
from factseek.eval.reports.page import markdown_table
from factseek.retrieval.domain import Claim

SEEDS = 5
"""Cross-validations, each with other folds; a table says their mean and the largest distance from it."""


class Bed(NamedTuple):
    """A collection, ready to be judged: claims with their classes, their evidence as found and as given.

    ``covered`` is the share of each claim's words that what was found holds.
    """

    name: str
    labels: tuple[str, ...]
    claims: list[Claim]
    classes: NDArray[np.int64]
    groups: list[int]
    found: list[ClaimEvidence]
    retrieved: Cases
    given: Cases
    covered: NDArray[np.float64]
    settings: VerdictSettings


def section(bed: Bed) -> str:
    """Return all that is measured on a collection, as Markdown."""
    rows = [
        ("majority", "none", _runs("majority", bed)),
        ("hypothesis only", "none", _runs("hypothesis", bed)),
        ("evidence", "retrieved", _runs("evidence", bed)),
        ("evidence", "given", _runs("evidence", bed, given=True)),
        ("evidence", "learned on given, judged on retrieved", _carried(bed)),
    ]
    counts = ", ".join(f"{int((bed.classes == n).sum()):,} {label}" for n, label in enumerate(bed.labels))
    parts = [f"\n### {bed.name}\n\n{len(bed.claims):,} claims: {counts}.\n", results(rows, bed.labels)]
    if len(bed.labels) > 2:
        parts.append(_decisive(bed))
    return "\n".join([*parts, _recall(bed), _abstaining(bed)])


def results(rows: Sequence[tuple[str, str, Sequence[VerdictFigures]]], labels: Sequence[str]) -> str:
    """Return the table of models, the evidence they had, and their figures in one or more cross-validations."""
    each = [f"F1 {label}" for label in labels]
    header = ("model", "evidence", "macro-F1", "accuracy", *each, "calibration error")
    return markdown_table(header, [_row(*row, labels) for row in rows], left=2)


def probabilities(name: str, bed: Bed, seed: int, *, given: bool = False) -> NDArray[np.float64]:
    """Return what a model says of each claim, trained on the other folds of the cross-validation ``seed``."""
    return out_of_fold(name, _parted(bed, seed), bed.settings, bed.given if given else bed.retrieved)


def held_out(
    name: str, parted: Split, cases: Cases, labels: Sequence[str], settings: VerdictSettings
) -> VerdictFigures:
    """Return a model's figures over parts that are held out one at a time."""
    return figures(parted.classes, out_of_fold(name, parted, settings, cases), labels)


def _runs(name: str, bed: Bed, *, given: bool = False) -> list[VerdictFigures]:
    return [figures(bed.classes, probabilities(name, bed, seed, given=given), bed.labels) for seed in range(SEEDS)]


def _carried(bed: Bed) -> list[VerdictFigures]:
    """Judge on retrieved evidence what was learned on given evidence."""
    each = [
        out_of_fold("evidence", _parted(bed, seed), bed.settings, bed.given, bed.retrieved) for seed in range(SEEDS)
    ]
    return [figures(bed.classes, found, bed.labels) for found in each]


def _parted(bed: Bed, seed: int) -> Split:
    return split(bed.classes, bed.groups, msgspec.structs.replace(bed.settings, seed=seed))


def _row(model: str, evidence: str, found: Sequence[VerdictFigures], labels: Sequence[str]) -> list[str]:
    macro = [one.macro_f1 for one in found]
    away = max(abs(value - float(np.mean(macro))) for value in macro)
    each = [_mean([one.labels[label].f1 for one in found]) for label in labels]
    spread = f"{np.mean(macro):.3f}" + (f" ± {away:.3f}" if len(found) > 1 else "")
    accuracy, calibration = [one.accuracy for one in found], [one.calibration_error for one in found]
    return [model, evidence, spread, _mean(accuracy), *each, _mean(calibration)]


def _mean(values: Sequence[float]) -> str:
    return f"{np.mean(values):.3f}"


def _decisive(bed: Bed) -> str:
    """Measure on the claims that have evidence: there, what is given is the annotators' for every claim."""
    rows = np.flatnonzero(bed.classes < 2)
    part = bed._replace(
        labels=bed.labels[:2],
        classes=bed.classes[rows],
        groups=[bed.groups[row] for row in rows],
        retrieved=bed.retrieved.some(rows),
        given=bed.given.some(rows),
    )
    found = [
        ("hypothesis only", "none", _runs("hypothesis", part)),
        ("evidence", "retrieved", _runs("evidence", part)),
        ("evidence", "given", _runs("evidence", part, given=True)),
    ]
    return f"The {len(rows):,} claims that have evidence, between their two labels:\n\n{results(found, part.labels)}"


def _recall(bed: Bed) -> str:
    """Say how often what was found holds what the annotators named."""
    complete, paged = 0, 0
    for claim, evidence in zip(bed.claims, bed.found, strict=True):
        there = {(one.docid, one.number) for one in evidence.sentences}
        pages = {docid for docid, _ in there}
        complete += any(there.issuperset(group) for group in claim.groups)
        paged += any(docid in pages for group in claim.groups for docid, _ in group)
    number = sum(bool(claim.groups) for claim in bed.claims)
    return (
        f"Of the {number:,} claims with evidence, the {bed.settings.sentences} sentences that are found hold a "
        f"complete group for {complete / number:.1%}, and some sentence of a right page for {paged / number:.1%}.\n"
    )


def _abstaining(bed: Bed) -> str:
    """Say what abstaining gains: how often a verdict is right where the evidence, or the model, is stronger."""
    found = probabilities("evidence", bed, 0)
    right = found.argmax(axis=1) == bed.classes
    covering = _kept(bed.covered, right, (0.0, bed.settings.min_coverage, 0.4, 0.6, 0.8))
    sure = _kept(found.max(axis=1), right, (0.4, 0.5, 0.6, 0.7))
    tables = [(("`min_coverage`", "decided", "share", "right of these"), covering)]
    tables.append((("`min_confidence`", "decided", "share", "right of these"), sure))
    return "\n".join(markdown_table(header, rows) for header, rows in tables)


def _kept(values: NDArray[np.float64], right: NDArray[np.bool_], thresholds: Sequence[float]) -> list[list[str]]:
    kept = [(threshold, values >= threshold) for threshold in thresholds]
    return [
        [f"{threshold:.2f}", f"{rows.sum():,}", f"{rows.mean():.1%}", f"{right[rows].mean():.3f}"]
        for threshold, rows in kept
        if rows.any()
    ]
