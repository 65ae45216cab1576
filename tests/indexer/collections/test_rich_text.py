"""Rich-text documents, read as web pages."""

from pathlib import Path

import pytest

from factseek.core.errors import SourceError
from factseek.indexer.collections import ReadOptions, Record, _formats, webpages

pytest.importorskip("striprtf")


def read(path: Path, content: bytes) -> list[Record]:
    path.write_bytes(content)
    return list(webpages.read([path], ReadOptions()))


def test_the_text_of_a_rich_text_document_is_read_in_lines(tmp_path: Path) -> None:
    content = (
        rb"{\rtf1\ansi\ansicpg1252\deff0{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset204 Arial;}}"
        rb"{\info{\author A. Author}{\title Old pip\'e9s}"
        rb"{\creatim\yr2020\mo3\dy3\hr10\min5}{\revtim\yr2021\mo1\dy1}}"
        rb"{\header Page head}\pard\f0 Caf\'e9 \{pipes\}\tab are \b gone\b0 .\par "
        rb"\u8222?They\u8220? cost\~two {\f1 \'f0\'f3\'e1\'eb\'ff}.{\*\generator Word}\par "
        rb"\u-10179?\u-8704? end\line\par }"
    )
    ((document, *_),) = read(tmp_path / "memo.doc", content)
    assert document.text.splitlines() == [
        "Café {pipes} are gone.",
        "„They“ cost two рубля.",
        "\U0001f600 end",
    ]
    assert (document.title, document.date) == ("Old pipés", "2020-03-03")


def test_characters_that_are_written_as_they_are_have_the_code_page_of_the_file(
    tmp_path: Path,
) -> None:
    content = b"{\\rtf1\\ansi\\ansicpg1254 " + "Işık söndü.".encode("cp1254") + b"\\par}"
    ((document, *_),) = read(tmp_path / "memo.rtf", content)
    assert (document.docid, document.text) == ("memo", "Işık söndü.")


def test_a_rich_text_document_that_cannot_be_read_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        read(tmp_path / "memo.rtf", rb"{\rtf1 \u1114112?}")
    assert caught.value.what.startswith("is not a rich-text document that can be read (")


def test_a_rich_text_document_without_its_library_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_formats, "find_spec", lambda _: None)
    with pytest.raises(SourceError) as caught:
        read(tmp_path / "memo.rtf", rb"{\rtf1 a}")
    assert caught.value.what == (
        "is a rich-text document, which needs more packages; install them with: "
        "pip install 'factseek[office]'"
    )
