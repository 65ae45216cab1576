"""Training a model of entailment: for real on the bundled example, gone on with, and what cannot be learned."""

# A message that is told exactly stands on one line.
# ruff: noqa: E501

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from factseek.eval.entailment.measured import EntailmentBed
from factseek.eval.entailment.pairs import EntailmentPair, PairedClaim, read_pairs
from factseek.eval.entailment.train import part, read_claims
from factseek.eval.models.request import ModelTraining
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.settings import Config
from factseek.retrieval.domain import Claim
from factseek.retrieval.entailment import LABELS, claim_digest
from factseek.retrieval.errors import QueryError
from factseek.retrieval.files import sha256
from factseek.retrieval.index.local import open_index
from factseek.retrieval.progress import silent
from tests.conftest import overriding
from tests.eval.models.interrupted import check_goes_on
from tests.small_models import small_cross_encoder, small_encoder

Command = Callable[..., tuple[int, str, str]]
SUPPORTS, REFUTES, OPEN = range(3)


@pytest.fixture(scope="module")
def pages(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("train-entailment") / "pages"
    request = BuildRequest(kind="fever", sources=(root / "examples/fever-pages.jsonl",), folder=folder, dense=False)
    build(request, Config())
    return folder


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_encoder()


@pytest.fixture
def asked(pages: Path, base: Path, examples: Path, tmp_path: Path) -> list[object]:
    small = ["--base", base, "--epochs", "2", "--batch", "8", "--max-tokens", "48", "--depth", "8", "--looks", "1"]
    files = ["--input", examples / "fever-train.jsonl"]
    return ["train", "entailment", "--index", pages, *files, "--output", tmp_path / "model", *small]


@pytest.mark.deep
def test_a_trained_model_has_a_card_and_judges_claims(
    asked: list[object], pages: Path, examples: Path, tmp_path: Path, command: Command
) -> None:
    code, printed, said = command(*asked)
    assert code == 0, said
    model = tmp_path / "model"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]
    assert said.splitlines()[-1] == f"{model}: the model; set verdict.entailment.model to it"
    assert printed.splitlines()[-1].startswith(
        ("better than before: held-out balanced accuracy +", "no better than before: held-out balanced accuracy ")
    )
    assert printed.strip() in (model / "README.md").read_text("utf-8")
    card = json.loads((model / "training.json").read_text("utf-8"))
    assert [source["sha256"] for source in card["sources"]] == [sha256(examples / "fever-train.jsonl")]
    claims = [claim.text for claim in read_claims([examples / "fever-train.jsonl"])]
    assert set(card["claims"]) < {claim_digest(claim) for claim in claims}
    assert len(card["claims"]) == card["queries"]["learned"] + card["queries"]["stopping"]
    assert json.loads((model / "config.json").read_text("utf-8"))["id2label"] == {
        str(number): label for number, label in enumerate(LABELS)
    }

    dev, verdicts, saved = examples / "fever-dev.jsonl", tmp_path / "verdicts.jsonl", tmp_path / "verdicts.model"
    judging = ["verdict", "fever", "--index", pages, "--input", dev]
    both = ["--train", examples / "fever-train.jsonl", dev, "--entailment", model]
    code, _, said = command(*judging, *both, "--save", saved, "--output", verdicts)
    assert code == 0, said
    left_out = next(line for line in said.splitlines() if "are not learned from" in line)
    assert int(left_out.split()[1]) >= len(card["claims"])
    assert "evidence without entailment 0." in said
    code, _, said = command(*judging, "--load", saved, "--output", tmp_path / "again.jsonl")
    assert code == 0, said
    assert (tmp_path / "again.jsonl").read_bytes() == verdicts.read_bytes()

    config = model / "training.json"
    config.write_text(config.read_text("utf-8").replace('"better"', '"best"'), "utf-8")
    code, _, said = command(*judging, "--load", saved, "--output", tmp_path / "changed.jsonl")
    assert code == 2
    assert said.splitlines()[-1].startswith(f"factseek: {saved}: it learned with model (int8, revision ")
    assert said.splitlines()[-1].endswith("; bring back the former, or train it again")


