"""Verdicts on the example: learned, saved, loaded, and abstained from."""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest

from factseek.claims.evidence.sentences import Finder
from factseek.claims.learning.figures import needed_confidence
from factseek.claims.settings import VerdictSettings
from factseek.claims.verdicts import training
from factseek.claims.verdicts.training import Lesson
from factseek.claims.verdicts.verdict import risk_of
from factseek.core.domain import Claim
from factseek.core.errors import QueryError
from factseek.core.progress import silent
from factseek.eval.tasks import VERDICTS
from factseek.retrieval.search.index import Index

SETTINGS = VerdictSettings()


@pytest.fixture(scope="module")
def finder(pages: Path) -> Iterator[Finder]:
    with Index(pages) as index:
        yield Finder(index, SETTINGS)


@pytest.fixture(scope="module")
def lesson(examples: Path) -> Lesson:
    path = examples / "fever-train.jsonl"
    return Lesson(
        "fever",
        VERDICTS.load("fever").LABELS,
        [(path, VERDICTS.load("fever").read_claims(path, labelled=True))],
    )


@pytest.fixture(scope="module")
def dev(examples: Path) -> list[Claim]:
    return VERDICTS.load("fever").read_claims(examples / "fever-dev.jsonl", labelled=True)


@pytest.fixture(scope="module")
def learned(lesson: Lesson, finder: Finder) -> training.TrainedVerdicts:
    return training.train("evidence", lesson, finder, SETTINGS, silent)


def test_evidence_decides_better_than_the_baselines(learned: training.TrainedVerdicts) -> None:
    figures = learned.manifest.figures
    assert figures["claims"] == 36 and figures["folds"] == 5
    assert figures["evidence"]["macro_f1"] > figures["hypothesis"]["macro_f1"] + 0.1
    assert figures["evidence"]["macro_f1"] > figures["majority"]["macro_f1"] + 0.3


def test_nothing_supports_a_claim_without_stating_its_number(
    learned: training.TrainedVerdicts, finder: Finder
) -> None:
    claims = [
        Claim(
            percent,
            f"Two doses of the MMR vaccine are about {percent} percent effective against measles.",
        )
        for percent in ("97", "47")
    ]
    stated, other = learned.verifier(finder, SETTINGS).verify(claims)
    assert (stated.label, stated.abstained) == ("SUPPORTS", "")
    reason = "the evidence does not state 47, which is a number in the claim"
    assert (other.label, other.abstained) == ("NOT ENOUGH INFO", reason)
    without = learned.verifier(finder, msgspec.structs.replace(SETTINGS, need_numbers=False))
    (trusting,) = without.verify(claims[1:])
    assert (trusting.label, trusting.abstained) == ("SUPPORTS", "")


def test_people_get_verdicts_few_are_wrong(
    learned: training.TrainedVerdicts, finder: Finder, dev: list[Claim]
) -> None:
    curve = risk_of(learned.manifest.figures)
    needed = needed_confidence(curve, SETTINGS.max_risk)
    assert 0.4 < needed < 0.9 and curve[-1].share == 1.0
    for_task = list(learned.verifier(finder, SETTINGS).verify(dev))
    for_people = list(learned.verifier(finder, SETTINGS, for_people=True).verify(dev))
    for verdict, shown in zip(for_task, for_people, strict=True):
        label = max(verdict.probabilities, key=lambda name: verdict.probabilities[name])
        unsure = verdict.probabilities[label] < needed
        assert shown.probabilities == verdict.probabilities
        assert bool(shown.abstained) == bool(verdict.abstained or unsure)
        if unsure and not verdict.abstained:
            assert shown.abstained.endswith(f", but {needed:g} is needed")
    assert any(verdict.abstained for verdict in for_people) and not all(
        verdict.abstained for verdict in for_people
    )
    trusting = learned.verifier(
        finder, msgspec.structs.replace(SETTINGS, max_risk=1.0), for_people=True
    )
    least = curve[-1].confidence
    assert all(
        verdict.probabilities[verdict.label] >= least for verdict in trusting.verify(dev[:3])
    )


def test_a_model_is_refused_where_it_did_not_learn(
    learned: training.TrainedVerdicts, arabic: Path
) -> None:
    with Index(arabic) as index, pytest.raises(QueryError) as refused:
        learned.verifier(Finder(index, SETTINGS), SETTINGS)
    assert refused.value.line == (
        f"the model was trained with language en, but {arabic} has ar; use an index like that of "
        "the training, or "
        "train another model"
    )
