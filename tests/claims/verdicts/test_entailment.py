"""What models of entailment and opposites of a claim add to verdicts."""

# A message that is told exactly stands on one line.

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pytest

from factseek.claims.evidence.features import CONTRASTED, open_contrast
from factseek.claims.settings import Config, VerdictSettings
from factseek.claims.verdicts import training
from factseek.core.errors import MachineError
from factseek.core.records import model_file
from factseek.retrieval.config import CrossEncoderSettings
from factseek.retrieval.encoders.cross_encoder import OnnxEntailment
from factseek.retrieval.encoders.sources import ENGLISH
from factseek.retrieval.store.manifest import EncoderInfo
from tests.small_models import small_entailment

PAIRS = [
    ("The Nile is the longest river.", "The Nile is long."),
    ("", ""),
    ("Pluto is far. " * 90, "Pluto is near."),
]


@pytest.fixture(scope="module")
def model() -> Path:
    return small_entailment()


@pytest.mark.real
def test_a_model_of_the_hub_s_kind_judges_as_it_does_itself(model: Path, tmp_path: Path) -> None:
    from sentence_transformers import CrossEncoder

    theirs = CrossEncoder(str(model), device="cpu", local_files_only=True)
    expected = np.concatenate([theirs.predict([pair], apply_softmax=True) for pair in PAIRS])[
        :, [1, 0, 2]
    ]
    settings = CrossEncoderSettings(model=str(model), cache=str(tmp_path), precision="fp32")
    ours = OnnxEntailment(settings)
    assert np.allclose([ours.judge(*pair) for pair in PAIRS], expected, atol=1e-4)
    assert ours.info.settings == CrossEncoderSettings(model=str(model.resolve()), precision="fp32")


@pytest.mark.real
def test_other_labels_are_refused(model: Path, tmp_path: Path) -> None:
    names, folder = (
        {"0": "good", "1": "bad", "2": "neutral"},
        Path(shutil.copytree(model, tmp_path / "other")),
    )
    config = json.loads((folder / "config.json").read_text("utf-8"))
    config["id2label"], config["label2id"] = (
        names,
        {name: int(number) for number, name in names.items()},
    )
    (folder / "config.json").write_text(json.dumps(config), "utf-8")
    with pytest.raises(MachineError) as refused:
        OnnxEntailment(CrossEncoderSettings(model=str(folder), cache=str(tmp_path / "cache")))
    assert refused.value.line == (
        f"entailment model 'other' cannot be exported: {folder}: its labels are good, bad, "
        "neutral, but must be entailment, contradiction, neutral"
    )


Command = Callable[..., tuple[int, str, str]]


def settings(name: str) -> Config:
    return Config(verdict=VerdictSettings(contrast=name))


def info(config: Config) -> EncoderInfo:
    opened = open_contrast(config, "en")
    assert opened
    return opened.info


@pytest.mark.real
def test_a_model_with_it_is_saved_and_loaded(
    command: Command, examples: Path, pages: Path, tmp_path: Path
) -> None:
    (tmp_path / "config.yaml").write_text(f"verdict: {{contrast: {ENGLISH}}}\n", "utf-8")
    asked = ["verdict", "fever", "--index", pages, "--input", examples / "fever-dev.jsonl"]
    saved, first, second = (
        tmp_path / name for name in ("verdicts.model", "first.jsonl", "second.jsonl")
    )
    learning = [
        "--train",
        examples / "fever-train.jsonl",
        "--save",
        saved,
        "--config",
        tmp_path / "config.yaml",
    ]
    code, _, errors = command(*asked, *learning, "--output", first)
    assert code == 0, errors
    code, _, errors = command(*asked, "--load", saved, "--output", second)
    assert code == 0, errors
    assert first.read_bytes() == second.read_bytes()
    names = tuple(f"{path.name}.evidence.jsonl" for path in (first, second))
    assert (tmp_path / names[0]).read_bytes() == (tmp_path / names[1]).read_bytes()
    manifest, state = model_file.load(saved, training.VerdictManifest)
    assert manifest.contrast == info(settings(ENGLISH))
    assert set(CONTRASTED) < set(state.settings["features"])
    model_file.save(saved, msgspec.structs.replace(manifest, contrast=None), state)
    code, _, errors = command(*asked, "--load", saved, "--output", second)
    assert code == 2
    assert (
        errors == f"factseek: {saved}: is a model of another version of factseek; train it again\n"
    )


def test_a_missing_name_is_refused_before_work(
    command: Command, examples: Path, pages: Path, tmp_path: Path
) -> None:
    (tmp_path / "config.yaml").write_text("verdict: {contrast: no-such-model}\n", "utf-8")
    asked = ["verdict", "fever", "--index", pages, "--train", examples / "fever-train.jsonl"]
    code, printed, errors = command(
        *asked, "--save", tmp_path / "m", "--config", tmp_path / "config.yaml"
    )
    assert (code, printed) == (2, "")
    assert errors.startswith(
        "factseek: encoder 'no-such-model' is not on this machine; fetch it with: "
    )
    assert not (tmp_path / "m").exists()
