"""Java: what it is given and what it throws, the jar, and the archive of its classes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from shutil import which

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.retrieval.errors import ConfigError, IndexStateError
from factseek.retrieval.lucene.jvm import (
    ARCHIVES,
    JAR,
    ClassArchive,
    anserini_jar,
    check_heap,
    guarded,
    java,
    java_home,
    java_version,
    pack,
    start,
    unpack,
)

pytestmark = pytest.mark.inner

MEMORY = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20


@pytest.mark.parametrize("heap", ["32m", "512M", f"{MEMORY}m"])
def test_a_heap_that_there_is_room_for(heap: str) -> None:
    check_heap(heap)


@pytest.mark.parametrize("heap", ["31m", "1m", f"{MEMORY + 1}m", "999999g"])
def test_a_heap_that_java_would_end_the_process_for(heap: str) -> None:
    with pytest.raises(ConfigError) as error:
        check_heap(heap)
    assert str(error.value) == (f"java.heap: {heap} is out of range: give 32m to {MEMORY}m (this machine's memory)")


@pytest.mark.parametrize(
    ("release", "version"),
    [('JAVA_VERSION="21.0.8"\n', 21), ('X="1"\nJAVA_VERSION="17"\n', 17), ('JAVA_VERSION="1.8.0"', 1), ("", None)],
)
def test_the_version_of_a_java(tmp_path: Path, release: str, version: int | None) -> None:
    (tmp_path / "release").write_text(release)
    assert java_version(tmp_path) == version
    assert java_version(tmp_path / "gone") is None


def test_what_java_throws_is_one_line(tmp_path: Path) -> None:
    start()
    with pytest.raises(IndexStateError) as error:
        guarded(lambda: java("PassageSearcher").openReader(str(tmp_path)), "ix", IndexStateError, "cannot be read ({})")
    assert str(error.value) == "ix: cannot be read (IndexNotFoundException: no segments* file found)"
    assert guarded(lambda: 7, "ix", IndexStateError) == 7
    with pytest.raises(IndexStateError, match="AlreadyClosedException: this IndexReader is closed"):
        guarded(lambda: java("PassageSearcher").rows(0), "ix", IndexStateError)


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))))
def test_texts_cross_as_they_are(texts: list[str]) -> None:
    packed = pack(texts)
    assert unpack(packed.decode("latin-1")) == texts
    assert pack(["a\0b", "\ud800"]) == pack(["a b", "?"])


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


def test_a_thread_that_used_no_java_starts_none(root: Path) -> None:
    script = (
        "import jnius_config\n"
        "from factseek.retrieval.lucene.jvm import java_thread\n"
        "with java_thread():\n"
        "    pass\n"
        "print(jnius_config.vm_running)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


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
    broken = ClassArchive(tmp_path / "no-java")
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
    archive = ClassArchive(java_home())
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
    for number in range(ARCHIVES + 2):
        older = archive.path.parent / f"classes-{number}.jsa"
        older.write_bytes(b"")
        os.utime(older, (number, number))
    Path(recording.partition("=")[2]).write_text("not a class\n")
    ClassArchive(tmp_path / "no-java").write()
    archive.write()
    assert len(list(archive.path.parent.glob("*.jsa"))) == ARCHIVES
    assert archive.path.exists()
    assert not (archive.path.parent / "classes-2.jsa").exists()
