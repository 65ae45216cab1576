"""The reader of snippets."""

import json
from pathlib import Path

import pytest

from factseek.core.domain import Document
from factseek.core.errors import SourceError
from factseek.indexer.collections import BadLines, ReadOptions, Record, snippets


def read(path: Path, tolerated: int = 0) -> tuple[list[Record], ReadOptions]:
    options = ReadOptions(language="ar", bad_lines=BadLines(limit=tolerated))
    return list(snippets.read([path], options)), options


def written(folder: Path, content: str, name: str = "a.tsv") -> Path:
    path = folder / name
    path.write_text(content, "utf-8")
    return path


def documents(path: Path) -> list[Document]:
    return [record.document for record in read(path)[0]]


def snippet(docid: str, text: str, topic: str = "", page: str = "") -> Document:
    return Document(
        docid, text, language="ar", topic=topic, metadata={"page": page} if page else {}
    )


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("1\ta\n2\tb\n", [snippet("1", "a"), snippet("2", "b")]),
        ("1\tT1\ta b\n", [snippet("1", "a b", "T1")]),
        (
            "CT20-AR-05-0003-001\tx\n",
            [snippet("CT20-AR-05-0003-001", "x", "CT20-AR-05", "CT20-AR-05-0003")],
        ),
        (
            "CT19-T2-001-09-01\tx\n",
            [snippet("CT19-T2-001-09-01", "x", "CT19-T2-001", "CT19-T2-001-09")],
        ),
        ("snippetID\tSnippet\tTopic ID\tpage_id\n1\ta\tT\tP\n", [snippet("1", "a", "T", "P")]),
        ('\ufeff1\t"a ""b"" c\r\n\r\n2\tb', [snippet("1", '"a ""b"" c'), snippet("2", "b")]),
        ('{"parID": "1", "snippet": "a", "pageID": "P"}\n', [snippet("1", "a", page="P")]),
        (
            (
                '{"pageID": "CT19-T2-001-09", "paragraphs": [{"parID": "CT19-T2-001-09-01", '
                '"text": "a"}]}\n'
            ),
            [snippet("CT19-T2-001-09-01", "a", "CT19-T2-001", "CT19-T2-001-09")],
        ),
    ],
)
def test_the_forms_of_snippets(tmp_path: Path, content: str, expected: list[Document]) -> None:
    assert documents(written(tmp_path, content)) == expected


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("1\ta\n2\tb\tc\n", "2: has 3 columns, not 2; write a tab inside a text as a space"),
        ("id,text\n1,a, b\n", "2: has 3 columns, not 2; put a text with a comma in quotes"),
        ("id\ttext\n1\n", "2: has 1 column, not 2; write a tab inside a text as a space"),
        ("id\ttext\n\ta\n", "2: the docid is empty"),
        ('{"id": "1"}\n', '1: has no "text" (or "snippet")'),
        ('{"pageID": "P", "paragraphs": 5}\n', '1: "paragraphs" is a number, not a JSON list'),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, content: str, reason: str) -> None:
    path = written(tmp_path, content)
    _, options = read(path, tolerated=1)
    assert options.bad_lines.examples == [f"{path}:{reason}"]
    with pytest.raises(SourceError) as caught:
        read(path)
    assert (
        str(caught.value) == f"{path}:{reason}; fix it, or skip bad lines with --skip-bad-lines N"
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (
            "only text\n",
            "has 1 column: text without an id; write an id and a tab before each snippet, or read "
            "it as one page with "
            "factseek index webpages",
        ),
        (
            "DocNo\tAbstract\tPaper Title\tYear\n1\ta\tb\t2020\n",
            'has 4 columns, and its first line does not name a column "id" or "text" (without a '
            "header they are id, "
            "text or id, topic, text); its columns are DocNo, Abstract, Paper Title, Year; give "
            "the column "
            "of the texts, as in --column text=NAME",
        ),
        (
            "Fall;Kopf;Befund\n1;A;b, c\n2;D;e\n",
            'is separated by semicolons, but its first line does not name columns "id" and "text"; '
            "its columns are Fall, Kopf, Befund; give the column of the texts, as in --column "
            "text=NAME",
        ),
        (
            "id\ttext\tdocid\n1\ta\t2\n",
            "the columns 'id' and 'docid' both mean docid; choose one with --column docid=NAME",
        ),
        ("id\ttext\ttext\n1\ta\t2\n", "the header has the column 'text' twice"),
    ],
)
def test_a_file_whose_form_cannot_be_told_is_refused(
    tmp_path: Path, content: str, reason: str
) -> None:
    path = written(tmp_path, content)
    with pytest.raises(SourceError) as caught:
        read(path, tolerated=100)
    assert str(caught.value) == f"{path}:1: {reason}"


@pytest.mark.parametrize("indent", [None, 1])
def test_a_json_list_of_objects_is_read(tmp_path: Path, indent: int | None) -> None:
    rows = [{"id": 1, "text": "The moon is far."}, {"id": 2, "text": "The sun is hot."}, "x"]
    path = tmp_path / "a.json"
    path.write_text(json.dumps(rows, indent=indent), "utf-8")
    records, options = read(path, tolerated=1)
    assert [(each.document.docid, each.document.text) for each in records] == [
        ("1", "The moon is far."),
        ("2", "The sun is hot."),
    ]
    assert options.bad_lines.examples == [f"{path}:3: is a JSON string, not a JSON object"]


def test_json_objects_without_known_names_are_read_like_rows_of_a_table(tmp_path: Path) -> None:
    path = written(tmp_path, '{"claim": "The moon is far.", "likes": 3}\n')
    ((document, *_),), options = read(path)
    assert document.text == "The moon is far."
    assert document.docid.startswith("row-")
    assert options.notes == [
        f"{path}: the key 'claim' is used as 'text'; choose with --column",
        f"{path}: no key contains ids; each object gets one from its content",
    ]


def test_json_objects_with_ids_of_other_things_need_a_choice(tmp_path: Path) -> None:
    path = written(tmp_path, '{"post_id": 1, "text": "The moon is far."}\n')
    with pytest.raises(SourceError) as caught:
        read(path)
    assert (caught.value.what, caught.value.remedy) == (
        'has no "id" (or "docid", "snippet_id")',
        "name the key of the ids, as in --column id=post_id, or skip bad lines with "
        "--skip-bad-lines N",
    )


def test_a_json_feed_is_refused_by_name(tmp_path: Path) -> None:
    path = written(tmp_path, '{"version": "https://jsonfeed.org/version/1.1", "items": []}\n')
    with pytest.raises(SourceError) as caught:
        read(path)
    assert caught.value.what == "is a feed, not a table; read it with factseek index feed"
