"""E-mails and pages saved as one file, read as web pages."""

import quopri
from pathlib import Path

import pytest

from factseek.core.errors import SourceError
from factseek.indexer.collections import ReadOptions, Record, webpages

SENTENCE = "The harbour council said – again – that the old lead pipes will be replaced in spring."
PAGE = f"<html><head><title>Old pipes</title></head><body><article><p>{SENTENCE}</p></article>"


def read(path: Path, content: bytes) -> tuple[list[Record], ReadOptions]:
    path.write_bytes(content)
    options = ReadOptions()
    return list(webpages.read([path], options)), options


def quoted(text: str) -> bytes:
    """Return a text in the encoding quoted-printable of RFC 2045, in short lines."""
    return quopri.encodestring(text.encode())


def mail(*headers: str, body: bytes) -> bytes:
    return "\r\n".join([*headers, "", ""]).encode() + body


def part(kind: str, body: bytes, *headers: str) -> bytes:
    first = ("--B", f"Content-Type: {kind}", "Content-Transfer-Encoding: quoted-printable")
    return mail(*first, *headers, body=body + b"\r\n")


SAVED = mail(
    "From: <Saved by Blink>",
    "Snapshot-Content-Location: https://n.example/pipes?a=1",
    "Subject: =?utf-8?Q?Old=20pipes?=",
    "Date: Tue, 3 Mar 2020 23:30:00 -0200",
    "MIME-Version: 1.0",
    'Content-Type: multipart/related; type="text/html"; boundary="B"',
    body=part("text/html", quoted(PAGE), "Content-Location: https://n.example/pipes?a=1")
    + part("text/css", b"p =7B color: red =7D", "Content-Location: https://n.example/a.css")
    + b"--B--\r\n",
)


@pytest.mark.parametrize("name", ["pipes.mhtml", "pipes.mht", "pipes.html"])
def test_a_page_saved_as_one_file_is_a_page(tmp_path: Path, name: str) -> None:
    ((document, *_),), _ = read(tmp_path / name, SAVED)
    assert (document.docid, document.title, document.text) == ("pipes", "Old pipes", SENTENCE)
    assert (document.url, document.source) == ("https://n.example/pipes?a=1", "n.example")
    assert document.metadata == {"captured": "2020-03-04T01:30:00Z"}


def test_a_page_with_the_ending_of_a_saved_page_is_a_page(tmp_path: Path) -> None:
    ((document, *_),), _ = read(tmp_path / "pipes.mhtml", PAGE.encode())
    assert document.text == SENTENCE


HEAD = (
    "Received: from a.example by b.example",
    "From: =?iso-8859-1?Q?J=F6rg?= <press@n.example>",
    "To: desk@example.org",
    "Date: Tue, 3 Mar 2020 10:00:00 +0100 (CET)",
    "MIME-Version: 1.0",
)


def test_an_email_has_its_subject_date_and_sender(tmp_path: Path) -> None:
    subject = "Subject: =?utf-8?B?TGVhZCBwaXBlcw==?= =?utf-8?Q?_=E2=80=93_gone?="
    kind = "Content-Type: text/plain; charset=windows-1252; format=flowed"
    body = b"They cost 5 \x80 and \r\nnothing more.\r\n\r\n-- \r\nJ\xf6rg\r\n"
    ((document, *_),), _ = read(tmp_path / "m.eml", mail(*HEAD, subject, kind, body=body))
    assert (document.docid, document.title) == ("m", "Lead pipes – gone")
    assert document.date == "2020-03-03"
    assert document.text == "They cost 5 € and nothing more.\n\n-- \nJörg"
    assert document.metadata == {"from": "Jörg <press@n.example>"}


def test_an_email_without_mime_headers_is_read(tmp_path: Path) -> None:
    ((document, *_),), _ = read(tmp_path / "m.eml", b"From: a@b\nSubject: bats\n\nThe bats came.\n")
    assert (document.title, document.text) == ("bats", "The bats came.")


def test_the_html_of_an_email_is_its_text_and_attachments_are_named(tmp_path: Path) -> None:
    kind = "Content-Type: multipart/mixed; boundary=A"
    html = (
        "<html><head><style>p {}</style></head><body><p>Dear&nbsp;desk,</p><p>the <b>old</b> "
        "pipes\r\nare gone.</p><table><tr><td>Lead</td><td>2 t</td></tr></table></body></html>"
    )
    body = (
        b"--A\r\nContent-Type: multipart/alternative; boundary=B\r\n\r\n"
        + part("text/plain; charset=utf-8", b"See the other form.")
        + part("text/html; charset=utf-8", quoted(html))
        + b"--B--\r\n--A\r\nContent-Type: text/plain\r\n"
        b"Content-Disposition: attachment; filename*=utf-8''r%C3%A9sum%C3%A9.txt\r\n\r\nno\r\n"
        b"--A\r\nContent-Type: message/rfc822\r\n\r\nSubject: forwarded\r\n\r\nno\r\n--A--\r\n"
    )
    path = tmp_path / "m.eml"
    ((document, *_),), options = read(path, mail(*HEAD, kind, body=body))
    assert document.text == "Dear desk,\nthe old pipes are gone.\nLead 2 t"
    assert options.left_out == [
        (f"{path}#résumé.txt", "attachment of an e-mail"),
        (f"{path}#message/rfc822", "attachment of an e-mail"),
    ]


def test_an_email_of_a_mailbox_is_read(tmp_path: Path) -> None:
    content = b"From a@b Tue Mar  3 10:00:00 2020\nSubject: bats\n\nThe bats came.\n"
    ((document, *_),), _ = read(tmp_path / "m.eml", content)
    assert (document.title, document.text) == ("bats", "The bats came.")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("=?utf-8?Q?r=C3=A9sum=C3=A9.txt?=", "résumé.txt"),
        ("résumé.txt", "résumé.txt"),
        ("=?no-such-code?Q?a?=", "=?no-such-code?Q?a?="),
        ("=?utf-7?Q?+2AA-.txt?=", ".txt"),
        ("=?ïso?Q?a?=", "=?ïso?Q?a?="),
    ],
)
def test_an_attachment_is_named_in_whatever_code(tmp_path: Path, name: str, shown: str) -> None:
    head = f'Content-Type: image/png\r\nContent-Disposition: attachment; filename="{name}"'
    body = (
        b"--A\r\nContent-Type: text/plain; charset=\xe9\r\n\r\nGone.\r\n"
        + f"--A\r\n{head}\r\n\r\nno\r\n--A--\r\n".encode()
    )
    kind = "Content-Type: multipart/mixed; boundary=A"
    ((document, *_),), options = read(tmp_path / "m.eml", mail(*HEAD, kind, body=body))
    assert document.text == "Gone."
    assert options.left_out[0].place.endswith(shown)


def test_a_text_that_begins_like_an_email_is_a_text(tmp_path: Path) -> None:
    text = "From: the council\nMIME-Version: 1.0\n\nThe pipes are gone."
    ((document, *_),), _ = read(tmp_path / "m.txt", text.encode())
    assert document.text == text


def test_an_email_of_very_many_nested_parts_is_one_line(tmp_path: Path) -> None:
    nested = "".join(
        f"Content-Type: multipart/mixed; boundary=b{n}\r\n\r\n--b{n}\r\n" for n in range(3000)
    )
    with pytest.raises(SourceError) as caught:
        read(tmp_path / "m.eml", f"MIME-Version: 1.0\r\n{nested}".encode())
    assert "is an e-mail whose parts are nested too deeply" in str(caught.value)
