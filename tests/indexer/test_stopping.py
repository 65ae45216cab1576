"""Kills and faults: whatever happens to a writer, what was published is there, complete, and the
next run goes on.
"""

import random
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from factseek import commands
from factseek.indexer.export import export
from factseek.indexer.snapshot import snapshot
from tests.indexer.stopping import Bench, bench, duration, kill_at_random, stop_at, whole
from tests.indexer.verbs import BEFORE, prepare, state

pytestmark = pytest.mark.deep
KILLS = 20


@pytest.fixture(scope="module")
def stoppable(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with in_memory(tmp_path_factory) as folder, bench(folder) as made:
        yield made


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Bench]:
    with in_memory(tmp_path_factory) as folder, bench(folder, 3) as made:
        yield made


@contextmanager
def in_memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    memory = Path("/dev/shm")
    if memory.is_dir():
        with tempfile.TemporaryDirectory(dir=memory) as folder:
            yield Path(folder)
    else:
        yield tmp_path_factory.mktemp("stopping")


def test_a_kill_at_a_random_point_loses_nothing(stoppable: Bench) -> None:
    chance = random.Random(6)
    verbs = ["append", "update", "compact", "delete", "snapshot"]
    seconds = {verb: duration(stoppable, verb) for verb in verbs}
    killed = [
        kill_at_random(stoppable, verb, seconds[verb], chance)[0]
        for verb in verbs * (KILLS // len(verbs))
    ]
    assert any(killed)


@pytest.mark.parametrize("how", ["kill", "ENOSPC"])
@pytest.mark.parametrize("verb", ["append", "compact", "delete", "restore", "snapshot"])
def test_a_verb_may_be_stopped_at_any_call_to_the_file_system(
    stoppable: Bench, verb: str, how: str
) -> None:
    """A deletion, which is little more than a publication, at each of its calls; the rest at some,
    torture at all.
    """
    stoppable.begin()
    calls = stoppable.run(verb).calls
    assert calls > 10
    some = range(1, calls + 1, 1 if how == "kill" else 3)
    for call in some if verb == "delete" else [calls // 2 if how == "kill" else calls - 6]:
        stop_at(stoppable, verb, call, how)


SHARDED = ["append", "update", "overwrite", "delete", "compact", "reshard", "unshard"]


def test_a_kill_at_a_random_point_is_seen_in_all_shards_or_in_none(sharded: Bench) -> None:
    chance = random.Random(7)
    seconds = {verb: duration(sharded, verb) for verb in SHARDED}
    killed = [kill_at_random(sharded, verb, seconds[verb], chance)[0] for verb in SHARDED]
    assert any(killed)


@pytest.mark.parametrize("verb", SHARDED)
def test_a_verb_on_shards_may_be_killed_while_it_publishes(sharded: Bench, verb: str) -> None:
    """Each verb publishes in its last calls to the file system, and tidies up after it."""
    sharded.begin()
    calls = sharded.run(verb).calls
    assert calls > 30
    chance = random.Random(verb)
    for call in sorted(chance.sample(range(calls // 2, calls + 1), 3)):
        stop_at(sharded, verb, call, "kill")


def test_dividing_an_index_may_be_killed_anywhere(stoppable: Bench) -> None:
    stoppable.begin()
    calls = stoppable.run("shard").calls
    for call in random.Random(8).sample(range(1, calls + 1), 6):
        stop_at(stoppable, "shard", call, "kill")


VERBS_OF_COMMANDS = [
    ["index", "jsonl", "new.jsonl", "--index", "index", "--append", "--no-dense"],
    ["delete", "d5", "--index", "index"],
    ["compact", "--index", "index"],
    ["verify-index", "--repair", "--index", "index"],
    ["restore", "old", "--index", "index", "--overwrite"],
    ["snapshot", "snap", "--index", "index"],
]


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "disk"
    place.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(place)],
        capture_output=True,
        check=False,
    )
    if made.returncode:
        pytest.skip("a file system of a given size can only be mounted by root")
    try:
        prepare(place)
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def commanded(arguments: list[str], disk: Path, monkeypatch: pytest.MonkeyPatch) -> int:
    monkeypatch.chdir(disk)
    try:
        return commands.main(arguments)
    finally:
        monkeypatch.chdir("/")


def test_a_full_disk_is_named(
    disk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with (disk / "filler").open("wb", buffering=0) as file, suppress(OSError):
        while True:
            file.write(b"x" * 4096)
    for arguments in VERBS_OF_COMMANDS:
        capsys.readouterr()
        code = commanded(arguments, disk, monkeypatch)
        printed = capsys.readouterr()
        if arguments[0] == "verify-index":  # nothing is to be mended
            assert code == 0
            continue
        assert code == 2, (arguments, printed)
        assert printed.err.count("\n") == 1, printed.err
        assert "the disk is full; make room and run the same command again" in printed.err
        whole(disk / "index", BEFORE)
    (disk / "filler").unlink()
    for arguments in VERBS_OF_COMMANDS:
        assert commanded(arguments, disk, monkeypatch) == 0
    whole(disk / "index", state(0, 60))


def test_a_read_only_place(
    disk: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    for arguments in VERBS_OF_COMMANDS:
        capsys.readouterr()
        code = commanded(arguments, disk, monkeypatch)
        printed = capsys.readouterr()
        assert code == 2, (arguments, printed)
        assert printed.err.endswith("cannot be written: Read-only file system\n")
    whole(disk / "index", BEFORE)
    assert len(list(export(disk / "index"))) == len(BEFORE)
    snapshot(disk / "index", disk.parent / "snap")
    whole(disk.parent / "snap", BEFORE)
