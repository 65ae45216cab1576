"""Java: what it is given and what it throws, the jar, and the archive of its classes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from shutil import which

import pytest

from factseek.retrieval.errors import ConfigError, IndexStateError
from factseek.retrieval.lucene.jvm import (
    JAR,
    ClassArchive,
    anserini_jar,
    check_heap,
    guarded,
    java,
    java_home,
    start,
)

pytestmark = pytest.mark.inner

MEMORY = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20


@pytest.mark.parametrize("heap", ["31m", "1m", f"{MEMORY + 1}m", "999999g"])
def test_a_heap_that_java_would_end_the_process_for(heap: str) -> None:
    with pytest.raises(ConfigError) as error:
        check_heap(heap)
    assert str(error.value) == (f"java.heap: {heap} is out of range: give 32m to {MEMORY}m (this machine's memory)")


def test_what_java_throws_is_one_line(tmp_path: Path) -> None:
    start()
    with pytest.raises(IndexStateError) as error:
        guarded(lambda: java("PassageSearcher").openReader(str(tmp_path)), "ix", IndexStateError, "cannot be read ({})")
    assert str(error.value) == "ix: cannot be read (IndexNotFoundException: no segments* file found)"
    assert guarded(lambda: 7, "ix", IndexStateError) == 7
    with pytest.raises(IndexStateError, match="AlreadyClosedException: this IndexReader is closed"):
        guarded(lambda: java("PassageSearcher").rows(0), "ix", IndexStateError)


def test_the_jar_is_made_of_the_sources(root: Path, tmp_path: Path) -> None:
    version = (
        subprocess.run(["javac", "-version"], capture_output=True, text=True, check=False) if which("javac") else None
    )
    if version is None or not version.stdout.startswith("javac 17."):
        pytest.skip("the jar is compiled by javac 17 (openjdk-17-jdk-headless), which is missing")
    if sys.version_info >= (3, 12):
        pytest.skip("the jar is compiled against Lucene 9.9, which Pyserini brings to Python 3.11")
    subprocess.run([sys.executable, ".ci/jar.py", str(tmp_path / "factseek.jar")], cwd=root, check=True)
    assert (tmp_path / "factseek.jar").read_bytes() == JAR.read_bytes(), "make jar"


SEARCH = """
import sys
from factseek.retrieval.lucene.jvm import java, one_off, start
with one_off():
    start()
    print(java("Handles").__name__)
    if sys.argv[1:]:
        raise SystemExit("no such luck")
    print(".jsa" in open("/proc/self/maps").read())
"""


def started(cache: Path, *arguments: str) -> tuple[str, str]:
    """Start Java in a new process; return the name of a class with whether an archive is used, and its errors."""
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    command = [sys.executable, "-c", SEARCH, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return done.stdout, done.stderr


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClassArchive:
    """The archive of this Java and this jar in a cache of its own; there is none yet."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return ClassArchive(java_home())


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
