"""The contract of every reader: a source of each kind, of its own test or of the table here."""

import importlib
import json
import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from factseek.core.errors import SourceError
from factseek.indexer.collections import BadLines, ReadOptions, Record, kinds, reader

SENTENCE = (
    "The ministry said that the new bridge over the river will be opened to all traffic in the "
    "spring."
)


def lines(rows: list[dict[str, object]]) -> str:
    return "".join(json.dumps(row) + "\n" for row in rows)


def page(number: int) -> str:
    return (
        f"<html><body><article><h1>Bridge {number}</h1><p>{SENTENCE} "
        f"{number}</p></article></body></html>"
    )


class Source(NamedTuple):
    """How a source of a kind looks: the names and texts of files with documents 1 and 2, one that
    is broken, and 4.

    ``broken`` is the place below the folder that is reported; ``pipe`` is a name that the reader
    would open.
    """

    files: dict[str, str]
    broken: str
    pipe: str


SOURCES = {
    "beir": Source(
        {
            "corpus.jsonl": lines([{"_id": "1", "text": "a"}, {"_id": "2", "text": "b"}])
            + "{\n"
            + lines([{"_id": "4", "text": "d"}])
        },
        "corpus.jsonl:3",
        "",
    ),
    "claimreview": Source(
        {"a.csv": "id,claimReviewed,url\n1,a,https://a\n2,b,https://b\n3,c\n4,d,https://d\n"},
        "a.csv:4",
        "z.csv",
    ),
    "claims": Source(
        {"a.tsv": "id\tvclaim\ttitle\n1\ta\tA\n2\tb\tB\n3\tc\n4\td\tD\n"}, "a.tsv:4", "z.tsv"
    ),
    "cord19": Source(
        {"metadata.csv": "cord_uid,title,abstract\n1,A,a\n2,B,b\n3,C\n4,D,d\n"},
        "metadata.csv:4",
        "",
    ),
    "fever": Source(
        {
            "wiki-001.jsonl": "".join(
                line
                if line == "{\n"
                else lines([{"id": line, "text": "x", "lines": f"0\tSentence {line}."}])
                for line in ("1", "2", "{\n", "4")
            )
        },
        "wiki-001.jsonl:3",
        "wiki-002.jsonl",
    ),
    "jsonl": Source(
        {
            "a.jsonl": lines([{"docid": "1", "text": "a"}, {"docid": "2", "text": "b"}]) + "{\n",
            "b.jsonl": lines([{"docid": "4", "text": "d"}]),
        },
        "a.jsonl:3",
        "z.jsonl",
    ),
    "snippets": Source({"a.tsv": "id\ttext\n1\ta\n2\tb\n3\n4\td\n"}, "a.tsv:4", "z.tsv"),
    "webpages": Source(
        {"1.html": page(1), "2.html": page(2), "3.html": "%PDF-1.4 no page", "4.html": page(4)},
        "3.html",
        "z.html",
    ),
}


def source_of(kind: str) -> Source:
    """Return the source of a kind: of the table, else ``SOURCE`` of the kind's own test."""
    if kind in SOURCES:
        return SOURCES[kind]
    return Source(
        *importlib.import_module(f"tests.indexer.collections.test_{kind.replace('-', '_')}").SOURCE
    )


