"""The entailment model of verdicts: what it accepts, how it is found again, and the claims that it is kept from."""

# A message that is told exactly stands on one line.
# ruff: noqa: E501, PLR0917

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from factseek.retrieval.config import CrossEncoderSettings
from factseek.retrieval.encoders.cross_encoder import EntailmentInfo, open_entailment
from factseek.retrieval.errors import MachineError
from tests.small_models import small_entailment

Command = Callable[..., tuple[int, str, str]]
INFO = EntailmentInfo(name="m", revision="r", model="m", precision="int8", max_tokens=0)
PAIRS = [("The Nile is the longest river.", "The Nile is long."), ("", ""), ("Pluto is far. " * 90, "Pluto is near.")]


@pytest.fixture(scope="module")
def model() -> Path:
    return small_entailment()


@pytest.mark.real
def test_a_model_of_the_hub_s_kind_judges_as_it_does_itself(model: Path, tmp_path: Path) -> None:
    from sentence_transformers import CrossEncoder

    theirs = CrossEncoder(str(model), device="cpu", local_files_only=True)
    expected = np.concatenate([theirs.predict([pair], apply_softmax=True) for pair in PAIRS])[:, [1, 0, 2]]
    settings = CrossEncoderSettings(model=str(model), cache=str(tmp_path), precision="fp32")
    ours = open_entailment(settings)
    assert np.allclose([ours.judge(*pair) for pair in PAIRS], expected, atol=1e-4)
    assert ours.info.settings == CrossEncoderSettings(model=str(model.resolve()), precision="fp32")


@pytest.mark.real
def test_other_labels_are_refused(model: Path, tmp_path: Path) -> None:
    names, folder = {"0": "good", "1": "bad", "2": "neutral"}, Path(shutil.copytree(model, tmp_path / "other"))
    config = json.loads((folder / "config.json").read_text("utf-8"))
    config["id2label"], config["label2id"] = names, {name: int(number) for number, name in names.items()}
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    with pytest.raises(MachineError) as refused:
        open_entailment(CrossEncoderSettings(model=str(folder), cache=str(tmp_path / "cache")))
    assert refused.value.line == (
        f"entailment model 'other' cannot be exported: {folder}: its labels are good, bad, neutral; entailment, contradiction, neutral are needed"
    )


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--train", "TRAIN", "--entailment", "no-such-model"], "entailment model 'no-such-model' is not on this machine; fetch it with: hf download sentence-transformers/no-such-model; if it is a folder, give its path"),
        (["--train", "TRAIN", "--model", "majority", "--entailment", "m"], "--entailment m: the model majority reads no evidence"),
        (["--load", "MODEL", "--entailment", "m"], "--entailment goes with --train: a saved model names the entailment model it learned with"),
    ],
)  # fmt: skip
def test_what_it_refuses(
    command: Command, examples: Path, pages: Path, tmp_path: Path, extra: list[str], message: str
) -> None:
    places = {"TRAIN": examples / "fever-train.jsonl", "MODEL": tmp_path / "verdicts.model"}
    options = [places.get(option, option) for option in extra]
    code, printed, said = command(
        "verdict", "fever", *options, "--index", pages, "--input", places["TRAIN"], "--output", tmp_path / "out.jsonl"
    )
    assert (code, printed) == (2, "")
    assert said.splitlines()[-1] == f"factseek: {message}"
