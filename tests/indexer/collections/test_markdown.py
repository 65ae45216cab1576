"""Markdown files, read as web pages."""

from pathlib import Path

import pytest

from factseek.core.domain import Document
from factseek.core.errors import SourceError
from factseek.indexer.collections import ReadOptions, _formats, webpages


def read(path: Path, content: str) -> Document:
    path.write_text(content, "utf-8")
    ((document, *_),) = webpages.read([path], ReadOptions())
    return document


def test_the_text_of_a_markdown_file_has_no_marks(tmp_path: Path) -> None:
    document = read(
        tmp_path / "note.md",
        "# Lead *pipes*\n\n"
        "The [old](https://n.example) **pipes**\nare `gone`.<br>Yes ![a map](m.png).\n"
        "\n- one\n- two\n\n> said\n\n| metal | mass |\n|---|---|\n| lead | 2 t |\n\n"
        "```\ncode  here\n```\n\n<div><script>x</script>a <b>block</b></div>\n",
    )
    assert (document.docid, document.title) == ("note", "Lead pipes")
    assert document.text.splitlines() == [
        "The old pipes are gone. Yes a map.",
        "one",
        "two",
        "said",
        "metal | mass",
        "lead | 2 t",
        "code here",
        "a block",
    ]


def test_front_matter_gives_title_date_and_address(tmp_path: Path) -> None:
    document = read(
        tmp_path / "note.md",
        '---\ntitle: "Old: pipes"\ndate: 2020-03-03\nsource: https://n.example/1\ntags: [a]\n---\n'
        "# Other\n\nGone.\n",
    )
    assert (document.title, document.date) == ("Old: pipes", "2020-03-03")
    assert (document.url, document.text) == ("https://n.example/1", "Other\nGone.")


def test_a_rule_is_no_front_matter(tmp_path: Path) -> None:
    document = read(tmp_path / "note.markdown", "---\nThe pipes\n---\nare gone.\n")
    assert (document.title, document.text) == ("", "The pipes\nare gone.")


def test_a_page_with_the_ending_of_markdown_is_a_page(tmp_path: Path) -> None:
    page = (
        "<html><body><article><p>All the old pipes are gone, it said.</p></article></body></html>"
    )
    assert read(tmp_path / "t.md", page).text == "All the old pipes are gone, it said."


def test_a_library_that_is_not_installed_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_formats, "find_spec", lambda _: None)
    with pytest.raises(SourceError, match=r"pip install 'factseek\[office\]'"):
        read(tmp_path / "note.md", "The pipes are gone.")
