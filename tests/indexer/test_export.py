"""Exports: the documents back out, byte for byte what a re-import gives."""

import gzip
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from factseek import commands
from factseek.core.domain import Document
from factseek.core.errors import IndexStateError, QueryError
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.export import export, export_to
from factseek.retrieval.search.index import Index
from factseek.retrieval.store.documents import checksum
from factseek.settings import Config
from tests.indexer.test_compaction import DOCUMENTS, grown, write


def documents(folder: Path) -> list[Document]:
    with Index(folder) as index:
        return list(index.documents())


def imported(source: Path, folder: Path, **more: str) -> None:
    build(
        BuildRequest(kind="jsonl", sources=(source,), folder=folder, dense=False, **more), Config()
    )


def test_what_is_exported_is_imported_as_it_was(tmp_path: Path) -> None:
    grown(tmp_path, Config(), dense=False)
    index, again = tmp_path / "index", tmp_path / "again"
    assert export_to(tmp_path / "out.jsonl", export(index)) == len(DOCUMENTS) - 3
    imported(tmp_path / "out.jsonl", again)
    assert documents(again) == documents(index)
    assert (
        list(export(again))
        == list(export(index))
        == (tmp_path / "out.jsonl").read_bytes().splitlines(keepends=True)
    )
    for line, document in zip(export(index), documents(index), strict=True):
        assert json.loads(line)["checksum"] == checksum(document)
    report = build(
        BuildRequest(
            kind="jsonl",
            sources=(tmp_path / "out.jsonl",),
            folder=index,
            verb="append",
            dense=False,
        ),
        Config(),
    )
    assert (report.documents, report.duplicates) == (0, len(DOCUMENTS) - 3)


def test_every_kind_of_the_example_survives(tmp_path: Path, root: Path) -> None:
    index, examples = tmp_path / "index", root / "examples"
    for kind, source in (
        ("snippets", "snippets-ar.tsv"),
        ("webpages", "pages-ar"),
        ("cord19", "cord19"),
    ):
        verb = "append" if index.exists() else ""
        build(
            BuildRequest(
                kind=kind, sources=(examples / source,), folder=index, verb=verb, dense=False
            ),
            Config(),
        )
    export_to(tmp_path / "out.jsonl", export(index))
    imported(tmp_path / "out.jsonl", tmp_path / "again", language="ar")
    assert documents(tmp_path / "again") == documents(index)


def test_the_commands(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    grown(tmp_path, Config(), dense=False)
    index, output = str(tmp_path / "index"), str(tmp_path / "out.jsonl")
    assert commands.main(["export", "--index", index, "--output", output]) == 0
    assert capsys.readouterr().out == f"{output}: 25 documents\n"
    assert commands.main(["export", "--index", index, "--output", "-"]) == 0
    assert capsys.readouterr().out == Path(output).read_text("utf-8")
    assert commands.main(["export", "--index", index, "--output", f"{output}.gz"]) == 0
    assert gzip.decompress(Path(f"{output}.gz").read_bytes()) == Path(output).read_bytes()
    assert capsys.readouterr().out == f"{output}.gz: 25 documents\n"
    assert commands.main(["delete", "--index", index, "--filter", "topic=T1"]) == 0
    assert capsys.readouterr().out == f"{index}: deleted 12 documents\n"
    assert commands.main(["delete", "--index", index, "--filter", "topic=T1"]) == 0
    assert capsys.readouterr().out == f"{index}: deleted 0 documents\n"
    assert {document.topic for document in documents(tmp_path / "index")} == {"T0"}
    assert commands.main(["delete", "--index", index, "--filter", "colour=red"]) == 2
    assert "there is no field 'colour'" in capsys.readouterr().err
    assert commands.main(["compact", "--index", index]) == 0
    assert capsys.readouterr().out.startswith(
        f"{index}: merged 3 segments into 1, dropped 16 deleted documents in "
    )
    assert commands.main(["compact", "--index", index]) == 0
    assert capsys.readouterr().out == f"{index}: nothing to merge in 1 segment\n"


def test_an_export_is_utf_8_whatever_the_terminal_takes(tmp_path: Path) -> None:
    grown(tmp_path, Config(), dense=False)
    command = [sys.executable, "-m", "factseek", "export", "--index", str(tmp_path / "index")]
    environment = {**os.environ, "PYTHONIOENCODING": "latin-1"}
    done = subprocess.run(command, env=environment, capture_output=True, check=True)
    assert done.stdout == b"".join(export(tmp_path / "index"))


def test_what_cannot_be_exported(tmp_path: Path) -> None:
    with pytest.raises(IndexStateError, match="there is no index"):
        list(export(tmp_path / "index"))
    grown(tmp_path, Config(), dense=False)
    with pytest.raises(QueryError, match=r"is a folder; give a file$"):
        export_to(tmp_path, export(tmp_path / "index"))
    (tmp_path / "old").write_text("old", "utf-8")
    with pytest.raises(IndexStateError):
        export_to(tmp_path / "old", export(tmp_path / "nothing"))
    assert (tmp_path / "old").read_text("utf-8") == "old"
    assert not list(tmp_path.glob(".old*"))


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (
            {"text": "changed"},
            (
                "its checksum does not match its content; if you edit an exported document, "
                "remove its checksum"
            ),
        ),
        (
            {"docid": 7},
            "is not a valid exported document (Expected `str`, got `int` - at `$.docid`)",
        ),
        ({"docid": "a b"}, "docid 'a b' contains white space"),
    ],
)
def test_an_exported_line_that_was_changed_is_bad(
    tmp_path: Path, change: dict[str, object], reason: str
) -> None:
    grown(tmp_path, Config(), dense=False)
    row = json.loads(next(iter(export(tmp_path / "index"))))
    source = write(tmp_path, "changed.jsonl", [{**row, **change}])
    with pytest.raises(Exception) as error:
        imported(source, tmp_path / "again")
    assert (
        str(error.value)
        == f"{source}:1: {reason}; fix it, or skip bad lines with --skip-bad-lines N"
    )
