"""FEVER's pages: ids as they are, sentences with the numbers of their lines."""

import json
from pathlib import Path
from typing import Any

import pytest

from factseek.core.domain import Span
from factseek.core.errors import SourceError
from factseek.indexer.collections import BadLines, ReadOptions, Record
from factseek.indexer.collections.fever import read, sentences

PAGE = {
    "id": "Styx_-LRB-river-RRB-",
    "text": "",
    "lines": (
        "0\tStyx -LRB- the river -RRB- divides .\tdivides\tBorder\n1\t\n2\tIt is deep .\tdeep\n3\t"
    ),
}


def write(folder: Path, *pages: Any, name: str = "wiki-001.jsonl") -> Path:
    path = folder / name
    path.write_text(
        "".join(f"{page if isinstance(page, str) else json.dumps(page)}\n" for page in pages),
        "utf-8",
    )
    return path


def records(path: Path, options: ReadOptions | None = None) -> list[Record]:
    return list(read([path], options or ReadOptions()))


def test_a_page_is_a_document_with_a_passage_a_sentence(tmp_path: Path) -> None:
    path = write(tmp_path, PAGE)
    (record,) = records(path)
    assert record.place == f"{path}:1"
    assert record.document._asdict() == {
        "docid": "Styx_-LRB-river-RRB-",
        "text": "Styx ( the river ) divides . It is deep .",
        "title": "Styx (river)",
        "url": "https://en.wikipedia.org/wiki/Styx_(river)",
        "date": "",
        "language": "en",
        "source": "en.wikipedia.org",
        "topic": "",
        "metadata": {},
    }
    assert record.spans == (Span(0, 0, 28), Span(2, 29, 41))
    assert [record.document.text[span.start : span.end] for span in record.spans] == [
        "Styx ( the river ) divides .",
        "It is deep .",
    ]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("", []),
        ("0\tA .\n1\tB .", [(0, "A ."), (1, "B .")]),
        # a line break inside the links, also one before a number
        ("0\tA .\tlink\t\nPage\tPage\n1\tB .", [(0, "A ."), (1, "B .")]),
        ("0\tA .\tlink\t\n2012\t2012\n1\tB .", [(0, "A ."), (1, "B .")]),
        # a line break inside the sentence
        ("0\tA\nb .\tlink\n1\tC .", [(0, "A b ."), (1, "C .")]),
        ("before\n0\tA .", [(0, "A .")]),
    ],
)
def test_sentences_keep_the_numbers_of_their_lines(
    lines: str, expected: list[tuple[int, str]]
) -> None:
    assert list(sentences(lines)) == expected


def test_pages_without_an_id_or_a_sentence_are_counted(tmp_path: Path) -> None:
    options = ReadOptions()
    pages = [
        {"id": "", "text": "", "lines": ""},
        {"id": "X", "text": "", "lines": ""},
        {"id": "Y", "lines": "0\t"},
    ]
    assert records(write(tmp_path, *pages, ""), options) == []
    assert options.skipped == {"pages without an id": 1, "pages without a sentence": 2}


@pytest.mark.parametrize(
    ("page", "reason"),
    [
        ({"id": "X", "text": "x"}, "has no 'lines'"),
        ({"id": "X Y", "lines": "0\tx"}, "docid 'X Y' contains white space"),
    ],
)
def test_a_broken_line_is_bad(tmp_path: Path, page: Any, reason: str) -> None:
    path = write(tmp_path, PAGE, page, {**PAGE, "id": "Z"})
    with pytest.raises(SourceError) as caught:
        records(path)
    assert (
        str(caught.value)
        == f"{path}:2: {reason}; fix it, or skip bad lines with --skip-bad-lines N"
    )
    options = ReadOptions(bad_lines=BadLines(limit=1))
    assert [record.document.docid for record in records(path, options)] == [PAGE["id"], "Z"]
    assert options.bad_lines.count == 1
