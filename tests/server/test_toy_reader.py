"""A reader is one file: beside the others it is listed, indexed from Python, found, filtered by, served and shown."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import factseek
from factseek.indexer import collections
from factseek.server.app import create_app
from factseek.settings import Config

READER = '''
"""Reads a document a line: its docid, a blank, its text."""

from ._documents import make_record
from ._files import expand
from ._lines import read_lines

SUMMARY = "toy lines: docid and text"
SPLIT, SENTENCES, WHOLE_FOLDER, FILES = False, False, False, ()


def read(sources, options):
    """Yield a document a line."""
    for path in expand(sources, (".toy",), options):
        for place, line in read_lines(path, options):
            docid, _, text = line.strip().partition(" ")
            if record := make_record({"docid": docid, "text": text}, place, options):
                yield record
'''


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An index of what one more reader reads."""
    (tmp_path / "toy.py").write_text(READER, "utf-8")
    monkeypatch.setattr(collections, "__path__", [*collections.__path__, str(tmp_path)])
    (tmp_path / "lines.toy").write_text("m1 the measles vaccine\nm2 a measles outbreak\n", "utf-8")
    built = factseek.build("toy", [tmp_path / "lines.toy"], tmp_path / "index", dense=False)
    assert built.documents == 2
    yield tmp_path / "index"
    sys.modules.pop(f"{collections.__name__}.toy", None)


def test_it_is_found_served_and_shown(index: Path) -> None:
    with factseek.open_index(index) as opened:
        hits = opened.search(["measles vaccine"], factseek.Search(where=factseek.Filter(kind=("toy",))))[0]
        assert [hit.docid for hit in hits] == ["m1", "m2"]
        client = create_app(Config(), {"lines": opened}).test_client()
        answer = client.post("/v1/lines/search", json={"query": "measles", "filter": {"kind": "toy"}}).json
        assert [hit["kind"] for hit in answer["hits"]] == ["toy", "toy"]
        page = client.get("/?index=lines&query=measles&filter=kind%3Dtoy").text
        assert "the <mark>measles</mark> vaccine" in page


def test_the_command_line_lists_it(
    index: Path, command: Callable[..., tuple[int, str, str]], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        command("index", "--help")
    assert "toy lines: docid and text" in " ".join(capsys.readouterr().out.split())