@pytest.mark.deep
def test_the_same_seed_trains_the_same_model(asked: list[object], tmp_path: Path, command: Command) -> None:
    for name in ("first", "second"):
        code, _, said = command(*asked[:2], *overriding(asked[2:], ["--output", tmp_path / name, "--epochs", "1"]))
        assert code == 0, said
    for file in ("model.safetensors", "training.json"):
        assert (tmp_path / "first" / file).read_bytes() == (tmp_path / "second" / file).read_bytes()


@pytest.mark.deep
def test_an_interrupted_training_goes_on_to_the_same_model(
    asked: list[object], tmp_path: Path, command: Command
) -> None:
    check_goes_on(asked, tmp_path, command, at_look=2)


@pytest.mark.deep
def test_a_reranker_gets_a_new_head(asked: list[object], tmp_path: Path, command: Command) -> None:
    base = small_cross_encoder()
    code, printed, said = command(*asked[:2], *overriding(asked[2:], ["--base", base, "--epochs", "1"]), "--json")
    assert code == 0, said
    assert json.loads(printed)["figures"]["of"].endswith("pairs of text and claim, before by the commonest label")


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--epochs", "0"], "--epochs 0: give a number from 1"),
        (["--negatives", "0"], "--negatives 0: give a number from 1"),
        (["--rate", "1"], "--rate 1.0: give a number between 0 and 1"),
        (["--seed", "-1"], "--seed -1: give a number from 0"),
        (
            ["--base", "no-such-model"],
            "model 'no-such-model' is not on this machine; fetch it with: hf download sentence-transformers/no-such-model; if it is a folder, give its path",
        ),
    ],
)
def test_what_cannot_be_trained_is_told_in_one_line(
    asked: list[object], tmp_path: Path, command: Command, extra: list[object], message: str
) -> None:
    code, printed, said = command(*asked[:2], *overriding(asked[2:], extra))
    assert (code, printed) == (2, "")
    assert said.splitlines()[-1] == f"factseek: {message}"
    assert list(tmp_path.iterdir()) == []


def test_claims_that_teach_nothing_are_refused(
    asked: list[object], examples: Path, tmp_path: Path, command: Command
) -> None:
    claims = (examples / "fever-train.jsonl").read_text("utf-8").splitlines(keepends=True)
    few = tmp_path / "few.jsonl"
    few.write_text("".join(claims[:4]), "utf-8")
    code, _, said = command(*asked[:2], *overriding(asked[2:], ["--input", few]))
    assert code == 2
    assert said.splitlines()[-1] == (
        "factseek: 4 of the claims have evidence in the index, and 10 are needed: to learn from, to stop by and to judge by"
    )
    open_ones = [
        json.dumps({"id": number, "claim": f"{word} is grown in Peru.", "label": "NOT ENOUGH INFO", "evidence": [[[None, None, None, None]]]})
        for number, word in enumerate("Tea Rice Maize Wheat Cocoa Coffee Cotton Sugar Barley Quinoa Soy Rye Flax Hemp".split())
    ]  # fmt: skip
    few.write_text("\n".join(open_ones) + "\n", "utf-8")
    code, _, said = command(*asked[:2], *overriding(asked[2:], ["--input", few]))
    assert code == 2
    assert said.splitlines()[-1].startswith(
        "factseek: no claim to learn from has evidence in the index that supports it"
    )


