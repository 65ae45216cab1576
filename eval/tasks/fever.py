"""FEVER: verify claims with sentences of Wikipedia, scored as by the organisers' ``fever_score``.

The case of labels does not matter. The strict score requires the right label and, unless that is
NOT ENOUGH INFO, one complete group of gold evidence among the first predicted sentences. The
evidence figures do not depend on the predicted label. A repeated sentence counts each time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ...core.domain import Claim
from ...core.errors import CheckFailed, QueryError
from ...core.records.lines import Faults, Strict, quote_value
from ...core.records.runs import write_text
from ...core.terminal import format_count
from ..files.answers import ScoreOptions, Scores
from ..files.report import CheckReport, check_ids, near_miss, only, read_or_refuse
from ..files.tables import json_objects, whole
from ..files.tweets import no_labels
from ..scoring.measures import mean

SUMMARY = "FEVER: verify claims with sentences of Wikipedia"
OFFICIAL = "strict_score"
SUBMITS = "verdicts"
DEFAULT = False
LANGUAGES = ("en",)
OPTIONS = ("max_evidence",)

NUMBERED = "line "  # the prefix of the name of a claim without an id; its line number follows
NEI = "NOT ENOUGH INFO"
LABELS = ("SUPPORTS", "REFUTES", NEI)

Sentence = tuple[str | None, int | None]
"""A page and a line; a claim without gold evidence has groups of ``(None, None)``."""


class Prediction(NamedTuple):
    """The prediction for a claim: label in capitals, sentences best first."""

    line: int
    claim: str
    label: str
    evidence: list[Sentence]


class Truth(NamedTuple):
    """The gold of a claim: the label in capitals, and groups of sentences; each whole group is
    enough evidence.
    """

    claim: str
    label: str
    groups: list[list[Sentence]]


def read_gold(paths: Sequence[Path]) -> list[Truth]:
    """Return labels and evidence of JSON lines ``{"id", "label", "evidence"}``."""
    path = only(paths, "--gold")
    faults = Strict(path)
    return [_truth(line, row, faults) for line, row in json_objects(path, faults)]


def write_verdicts(
    verdicts: Iterable[tuple[Claim, str, Sequence[tuple[str, int]]]], path: Path, run_id: str
) -> None:
    lines = []
    for claim, label, evidence in verdicts:
        if label.upper() not in LABELS:
            problem = f"label {quote_value(label)} is not one of {', '.join(LABELS)}"
            raise QueryError(f"claim {quote_value(claim.qid)}: {problem}")
        number = whole(claim.qid)
        own = claim.qid if number is None or str(number) != claim.qid else number
        pairs = [[page, line] for page, line in evidence]
        row = {"id": own, "predicted_label": label.upper(), "predicted_evidence": pairs}
        lines.append(msgspec.json.encode(row).decode("utf-8") + "\n")
    write_text(path, lines)


def read_claims(path: Path, *, labelled: bool) -> list[Claim]:
    """Return the claims of JSON lines ``{"id", "claim"}``; with ``labelled``, also labels and
    groups of evidence.
    """
    faults = Strict(path)
    claims: list[Claim] = []
    for line, row in json_objects(path, faults):
        text = row.get("claim")
        if not isinstance(text, str) or not text.strip():
            faults.error(line, "has no claim")
        claim = Claim(_id(line, row, faults), text.strip(), place=f"{path}:{line}")
        if labelled:
            if not claims and "label" not in {name.strip('" ').lower() for name in row}:
                raise no_labels(path, list(row), ["label"])
            truth = _truth(line, row, faults)
            # A claim without evidence has a group that names no sentence; this group is left out.
            named = [
                [(page, at) for page, at in group if page is not None and at is not None]
                for group in truth.groups
            ]
            claim = claim._replace(
                label=truth.label, groups=tuple(tuple(group) for group in named if group)
            )
        claims.append(claim)
    return claims


def check(path: Path, input_path: Path | None = None) -> CheckReport:
    report = CheckReport(path)
    predictions = read_submission(path, report)
    if input_path is not None:
        expected = Counter(claim.qid for claim in read_claims(input_path, labelled=False))
        lines: dict[str, list[int]] = {}
        for row in predictions:
            before = lines.setdefault(row.claim, [])
            if before and len(before) >= expected[row.claim]:
                report.error(
                    row.line, f"claim {quote_value(row.claim)} is already on line {before[0]}"
                )
            before.append(row.line)
        first = {claim: numbers[0] for claim, numbers in lines.items()}
        check_ids(report, first, expected, name="claim", source=str(input_path))
        for claim, number in expected.items():
            if 0 < (there := len(lines.get(claim, ()))) < number:
                times = f"{number} times in {input_path}, but {there} times here"
                report.error(
                    0, f"claim {quote_value(claim)} is {times}: every claim needs a prediction"
                )
    return report


def score(gold: Sequence[Path], runs: Sequence[Path], options: ScoreOptions) -> Scores:
    """Return FEVER's five figures, the strict score first; only the first ``max_evidence``
    sentences count.
    """
    if options.max_evidence < 0:
        raise QueryError(
            f"--max-evidence {options.max_evidence}: give a number of sentences, 0 or more"
        )
    right = read_gold(gold)
    predictions, report = read_or_refuse(only(runs, "--run"), read_submission)
    pairs, notes = _pair_rows(report.path, predictions, right)
    figures = [_figures(prediction, truth, options.max_evidence) for prediction, truth in pairs]
    per_claim: dict[str, dict[str, float]] = {}
    for (prediction, truth), row in zip(pairs, figures, strict=True):
        per_claim[
            truth.claim if truth.claim not in per_claim else f"{NUMBERED}{prediction.line}"
        ] = row
    # The evidence figures are means over the claims that the gold supports or refutes.
    values = {name: mean([row[name] for row in figures]) for name in (OFFICIAL, "label_accuracy")}
    verifiable = [row for row in figures if "precision" in row]
    precision = mean([row["precision"] for row in verifiable]) if verifiable else 1.0
    recall = mean([row["recall"] for row in verifiable])
    f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
    values |= {"precision": precision, "recall": recall, "f1": f1}
    return Scores(official=OFFICIAL, unit="claim", values=values, per_query=per_claim, notes=notes)


def _figures(prediction: Prediction, truth: Truth, max_evidence: int) -> dict[str, float]:
    best = prediction.evidence[:max_evidence]
    right = prediction.label == truth.label
    complete = any(all(sentence in best for sentence in group) for group in truth.groups)
    figures = {
        OFFICIAL: float(right and (truth.label == NEI or complete)),
        "label_accuracy": float(right),
    }
    if truth.label != NEI:
        wanted = {
            sentence for group in truth.groups for sentence in group if sentence[1] is not None
        }
        figures["precision"] = (
            sum(sentence in wanted for sentence in best) / len(best) if best else 1.0
        )
        figures["recall"] = float(complete or not truth.groups)
    return figures


def _pair_rows(
    path: Path, predictions: Sequence[Prediction], right: Sequence[Truth]
) -> tuple[list[tuple[Prediction, Truth]], tuple[str, ...]]:
    """Return pairs of prediction and gold: by id if ids are unique and equal on both sides, else by
    position.
    """
    by_id = {row.claim: row for row in predictions}
    ids = [truth.claim for truth in right]
    known = set(ids)
    if len(by_id) == len(predictions) == len(right) and set(by_id) == known:
        return [(by_id[truth.claim], truth) for truth in right], ()
    if len(predictions) != len(right):
        own, wanted = (
            format_count(len(predictions), "prediction"),
            format_count(len(right), "claim"),
        )
        raise CheckFailed(
            f"has {own}, but the gold has {wanted}: every claim needs one prediction", place=path
        )
    unique = len(known) == len(ids) and len(by_id) == len(predictions)
    has_ids = not any(claim.startswith(NUMBERED) for claim in (ids[0], predictions[0].claim))
    if unique and has_ids and not known & set(by_id):
        examples = (
            f"the gold has {quote_value(ids[0])}, the file {quote_value(predictions[0].claim)}"
        )
        raise CheckFailed(
            f"no claim in common with the gold: {examples}{near_miss(list(by_id), ids)}", place=path
        )
    hint = (
        near_miss([claim for claim in by_id if claim not in known], known)
        if unique and has_ids
        else ""
    )
    reason = "the ids of the two files differ" if unique else "ids repeat"
    return list(zip(predictions, right, strict=True)), (
        f"{reason}: predictions and gold are paired by position{hint}",
    )


def read_submission(path: Path, faults: Faults) -> list[Prediction]:
    """Return the predictions of JSON lines ``{"id", "predicted_label", "predicted_evidence"}``."""
    predictions = []
    for line, row in json_objects(path, faults):
        claim = _id(line, row, faults)
        label = _label(line, row, "predicted_label", faults)
        predictions.append(Prediction(line, claim, label, list(_read_evidence(line, row, faults))))
    return predictions


def _read_evidence(line: int, row: Mapping[str, Any], faults: Faults) -> Iterator[Sentence]:
    evidence = row.get("predicted_evidence")
    if not isinstance(evidence, list):
        faults.error(
            line,
            "predicted_evidence is missing"
            if evidence is None
            else "predicted_evidence is not a list",
        )
        return
    seen = set()
    for item in evidence:
        if not (
            isinstance(item, list)
            and len(item) == 2
            and isinstance(item[0], str)
            and type(item[1]) is int
        ):
            faults.error(
                line,
                f"predicted_evidence contains {quote_value(str(item))}, not a [page, line] pair",
            )
            continue
        if tuple(item) in seen:
            twice = f"{quote_value(item[0])} line {item[1]} twice"
            faults.warning(line, f"contains {twice}, and both count in the precision")
        seen.add(tuple(item))
        yield item[0], item[1]


def _truth(line: int, row: Mapping[str, Any], faults: Strict) -> Truth:
    groups = row.get("evidence")
    if not isinstance(groups, list) or not all(isinstance(group, list) for group in groups):
        faults.error(line, "evidence is missing or not a list of groups")
    for sentence in (sentence for group in groups for sentence in group):
        page, number = (
            (sentence[2], sentence[3])
            if isinstance(sentence, list) and len(sentence) == 4
            else ("", "")
        )
        if not (isinstance(page, str) and type(number) is int) and (page, number) != (None, None):
            odd = quote_value(str(sentence))
            faults.error(line, f"evidence contains {odd}, not [annotation, evidence, page, line]")
    sentences = [[(sentence[2], sentence[3]) for sentence in group] for group in groups]
    return Truth(_id(line, row, faults), _label(line, row, "label", faults), sentences)


def _id(line: int, row: Mapping[str, Any], faults: Faults) -> str:
    value = row.get("id", f"{NUMBERED}{line}")
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | str) or value == "":
        faults.error(line, f"id {quote_value(str(value))} is neither a number nor a text")
    return str(value)


def _label(line: int, row: Mapping[str, Any], name: str, faults: Faults) -> str:
    value = row.get(name)
    label = value.upper() if isinstance(value, str) else ""
    if label not in LABELS:
        message = f"{name} {quote_value(str(value))} is not one of {', '.join(LABELS)}"
        faults.error(line, message if name in row else f"{name} is missing")
    return label
