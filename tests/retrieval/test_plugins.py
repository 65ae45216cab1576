"""Plug-ins are found by the name of their file."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import pytest

from factseek.retrieval import encoders
from factseek.retrieval.errors import ConfigError
from factseek.retrieval.plugins import Plugins


class Greeter(Protocol):
    GREETING: str


GREETERS = Plugins[Greeter](encoders.__name__, ConfigError, "greeter", "the greeters are")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is the only one of a package."""
    monkeypatch.setattr(encoders, "__path__", [str(tmp_path)])
    return tmp_path


def test_a_file_is_a_plug_in(folder: Path) -> None:
    (folder / "good_day.py").write_text('GREETING = "hello"\n')
    (folder / "_private.py").write_text("")
    assert GREETERS.names() == ["good-day"]
    assert GREETERS.load("good-day").GREETING == "hello"


def test_another_name_is_refused_with_those_there_are(folder: Path) -> None:
    for name in ("a", "b"):
        (folder / f"{name}.py").write_text("")
    with pytest.raises(ConfigError) as refused:
        GREETERS.load("../c")
    assert str(refused.value) == "unknown greeter '../c'; the greeters are a, b"
    assert refused.value.remedy == "the greeters are a, b"
