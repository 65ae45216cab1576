"""The files that sources mean, and the docids that are taken."""

from pathlib import Path

import pytest

from factseek.core.errors import SourceError
from factseek.indexer.collections import ReadOptions, _office
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
    assert [(Path(place).name, reason) for place, reason in options.left_out] == [
        ("b.docx", ".docx file, which factseek index webpages reads"),
        ("c.PDF", ".pdf file, which factseek index webpages reads"),
        ("d.css", ".css file, which factseek does not read"),
        ("e.zip", ".zip file, which factseek does not read; unpack it"),
    ]
    with pytest.raises(SourceError) as caught:
        expand([tmp_path], (".jsonl",), ReadOptions())
    assert str(caught.value) == (
        f"{tmp_path}: contains no .jsonl file, but .docx, .html, .pdf and .zip files, which this "
        "kind of source does not use; "
        "read .docx, .html and .pdf files with factseek index webpages"
    )
    named = expand([tmp_path], (".jsonl", ".docx"), options)
    assert named == [tmp_path / "b.docx"]


REASONS = {
    "a.csv": ".csv file, which factseek index snippets reads",
    "a.jsonld": ".jsonld file, which factseek index claimreview reads",
    "a.csv.gz": ".csv file, which factseek index snippets reads",
    "a.rss": ".rss file, which factseek index feed reads",
    "a.doc": ".doc file, which factseek does not read; save it as .docx or as a PDF",
    "a.xls": ".xls file, which factseek does not read; save it as .xlsx or CSV",
    "a.xlsx": ".xlsx file, which factseek index snippets reads",
    "~$a.xlsx": "lock file of an open document",
    ".~lock.a.ods#": "lock file of an open document",
    "a.HTML.bz2": ".html.bz2 file, which factseek does not read; unpack it",
    "a.warc.zst": ".warc.zst file, which factseek index webpages reads",
    "a.html.zst": ".html.zst file, which factseek does not read; unpack it",
    "a.php": ".php file, which is read only if you name it",
    "a.html.bak": ".bak file, which is read only if you name it",
    "page": "file without an ending, which is read only if you name it",
    "v1. of May": "file without an ending, which is read only if you name it",
}


def test_every_file_of_a_folder_that_is_not_read_has_a_reason(tmp_path: Path) -> None:
    tree(tmp_path, "a.html", *REASONS)
    options = ReadOptions()
    expand([tmp_path], HTML, options)
    assert {Path(place).name: reason for place, reason in options.left_out} == REASONS


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.xml", "<?xml version='1.0'?><rss version='2.0'/>", "feed"),
        ("a.xml", "<urlset></urlset>", "sitemap"),
        ("a.json", '[{"@type": "ClaimReview"}]', "claimreview"),
        ("a.json", '{"version": "https://jsonfeed.org/version/1"}', "feed"),
        ("a.json", "[]", "snippets"),
    ],
)
def test_the_content_of_a_file_decides_which_command_reads_it(
    tmp_path: Path, name: str, content: str, kind: str
) -> None:
    tree(tmp_path, "a.html")
    (tmp_path / name).write_text(content)
    options = ReadOptions()
    expand([tmp_path], HTML, options)
    ending = name.removeprefix("a")
    assert options.skipped == {f"{ending} file, which factseek index {kind} reads": 1}


@pytest.mark.parametrize("name", ["~$a.xlsx", ".~lock.a.ods#"])
def test_a_lock_file_is_refused_by_name(tmp_path: Path, name: str) -> None:
    tree(tmp_path, name)
    with pytest.raises(SourceError) as caught:
        expand([tmp_path / name], (".xlsx",), ReadOptions())
    assert caught.value.what == "is the lock file of an open document"
    assert caught.value.remedy == "give the document itself"


def test_a_file_whose_library_is_missing_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_office, "find_spec", lambda _: None)
    tree(tmp_path, "a.html", "a.pdf")
    options = ReadOptions()
    expand([tmp_path], HTML, options)
    assert options.skipped == {
        ".pdf file, which needs more packages; install them with: pip install 'factseek[office]'": 1
    }


@pytest.mark.parametrize("folder", ["A page_files", "A page-Dateien", "A page.files"])
def test_the_folder_of_a_saved_page_is_a_part_of_it(tmp_path: Path, folder: str) -> None:
    tree(tmp_path, "A page.HTM", f"{folder}/ad.html", f"{folder}/x/b.js", "other_files/c.html")
    options = ReadOptions()
    read = expand([tmp_path], HTML, options, saved_pages=True)
    assert read == [tmp_path / "A page.HTM", tmp_path / "other_files" / "c.html"]
    assert options.skipped == {"part of a saved page": 2}
    everything = expand([tmp_path], HTML, ReadOptions())
    assert tmp_path / folder / "ad.html" in everything


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
