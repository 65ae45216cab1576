"""Commands and the figures that they print: ``golden.yaml`` as it stands."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from factseek import commands

HERE = Path(__file__).resolve().parent
GOLDEN = yaml.safe_load((HERE / "golden.yaml").read_text("utf-8"))


def words(command: str, places: dict[str, Path]) -> Iterator[str]:
    for word in command.split():
        path = Path(word.format(**places))
        found = sorted(path.parent.glob(path.name)) if "*" in path.name else []
        yield from map(str, found) if found else [str(path)]


@pytest.mark.data
@pytest.mark.parametrize(
    "golden",
    [
        pytest.param(
            one, id=one["what"], marks=[getattr(pytest.mark, one["tier"])] if "tier" in one else []
        )
        for one in GOLDEN
    ],
)
def test_figures(
    golden: dict[str, Any], data_dir: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    places = {"data": data_dir, "here": HERE, "work": tmp_path}
    for command in golden.get("before", ()):
        assert commands.main(list(words(command, places))) == 0, command
    capsys.readouterr()
    assert commands.main([*words(golden["command"], places), "--json"]) == 0
    figures = json.loads(capsys.readouterr().out)
    assert {name: round(figures[name], 4) for name in golden["figures"]} == golden["figures"]