def test_pages_that_the_index_lacks_are_counted_and_named(
    asked: list[object], examples: Path, tmp_path: Path, command: Command
) -> None:
    claims = [json.loads(line) for line in (examples / "fever-train.jsonl").read_text("utf-8").splitlines()]
    for claim in claims:
        for group in claim["evidence"]:
            for sentence in group:
                sentence[2] = sentence[2] and "Nowhere"
    (tmp_path / "lost.jsonl").write_text("".join(json.dumps(claim) + "\n" for claim in claims), "utf-8")
    code, _, said = command(*asked[:2], *overriding(asked[2:], ["--input", tmp_path / "lost.jsonl"]))
    assert code == 2
    assert "note: 1 pages of evidence, or sentences of them, are not in the index: 'Nowhere'" in said.splitlines()


def test_a_folder_that_is_there_is_left_alone(asked: list[object], tmp_path: Path, command: Command) -> None:
    (tmp_path / "model").mkdir()
    code, _, said = command(*asked)
    assert code == 2
    assert said == f"factseek: {tmp_path / 'model'}: is there already; name a new folder\n"


def test_evidence_decides_and_what_the_search_finds_elsewhere_leaves_open(pages: Path, examples: Path) -> None:
    claims = read_claims([examples / "fever-train.jsonl"])
    settings = ModelTraining(base="", negatives=2, depth=20)
    with open_index(pages) as index:
        read = read_pairs(index, claims, settings, silent)
        assert not read.missing
        for paired in read.claims:
            claim = paired.claim
            decided = [pair for pair in paired.pairs if pair.label != OPEN]
            assert {pair.label for pair in decided} == {"SUPPORTS": {SUPPORTS}, "REFUTES": {REFUTES}}.get(
                claim.label, set()
            )
            assert len(paired.pairs) - len(decided) <= (3 if claim.label == "NOT ENOUGH INFO" else 2)
            own = {passage.text for group in claim.groups for docid, _ in group for passage in index.passages(docid)}
            assert not any(pair.text in own for pair in paired.pairs if pair.label == OPEN)
            for pair in decided:
                assert any(text in pair.text for text in own)


def test_near_duplicates_stay_in_one_part() -> None:
    claims = [
        Claim(f"{number}{way}", f"{word} {verb} the growth of cells", label=label)
        for number, word in enumerate("Iron Zinc Copper Tin Lead Gold Silver Nickel Cobalt Radium Argon Neon".split())
        for way, verb, label in (("a", "raises", "SUPPORTS"), ("b", "lowers", "REFUTES"))
    ]
    # Two claims of one metal share a page; all share most of their words, but for these.
    claims = [claim._replace(text=f"{claim.text.split()[0]} {number // 2} {claim.text.split()[1]}", groups=(((str(number // 2), 0),),)) for number, claim in enumerate(claims)]  # fmt: skip
    paired = [PairedClaim(row, claim, (EntailmentPair("t", claim.text, row % 2),)) for row, claim in enumerate(claims)]
    parts = part(paired, claims, 0)
    assert parts.grouped
    of_part = [{claim.row // 2 for claim in some} for some in (parts.learned, parts.stopping, parts.judging)]
    assert not (of_part[0] & of_part[1] or of_part[0] & of_part[2] or of_part[1] & of_part[2])
    with pytest.raises(QueryError, match="9 of the claims have evidence in the index, and 10 are needed"):
        part(paired[:9], claims, 0)


def test_the_mean_of_the_values_is_the_balanced_accuracy() -> None:
    labels = [[SUPPORTS, OPEN], [SUPPORTS], [SUPPORTS, OPEN], [REFUTES]]
    bed = EntailmentBed(
        [
            PairedClaim(row, Claim(str(row), "c"), tuple(EntailmentPair("t", "c", label) for label in some))
            for row, some in enumerate(labels)
        ]
    )
    judged = np.array([SUPPORTS, OPEN, REFUTES, SUPPORTS, SUPPORTS, REFUTES])
    assert bed.values(judged).mean() == pytest.approx((2 / 3 + 1 / 2 + 1) / 3)
    assert bed.values(judged)[3] > bed.values(judged)[0] > bed.values(judged)[1] == 0
    assert bed.commonest().mean() == pytest.approx(1 / 3)
