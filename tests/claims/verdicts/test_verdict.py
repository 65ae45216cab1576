"""Verdicts on the example: learned, saved, loaded, and abstained from."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from factseek.claims.evidence.sentences import Finder
from factseek.claims.learning.figures import needed_confidence
from factseek.claims.settings import Config, VerdictSettings
from factseek.claims.verdicts import models, training
from factseek.claims.verdicts.training import Lesson
from factseek.claims.verdicts.verdict import json_line
from factseek.eval.tasks import VERDICTS
from factseek.retrieval.domain import Claim
from factseek.retrieval.errors import QueryError
from factseek.retrieval.progress import silent
from factseek.retrieval.records import model_file
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
        "fever", VERDICTS.load("fever").LABELS, [(path, VERDICTS.load("fever").read_claims(path, labelled=True))]
    )


@pytest.fixture(scope="module")
def short(lesson: Lesson) -> Lesson:
    """Four claims of each label."""
    ((path, claims),) = lesson.sources
    some = [claim for label in lesson.labels for claim in [one for one in claims if one.label == label][:4]]
    return lesson._replace(sources=[(path, some)])


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


def test_most_verdicts_on_unseen_claims_are_right(
    learned: training.TrainedVerdicts, finder: Finder, dev: list[Claim]
) -> None:
    found = list(learned.verifier(finder, SETTINGS).verify(dev))
    assert [one.claim for one in found] == dev
    assert sum(one.label == one.claim.label for one in found) >= 12
    for one in found:
        assert sum(one.probabilities.values()) == pytest.approx(1)
        assert tuple(one.probabilities) == learned.manifest.labels
        assert one.abstained or one.probabilities[one.label] == max(one.probabilities.values())


@pytest.mark.parametrize("name", models.names())
def test_every_model_gives_the_same_verdicts_when_it_is_loaded(
    name: str, short: Lesson, finder: Finder, dev: list[Claim], tmp_path: Path
) -> None:
    trained = training.train(name, short, finder, SETTINGS, silent)
    paths = tmp_path / "one", tmp_path / "two"
    model_file.save(paths[0], trained.manifest, trained.model.state())
    loaded = training.load(paths[0], Config(), "fever")
    model_file.save(paths[1], loaded.manifest, loaded.model.state())
    assert paths[0].read_bytes() == paths[1].read_bytes()
    first, second = (list(one.verifier(finder, SETTINGS).verify(dev[:6])) for one in (trained, loaded))
    assert first == second


def test_the_same_seed_gives_the_same_bytes(
    lesson: Lesson, finder: Finder, learned: training.TrainedVerdicts, tmp_path: Path
) -> None:
    again = training.train("evidence", lesson, finder, SETTINGS, silent)
    for name, one in (("one", learned), ("two", again)):
        model_file.save(tmp_path / name, one.manifest, one.model.state())
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_the_manifest_says_where_a_model_comes_from(learned: training.TrainedVerdicts, finder: Finder) -> None:
    manifest = learned.manifest
    assert manifest.sources[0].name == "fever-train.jsonl"
    assert sum(manifest.sources[0].labels.values()) == 36
    assert manifest.index == finder.index.info.id
    assert (manifest.retriever, manifest.language) == ("hybrid", "en")
    assert manifest.encoder.startswith("all-MiniLM-L6-v2")
    assert manifest.settings == msgspec.to_builtins(SETTINGS)
    assert set(manifest.versions) == {"factseek", "numpy", "scikit-learn"}


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"min_coverage": 1.0}, "the evidence holds 0 of the 3 words of the claim that matter"),
        ({"min_confidence": 1.0, "min_coverage": 0.0}, "no label is probable enough: "),
    ],
)
def test_thin_evidence_is_abstained_from(
    settings: dict[str, Any], reason: str, learned: training.TrainedVerdicts, finder: Finder
) -> None:
    claims = [Claim("1", "Quokkas outlive wombats."), Claim("2", "!?")]
    found = list(learned.verifier(finder, msgspec.structs.replace(SETTINGS, **settings)).verify(claims))
    assert found[0].abstained.startswith(reason)
    assert found[1].abstained in ("no evidence was found",)
    assert {one.label for one in found} == {"NOT ENOUGH INFO"}


def test_nothing_supports_a_claim_whose_number_it_does_not_state(
    learned: training.TrainedVerdicts, finder: Finder
) -> None:
    claims = [
        Claim(percent, f"Two doses of the MMR vaccine are about {percent} percent effective against measles.")
        for percent in ("97", "47")
    ]
    stated, other = learned.verifier(finder, SETTINGS).verify(claims)
    assert (stated.label, stated.abstained) == ("SUPPORTS", "")
    reason = "the evidence does not state 47, a number of the claim"
    assert (other.label, other.abstained) == ("NOT ENOUGH INFO", reason)
    without = learned.verifier(finder, msgspec.structs.replace(SETTINGS, need_numbers=False))
    (trusting,) = without.verify(claims[1:])
    assert (trusting.label, trusting.abstained) == ("SUPPORTS", "")


def test_a_baseline_that_reads_no_evidence_does_not_abstain_for_want_of_it(short: Lesson, finder: Finder) -> None:
    majority = training.train("majority", short, finder, SETTINGS, silent)
    (found,) = majority.verifier(finder, SETTINGS).verify([Claim("1", "!?")])
    assert (found.label, found.abstained) == ("SUPPORTS", "")


def test_where_a_task_has_no_such_label_the_commonest_stands_for_it(examples: Path, arabic: Path) -> None:
    path = examples / "verification-ar.tsv"
    claims = VERDICTS.load("ct2020-verification").read_claims(path, labelled=True)
    uneven = [claim for claim in claims if claim.label == "FALSE"] + claims[:4]
    with Index(arabic) as index:
        finder = Finder(index, SETTINGS)
        lesson = Lesson("ct2020-verification", ("TRUE", "FALSE"), [(path, uneven)])
        learned = training.train("evidence", lesson, finder, SETTINGS, silent)
        (found,) = learned.verifier(finder, SETTINGS).verify([Claim("1", "!?")])
    assert learned.manifest.encoder == ""
    assert (found.label, found.abstained) == ("FALSE", "no evidence was found")


def test_people_get_the_verdicts_of_which_few_are_wrong(
    learned: training.TrainedVerdicts, finder: Finder, dev: list[Claim]
) -> None:
    needed = needed_confidence(learned.risk, SETTINGS.most_wrong)
    assert 0.4 < needed < 0.9 and learned.risk[-1].share == 1.0
    for_task = list(learned.verifier(finder, SETTINGS).verify(dev))
    for_people = list(learned.verifier(finder, SETTINGS, for_people=True).verify(dev))
    for verdict, shown in zip(for_task, for_people, strict=True):
        label = max(verdict.probabilities, key=lambda name: verdict.probabilities[name])
        unsure = verdict.probabilities[label] < needed
        assert shown.probabilities == verdict.probabilities
        assert bool(shown.abstained) == bool(verdict.abstained or unsure)
        if unsure and not verdict.abstained:
            assert shown.abstained.endswith(f", {needed:g} is asked")
    assert any(verdict.abstained for verdict in for_people) and not all(verdict.abstained for verdict in for_people)
    trusting = learned.verifier(finder, msgspec.structs.replace(SETTINGS, most_wrong=1.0), for_people=True)
    least = learned.risk[-1].confidence
    assert all(verdict.probabilities[verdict.label] >= least for verdict in trusting.verify(dev[:3]))


def test_half_a_character_in_a_claim_is_written_as_an_escape(learned: training.TrainedVerdicts, finder: Finder) -> None:
    (verdict,) = learned.verifier(finder, SETTINGS).verify([Claim("1", "\ud83d vaccines")])
    assert json.loads(json_line(verdict))["claim"] == "\\ud83d vaccines"


def test_too_few_claims_are_not_cross_validated(lesson: Lesson, finder: Finder, examples: Path) -> None:
    claims = lesson.sources[0][1]
    few = [next(claim for claim in claims if claim.label == label) for label in lesson.labels]
    lesson = Lesson("fever", lesson.labels, [(examples / "fever-train.jsonl", few)])
    assert training.train("evidence", lesson, finder, SETTINGS, silent).manifest.figures == {}


def test_a_model_is_refused_where_it_did_not_learn(learned: training.TrainedVerdicts, arabic: Path) -> None:
    with Index(arabic) as index, pytest.raises(QueryError) as refused:
        learned.verifier(Finder(index, SETTINGS), SETTINGS)
    assert refused.value.line == (
        f"the model learned with language en, {arabic} has ar; use an index like the one it learned with, or train "
        "another model"
    )
