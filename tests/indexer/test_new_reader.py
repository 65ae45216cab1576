"""A kind of source is one file: a reader put into the folder of readers is indexed, searched,
listed and watched.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from factseek.claims.evidence.sentences import Finder
from factseek.claims.settings import VerdictSettings
from factseek.indexer import collections
from factseek.retrieval.search.index import Index

READER = '''
"""Verses: a file a poem, a line a passage."""

from ...core.domain import Document, Span
from . import Record
from ._files import expand
from ._lines import read_lines

SUMMARY = "poems: a file a poem, each of its lines a passage"
SPLIT = True
SENTENCES = True
FILES = ()


def read(sources, options):
    """Yield a document a file."""
    for path in expand(sources, (".verse",), options):
        lines = [line for _, line in read_lines(path, options)]
        starts = [sum(len(line) + 1 for line in lines[:number]) for number in range(len(lines))]
        places = enumerate(zip(starts, lines))
        spans = tuple(Span(i, start, start + len(line)) for i, (start, line) in places)
        yield Record(Document(path.stem, "\\n".join(lines)), str(path), spans)
'''


@pytest.fixture
def verses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    plug_ins = tmp_path / "plug-ins"
    plug_ins.mkdir()
    (plug_ins / "verses.py").write_text(READER, "utf-8")
    monkeypatch.setattr(collections, "__path__", [*collections.__path__, str(plug_ins)])
    folder = tmp_path / "poems"
    folder.mkdir()
    (folder / "sea.verse").write_text(
        "The sea is wide. It has two shores.\nA whale sings below the ice.", "utf-8"
    )
    yield folder
    sys.modules.pop(f"{collections.__name__}.verses", None)


def test_it_is_listed_indexed_and_searched(
    verses: Path, tmp_path: Path, command: Callable[..., tuple]
) -> None:
    index = tmp_path / "index"
    with pytest.raises(SystemExit):
        command("index", "--help")
    assert command("index", "verses", verses, "--index", index, "--no-dense")[0] == 0
    code, out, _ = command("search", "whale", "--index", index, "--json")
    assert (code, '"docid":"sea"' in out.replace(" ", ""), "A whale sings" in out) == (
        0,
        True,
        True,
    )


def test_its_sentences_are_taken_whole_as_evidence(
    verses: Path, tmp_path: Path, command: Callable[..., tuple]
) -> None:
    assert command("index", "verses", verses, "--index", tmp_path / "index", "--no-dense")[0] == 0
    with Index(tmp_path / "index") as index:
        (evidence,) = Finder(index, VerdictSettings()).find(["The sea is wide."])
    assert evidence.sentences[0].text == "The sea is wide. It has two shores."
