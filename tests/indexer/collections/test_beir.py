"""Corpora in BEIR's form."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from factseek.core.domain import Document
from factseek.core.errors import SourceError
from factseek.indexer.collections import BadLines, ReadOptions, Record
from factseek.indexer.collections.beir import read


def write(folder: Path, *entries: Any, name: str = "corpus.jsonl") -> Path:
    path = folder / name
    text = "".join(
        f"{entry if isinstance(entry, str) else json.dumps(entry)}\n" for entry in entries
    ).encode()
    path.write_bytes(gzip.compress(text) if name.endswith(".gz") else text)
    return path


def records(path: Path, options: ReadOptions | None = None) -> list[Record]:
    return list(read([path], options or ReadOptions()))


def test_a_line_is_a_document(tmp_path: Path) -> None:
    about = {
        "url": "http://x.org/1",
        "date": "2020 Mar 5",
        "language": "en",
        "source": "x.org",
        "topic": "T",
        "n": [1],
    }
    path = write(
        tmp_path,
        {"_id": "007", "title": "A", "text": "B\nc", "metadata": about},
        "",
        {"_id": 7, "title": None, "text": "d"},
    )
    assert records(path, ReadOptions(language="de")) == [
        Record(
            Document(
                "007", "B\nc", "A", "http://x.org/1", "2020-03-05", "en", "x.org", "T", {"n": [1]}
            ),
            f"{path}:1",
        ),
        Record(Document("7", "d", language="de", metadata={}), f"{path}:3"),
    ]


@pytest.mark.parametrize("name", ["corpus.jsonl", "corpus.jsonl.gz"])
def test_a_folder_means_its_corpus(tmp_path: Path, name: str) -> None:
    path = write(tmp_path, {"_id": "1", "title": "A"}, name=name)
    assert records(tmp_path) == records(path)
    assert records(path)[0].document == Document("1", "", "A", metadata={})


def test_a_document_with_nothing_to_find_it_by_is_counted(tmp_path: Path) -> None:
    options = ReadOptions()
    assert (
        records(
            write(tmp_path, {"_id": "1", "title": "", "text": ""}, {"_id": "2", "text": None}),
            options,
        )
        == []
    )
    assert options.skipped == {"documents without title and text": 2}


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ({"_id": "1", "text": ["x"]}, '"text" is a JSON list, not a string'),
        ({"_id": "1", "text": "x", "metadata": "y"}, "'metadata' is not a JSON object"),
    ],
)
def test_a_broken_line_is_bad(tmp_path: Path, entry: Any, reason: str) -> None:
    path = write(tmp_path, {"_id": "0", "text": "a"}, entry, {"_id": "2", "text": "c"})
    with pytest.raises(SourceError) as caught:
        records(path)
    assert (
        str(caught.value)
        == f"{path}:2: {reason}; fix it, or skip bad lines with --skip-bad-lines N"
    )
    tolerant = ReadOptions(bad_lines=BadLines(limit=1))
    assert [record.document.docid for record in records(path, tolerant)] == ["0", "2"]
