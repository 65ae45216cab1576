"""The products of ``make example``: nothing twice, and a ranker that works as factseek is configured."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


def build(root: Path, indexes: Path) -> str:
    """Build the example; return what was said."""
    command = [sys.executable, str(root / "examples" / "build.py"), str(indexes)]
    return subprocess.run(command, check=True, capture_output=True, cwd=root, timeout=900, text=True).stdout


@pytest.mark.real
def test_what_is_current_is_left_alone_and_a_damaged_ranker_made_again(root: Path, example_folder: Path) -> None:
    indexes = example_folder / "indexes"
    ranker = indexes / "tweets.model"
    before = ranker.read_bytes()
    assert build(root, indexes) == ""
    ranker.write_bytes(before[:-1])
    assert build(root, indexes) == "step 5 of 5: learn which tweets are worth checking\n"
    assert ranker.read_bytes() == before
