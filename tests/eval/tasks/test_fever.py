"""FEVER against the organisers' own scorer, and its bad input."""

# A message that is told exactly stands on one line.
# ruff: noqa: E501

import copy
import json

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factseek.core.errors import CheckFailed, SourceError
from factseek.eval.files.answers import ScoreOptions
from factseek.eval.tasks import task

TASK = task("fever")
FIVE = ("strict_score", "label_accuracy", "precision", "recall", "f1")
LABELS = ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO")


def lines(rows) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def official(predictions, actual, max_evidence):
    """The organisers' scorer; it writes into what it is given, so it is given copies."""
    scorer = pytest.importorskip(
        "fever.scorer",
        reason="fever-scorer is not installed: see tests/eval/fever-scorer-build.txt",
    )
    return scorer.fever_score(copy.deepcopy(predictions), copy.deepcopy(actual), max_evidence)


sentences = st.lists(st.sampled_from("ABC"), min_size=1, max_size=1).map("".join)
pair = st.tuples(sentences, st.integers(0, 3)).map(list)
label = st.sampled_from([*LABELS, "supports", "Not Enough Info"])
group = st.lists(pair.map(lambda it: [None, 1, *it]), max_size=3)
claim = st.fixed_dictionaries({"label": label, "evidence": st.lists(group, max_size=3)})
guess = st.fixed_dictionaries(
    {"predicted_label": label, "predicted_evidence": st.lists(pair, max_size=8)}
)


@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None
)
@given(st.lists(st.tuples(claim, guess), min_size=1, max_size=8), st.integers(0, 9))
def test_figures_are_the_organisers(put, drawn, max_evidence):
    actual = [{"id": n, **gold} for n, (gold, _) in enumerate(drawn)]
    predictions = [{"id": n, **guessed} for n, (_, guessed) in enumerate(drawn)]
    gold, run = put("gold", lines(actual)), put("run", lines(reversed(predictions)))
    found = TASK.score([gold], [run], ScoreOptions(max_evidence=max_evidence)).values
    assert tuple(found) == FIVE
    assert tuple(found.values()) == pytest.approx(official(predictions, actual, max_evidence))


@pytest.mark.data
@pytest.mark.parametrize("max_evidence", [0, 1, 3, 5, 100])
def test_the_organisers_files_score_as_by_their_scorer(data_dir, max_evidence):
    gold, run = (data_dir / "fever" / name for name in ("actual.jsonl", "predictions.jsonl"))
    actual, predictions = (
        [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]
        for path in (gold, run)
    )
    scores = TASK.score([gold], [run], ScoreOptions(max_evidence=max_evidence))
    assert tuple(scores.values.values()) == pytest.approx(
        official(predictions, actual, max_evidence), abs=1e-12
    )
    assert scores.notes == ("ids repeat: predictions and gold are paired by position",)


def row(**changes):
    return {"id": 1, "predicted_label": "SUPPORTS", "predicted_evidence": [["Page", 3]], **changes}


def without(name):
    return {key: value for key, value in row().items() if key != name}


