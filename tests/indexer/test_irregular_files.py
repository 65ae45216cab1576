"""Links, pipes and devices in the place of files: a snapshot with one is refused, and nothing waits
for a pipe.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from factseek.core.files import MOST_READ, read_regular
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.snapshot import snapshot
from factseek.settings import Config

pytestmark = pytest.mark.real  # most tests start a process
SECONDS = 60
Put = Callable[[Path], None]


def linked(path: Path) -> None:
    elsewhere = path.parent.parent / f"elsewhere-{path.name}"
    path.rename(elsewhere)
    path.symlink_to(elsewhere)


def piped(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def endless(path: Path) -> None:
    path.unlink()
    path.symlink_to("/dev/zero")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("made")
    source = place / "docs.jsonl"
    source.write_text(
        "".join(f'{{"docid": "d{n}", "text": "Measles spreads {n}."}}\n' for n in range(8)), "utf-8"
    )
    build(
        BuildRequest(kind="jsonl", sources=(source,), folder=place / "index", dense=False), Config()
    )
    snapshot(place / "index", place / "plain", copy=True)
    return place


def restored(snap: Path, index: Path) -> subprocess.CompletedProcess[str]:
    return factseek("restore", snap, "--index", index)


def factseek(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "factseek", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False)


IN_SNAPSHOTS: dict[str, tuple[str, str, Put]] = {
    "the manifest is a link": ("plain", "manifest.json", linked),
    "a segment is a link": ("plain", "segments/000000", linked),
    "a file of a segment is a link": ("plain", "segments/000000/documents.sqlite", linked),
    "a file of a segment is a pipe": ("plain", "segments/000000/documents.sqlite", piped),
}


@pytest.mark.parametrize("name", IN_SNAPSHOTS)
def test_a_snapshot_of_other_than_regular_files_is_not_restored(
    made: Path, tmp_path: Path, name: str
) -> None:
    kind, inside, put = IN_SNAPSHOTS[name]
    snap, index = tmp_path / "place" / "snap", tmp_path / "index"
    shutil.copytree(made / kind, snap)
    put(snap / inside)
    done = restored(snap, index)
    thing = "folder" if (made / kind / inside).is_dir() else "regular file"
    message = (
        f"{snap / inside}: is not a {thing}, but should be one in the snapshot; take a "
        "snapshot of the index again"
    )
    assert (done.returncode, done.stderr) == (2, f"factseek: {message}\n")
    assert not index.exists() or not list(index.glob("*"))


@pytest.mark.parametrize("put", [piped, endless])
@pytest.mark.parametrize("inside", ["manifest.json", "segments/000000/documents.sqlite"])
def test_no_command_waits_for_a_pipe_or_reads_a_device(
    made: Path, tmp_path: Path, put: Put, inside: str
) -> None:
    index = tmp_path / "index"
    shutil.copytree(made / "plain", index)
    manifest = json.loads((index / "manifest.json").read_text("utf-8"))
    # The size of a pipe.
    manifest["segments"][0]["files"]["documents.sqlite"].update(bytes=0, sample="")
    (index / "manifest.json").write_text(json.dumps(manifest), "utf-8")
    put(index / inside)
    for command in (
        ("search", "measles", "--index", index),
        ("verify-index", index),
        ("snapshot", index, tmp_path / "snap"),
    ):
        done = factseek(*command)
        assert done.returncode == 2, command
        assert done.stderr.startswith("factseek: ")
        assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("put", [piped, endless])
@pytest.mark.parametrize("option", ["--config", "--run", "--gold"])
def test_no_file_of_a_command_is_waited_for(tmp_path: Path, put: Put, option: str) -> None:
    files = {name: tmp_path / name for name in ("--config", "--run", "--gold")}
    files["--config"].write_text("", "utf-8")
    files["--run"].write_text("q Q0 d 1 1.0 r\n", "utf-8")
    files["--gold"].write_text("q 0 d 1\n", "utf-8")
    put(files[option])
    if option == "--config":
        done = factseek("search", "measles", "--index", tmp_path, "--config", files["--config"])
    else:
        done = factseek("score", "trec", "--run", files["--run"], "--gold", files["--gold"])
    assert done.returncode == 2
    assert f"{files[option]}: " in done.stderr
    assert "regular file" in done.stderr


def test_a_file_beyond_any_size_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    with path.open("wb") as file:
        file.truncate(MOST_READ + 1)
    with pytest.raises(OSError, match="contains more than 1024 MiB"):
        read_regular(path)
