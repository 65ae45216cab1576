"""The reader of feeds."""

import json
from pathlib import Path

import pytest

from factseek.core.errors import SourceError
from factseek.indexer.collections import BadLines, ReadOptions, Record, feed

_ITEM = "<item><guid>{0}</guid><title>T {0}</title></item>"


def rss(*docids: str) -> str:
    items = "".join(map(_ITEM.format, docids))
    return f"<?xml version='1.0'?><rss version='2.0'><channel>{items}</channel></rss>"


SOURCE = (
    {"a.xml": rss("1", "2"), "b.xml": "<html></html>", "c.xml": rss("4")},
    "b.xml",
    "z.xml",
)

ATOM = """<?xml version='1.0' encoding='utf-8'?>
<feed xmlns='http://www.w3.org/2005/Atom' xml:lang='de' xml:base='https://a.example/'>
<title>T</title>
<entry><id>urn:1</id><title type='html'>O &lt;b&gt;n&lt;/b&gt;e</title><link href='/1'/>
<updated>2026-11-02T23:30:00-02:00</updated><author><name>Ann</name></author>
<summary>short</summary><content type='xhtml'><div xmlns='http://www.w3.org/1999/xhtml'>
<p>Über die Brücke</p><p>fahren <em>viele</em> Autos.<br/>Sehr viele.</p></div></content></entry>
</feed>"""
RDF = """<?xml version='1.0'?>
<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#' xmlns='http://purl.org/rss/1.0/'
xmlns:dc='http://purl.org/dc/elements/1.1/'><channel rdf:about='http://a'><title>T</title></channel>
<item rdf:about='http://a.example/1'><title>One</title><link>http://a.example/1</link>
<dc:date>2026-11-02T10:00:00Z</dc:date><dc:creator>Ann</dc:creator>
<description>one &amp;amp; two</description></item></rdf:RDF>"""
JSON = json.dumps(
    {
        "version": "https://jsonfeed.org/version/1.1",
        "language": "en",
        "items": [
            {
                "id": 1,
                "url": "https://a.example/1",
                "title": "One",
                "date_published": "2026-11-02T10:00:00Z",
                "authors": [{"name": "Ann"}, {"name": "Bob"}],
                "content_html": "<p>one</p><script>alert(1)</script><p>two</p>",
            }
        ],
    }
)


def read(folder: Path, content: str, name: str = "feed.xml") -> tuple[list[Record], ReadOptions]:
    path = folder / name
    path.write_text(content, "utf-8")
    options = ReadOptions(language="en", bad_lines=BadLines())
    return list(feed.read([path], options)), options


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        (
            "a.atom",
            ATOM,
            ("urn:1", "O ne", "Über die Brücke\nfahren viele Autos.\nSehr viele.", "Ann", "de"),
        ),
        ("a.rdf", RDF, ("http://a.example/1", "One", "one & two", "Ann", "en")),
        ("a.json", JSON, ("a.example#1", "One", "one\ntwo", "Ann, Bob", "en")),
    ],
)
def test_each_kind_of_feed(
    tmp_path: Path, name: str, content: str, expected: tuple[str, ...]
) -> None:
    ((document, *_),), _ = read(tmp_path, content, name)
    author = document.metadata["author"]
    found = document.docid, document.title, document.text, author, document.language
    assert found == expected
    assert document.url.endswith("a.example/1")
    # The day is that in UTC.
    assert document.date == ("2026-11-03" if name == "a.atom" else "2026-11-02")


def test_items_without_an_id_or_a_link_get_the_same_id_each_time(tmp_path: Path) -> None:
    items = "<item><title>One</title></item><item><title>Two</title></item>"
    content = f"<?xml version='1.0'?><rss version='2.0'><channel>{items}</channel></rss>"
    first, _ = read(tmp_path, content)
    again, _ = read(tmp_path, content)
    docids = [record.document.docid for record in first]
    assert len(set(docids)) == 2
    assert docids == [record.document.docid for record in again]


