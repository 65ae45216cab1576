"""A minute of mixed load: no error, and the command line's hits in every answer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
def test_a_minute_of_mixed_load_goes_without_a_fault(root: Path, tmp_path: Path) -> None:
    if not (root / "indexes" / "example-en" / "manifest.json").is_file():
        pytest.skip("the example is not built: make example")
    # A minute is too short for memory to settle; that it does is for half an hour to show (make soak).
    command = [sys.executable, "-m", "benchmarks.soak", "--minutes", "1", "--most-growth", "2", "--work", str(tmp_path)]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, "faults: none" in done.stdout) == (0, True), done.stdout + done.stderr
