"""Searching: in the total order, within the time, and by many threads at once."""

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import cycle, islice
from pathlib import Path
from shutil import which

import pytest

from factseek.retrieval.lucene.analysis import Analysis
from factseek.retrieval.lucene.index import Fields, PassageSearcher, PassageWriter
from factseek.retrieval.lucene.jvm import JAR, ClassArchive, anserini_jar, java_home, start
from factseek.retrieval.search.prepared_query import PreparedQuery

pytestmark = pytest.mark.inner

WORDS = (
    "measles vaccine outbreak moon landing crater sea level rise glacier virus mask trial "
    "cohort dose claim"
).split()
TEXTS = [" ".join(islice(cycle(WORDS), start, start + 3 + start % 7)) for start in range(400)]


@pytest.fixture(scope="module", params=["flat", "title_text"])
def searcher(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[PassageSearcher]:
    start()
    fields: Fields = request.param
    folders = [tmp_path_factory.mktemp("lucene") / name for name in ("first", "second")]
    for number, folder in enumerate(folders):
        _write(folder, fields, TEXTS[number::2])
    opened = PassageSearcher(folders, Analysis("english"), fields)
    yield opened
    opened.close()


def _write(folder: Path, fields: Fields, texts: list[str]) -> None:
    writer = PassageWriter(folder, Analysis("english"), fields)
    for number, text in enumerate(texts):
        writer.add_passage(text.split()[0], text, f"topic={'odd' if number % 2 else 'even'}")
    writer.finish()


def test_passages_that_fit_the_buffer_are_written_once(tmp_path: Path) -> None:
    """Lucene numbers what it writes from 0: the last merge need not write it again."""
    start()
    _write(tmp_path, "flat", TEXTS)
    numbered = {path.name[:2] for path in tmp_path.glob("_*")}
    assert numbered == {"_0"}


def test_a_search_out_of_time_finds_nothing_and_harms_none(searcher: PassageSearcher) -> None:
    asked = (PreparedQuery("measles moon"), 11)
    usual = searcher.search(*asked)
    assert usual[0]
    assert searcher.search(*asked, seconds=60.0) == usual
    assert searcher.search(*asked, seconds=0.0005) is None
    assert searcher.search(*asked, seconds=60.0) == usual
    assert searcher.search(*asked) == usual


def test_the_jar_is_made_of_the_sources(root: Path, tmp_path: Path) -> None:
    version = (
        subprocess.run(["javac", "-version"], capture_output=True, text=True, check=False)
        if which("javac")
        else None
    )
    if version is None or not version.stdout.startswith("javac 17."):
        pytest.skip("the jar is compiled by javac 17 (openjdk-17-jdk-headless), which is missing")
    if sys.version_info >= (3, 12):
        pytest.skip("the jar is compiled against Lucene 9.9, which Pyserini brings to Python 3.11")
    subprocess.run(
        [sys.executable, ".ci/jar.py", str(tmp_path / "factseek.jar")], cwd=root, check=True
    )
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
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    command = [sys.executable, "-c", SEARCH, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    return done.stdout, done.stderr


@pytest.fixture
def archive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ClassArchive:
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
def test_the_second_process_uses_what_the_first_one_made(
    archive: ClassArchive, tmp_path: Path
) -> None:
    first, quiet = started(tmp_path)
    assert first.endswith("False\n")
    assert [path.name for path in archive.path.parent.iterdir()] == [archive.path.name]
    assert (
        started(tmp_path)
        == (first.replace("False", "True"), quiet)
        == (first.replace("False", "True"), "")
    )
    whole = archive.path.read_bytes()
    damages: list[Callable[[Path], object]] = [
        flip_a_byte,
        cut,
        of_another,
        lambda path: path.write_bytes(b"x" * 99),
    ]
    for damage in damages:
        damage(archive.path)
        said, errors = started(tmp_path)
        assert (said.splitlines()[0], errors) == (first.splitlines()[0], "")
        archive.path.write_bytes(whole)
