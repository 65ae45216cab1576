"""The commands of ``docs/guides/claims.md`` do what they are said to do."""

import re
import shlex
from pathlib import Path

import pytest

from factseek import commands as front_door

BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands_in(text: str) -> list[list[str]]:
    joined = "\n".join(block for language, block in BLOCK.findall(text) if not language).replace(
        "\\\n", " "
    )
    return [shlex.split(line)[1:] for line in joined.splitlines() if line.startswith("factseek ")]


@pytest.mark.real
def test_every_command_runs(
    example_folder: Path, root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("examples", "indexes", "config.yaml"):
        (tmp_path / name).symlink_to(example_folder / name)
    monkeypatch.chdir(tmp_path)
    asked = commands_in((root / "docs" / "guides" / "claims.md").read_text("utf-8"))
    assert {arguments[0] for arguments in asked} == {
        "index",
        "verdict",
        "check",
        "score",
        "rank",
        "pipeline",
    }
    for arguments in asked:
        assert front_door.main(arguments) == 0, arguments
    written = {path.name for path in tmp_path.iterdir()}
    assert {
        "verdicts.jsonl",
        "verdicts.jsonl.evidence.jsonl",
        "verdicts.tsv",
        "checks.jsonl",
        "checks.html",
    } <= written
