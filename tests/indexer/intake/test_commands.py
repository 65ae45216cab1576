"""``factseek index feed``, ``sitemap`` and ``urls`` over a site on the loopback address."""

import gzip
import json
import os
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from factseek import commands
from factseek.indexer.intake import run
from tests.indexer.intake.conftest import Site, reply

SENTENCE = "The ministry said that bridge {} will be opened in the spring, after years of work."


def page(name: object, title: str = "A page") -> str:
    text = SENTENCE.format(name)
    return (
        f"<!DOCTYPE html><html lang=en><head><title>{title} {name}</title></head>"
        f"<body><article><h1>{title} {name}</h1><p>{text}</p><p>{text.upper()}</p></article></body>"
    )


def rss(items: list[dict[str, str]]) -> str:
    written = "".join(
        "<item>" + "".join(f"<{name}>{value}</{name}>" for name, value in item.items()) + "</item>"
        for item in items
    )
    written = written.replace("<guid>", "<guid isPermaLink='false'>")
    return f"<?xml version='1.0'?><rss version='2.0'><channel>{written}</channel></rss>"


def item(site: Site, number: int, **more: str) -> dict[str, str]:
    return {
        "title": f"Item {number}",
        "link": f"{site.address}/page/{number}",
        "guid": f"id-{number}",
        "pubDate": "Sat, 28 Nov 2026 13:18:38 GMT",
        "description": f"&lt;p&gt;Text &lt;b&gt;{number}&lt;/b&gt;&lt;/p&gt;",
        **more,
    }