def test_an_item_that_a_feed_repeats_is_read_once(tmp_path: Path) -> None:
    records, options = read(tmp_path, rss("1", "2", "1"))
    assert [record.document.docid for record in records] == ["1", "2"]
    assert options.skipped == {"items that a feed repeats": 1}


ITEM = "<item><title>Ünï</title><guid isPermaLink='false'>7</guid></item>"


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8", "utf-8-sig", "cp1252"])
def test_a_feed_in_a_file_may_have_any_encoding(tmp_path: Path, encoding: str) -> None:
    declared = encoding.removesuffix("-sig")
    text = f"<?xml version='1.0' encoding='{declared}'?><rss version='2.0'><channel>{ITEM}"
    path = tmp_path / "feed.xml"
    path.write_bytes(f"{text}</channel></rss>".encode(encoding))
    (record,) = feed.read([path], ReadOptions())
    assert record.document.title == "Ünï"


@pytest.mark.parametrize("encoding", ["utf-32", "utf-32-be", "cp037", "utf-16-le"])
def test_a_feed_in_an_encoding_of_mainframes_is_refused(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "feed.xml"
    text = f"<?xml version='1.0' encoding='{encoding}'?><rss version='2.0'><channel>{ITEM}"
    path.write_bytes(f"{text}</channel></rss>".encode(encoding))
    with pytest.raises(SourceError) as caught:
        list(feed.read([path], ReadOptions()))
    assert caught.value.what == "is in an encoding that feeds and sitemaps do not use"


@pytest.mark.parametrize("encoding", ["gb2312", "shift_jis", "euc-kr"])
def test_a_feed_in_an_encoding_of_east_asia_is_read(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "feed.xml"
    item = "<item><title>北京 水</title><guid isPermaLink='false'>1</guid></item>"
    text = f"<?xml version='1.0' encoding='{encoding}'?><rss version='2.0'><channel>{item}"
    path.write_bytes(f"{text}</channel></rss>".encode(encoding))
    (record,) = feed.read([path], ReadOptions())
    assert record.document.title == "北京 水"


@pytest.mark.parametrize("encoding", ["gb2312", "utf-7"])
def test_entities_are_found_in_any_encoding(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "feed.xml"
    entity = "<!DOCTYPE rss [<!ENTITY a 'b'>]>".encode(encoding)
    head = f"<?xml version='1.0' encoding='{encoding}'?>".encode()
    path.write_bytes(head + entity + b"<rss version='2.0'></rss>")
    with pytest.raises(SourceError) as caught:
        list(feed.read([path], ReadOptions()))
    assert caught.value.what == "declares entities or elements of its own"


def test_names_of_a_feed_may_have_a_prefix(tmp_path: Path) -> None:
    atom = (
        "<a:feed xmlns:a='http://www.w3.org/2005/Atom'><a:entry><a:id>urn:x:1</a:id>"
        "<a:title>One</a:title><a:published>2026-11-28T13:18:38Z</a:published></a:entry></a:feed>"
    )
    (record,), _ = read(tmp_path, atom)
    assert (record.document.title, record.document.date) == ("One", "2026-11-28")


@pytest.mark.parametrize(
    ("written", "date"),
    [
        ("Sat, 28 Nov 2026 23:30:00 -0500", "2026-11-29"),
        ("2026-11-28", "2026-11-28"),
        ("28 Nov 2026", "2026-11-28"),
        ("yesterday", ""),
        ("", ""),
    ],
)
def test_dates_of_items(tmp_path: Path, written: str, date: str) -> None:
    item = f"<item><title>A</title><guid isPermaLink='false'>1</guid><pubDate>{written}</pubDate>"
    (record,), _ = read(tmp_path, f"<rss version='2.0'><channel>{item}</item></channel></rss>")
    assert record.document.date == date


def test_a_feed_that_is_not_well_formed_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    records, _ = read(tmp_path, rss("1", "2").replace("</channel>", "<br>&nbsp;</channel>"))
    assert [record.document.title for record in records] == ["T 1", "T 2"]
