"""The folder in which workers count: made, removed, and cleared when its server died."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
from pathlib import Path

import pytest

from factseek.server.upkeep.metrics_folder import VARIABLE, share, unshare

pytestmark = pytest.mark.inner


def dead() -> int:
    """Return the number of a process that has ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        ended.wait()
    return ended.pid


def test_a_folder_is_made_named_and_removed() -> None:
    shared = share()
    assert shared.folder.is_dir()
    assert f"-{os.getpid()}-" in shared.folder.name
    assert os.environ[VARIABLE] == str(shared.folder)
    unshare(shared)
    assert not shared.folder.exists()
    assert VARIABLE not in os.environ


def test_what_the_dead_left_is_removed_and_nothing_else() -> None:
    first = share()
    root = first.folder.parent
    left = root / f"factseek-metrics-{dead()}-left1"
    orphaned = root / f"factseek-metrics-{dead()}-workers"
    alive = root / f"factseek-metrics-{os.getppid()}-alive"
    other = root / "factseek-metrics-notes"
    for folder in (left, orphaned, alive, other):
        folder.mkdir()
        (folder / "counter_1.db").write_bytes(b"x")
    handle = os.open(orphaned, os.O_RDONLY | os.O_DIRECTORY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        second = share()
        there = [folder.exists() for folder in (left, orphaned, alive, other, first.folder, second.folder)]
        assert there == [False, True, True, True, True, True]
    finally:
        os.close(handle)
        for folder in (orphaned, alive, other):
            (folder / "counter_1.db").unlink()
            folder.rmdir()
        unshare(second)
        unshare(first)


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    first = share()
    (tmp_path / "kept").write_text("kept")
    link = first.folder.parent / f"factseek-metrics-{dead()}-link"
    link.symlink_to(tmp_path)
    try:
        unshare(share())
        assert (tmp_path / "kept").read_text() == "kept"
    finally:
        link.unlink()
        unshare(first)