class Command:
    """Runs ``factseek index`` with what every test needs; a page a host needs no pause here."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self.index = folder / "index"
        self._config = folder / "c.yaml"
        self._config.write_text("fetch: {seconds_between: 0}\n")
        self._capsys = capsys

    def __call__(self, *words: object) -> tuple[int, str, str]:
        arguments = ["index", *map(str, words), "--index", str(self.index), "--allow-private"]
        arguments += ["--config", str(self._config)]
        if not self.index.exists():
            arguments.append("--no-dense")
        code = commands.main(arguments)
        said = self._capsys.readouterr()
        return code, said.out, said.err

    def documents(self) -> dict[str, dict[str, Any]]:
        assert commands.main(["export", "--index", str(self.index)]) == 0
        lines = self._capsys.readouterr().out.splitlines()
        return {row["docid"]: row for row in map(json.loads, lines)}


@pytest.fixture
def index(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Command:
    return Command(tmp_path, capsys)


def test_a_feed_becomes_a_document_an_item(site: Site, index: Command) -> None:
    feed = site.put("/feed", rss([item(site, 1), item(site, 2)]), Content_Type="text/xml")
    code, out, err = index("feed", feed)
    assert (code, err) == (0, "")
    assert "added 2 documents" in out
    first = index.documents()["127.0.0.1#id-1"]
    assert (first["title"], first["text"], first["date"]) == ("Item 1", "Text 1", "2026-11-28")
    assert first["url"] == f"{site.address}/page/1"


def test_the_next_run_reads_what_is_new_and_what_has_changed(site: Site, index: Command) -> None:
    feed = site.put("/feed", rss([item(site, 1), item(site, 2)]))
    index("feed", feed)
    assert index("feed", feed, "--update")[1].endswith("nothing new was found\n")
    site.put("/feed", rss([item(site, 2, description="Other"), item(site, 3), item(site, 1)]))
    code, out, _ = index("feed", feed, "--update")
    assert code == 0
    assert "added 2 documents in 2 passages (earlier versions replaced: 1)" in out
    assert index.documents()["127.0.0.1#id-2"]["text"] == "Other"


def test_a_feed_is_asked_with_the_conditions_of_its_last_answer(site: Site, index: Command) -> None:
    def conditional(handler: BaseHTTPRequestHandler) -> None:
        known = handler.headers.get("If-None-Match") == '"1"'
        reply(handler, b"" if known else rss([item(site, 1)]).encode(), 304 if known else 200,
              ETag='"1"')  # fmt: skip

    site.answers["/feed"] = conditional
    index("feed", site.address + "/feed")
    assert index("feed", site.address + "/feed", "--update")[1].endswith("nothing new was found\n")


def test_an_existing_index_needs_a_verb(site: Site, index: Command) -> None:
    feed = site.put("/feed", rss([item(site, 1)]))
    index("feed", feed)
    asked = len(site.asked)
    code, _, err = index("feed", feed)
    assert code == 2
    assert "there is an index already; use --append to add to it" in err
    assert len(site.asked) == asked


def test_follow_reads_the_pages_behind_the_items(site: Site, index: Command) -> None:
    site.put("/page/1", page(1, title="Headline"))
    site.put("/page/2", "", 302, Location="/moved")
    site.put("/moved", page(2))
    feed = site.put("/feed", rss([item(site, number) for number in (1, 2, 3)]))
    code, out, err = index("feed", feed, "--follow")
    assert code == 0
    assert "added 3 documents" in out
    assert err == f"factseek: {site.address}/page/3: has the status 404 Not Found\n"
    found = index.documents()
    assert found["127.0.0.1#id-1"]["text"].startswith(SENTENCE.format(1))
    assert found["127.0.0.1#id-1"]["title"] == "Headline 1"
    assert found["127.0.0.1#id-1"]["date"] == "2026-11-28"  # the page has none
    assert found["127.0.0.1#id-2"]["text"].startswith(SENTENCE.format(2))
    assert found["127.0.0.1#id-2"]["url"] == f"{site.address}/page/2"
    assert found["127.0.0.1#id-3"]["text"] == "Text 3"

    # What failed is tried again, although the feed has not changed.
    site.put("/page/3", page(3))
    code, out, err = index("feed", feed, "--follow", "--update")
    assert (code, err) == (0, "")
    assert "added 1 document in 1 passage (earlier versions replaced: 1)" in out
    assert index.documents()["127.0.0.1#id-3"]["text"].startswith(SENTENCE.format(3))


def test_a_feed_of_ten_thousand_items(site: Site, index: Command) -> None:
    feed = site.put("/feed", rss([item(site, number) for number in range(10_000)]))
    assert "added 10,000 documents" in index("feed", feed)[1]


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("<html><p>no feed</p></html>", "is not a feed: RSS, Atom or JSON Feed"),
        (
            "<?xml version='1.0'?><!DOCTYPE rss [<!ENTITY a 'b'>]><rss version='2.0'>&a;</rss>",
            "declares entities or elements of its own",
        ),
        (
            "<rss version='2.0'>" + "<a>" * 200 + "</a>" * 200 + "</rss>",
            "is nested more than 100 elements deep",
        ),
        ('{"version": "https://jsonfeed.org/version/1", "items": [', "is not a JSON Feed"),
        ("<urlset></urlset>", "is a sitemap, not a feed; read it with factseek index sitemap"),
        (
            "<s:sitemapindex xmlns:s='http://a.example'/>",
            "is a sitemap, not a feed; read it with factseek index sitemap",
        ),
    ],
)
def test_what_is_no_feed_is_one_line(site: Site, index: Command, body: str, reason: str) -> None:
    address = site.put("/feed", body)
    code, out, err = index("feed", address)
    assert (code, out) == (2, "")
    assert err == f"factseek: nothing could be fetched: {address}: {reason}\n"
    assert not index.index.exists()


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("<rss version='2.0'/>", "is a feed, not a sitemap; read it with factseek index feed"),
        (
            '{"version": "https://jsonfeed.org/version/1.1", "items": []}',
            "is a feed, not a sitemap; read it with factseek index feed",
        ),
        ("<html></html>", "is not a sitemap: it has no <urlset> and no <sitemapindex>"),
    ],
)
def test_what_is_no_sitemap_is_one_line(site: Site, index: Command, body: str, reason: str) -> None:
    address = site.put("/map", body)
    code, _, err = index("sitemap", address)
    assert (code, err) == (2, f"factseek: nothing could be fetched: {address}: {reason}\n")


def test_a_text_sitemap_may_have_a_byte_order_mark(site: Site, index: Command) -> None:
    address = site.put("/map.txt", f"\ufeff{site.put('/1', page(1))}\n")
    assert index("sitemap", address)[0] == 0
    assert set(index.documents()) == {f"{site.address}/1"}


@pytest.mark.parametrize(
    ("limit", "message"),
    [
        ("MOST_PAGES", "3 pages are listed, of which the first 1 are fetched"),
        ("MOST_SITEMAPS", "only the first 1 sitemaps are read"),
    ],
)
def test_a_run_over_sitemaps_is_limited(
    site: Site, index: Command, monkeypatch: pytest.MonkeyPatch, limit: str, message: str
) -> None:
    monkeypatch.setattr(run, limit, 1)
    pages = "".join(f"<url><loc>{site.put(f'/{n}', page(n))}</loc></url>" for n in (1, 2, 3))
    inner = f"<sitemap><loc>{site.put('/inner.xml', f'<urlset>{pages}</urlset>')}</loc></sitemap>"
    outer = site.put("/map.xml", f"<sitemapindex>{inner}{inner}</sitemapindex>")
    source = outer if limit == "MOST_SITEMAPS" else f"{site.address}/inner.xml"
    _, _, err = index("sitemap", source)
    assert f"factseek: {message}\n" in err


def test_messages_name_addresses_and_no_temporary_files(
    site: Site, index: Command, tmp_path: Path
) -> None:
    pages = [site.put("/1", page(1)), site.put("/2", "<html><body></body></html>")]
    pages.append(site.put("/3", b"\x89PNG", Content_Type="image/png"))
    listed = tmp_path / "list.txt"
    listed.write_text("\n".join(pages))
    code, _, err = index("urls", listed)
    assert code == 0
    assert f"  {site.address}/2\n" in err
    assert "/factseek-" not in err
    site.put("/1", page(1).replace("<p>", "<p>Changed. "))
    _, _, err = index("urls", listed, "--append")
    assert f"docid '{site.address}/1' is already at {site.address}/1, in the index" in err
    assert "/factseek-" not in err


@pytest.mark.parametrize("archive", ["fifo.warc.gz"])
def test_an_archive_must_be_a_regular_file(
    site: Site, index: Command, tmp_path: Path, archive: str
) -> None:
    os.mkfifo(tmp_path / archive)
    code, _, err = index("urls", site.put("/1", page(1)), "--archive", tmp_path / archive)
    assert code == 2
    assert f"{archive}: is not a regular file; give a new file" in err
    assert site.asked == []


def test_a_column_of_addresses_is_found_under_any_name(
    site: Site, index: Command, tmp_path: Path
) -> None:
    table = tmp_path / "links.csv"
    table.write_text(f"Outlet,Story,Seen\nHerald,{site.put('/1', page(1))},2024-01-01\n")
    assert index("urls", table)[0] == 0
    assert set(index.documents()) == {f"{site.address}/1"}


def test_a_sitemap_of_sitemaps(site: Site, index: Command) -> None:
    space = "xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'"
    pages = "".join(
        f"<url><loc>{site.address}/{n}</loc><lastmod>2026-11-{n}T08:00:00Z</lastmod></url>"
        for n in (10, 11, 12)
    )
    site.put("/inner.xml.gz", gzip.compress(f"<urlset {space}>{pages}</urlset>".encode()))
    inner = f"<sitemap><loc>{site.address}/inner.xml.gz</loc></sitemap>"
    outer = site.put("/sitemap.xml", f"<sitemapindex {space}>{inner}{inner}</sitemapindex>")
    for number in (10, 11, 12):
        site.put(f"/{number}", page(number))
    code, out, err = index("sitemap", outer, "--since", "2026-11-11")
    assert (code, err) == (0, "")
    assert "added 2 documents" in out
    assert set(index.documents()) == {f"{site.address}/11", f"{site.address}/12"}
    # A page with the day of the last run is not asked for again.
    asked = site.asked.count("/11")
    assert index("sitemap", outer, "--update")[0] == 0
    assert site.asked.count("/11") == asked
    assert set(index.documents()) == {f"{site.address}/{n}" for n in (10, 11, 12)}


def test_a_sitemap_that_has_not_changed_is_not_sent_again(site: Site, index: Command) -> None:
    """Its pages that failed are tried again, and pages that may have changed are asked for."""
    sent = []

    def conditional(handler: BaseHTTPRequestHandler) -> None:
        is_known = handler.headers.get("If-None-Match") == '"1"'
        listed = "".join(f"<url><loc>{site.address}/{n}</loc></url>" for n in (1, 2))
        body = b"" if is_known else f"<urlset>{listed}</urlset>".encode()
        sent.append(len(body))
        reply(handler, body, 304 if is_known else 200, ETag='"1"')

    site.answers["/map.xml"] = conditional
    outer = f"<sitemapindex><sitemap><loc>{site.address}/map.xml</loc></sitemap></sitemapindex>"
    address = site.put("/all.xml", outer)
    site.put("/1", page(1))
    assert (
        index("sitemap", address)[2]
        == f"factseek: {site.address}/2: has the status 404 Not Found\n"
    )
    site.put("/2", page(2))
    code, _, err = index("sitemap", address, "--update")
    assert (code, err, sent[1:]) == (0, "", [0])
    assert set(index.documents()) == {f"{site.address}/1", f"{site.address}/2"}
    assert site.asked.count("/1") == 2


def test_a_sitemap_without_conditions_any_more_is_read_whole(site: Site, index: Command) -> None:
    listed = "<urlset><url><loc>{}</loc></url></urlset>"
    first = listed.format(site.put("/1", page(1)))
    address = site.put("/map.xml", first, ETag='"1"')
    index("sitemap", address)
    site.put("/map.xml", listed.format(site.put("/2", page(2))))
    index("sitemap", address, "--update")
    index("sitemap", address, "--update")
    assert set(index.documents()) == {f"{site.address}/1", f"{site.address}/2"}
    asked = [
        each for path, each in zip(site.asked, site.headers, strict=True) if path == "/map.xml"
    ]
    assert [each.get("if-none-match") for each in asked] == [None, '"1"', None]


def test_addresses_from_a_file_and_an_archive_of_the_answers(
    site: Site, index: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    site.put("/a", page("a"))
    site.put("/b", gzip.compress(page("b").encode()), Content_Encoding="gzip")
    listed, archive = tmp_path / "urls.txt", tmp_path / "kept.warc.gz"
    listed.write_text(f"# the morning\n{site.address}/a\n\n{site.address}/gone\n")
    code, out, err = index("urls", listed, f"{site.address}/b", "--archive", archive)
    assert code == 0
    assert "added 2 documents" in out
    assert err == f"factseek: {site.address}/gone: has the status 404 Not Found\n"

    # Each document names its record in the archive, also when it is exported.
    with gzip.open(archive) as file:
        content = file.read().decode("utf-8", "replace")
    for document in index.documents().values():
        assert document["metadata"]["archive"] == "kept.warc.gz"
        assert f"WARC-Record-ID: <{document['metadata']['record']}>" in content

    again = tmp_path / "again"
    words = ["index", "webpages", str(archive), "--index", str(again), "--no-dense"]
    assert commands.main(words) == 0
    capsys.readouterr()
    texts = {docid: row["text"] for docid, row in index.documents().items()}
    index.index = again
    assert {docid: row["text"] for docid, row in index.documents().items()} == texts


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("a.csv", 'Title,Link\n"A, b",{0}/a\nC,{0}/b\n', []),
        ("a.tsv", "url\tnote\n{0}/a\tx\n\t\n{0}/b\ty\n", []),
        ("a.csv", "name;where\nA;{0}/a\nB;{0}/b\n", ["--column", "url=where"]),
        ("a.jsonl", '{{"url": "{0}/a"}}\n{{"url": "{0}/b"}}\n', []),
        ("a.txt", "{0}/a\n{0}/b\n", []),
    ],
)
def test_addresses_from_a_column_of_a_table(  # noqa: PLR0917
    site: Site, index: Command, tmp_path: Path, name: str, content: str, words: list[str]
) -> None:
    for path in ("/a", "/b"):
        site.put(path, page(path))
    listed = tmp_path / name
    listed.write_text(content.format(site.address))
    assert index("urls", listed, *words)[0] == 0
    assert set(index.documents()) == {f"{site.address}/a", f"{site.address}/b"}


def test_addresses_with_commas_are_no_table(site: Site, index: Command, tmp_path: Path) -> None:
    for path in ("/a,1", "/b,2"):
        site.put(path, page(path))
    listed = tmp_path / "urls.txt"
    listed.write_text(f"{site.address}/a,1\n{site.address}/b,2\n")
    assert index("urls", listed)[0] == 0
    assert set(index.documents()) == {f"{site.address}/a,1", f"{site.address}/b,2"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["webpages", "https://a.org/x"],
            "https://a.org/x is an address, but webpages reads files; fetch pages with factseek "
            "index urls, feeds with factseek index feed",
        ),
        (["urls", "no.txt"], "no.txt: there is no such file"),
        (["urls", "https://a.org/", "--follow"], "--follow fetches the pages behind a feed"),
        (["urls", "https://a.org/", "--since", "2026"], "--since reads the days of a sitemap"),
        (["sitemap", "https://a.org/", "--since", "soon"], "--since: 'soon' is not a date"),
        (["urls", "https://a.org/", "--archive", "a.zip"], "a.zip: does not end with .warc.gz"),
    ],
)
def test_words_that_do_not_fit(index: Command, words: list[str], message: str) -> None:
    code, out, err = index(*words)
    assert (code, out) == (2, "")
    assert err.startswith(f"factseek: {message}")
    assert err.count("\n") == 1


def test_a_line_that_is_no_address_is_named(index: Command, tmp_path: Path) -> None:
    listed = tmp_path / "urls.txt"
    listed.write_text("https://a.org/\nwww.b.org\n")
    code, _, err = index("urls", listed)
    assert code == 2
    assert err == (
        f"factseek: {listed}:2: 'www.b.org' is not a web address; give one address a line, "
        "or a table with a column url\n"
    )


@pytest.mark.parametrize("content", ["", "# nothing yet\n\n"])
def test_a_list_without_addresses_is_refused(index: Command, tmp_path: Path, content: str) -> None:
    listed = tmp_path / "urls.txt"
    listed.write_text(content)
    code, out, err = index("urls", listed)
    assert (code, out) == (2, "")
    assert err == f"factseek: {listed}: contains no address; give one address a line\n"


def test_items_of_two_feeds_with_the_same_ids_are_told_apart(
    site: Site, index: Command, tmp_path: Path
) -> None:
    first = site.put("/a", rss([item(site, 1, link="https://a.example/1", title="A")]))
    second = site.put("/b", rss([item(site, 1, link="https://b.example/1", title="B")]))
    assert "added 2 documents" in index("feed", first, second)[1]
    titles = {docid: row["title"] for docid, row in index.documents().items()}
    assert titles == {"a.example#id-1": "A", "b.example#id-1": "B"}


def test_a_page_that_the_index_has_is_not_replaced_by_a_teaser(site: Site, index: Command) -> None:
    site.put("/page/1", page(1))
    feed = site.put("/feed", rss([item(site, 1)]))
    index("feed", feed, "--follow")
    site.put("/feed", rss([item(site, 1, title="Another title")]))
    site.put("/page/1", "oops", 500)
    for _ in range(2):  # however often the page fails
        assert index("feed", feed, "--follow", "--update")[1].endswith("nothing new was found\n")
        assert index.documents()["127.0.0.1#id-1"]["text"].startswith(SENTENCE.format(1))
    site.put("/page/1", page(2))
    assert "(earlier versions replaced: 1)" in index("feed", feed, "--follow", "--update")[1]
    assert index.documents()["127.0.0.1#id-1"]["text"].startswith(SENTENCE.format(2))


def test_a_feed_that_is_no_feed_for_a_while_is_not_forgotten(site: Site, index: Command) -> None:
    feed = site.put("/feed", rss([item(site, 1)]))
    index("feed", feed)
    site.put("/feed", "<html>Back soon</html>")
    assert index("feed", feed, "--update")[0] == 2
    site.put("/feed", rss([item(site, 1)]))
    assert index("feed", feed, "--update")[1].endswith("nothing new was found\n")


def test_pages_are_followed_although_the_feed_was_read_without(site: Site, index: Command) -> None:
    site.put("/page/1", page(1))
    feed = site.put("/feed", rss([item(site, 1)]))
    index("feed", feed)
    assert "added 1 document" in index("feed", feed, "--follow", "--update")[1]
    assert index.documents()["127.0.0.1#id-1"]["text"].startswith(SENTENCE.format(1))


def test_items_that_share_a_page_all_get_it(site: Site, index: Command) -> None:
    site.put("/page/1", page(1))
    shared = f"{site.address}/page/1"
    feed = site.put("/feed", rss([item(site, 1), item(site, 2, link=shared)]))
    index("feed", feed, "--follow")
    texts = {row["text"] for row in index.documents().values()}
    assert len(texts) == 1
    assert texts.pop().startswith(SENTENCE.format(1))


def test_what_was_fetched_is_forgotten_with_the_index(
    site: Site, index: Command, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    feed = site.put("/feed", rss([item(site, 1)]))
    index("feed", feed)
    other = tmp_path / "a.jsonl"
    other.write_text('{"docid": "a", "text": "A quokka."}\n')
    words = ["index", "jsonl", str(other), "--index", str(index.index), "--overwrite"]
    assert commands.main([*words, "--no-dense"]) == 0
    capsys.readouterr()
    assert "added 1 document" in index("feed", feed, "--update")[1]


def test_a_page_of_a_sitemap_may_change_twice_a_day(site: Site, index: Command) -> None:
    def listed(time: str) -> str:
        return f"<urlset><url><loc>{site.address}/a</loc><lastmod>{time}</lastmod></url></urlset>"

    sitemap = site.put("/sitemap.xml", listed("2026-11-28T08:00:00Z"))
    site.put("/a", page(1))
    index("sitemap", sitemap)
    site.put("/sitemap.xml", listed("2026-11-28T15:00:00Z"))
    site.put("/a", page(2))
    assert "(earlier versions replaced: 1)" in index("sitemap", sitemap, "--update")[1]


@pytest.mark.parametrize(
    "items",
    [
        [{"id": "id with space", "title": "A"}, {"id": "b", "title": "B"}],
        [{"id": "a", "title": "A\0\ud800", "authors": 5}, {"id": "b", "title": "B\x0b"}, 7],
        [{"id": "a", "content_html": "<p>A\x0b</p>"}, {"id": "b", "title": "B", "author": True}],
    ],
)
def test_an_odd_item_does_not_stop_the_others(
    site: Site, index: Command, items: list[object]
) -> None:
    feed = {"version": "https://jsonfeed.org/version/1.1", "items": items}
    code, out, err = index("feed", site.put("/feed", json.dumps(feed)))
    assert (code, err) == (0, "")
    assert "added 2 documents" in out


def test_a_feed_without_items_makes_no_index(site: Site, index: Command) -> None:
    for body in (rss([]), '{"version": "https://jsonfeed.org/version/1", "items": null}'):
        code, out, err = index("feed", site.put("/feed", body))
        assert (code, err) == (0, "")
        assert out.endswith("nothing new was found\n")
    assert not (index.index / "manifest.json").exists()


@pytest.mark.parametrize("cut", [False, True])
def test_an_archive_that_cannot_be_continued_is_refused_before_anything_is_fetched(
    site: Site, index: Command, tmp_path: Path, cut: bool
) -> None:
    archive = tmp_path / "kept.warc.gz"
    if cut:
        index("urls", site.put("/a", page(1)), "--archive", archive)
        archive.write_bytes(archive.read_bytes()[:-20])
    else:
        archive.write_text("notes\n")
    asked = len(site.asked)
    verb = ["--append"] if cut else []
    code, _, err = index("urls", site.put("/b", page(2)), "--archive", archive, *verb)
    assert code == 2
    assert err == (
        f"factseek: {archive}: is damaged, or not the gzip data that its name says; "
        "give a new file\n"
    )
    assert len(site.asked) == asked


def test_a_proxy_of_the_environment_is_used_only_if_the_user_asks(
    site: Site, index: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", site.address.replace("//", "//desk:a%20b@"))
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    # A proxy is asked for whole addresses.
    site.put("http://news.example/1", page(1))
    site.put("http://news.example/robots.txt", "User-agent: *\nDisallow: /2")
    site.put("/3", page(3))
    own = f"{site.address}/3"
    addresses = ("http://news.example/1", "http://news.example/2", own)
    code, _, err = index("urls", *addresses, "--proxy-from-environment")
    assert (code, err.count("\n")) == (0, 1)
    assert "news.example/robots.txt excludes it" in err
    assert set(index.documents()) == {"http://news.example/1", own}
    assert site.headers[0]["proxy-authorization"] == "Basic ZGVzazphIGI="
    asked = len(site.asked)
    index("urls", "http://news.invalid/4", "--update")
    assert len(site.asked) == asked


def test_a_secure_address_is_asked_for_through_a_tunnel(
    site: Site, index: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", site.address)
    code, _, err = index("urls", "https://news.example/1", "--proxy-from-environment")
    assert code == 2
    assert "https://news.example/1: " in err
    assert site.asked == []  # the proxy of the test knows no CONNECT


def test_a_proxy_needs_private_addresses_to_be_admitted(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    words = ["urls", "https://a.example/1", "--proxy-from-environment", "--index", tmp_path / "i"]
    assert commands.main(["index", *map(str, words)]) == 2
    assert capsys.readouterr().err == (
        "factseek: --proxy-from-environment: factseek cannot check to which address a proxy "
        "connects; if the proxy may reach private addresses, give --allow-private as well\n"
    )
