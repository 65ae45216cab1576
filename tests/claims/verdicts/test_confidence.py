"""The curve of risk and coverage, and the probability that verdicts for people need."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from factseek.claims.evidence.features import NAMES
from factseek.claims.learning.figures import RiskPoint, needed_confidence, risk_curve
from factseek.claims.settings import VerdictSettings
from factseek.claims.verdicts.models import Cases
from factseek.claims.verdicts.training import out_of_fold, split


@st.composite
def judged(draw: st.DrawFn) -> tuple[list[int], list[list[float]]]:
    number = draw(st.integers(1, 130))
    surest = draw(
        st.lists(
            st.sampled_from([0.4, 0.5, 0.55, 0.61234, 0.7, 0.99]), min_size=number, max_size=number
        )
    )
    labels = draw(st.lists(st.integers(0, 2), min_size=number, max_size=number))
    classes = draw(st.lists(st.integers(0, 2), min_size=number, max_size=number))
    pairs = zip(surest, labels, strict=True)
    return classes, [
        [sure if column == label else (1 - sure) / 2 for column in range(3)]
        for sure, label in pairs
    ]


@given(drawn=judged(), max_risk=st.sampled_from([0.0, 0.1, 0.15, 0.5, 1.0]))
def test_a_point_counts_verdicts_that_are_as_sure(
    drawn: tuple[list[int], list[list[float]]], max_risk: float
) -> None:
    classes, probabilities = np.array(drawn[0]), np.array(drawn[1])
    surest, wrong = probabilities.max(axis=1), probabilities.argmax(axis=1) != classes
    curve = risk_curve(classes, probabilities)
    assert curve[-1].share == 1.0
    assert [point.share for point in curve] == sorted({point.share for point in curve})
    for point in curve:
        among = surest >= point.confidence
        assert point.share == round(among.mean(), 4)
        assert point.wrong == round(wrong[among].mean(), 4)
    needed = needed_confidence(curve, max_risk)
    among = surest >= needed
    assert among.any()
    good = [point.share for point in curve if point.wrong <= max_risk]
    assert round(among.mean(), 4) == (max(good) if good else curve[0].share)


def test_the_most_verdicts_are_given_that_the_risk_allows() -> None:
    curve = [
        RiskPoint(0.9, 0.1, 0.2),
        RiskPoint(0.8, 0.3, 0.1),
        RiskPoint(0.7, 0.5, 0.15),
        RiskPoint(0.4, 1.0, 0.3),
    ]
    assert needed_confidence(curve, 0.15) == 0.7
    assert needed_confidence(curve, 1.0) == 0.4
    assert needed_confidence(curve, 0.05) == 0.9, "where all are worse, the surest are given"
    assert needed_confidence([], 0.15) == 0.0


SETTINGS = VerdictSettings()
TWO = ("SUPPORTS", "REFUTES")


def test_twins_teach_nothing_of_each_other() -> None:
    """Claims come in pairs of the same words with chance labels: only one who saw a twin could
    know.
    """
    draw = np.random.default_rng(0)
    labels = draw.integers(0, 2, size=60)
    texts = [f"word{number} thing{number}" for number in range(60) for _ in range(2)]
    classes = np.repeat(labels, 2)
    cases = Cases(texts, np.zeros((120, len(NAMES))))

    def right(groups: list[int]) -> float:
        found = out_of_fold("hypothesis", split(TWO, classes, groups, SETTINGS), SETTINGS, cases)
        return float(np.mean(found.argmax(axis=1) == classes))

    assert right([row // 2 for row in range(120)]) < 0.65
    assert right(list(range(120))) > 0.75
