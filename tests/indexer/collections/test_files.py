"""The files that sources mean, and the docids that are taken."""

from pathlib import Path

import pytest

from factseek.core.errors import SourceError
from factseek.indexer.collections import ReadOptions
from factseek.indexer.collections._documents import check_docid
from factseek.indexer.collections._files import expand

HTML = (".html", ".htm", ".txt")


def tree(folder: Path, *names: str) -> Path:
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    return folder


def test_a_folder_stands_for_its_files_in_order(tmp_path: Path) -> None:
    tree(
        tmp_path,
        "b.html",
        "a/z.HTM",
        "a/y.txt.gz",
        "a.html",
        "c.json",
        "~$a.html",
        ".hidden.html",
        ".git/x.html",
        "é.txt",
    )
    names = [str(path.relative_to(tmp_path)) for path in expand([tmp_path], HTML, ReadOptions())]
    assert names == ["a/y.txt.gz", "a/z.HTM", "a.html", "b.html", "é.txt"]


def test_a_named_file_is_taken_whatever_its_name_and_once(tmp_path: Path) -> None:
    tree(tmp_path, "b.html", "a.data")
    named = [tmp_path / "a.data", tmp_path / "b.html", tmp_path]
    assert expand(named, HTML, ReadOptions()) == [tmp_path / "a.data", tmp_path / "b.html"]


def test_documents_of_other_kinds_in_a_folder_are_named(tmp_path: Path) -> None:
    for name in ("a.html", "b.docx", "c.PDF", "d.css", "in/e.zip"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    options = ReadOptions()
    assert expand([tmp_path], HTML, options) == [tmp_path / "a.html"]
    assert [Path(place).name for place, _ in options.left_out] == ["b.docx", "c.PDF", "e.zip"]
    assert options.skipped == {"of a kind that is not read": 3}
    with pytest.raises(SourceError) as caught:
        expand([tmp_path], (".jsonl",), ReadOptions())
    assert str(caught.value) == (
        f"{tmp_path}: contains no .jsonl file, but .docx, .pdf and .zip files, which this kind of "
        "source does not use; "
        "for each of them, save its text as plain text, in UTF-8"
    )
    named = expand([tmp_path], (".jsonl", ".docx"), options)
    assert named == [tmp_path / "b.docx"]


@pytest.mark.parametrize(
    ("docid", "reason"),
    [
        ("", "the docid is empty"),
        ("a b", "docid 'a b' contains white space"),
        ("a\0", "docid 'a\\x00' contains a character that cannot be printed"),
        ("é" * 257, f"docid '{'é' * 40}…' takes 514 bytes, more than 512"),
    ],
)
def test_docids_that_cannot_name_a_document(docid: str, reason: str) -> None:
    assert check_docid(docid) == reason
