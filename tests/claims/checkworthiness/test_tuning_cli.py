"""``factseek tune-encoder``: refusals; and, slowly, an encoder that is trained and then used."""

from pathlib import Path

import numpy as np
import pytest

from factseek import commands
from factseek.claims.checkworthiness.rankers import kind
from factseek.claims.settings import ClaimsSettings, Config, MultilingualSettings
from factseek.core.domain import Statement
from factseek.core.errors import MachineError
from factseek.core.progress import silent
from factseek.retrieval.config import EncoderSettings
from tests.conftest import ROOT

pytestmark = pytest.mark.inner

TRAIN = ROOT / "examples" / "checkworthy-en-train.tsv"


def tune(*arguments: object) -> int:
    return commands.main(["tune-encoder", "ct2021-1a", "--train", str(TRAIN), *map(str, arguments)])


@pytest.mark.parametrize(
    ("settings", "output", "message"),
    [
        (
            "characters",
            "new",
            "claims.multilingual.encoder: the encoder 'characters' cannot be trained without its "
            "heads; "
            "give a sentence encoder",
        ),
        ("some/model", "there", "there: already exists; give a new folder"),
        (
            "some/model",
            "new",
            "encoder 'some/model' is not on this machine; fetch it with: hf download some/model",
        ),
    ],
)
def test_refusals(settings, output, message, tmp_path: Path, monkeypatch, capsys) -> None:  # noqa: PLR0917
    monkeypatch.chdir(tmp_path)
    (tmp_path / "there").mkdir()
    (tmp_path / "config.yaml").write_text(f"claims: {{multilingual: {{encoder: {settings}}}}}\n")
    assert tune("--output", output) == 2
    assert capsys.readouterr() == ("", f"factseek: {message}\n")
    assert not (tmp_path / "new").exists()


@pytest.mark.deep
def test_a_tuned_encoder_is_used_by_the_ranker(
    tmp_path: Path, train: list[Statement], dev: list[Statement]
) -> None:
    settings = tmp_path / "config.yaml"
    settings.write_text(
        "claims: {multilingual: {encoder: all-MiniLM-L6-v2, max_tokens: 16, tuning: {epochs: 1}}}\n"
    )
    assert tune("--output", tmp_path / "tuned", "--config", settings) == 0
    network = MultilingualSettings(encoder=str(tmp_path / "tuned"), max_tokens=16, epochs=1)
    config = Config(
        claims=ClaimsSettings(folds=2, multilingual=network),
        encoder=EncoderSettings(cache=str(tmp_path / "cache"), precision="fp32"),
    )
    ranker = kind("multilingual").train(train, config, silent).ranker
    scores = ranker.score(dev)
    assert np.isfinite(scores).all()
    assert len(set(scores.tolist())) == len(dev)
    assert (kind("multilingual").restore(ranker.state(), config).score(dev) == scores).all()
    with pytest.raises(
        MachineError,
        match=r"; if you trained the encoder yourself, set claims\.multilingual\.encoder to its "
        r"folder$",
    ):
        kind("multilingual").restore(ranker.state(), Config())