@pytest.fixture(params=kinds())
def kind(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def folder(kind: str, tmp_path: Path) -> Path:
    path = tmp_path / "source"
    path.mkdir()
    for name, text in source_of(kind).files.items():
        (path / name).write_text(text, "utf-8")
    return path


def begun(kind: str, *sources: Path, tolerated: int = 0) -> tuple[Iterator[Record], ReadOptions]:
    options = ReadOptions(bad_lines=BadLines(limit=tolerated))
    return iter(reader(kind).read(sources, options)), options


def docids(records: list[Record]) -> list[str]:
    return [record.document.docid for record in records]


def test_it_streams(kind: str, folder: Path) -> None:
    records, options = begun(kind, folder)
    assert docids([next(records), next(records)]) == ["1", "2"]
    assert options.bad_lines.count == 0
    with pytest.raises(SourceError):
        next(records)


def test_a_bad_line_is_named_or_passed_over(kind: str, folder: Path) -> None:
    place = str(folder / source_of(kind).broken)
    records, _ = begun(kind, folder)
    with pytest.raises(SourceError) as caught:
        list(records)
    assert (caught.value.place, caught.value.remedy) == (
        place,
        "fix it, or skip bad lines with --skip-bad-lines N",
    )
    records, options = begun(kind, folder, tolerated=1)
    assert docids(list(records)) == ["1", "2", "4"]
    assert [example.startswith(f"{place}: ") for example in options.bad_lines.examples] == [True]


def test_every_document_has_a_place(kind: str, folder: Path) -> None:
    records, _ = begun(kind, folder, tolerated=1)
    places = [record.place for record in records]
    assert all(re.fullmatch(rf"{re.escape(str(folder))}/[^:]+(:\d+)?", place) for place in places)
    assert len(set(places)) == len(places)


@pytest.mark.parametrize("what", ["file", "folder"])
def test_an_empty_source_is_refused(kind: str, what: str, tmp_path: Path) -> None:
    path = tmp_path / next(iter(source_of(kind).files))
    path.touch() if what == "file" else path.mkdir()
    with pytest.raises(SourceError, match=r": is empty$" if what == "file" else r": contains no "):
        list(begun(kind, path, tolerated=9)[0])


@pytest.mark.parametrize(
    "make", [os.mkfifo, lambda path: path.symlink_to(path), lambda path: path.symlink_to("none")]
)
def test_only_regular_files_are_read(kind: str, folder: Path, make: Callable[[Path], None]) -> None:
    name = source_of(kind).pipe
    if not name:
        pytest.skip("reads one file of a folder, by its name")
    make(folder / name)
    records, options = begun(kind, folder, tolerated=1)
    assert docids(list(records)) == ["1", "2", "4"]
    assert [tuple(what) for what in options.left_out] == [
        (str(folder / name), "not a regular file")
    ]
    assert options.skipped == {"not a regular file": 1}


def test_links_that_lead_out_of_the_folder_are_left_out(
    kind: str, folder: Path, tmp_path: Path
) -> None:
    name = source_of(kind).pipe
    if not name:
        pytest.skip("reads one file of a folder, by its name")
    private = tmp_path / "private"
    private.mkdir()
    (private / name).write_bytes(
        next(path for path in folder.rglob("*") if path.is_file()).read_bytes()
    )
    (private / "hop").symlink_to(private / name)
    (folder / name).symlink_to("../private/hop")
    (folder / "linked").symlink_to(private)
    records, options = begun(kind, folder, tolerated=1)
    assert docids(list(records)) == ["1", "2", "4"]
    assert [tuple(what) for what in options.left_out] == [
        (str(folder / name), "link to a file outside the folder"),
        (str(folder / "linked"), "link to a folder outside the folder"),
    ]


def looped(path: Path) -> None:
    path.symlink_to(f"{path.name}.2")
    path.with_name(f"{path.name}.2").symlink_to(path.name)


def test_a_source_that_is_a_loop_of_links_is_said_to_be_one(kind: str, tmp_path: Path) -> None:
    path = tmp_path / next(iter(source_of(kind).files))
    looped(path)
    reads_by_name = not source_of(kind).pipe
    for source in (path, tmp_path) if reads_by_name else (path,):
        with pytest.raises(SourceError) as caught:
            list(begun(kind, source, tolerated=9)[0])
        assert caught.value.line == f"{path}: cannot be read: Too many levels of symbolic links"


def test_a_source_that_is_no_regular_file_is_refused(kind: str, tmp_path: Path) -> None:
    path = tmp_path / next(iter(source_of(kind).files))
    os.mkfifo(path)
    with pytest.raises(SourceError) as caught:
        list(begun(kind, path, tolerated=9)[0])
    assert caught.value.place == str(path)
