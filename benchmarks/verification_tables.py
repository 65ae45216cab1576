"""The tables on verdicts: their quality, the cost of retrieved evidence, the gain from abstaining."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from factseek.claims.evidence.sentences import ClaimEvidence
from factseek.claims.learning.figures import VerdictFigures, figures
from factseek.claims.settings import VerdictSettings
from factseek.claims.verdicts.confidence import needed_confidence, risk_curve
from factseek.claims.verdicts.crossval import Split, out_of_fold, split
from factseek.claims.verdicts.models import Cases
from factseek.eval.reports.page import markdown_table
from factseek.retrieval.domain import Claim

SEEDS = 5
"""Cross-validations, each with other folds; a table says their mean and the largest distance from it."""


class JudgedCollection(NamedTuple):
    """A collection, ready to be judged: claims with their classes, their evidence as retrieved and as annotated.

    ``covered`` is the share of each claim's words that its retrieved evidence contains; ``unstated`` says whether that
    lacks a number of the claim.
    """

    name: str
    labels: tuple[str, ...]
    claims: list[Claim]
    classes: NDArray[np.int64]
    groups: list[int]
    evidence: list[ClaimEvidence]
    retrieved: Cases
    annotated: Cases
    covered: NDArray[np.float64]
    unstated: NDArray[np.bool_]
    settings: VerdictSettings


def section(collection: JudgedCollection) -> str:
    """Return all that is measured on a collection, as Markdown."""
    rows = [
        ("majority", "none", _runs("majority", collection)),
        ("hypothesis only", "none", _runs("hypothesis", collection)),
        ("evidence", "retrieved", _runs("evidence", collection)),
        ("evidence", "given", _runs("evidence", collection, annotated=True)),
        ("evidence", "learned on given, judged on retrieved", _carried(collection)),
    ]
    counts = ", ".join(f"{int((collection.classes == n).sum()):,} {label}" for n, label in enumerate(collection.labels))
    parts = [
        f"\n### {collection.name}\n\n{len(collection.claims):,} claims: {counts}.\n",
        results(rows, collection.labels),
    ]
    if len(collection.labels) > 2:
        parts.append(_decisive(collection))
    return "\n".join([*parts, _recall(collection), _abstaining(collection)])


def results(rows: Sequence[tuple[str, str, Sequence[VerdictFigures]]], labels: Sequence[str]) -> str:
    """Return the table of models, the evidence they had, and their figures in one or more cross-validations."""
    each = [f"F1 {label}" for label in labels]
    header = ("model", "evidence", "macro-F1", "accuracy", *each, "calibration error")
    return markdown_table(header, [_row(*row, labels) for row in rows], left=2)


def probabilities(
    name: str, collection: JudgedCollection, seed: int, *, annotated: bool = False
) -> NDArray[np.float64]:
    """Return a model's out-of-fold probabilities in the cross-validation ``seed``; shape (claims, labels)."""
    return out_of_fold(
        name,
        _parted(collection, seed),
        collection.settings,
        collection.annotated if annotated else collection.retrieved,
    )


def held_out(
    name: str, parted: Split, cases: Cases, labels: Sequence[str], settings: VerdictSettings
) -> VerdictFigures:
    """Return a model's figures over parts that are held out one at a time."""
    return figures(parted.classes, out_of_fold(name, parted, settings, cases), labels)


def _runs(name: str, collection: JudgedCollection, *, annotated: bool = False) -> list[VerdictFigures]:
    return [
        figures(collection.classes, probabilities(name, collection, seed, annotated=annotated), collection.labels)
        for seed in range(SEEDS)
    ]


def _carried(collection: JudgedCollection) -> list[VerdictFigures]:
    """Return the figures of a model that learned on given evidence and judges retrieved evidence."""
    each = [
        out_of_fold(
            "evidence", _parted(collection, seed), collection.settings, collection.annotated, collection.retrieved
        )
        for seed in range(SEEDS)
    ]
    return [figures(collection.classes, predicted, collection.labels) for predicted in each]


def _parted(collection: JudgedCollection, seed: int) -> Split:
    settings = msgspec.structs.replace(collection.settings, seed=seed)
    return split(collection.labels, collection.classes, collection.groups, settings)


def _row(model: str, evidence: str, runs: Sequence[VerdictFigures], labels: Sequence[str]) -> list[str]:
    macro = [run.macro_f1 for run in runs]
    away = max(abs(value - float(np.mean(macro))) for value in macro)
    each = [_mean([run.labels[label].f1 for run in runs]) for label in labels]
    spread = f"{np.mean(macro):.3f}" + (f" ± {away:.3f}" if len(runs) > 1 else "")
    accuracy, calibration = [run.accuracy for run in runs], [run.calibration_error for run in runs]
    return [model, evidence, spread, _mean(accuracy), *each, _mean(calibration)]


def _mean(values: Sequence[float]) -> str:
    return f"{np.mean(values):.3f}"


def _decisive(collection: JudgedCollection) -> str:
    """Return the results on the claims that have evidence; for these the given evidence is always the annotators'."""
    rows = np.flatnonzero(collection.classes < 2)
    part = collection._replace(
        labels=collection.labels[:2],
        classes=collection.classes[rows],
        groups=[collection.groups[row] for row in rows],
        retrieved=collection.retrieved.subset(rows),
        annotated=collection.annotated.subset(rows),
    )
    table_rows = [
        ("hypothesis only", "none", _runs("hypothesis", part)),
        ("evidence", "retrieved", _runs("evidence", part)),
        ("evidence", "given", _runs("evidence", part, annotated=True)),
    ]
    return (
        f"The {len(rows):,} claims that have evidence, between their two labels:\n\n{results(table_rows, part.labels)}"
    )


