"""The archive of Java classes: it is made once, used from then on, and never in the way."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from factseek.retrieval.java import anserini_jar, java_home
from factseek.retrieval.java_archive import KEPT, ClassArchive

SEARCH = """
import sys
from factseek.retrieval.java import java_class, one_off, start
with one_off():
    start()
    print(java_class("org.apache.lucene.util.Version").LATEST.toString())
    if sys.argv[1:]:
        raise SystemExit("no such luck")
    print(".jsa" in open("/proc/self/maps").read())
"""


def started(cache: Path, *arguments: str) -> tuple[str, str]:
    """Start Java in a new process; return its version of Lucene with whether an archive is used, and its errors."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    command = [sys.executable, "-c", SEARCH, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return done.stdout, done.stderr


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClassArchive:
    """The archive of this Java and this jar in a cache of its own; there is none yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return ClassArchive(java_home(), anserini_jar())


def test_it_is_used_where_it_is_the_users_own_alone(archive: ClassArchive) -> None:
    assert archive.options() == []
    (recording,) = archive.options(record=True)
    assert recording.startswith(f"-XX:DumpLoadedClassList={archive.path.parent}/")
    archive.path.write_bytes(b"classes")
    archive.path.chmod(0o600)
    assert archive.options() == archive.options(record=True)
    assert archive.options()[0] == f"-XX:SharedArchiveFile={archive.path}"
    archive.path.chmod(0o620)
    assert archive.options() == archive.options(record=True) == []


def test_what_could_not_be_made_is_not_tried_again(archive: ClassArchive, tmp_path: Path) -> None:
    broken = ClassArchive(tmp_path / "no-java", anserini_jar())
    (recording,) = broken.options(record=True)
    Path(recording.partition("=")[2]).write_text("java/lang/Object id: 0\n")
    broken.write()
    assert broken.path.stat().st_size == 0
    assert broken.options(record=True) == []
    assert [path.name for path in broken.path.parent.iterdir()] == [broken.path.name]
    assert broken.path != archive.path


def test_a_cache_that_cannot_be_made_costs_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "factseek").write_text("a file where a folder should be")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    archive = ClassArchive(java_home(), anserini_jar())
    assert archive.options(record=True) == []
    archive.write()


def flip_a_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:10_000_000])


def of_another(path: Path) -> None:
    content = path.read_bytes()
    jar = str(anserini_jar()).encode()
    assert jar in content
    path.write_bytes(content.replace(jar, jar[:-1] + b"X"))


@pytest.mark.real
def test_the_second_process_uses_what_the_first_one_made(archive: ClassArchive, tmp_path: Path) -> None:
    first, quiet = started(tmp_path)
    assert first.endswith("False\n")
    assert [path.name for path in archive.path.parent.iterdir()] == [archive.path.name]
    assert started(tmp_path) == (first.replace("False", "True"), quiet) == (first.replace("False", "True"), "")
    whole = archive.path.read_bytes()
    damages: list[Callable[[Path], object]] = [flip_a_byte, cut, of_another, lambda path: path.write_bytes(b"x" * 99)]
    for damage in damages:
        damage(archive.path)
        said, errors = started(tmp_path)
        assert (said.splitlines()[0], errors) == (first.splitlines()[0], "")
        archive.path.write_bytes(whole)


@pytest.mark.real
def test_a_search_that_fails_leaves_nothing(archive: ClassArchive, tmp_path: Path) -> None:
    assert started(tmp_path, "fail")[1] == "no such luck\n"
    assert list(archive.path.parent.iterdir()) == []


def test_few_archives_are_kept(archive: ClassArchive, tmp_path: Path) -> None:
    (recording,) = archive.options(record=True)
    for number in range(KEPT + 2):
        older = archive.path.parent / f"classes-{number}.jsa"
        older.write_bytes(b"")
        os.utime(older, (number, number))
    Path(recording.partition("=")[2]).write_text("not a class\n")
    ClassArchive(tmp_path / "no-java", anserini_jar()).write()
    archive.write()
    assert len(list(archive.path.parent.glob("*.jsa"))) == KEPT
    assert archive.path.exists()
    assert not (archive.path.parent / "classes-2.jsa").exists()
