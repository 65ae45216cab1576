"""A minute of mixed load and changes: no error, and the command line's hits in every answer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.deep
def test_a_minute_of_mixed_load_goes_without_a_fault(root: Path, example_folder: Path, tmp_path: Path) -> None:
    index = example_folder / "indexes" / "example-en"
    # A minute is too short for memory and open files to settle; that it does is for half an hour to show (make soak).
    bounds = ["--changes", "--minutes", "1", "--most-growth", "2", "--most-more-files", "300"]
    settings = [*bounds, "--work", str(tmp_path), "--index", str(index)]
    command = [sys.executable, "-m", "benchmarks.soak", *settings]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=300, check=False)
    assert (done.returncode, "faults: none" in done.stdout) == (0, True), done.stdout + done.stderr