def _recall(collection: JudgedCollection) -> str:
    """Return a sentence on how often the retrieved evidence contains the annotators'."""
    complete, paged = 0, 0
    for claim, evidence in zip(collection.claims, collection.evidence, strict=True):
        there = {(sentence.docid, sentence.number) for sentence in evidence.sentences}
        pages = {docid for docid, _ in there}
        complete += any(there.issuperset(group) for group in claim.groups)
        paged += any(docid in pages for group in claim.groups for docid, _ in group)
    number = sum(bool(claim.groups) for claim in collection.claims)
    return (
        f"Of the {number:,} claims with evidence, the {collection.settings.sentences} sentences that are found hold a "
        f"complete group for {complete / number:.1%}, and some sentence of a right page for {paged / number:.1%}.\n"
    )


def _abstaining(collection: JudgedCollection) -> str:
    """Return the tables on abstaining: the share of right verdicts above thresholds of coverage and of confidence."""
    probability = probabilities("evidence", collection, 0)
    right = probability.argmax(axis=1) == collection.classes
    covering = _kept(collection.covered, right, (0.0, collection.settings.min_coverage, 0.4, 0.6, 0.8))
    sure = _kept(probability.max(axis=1), right, (0.4, 0.5, 0.6, 0.7))
    tables = [(("`min_coverage`", "decided", "share", "right of these"), covering)]
    tables.append((("`min_confidence`", "decided", "share", "right of these"), sure))
    text = "\n".join(markdown_table(header, rows) for header, rows in tables)
    return f"{text}\n{_risk_curve(collection, probability)}\n{_numbers(collection)}" + (
        _risk(collection.classes, probability) if len(collection.labels) > 2 else ""
    )


def _risk_curve(collection: JudgedCollection, probability: NDArray[np.float64]) -> str:
    """Return the curve of risk and coverage as a table, and the probability that verdicts for people need."""
    curve = risk_curve(collection.classes, probability)
    rows = [
        [f"{point.share:.1%}", f"{point.confidence:.2f}", f"{point.wrong:.3f}"] for point in curve[:5] + curve[9::5]
    ]
    most = collection.settings.most_wrong
    needed = needed_confidence(curve, most)
    decided = max((point.share for point in curve if point.confidence >= needed), default=0.0)
    return (
        f"Risk and coverage, the surest verdicts first:\n\n"
        f"{markdown_table(('verdicts given, of all claims', 'probability at least', 'wrong of these'), rows)}\n"
        f"At most {most:.0%} wrong (`most_wrong`): a probability of {needed:.2f}, at which {decided:.1%} of claims get "
        "a verdict.\n"
    )


def _numbers(collection: JudgedCollection) -> str:
    """Return the table of the verdicts that support: where the evidence states the claim's numbers, and where not."""
    each = [probabilities("evidence", collection, seed) for seed in range(SEEDS)]
    verdicts = np.concatenate([probability.argmax(axis=1) for probability in each])
    right = verdicts == np.tile(collection.classes, SEEDS)
    unstated = np.tile(collection.unstated, SEEDS)
    rows = []
    for states, among in (("every number of the claim", ~unstated), ("not every one", unstated)):
        supports = among & (verdicts == 0)
        rows.append([states, f"{supports.sum() / SEEDS:.1f}", f"{right[supports].mean():.3f}"])
    table = markdown_table(("evidence states", collection.labels[0], "right of these"), rows)
    return table + (_needed(collection, each) if len(collection.labels) > 2 else "")


def _needed(collection: JudgedCollection, each: Sequence[NDArray[np.float64]]) -> str:
    """Return a sentence on what abstaining from the latter changes: ``need_numbers``."""
    undecided = np.eye(len(collection.labels))[-1]
    gains = []
    for probability in each:
        supports = collection.unstated & (probability.argmax(axis=1) == 0)
        kept = np.where(supports[:, None], undecided, probability)
        first, second = (figures(collection.classes, rows, collection.labels).macro_f1 for rows in (probability, kept))
        gains.append(second - first)
    least, most = min(gains), max(gains)
    return (
        f"\nAbstaining from the latter (`need_numbers`) adds {np.mean(gains):.4f} to macro-F1, "
        f"{least:+.4f} to {most:+.4f} in the {SEEDS} cross-validations.\n"
    )


def _risk(classes: NDArray[np.int64], probability: NDArray[np.float64]) -> str:
    """Return the table of the verdicts for or against that are left above thresholds of confidence."""
    verdicts, decisive = probability.argmax(axis=1), classes < 2
    rows = []
    for threshold in (0.0, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8):
        decided = (verdicts < 2) & (probability.max(axis=1) >= threshold)
        right = f"{(verdicts == classes)[decided].mean():.3f}" if decided.any() else ""
        shares = [f"{share:.1%}" for share in (decided.mean(), decided[decisive].mean())]
        rows.append([f"{threshold:.2f}", f"{decided.sum():,}", *shares, right])
    header = ("`min_confidence`", "for or against", "of all claims", "of those with evidence", "right of these")
    return f"\nVerdicts for or against alone:\n\n{markdown_table(header, rows)}"


def _kept(values: NDArray[np.float64], right: NDArray[np.bool_], thresholds: Sequence[float]) -> list[list[str]]:
    kept = [(threshold, values >= threshold) for threshold in thresholds]
    return [
        [f"{threshold:.2f}", f"{rows.sum():,}", f"{rows.mean():.1%}", f"{right[rows].mean():.3f}"]
        for threshold, rows in kept
        if rows.any()
    ]