BAD = {
    "no label": (lines([without("predicted_label")]), "{run}:1: error: predicted_label is missing"),
    "label": (
        lines([row(predicted_label="TRUE")]),
        "{run}:1: error: predicted_label 'TRUE' is not one of SUPPORTS, REFUTES, NOT ENOUGH INFO",
    ),
    "no evidence": (
        lines([without("predicted_evidence")]),
        "{run}:1: error: predicted_evidence is missing",
    ),
    "twice": (
        lines([row(predicted_evidence=[["Page", 3], ["Page", 3]])]),
        "{run}:1: warning: contains 'Page' line 3 twice, and both count in the precision",
    ),
    "id": (lines([row(id=[1])]), "{run}:1: error: id '[1]' is neither a number nor a text"),
    "nan": ('{"id": NaN}\n', "{run}:1: error: is not JSON (NaN is not a JSON number)"),
    "blank": (lines([row()]) + "\n" + lines([row()]), "{run}:2: error: is blank"),
    "one blank after two": (lines([row(), row(id=2)]) + "\n", None),
    "blank alone": ("\n\n", "{run}: error: is empty"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_line_is_said_exactly(case, put):
    content, message = BAD[case]
    path = put("run", content)
    assert TASK.check(path).messages == ([message.format(run=path)] if message else [])


def test_coverage_of_the_input(put):
    given_ = put("input", lines([{"id": 1, "claim": "one"}, {"id": 2, "claim": "two"}]))
    run = put("run", lines([row(id=1), row(id=1), row(id="02")]))
    assert TASK.check(run, given_).messages == [
        f"{run}:2: error: claim '1' is already on line 1",
        f"{run}:3: error: claim '02' is not in {given_}; '2' and '02' differ by a leading zero "
        "alone: "
        "ids are compared letter by letter",
        f"{run}: error: claim '2' of {given_} is missing",
    ]


def test_an_input_that_repeats_ids_is_answered_as_often(put):
    given_ = put(
        "input",
        lines([{"id": 0, "claim": "one"}, {"id": 0, "claim": "two"}, {"id": 3, "claim": "three"}]),
    )
    twice = put("twice", lines([row(id=0), row(id=0), row(id=3)]))
    assert TASK.check(twice, given_).messages == []
    often = put("often", lines([row(id=0), row(id=0), row(id=0), row(id=3)]))
    assert TASK.check(often, given_).messages == [
        f"{often}:3: error: claim '0' is already on line 1"
    ]
    once = put("once", lines([row(id=0), row(id=3)]))
    assert TASK.check(once, given_).messages == [
        (
            f"{once}: error: claim '0' is 2 times in {given_}, but 1 times here: every claim "
            "needs a prediction"
        )
    ]


def gold_row(**changes):
    return {"id": 1, "label": "SUPPORTS", "evidence": [[[1, 2, "Page", 3]]], **changes}


def test_only_the_first_sentences_count(put):
    gold = put("gold", lines([gold_row()]))
    run = put(
        "run", lines([row(predicted_evidence=[*(["Other", n] for n in range(5)), ["Page", 3]])])
    )
    five, six = (
        TASK.score([gold], [run], ScoreOptions(max_evidence=most)).values for most in (5, 6)
    )
    assert (five["label_accuracy"], five["strict_score"], five["precision"], five["recall"]) == (
        1,
        0,
        0,
        0,
    )
    assert (six["strict_score"], six["precision"], six["recall"]) == (1, pytest.approx(1 / 6), 1)


def test_other_claims_are_not_paired_by_position(put):
    gold, run = put("gold", lines([gold_row()])), put("run", lines([row(id=5)]))
    with pytest.raises(CheckFailed) as caught:
        TASK.score([gold], [run], ScoreOptions())
    assert (
        caught.value.line
        == f"{run}: no claim in common with the gold: the gold has '1', the file '5'"
    )


def test_lengths_that_differ_are_not_scored(put):
    gold, run = put("gold", lines([gold_row(), gold_row()])), put("run", lines([row()]))
    with pytest.raises(
        CheckFailed,
        match=r"run: has 1 prediction, but the gold has 2 claims: every claim needs one prediction$",
    ):
        TASK.score([gold], [run], ScoreOptions())


BAD_GOLD = {
    "no evidence": (
        lines([{"id": 1, "label": "SUPPORTS"}]),
        "gold:1: evidence is missing or not a list of groups",
    ),
    "short": (
        lines([gold_row(evidence=[[["Page", 3]]])]),
        "gold:1: evidence contains \"['Page', 3]\", not [annotation, evidence, page, line]",
    ),
    "no label": (lines([{"id": 1, "evidence": []}]), "gold:1: label is missing"),
}


@pytest.mark.parametrize("case", BAD_GOLD)
def test_bad_gold_is_said_exactly(case, put):
    content, message = BAD_GOLD[case]
    with pytest.raises(SourceError) as caught:
        TASK.read_gold([put("gold", content)])
    assert caught.value.line.endswith("/" + message)
