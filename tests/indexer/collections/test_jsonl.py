"""The reader of JSON lines."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.core.domain import Document
from factseek.core.errors import SourceError
from factseek.indexer.collections import BadLines, ReadOptions, Record, jsonl


def read(path: Path, tolerated: int = 0, language: str = "") -> tuple[list[Record], ReadOptions]:
    options = ReadOptions(language=language, bad_lines=BadLines(limit=tolerated))
    return list(jsonl.read([path], options)), options


def written(folder: Path, *lines: str) -> Path:
    path = folder / "a.jsonl"
    path.write_text("\n".join(lines), "utf-8")
    return path


def test_every_field_is_read_and_the_rest_is_metadata(tmp_path: Path) -> None:
    row = {
        "docid": "007",
        "id": "other",
        "text": "مرحبا",
        "title": " T ",
        "url": "https://www.example.org/a",
        "date": "2020-03-01T10:00:00Z",
        "language": "ar-SA",
        "topic": 5,
        "authors": ["A", "B"],
        "metadata": {"page": 3},
    }
    path = written(tmp_path, json.dumps(row), "", '{"_id": "2", "contents": "x"}')
    records, _ = read(path, language="en")
    assert records == [
        Record(
            Document(
                "007",
                "مرحبا",
                "T",
                "https://www.example.org/a",
                "2020-03-01",
                "ar",
                "www.example.org",
                "5",
                {"id": "other", "authors": ["A", "B"], "page": 3},
            ),
            f"{path}:1",
        ),
        Record(Document("2", "x", language="en"), f"{path}:3"),
    ]


def test_a_document_without_text_and_title_is_counted(tmp_path: Path) -> None:
    records, options = read(
        written(tmp_path, '{"id": "1", "text": " "}', '{"id": "2", "text": "", "title": "t"}')
    )
    assert [record.document.docid for record in records] == ["2"]
    assert options.skipped == {"no text": 1}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ('{"id": "", "text": "x"}', "the docid is empty"),
        ('{"id": 1.5, "text": "x"}', '"id" is a number, not a string'),
        ('{"id": "1", "text": 5}', '"text" is a number, not a string'),
        ('{"id": "1", "text": "a\\u0000"}', "contains a NUL character in a string"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, reason: str) -> None:
    path = written(tmp_path, '{"id": "ok", "text": "x"}', line, '{"id": "ok2", "text": "x"}')
    records, options = read(path, tolerated=1)
    assert [record.document.docid for record in records] == ["ok", "ok2"]
    assert options.bad_lines.examples == [f"{path}:2: {reason}"]
    with pytest.raises(SourceError) as caught:
        read(path)
    assert (
        str(caught.value)
        == f"{path}:2: {reason}; fix it, or skip bad lines with --skip-bad-lines N"
    )


DOCID = st.text(
    st.characters(min_codepoint=33, exclude_categories=["C", "Z"]), min_size=1, max_size=40
)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.text(st.characters(exclude_categories=["Cs", "Cc"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("abc"), inner, max_size=3),
    max_leaves=5,
)


@given(
    DOCID,
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1),
    JSON,
)
def test_json_is_read_back(
    tmp_path_factory: pytest.TempPathFactory, docid: str, text: str, extra: object
) -> None:
    line = json.dumps({"id": docid, "text": text, "title": "t", "extra": extra})
    records, _ = read(written(tmp_path_factory.mktemp("json"), line))
    document = records[0].document
    assert (document.docid, document.text, document.metadata) == (docid, text, {"extra": extra})
