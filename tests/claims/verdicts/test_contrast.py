"""The encoder of verdicts that tells a claim from its opposites: chosen, named by the model, and found again."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from factseek.claims.evidence import extractors
from factseek.claims.evidence.extractors import CONTRASTED, open_contrast, reopen
from factseek.claims.settings import Config, VerdictSettings
from factseek.claims.verdicts import training
from factseek.retrieval.config import EncoderSettings
from factseek.retrieval.encoders import sources
from factseek.retrieval.encoders.sources import ENGLISH, MULTILINGUAL, Bundle, find_model
from factseek.retrieval.errors import MachineError, SourceError
from factseek.retrieval.records import model_file
from factseek.retrieval.store.manifest import EncoderInfo

Command = Callable[..., tuple[int, str, str]]
PLACE = Path("verdicts.model")


def settings(name: str) -> Config:
    return Config(verdict=VerdictSettings(contrast=name))


def info(config: Config) -> EncoderInfo:
    opened = open_contrast(config, "en")
    assert opened
    return opened.info


def test_the_multilingual_encoder_is_taken_where_it_is_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    try:
        find_model(MULTILINGUAL)
    except MachineError:
        assert open_contrast(Config(), "en") is None
    else:
        assert info(Config()).name == MULTILINGUAL
    gone = sources.BUNDLES[MULTILINGUAL]._replace(package="no_such_package")
    monkeypatch.setitem(sources.BUNDLES, MULTILINGUAL, gone)
    assert isinstance(gone, Bundle)
    extractors._encoder.cache_clear()
    assert open_contrast(Config(), "en") is None
    with pytest.raises(MachineError, match="'multilingual-e5-small'"):
        open_contrast(settings(MULTILINGUAL), "en")


def test_none_is_opened_where_there_are_no_opposites_or_none_is_wanted() -> None:
    assert open_contrast(settings(""), "en") is None
    assert open_contrast(settings(ENGLISH), "tr") is None
    assert info(settings(ENGLISH)).name == ENGLISH


def test_it_is_found_again_by_what_the_model_names() -> None:
    named = info(settings(ENGLISH))
    elsewhere = Config(encoder=EncoderSettings(model=MULTILINGUAL), verdict=VerdictSettings(contrast=""))
    assert reopen(named, None, elsewhere, "en", PLACE).contrast.info == named
    other = msgspec.structs.replace(named, revision="0" * 16)
    with pytest.raises(SourceError) as refused:
        reopen(other, None, Config(), "en", PLACE)
    assert refused.value.line == (
        f"verdicts.model: it learned with {other}, what is found of that name is {named}; bring back the former, or "
        "train it again"
    )
    lost = msgspec.structs.replace(named, name="lost", model="lost")
    with pytest.raises(MachineError) as missing:
        reopen(lost, None, Config(), "en", PLACE)
    assert missing.value.line.startswith(f"verdicts.model: it learned with {lost}: encoder 'lost' is not on this")


def test_a_model_that_learned_with_it_is_saved_and_loaded(
    command: Command, examples: Path, pages: Path, tmp_path: Path
) -> None:
    """The small English encoder stands for any: what counts here is that the same one reads again."""
    (tmp_path / "config.yaml").write_text(f"verdict: {{contrast: {ENGLISH}}}\n", "utf-8")
    asked = ["verdict", "fever", "--index", pages, "--input", examples / "fever-dev.jsonl"]
    saved, first, second = (tmp_path / name for name in ("verdicts.model", "first.jsonl", "second.jsonl"))
    learning = ["--train", examples / "fever-train.jsonl", "--save", saved, "--config", tmp_path / "config.yaml"]
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
    assert errors == f"factseek: {saved}: is a model of another version of factseek; train it again\n"


def test_a_name_that_is_not_there_is_refused_before_any_work(
    command: Command, examples: Path, pages: Path, tmp_path: Path
) -> None:
    (tmp_path / "config.yaml").write_text("verdict: {contrast: no-such-model}\n", "utf-8")
    asked = ["verdict", "fever", "--index", pages, "--train", examples / "fever-train.jsonl"]
    code, printed, errors = command(*asked, "--save", tmp_path / "m", "--config", tmp_path / "config.yaml")
    assert (code, printed) == (2, "")
    assert errors.startswith("factseek: encoder 'no-such-model' is not on this machine; fetch it with: ")
    assert not (tmp_path / "m").exists()
