"""The README shows what the commands print: every word, and every number as near as another processor computes it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).resolve().parent.parent
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class Shown(NamedTuple):
    command: str
    output: str


def shown(text: str) -> list[Shown]:
    """Return the commands of the console blocks with the output below each."""
    found = []
    for block in BLOCK.findall(text):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, _, output = part.partition("\n")
            found.append(Shown(command, output))
    return found


def ran(command: str, folder: Path) -> str:
    """Run a factseek command in ``folder``; return what a terminal would show, without times and versions."""
    words = [sys.executable, "-m", "factseek", *shlex.split(command)[1:]]
    environment = {**os.environ, "COLUMNS": "100", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300)
    return done.stdout + (done.stderr if done.returncode else "")


def plain(output: str) -> str:
    """Take out what differs from run to run: times, and the ids and sizes that follow from them."""
    output = re.sub(r"in \d+\.\d s$", "in … s", output, flags=re.MULTILINE)
    output = re.sub(r"\([0-9a-f]{16}\)", "(…)", output)
    output = re.sub(r"\d+\.\d MB", "… MB", output)
    return re.sub(r"20\d\d-\d\d-\d\dT[\d:]+Z", "…", output).strip()


def same(now: str, shown: str) -> bool:
    """Say whether two outputs are the same but for the last digits of what the int8 encoder computes."""
    number = re.compile(r"-?\d+\.\d+")
    near = all(
        abs(float(one) - float(other)) <= 0.01
        for one, other in zip(number.findall(now), number.findall(shown), strict=False)
    )
    return near and number.sub("#", now) == number.sub("#", shown)


def test_only_last_digits_may_differ() -> None:
    assert same("1 0.6904 en-astro 3", "1 0.6901 en-astro 3")
    assert not same("1 0.6904 en-astro 3", "1 0.6604 en-astro 3")
    assert not same("1 0.6904 en-astro 3", "1 0.6904 en-astro 4")
    assert not same("1 0.6904", "1 0.6904 2.5")


@pytest.mark.slow
def test_the_readme_shows_what_is_printed(example_folder: Path) -> None:
    commands = [one for one in shown((ROOT / "README.md").read_text("utf-8")) if one.command.startswith("factseek ")]
    assert len(commands) > 8
    for one in commands:
        now, then = plain(ran(one.command, example_folder)), plain(one.output)
        assert same(now, then), f"{one.command}\n{now}\n--- is shown as\n{then}"


def rewrite(folder: Path) -> None:
    """Put into the README what the commands print now."""
    path = ROOT / "README.md"
    text = path.read_text("utf-8")
    for one in shown(text):
        if one.command.startswith("factseek "):
            now = ran(one.command, folder).rstrip("\n")
            text = text.replace(f"$ {one.command}\n{one.output}", f"$ {one.command}\n" + (f"{now}\n" if now else ""))
    path.write_text(text, "utf-8")
