"""Verified claims, as TSV, as JSON and as tables."""

import json
from pathlib import Path

import pytest

from factseek.core.domain import Document
from factseek.core.errors import SourceError
from factseek.indexer.collections import ReadOptions, Record
from factseek.indexer.collections.claims import read


def records(path: Path, options: ReadOptions | None = None) -> list[Record]:
    return list(read([path], options or ReadOptions()))


def test_the_collection_of_2020_has_an_empty_first_header_cell(tmp_path: Path) -> None:
    path = tmp_path / "verified_claims.docs.tsv"
    path.write_text('\tvclaim\ttitle\n0\t"A ""big"" claim"\tIs it big?\n007\tB\t\n', "utf-8")
    assert records(path, ReadOptions(language="en")) == [
        Record(
            Document("0", 'A "big" claim', "Is it big?", language="en", metadata={}), f"{path}:2"
        ),
        Record(Document("007", "B", language="en", metadata={}), f"{path}:3"),
    ]


CLAIM = {
    "vclaim_id": "vclaim-pol-1",
    "vclaim": "A",
    "title": "Is it A?",
    "subtitle": "Not quite",
    "url": "https://x.org/a",
    "date": "July 7, 2020",
    "author": "Ada",
    "n": 3,
}
DOCUMENT = Document(
    "vclaim-pol-1",
    "A",
    "Is it A?",
    url="https://x.org/a",
    date="2020-07-07",
    source="x.org",
    metadata={"n": 3, "subtitle": "Not quite", "author": "Ada"},
)


def test_claims_come_as_json_lines_as_a_list_and_a_file_each(tmp_path: Path) -> None:
    lines = tmp_path / "a.jsonl"
    lines.write_text(json.dumps(CLAIM) + "\n\n", "utf-8")
    listed = tmp_path / "b.json"
    listed.write_text(json.dumps([CLAIM]), "utf-8")
    single = tmp_path / "c.json"
    single.write_text(json.dumps(CLAIM), "utf-8")
    assert records(tmp_path) == [
        Record(DOCUMENT, f"{lines}:1"),
        Record(DOCUMENT, f"{listed}:1"),
        Record(DOCUMENT, str(single)),
    ]


REMEDY = "; fix it, or skip bad lines with --skip-bad-lines N"


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "a.tsv",
            "id\ttitle\n1\tA\n",
            "{}:1: there is no column 'vclaim' or 'claim' or 'text'; the columns are 'id', "
            "'title'; name that of the texts with --column text=NAME",
        ),
        ("a.tsv", "id\tvclaim\n\tA\n", "{}:2: has no id" + REMEDY),
        (
            "a.tsv",
            "id\tvclaim\n1\tA\tB\n",
            "{}:2: has 3 columns, but the header has 2" + REMEDY,
        ),
        ("a.jsonl", '{"title": "A"}\n', "{}:1: has no id" + REMEDY),
        ("a.json", "[3]", "{}:1: is not a JSON object with a claim" + REMEDY),
    ],
)
def test_a_broken_file_is_an_error_in_one_line(
    tmp_path: Path, name: str, content: str, message: str
) -> None:
    path = tmp_path / name
    path.write_text(content, "utf-8")
    with pytest.raises(SourceError) as caught:
        records(path)
    assert str(caught.value) == message.format(path)


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_objects_without_ids_get_them_from_their_content(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    rows = [{"claim": "The moon is far."}, {"claim": "The sun is hot.", "likes": 1}]
    lines = "\n".join(map(json.dumps, rows))
    path.write_text(json.dumps(rows) if name == "a.json" else lines, "utf-8")
    options = ReadOptions()
    found = [record.document for record in read([path], options)]
    assert [each.text for each in found] == ["The moon is far.", "The sun is hot."]
    assert len({each.docid for each in found if each.docid.startswith("row-")}) == 2
    assert f"{path}: no key contains ids; each object gets one from its content" in options.notes
