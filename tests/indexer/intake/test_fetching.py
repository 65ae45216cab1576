"""Fetching from a real server: limits, redirects, robots.txt, pauses, packing."""

import gzip
import time
import zlib
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from factseek import __version__
from factseek.indexer.intake import addresses
from factseek.indexer.intake.archive import Archive
from factseek.indexer.intake.fetching import Fetched, Fetcher, FetchError
from factseek.indexer.settings import FetchSettings
from tests.indexer.intake.conftest import Site, reply


def fetcher(**settings: Any) -> Fetcher:
    quick = {"seconds_between": 0.0, "seconds": 10.0, "max_bytes": 100_000, **settings}
    return Fetcher(FetchSettings(**quick), allow_private=True)


def refusal(address: str, **settings: Any) -> str:
    with pytest.raises(FetchError) as caught:
        fetcher(**settings).fetch(address)
    return str(caught.value)


def test_an_answer_is_fetched_under_our_name_and_without_cookies(site: Site) -> None:
    site.put("/a", "first", Set_Cookie="id=1")
    page = site.put("/b", "second")
    fetching = fetcher()
    fetching.fetch(site.address + "/a")
    assert fetching.fetch(page).body == b"second"
    assert site.asked == ["/robots.txt", "/a", "/b"]
    assert site.headers[-1]["user-agent"] == f"factseek/{__version__}"
    assert "cookie" not in site.headers[-1]


def test_private_addresses_are_refused_before_anything_is_sent(site: Site) -> None:
    page = site.put("/a", "x")
    with pytest.raises(FetchError, match=r"^leads to 127\.0\.0\.1, which is no public address "):
        Fetcher(FetchSettings()).fetch(page)
    assert site.asked == []


def test_a_redirect_into_a_private_network_is_refused(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The loopback address of the test's site stands for a public one; all others are as they are.
    really = addresses.is_public
    monkeypatch.setattr(
        addresses, "is_public", lambda address: address == "127.0.0.1" or really(address)
    )
    port = site.address.rpartition(":")[2]
    for target in (f"http://127.0.0.2:{port}/b", "http://169.254.169.254/latest/meta-data/"):
        page = site.put("/a", "", 302, Location=target)
        with pytest.raises(FetchError, match=r"which is no public address"):
            Fetcher(FetchSettings(seconds_between=0.0)).fetch(page)
    assert "/b" not in site.asked


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("file:///etc/passwd", "is not an address of http or https"),
        ("ftp://a.org/", "is not an address of http or https"),
        ("http://ann:pw@a.org/", "contains a user name; factseek sends no credentials"),
    ],
)
def test_a_redirect_elsewhere_is_refused(site: Site, target: str, reason: str) -> None:
    assert refusal(site.put("/a", "", 302, Location=target)) == reason


def test_at_most_five_redirects_are_followed(site: Site) -> None:
    for number in range(7):
        site.put(f"/{number}", "", 302, Location=f"/{number + 1}")
    site.put("/7", "there")
    answer = fetcher().fetch(site.address + "/2")
    assert (answer.address, answer.body) == (f"{site.address}/7", b"there")
    assert refusal(site.address + "/1") == "is redirected more than 5 times"


def test_robots_txt_is_obeyed_also_behind_a_redirect(site: Site) -> None:
    site.put("/robots.txt", "User-agent: factseek\nDisallow: /private\n", Content_Type="text/plain")
    site.put("/private/a", "secret")
    page = site.put("/a", "", 302, Location="/private/a")
    excluded = f"is not fetched: {site.address}/robots.txt excludes it"
    assert refusal(page) == excluded
    assert refusal(site.address + "/private/a") == excluded
    assert "/private/a" not in site.asked


def test_without_readable_robots_txt_nothing_is_fetched(site: Site) -> None:
    site.put("/robots.txt", "oops", 500)
    page = site.put("/a", "x")
    reason = "has the status 500 Internal Server Error"
    assert refusal(page) == f"is not fetched: {site.address}/robots.txt {reason}"


def test_requests_to_a_host_keep_their_distance(site: Site) -> None:
    now = 0.0
    pauses: list[float] = []

    def sleep(seconds: float) -> None:
        nonlocal now
        pauses.append(seconds)
        now += seconds

    site.put("/robots.txt", "User-agent: *\nCrawl-delay: 3\n", Content_Type="text/plain")
    page = site.put("/a", "x")
    fetching = Fetcher(FetchSettings(), allow_private=True, clock=lambda: now, sleep=sleep)
    for _ in range(3):
        fetching.fetch(page)
    # One second after robots.txt, which was not known before, then the three that it asks for.
    assert pauses == [1.0, 3.0, 3.0]


def test_endless_and_large_bodies_are_broken_off(site: Site) -> None:
    def endless(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        for _ in range(1_000):
            handler.wfile.write(b"1000\r\n" + b"x" * 4096 + b"\r\n")

    site.answers["/endless"] = endless
    large = "is longer than 100,000 bytes (fetch.max_bytes)"
    assert refusal(site.address + "/endless") == large
    assert refusal(site.put("/large", b"x" * 100_001)) == large
    bomb = gzip.compress(bytes(10_000_000))
    packed = "is longer than 100,000 bytes when it is unpacked (fetch.max_bytes)"
    assert refusal(site.put("/bomb", bomb, Content_Encoding="gzip")) == packed


@pytest.mark.parametrize("part", ["head", "body"])
def test_an_answer_that_drips_is_broken_off(site: Site, part: str) -> None:
    def drip(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\n")
        if part == "body":
            handler.wfile.write(b"Content-Length: 100\r\n\r\n")
        for _ in range(100):
            time.sleep(0.2)
            handler.wfile.write(b"x")

    site.answers["/a"] = drip
    began = time.monotonic()
    assert refusal(site.address + "/a", seconds=1.0) == "took more than 1 seconds"
    assert time.monotonic() - began < 15


def test_damaged_answers(site: Site) -> None:
    def cut(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort")
        handler.close_connection = True

    site.answers["/cut"] = cut
    assert refusal(site.address + "/cut").startswith("cannot be fetched: ")
    not_gzip = "is damaged: it is not the gzip data that it claims to be"
    assert refusal(site.put("/not", b"plain", Content_Encoding="gzip")) == not_gzip
    half = gzip.compress(b"x" * 1000)[:-10]
    assert refusal(site.put("/half", half, Content_Encoding="gzip")) == (
        "is damaged: its gzip data end too early"
    )
    odd = site.put("/odd", zlib.compress(b"x"), Content_Encoding="br")
    assert refusal(odd) == "is packed with 'br', although gzip was asked for"


def test_an_unchanged_page_is_not_sent_again(site: Site) -> None:
    def conditional(handler: BaseHTTPRequestHandler) -> None:
        known = handler.headers.get("If-None-Match") == '"1"'
        reply(handler, b"" if known else b"page", 304 if known else 200, ETag='"1"')

    site.answers["/a"] = conditional
    first = fetcher().fetch(site.address + "/a")
    assert (first.status, first.body, first.header("ETag".lower())) == (200, b"page", '"1"')
    again = fetcher().fetch(site.address + "/a", etag='"1"')
    assert (again.status, again.body) == (304, b"")


@pytest.mark.parametrize("status", [429, 503])
def test_a_host_that_asks_for_a_pause_gets_it(site: Site, status: int) -> None:
    slept: list[float] = []
    answers = iter([status, 200])

    def busy(handler: BaseHTTPRequestHandler) -> None:
        reply(handler, b"page", next(answers), Retry_After="7")

    site.answers["/a"] = busy
    settings = FetchSettings(seconds_between=0.0)
    fetching = Fetcher(settings, allow_private=True, sleep=slept.append)
    assert fetching.fetch(site.address + "/a").body == b"page"
    assert slept == [7.0]


def test_a_host_that_stays_busy_is_left_alone(site: Site) -> None:
    page = site.put("/a", "", 429, Retry_After="3600")
    other = site.put("/b", "x")
    fetching = fetcher()
    with pytest.raises(FetchError, match=r"^has the status 429 Too Many Requests$"):
        fetching.fetch(page)
    with pytest.raises(FetchError, match=r"^is not fetched: its host answered 429 before$"):
        fetching.fetch(other)
    assert site.asked.count("/b") == 0


def test_every_answer_is_kept_as_it_came(site: Site) -> None:
    packed = gzip.compress(b"page")
    site.put("/b", packed, Content_Encoding="gzip")
    page = site.put("/a", "", 301, Location="/b")
    kept: list[Fetched] = []
    Fetcher(FetchSettings(seconds_between=0.0), allow_private=True, keep=kept.append).fetch(page)
    assert [answer.status for answer in kept] == [404, 301, 200]
    assert kept[-1].raw == packed


def test_gzip_data_of_several_members_are_read_whole(site: Site) -> None:
    members = gzip.compress(b"one ") + gzip.compress(b"two")
    assert fetcher().fetch(site.put("/a", members, Content_Encoding="gzip")).body == b"one two"


def test_an_answer_without_content_may_name_a_packing(site: Site) -> None:
    packed = {"Content_Encoding": "gzip"}
    site.put("/b", b"there")
    page = site.put("/a", b"", 301, Location="/b", **packed)
    assert fetcher().fetch(page).body == b"there"
    site.put("/c", b"", 304, **packed)
    assert fetcher().fetch(site.address + "/c", etag='"1"').status == 304
    site.put("/robots.txt", b"no", 404, Content_Encoding="br")
    assert fetcher().fetch(page).body == b"there"


@pytest.mark.parametrize("target", ["http://[bad", "http://a.org:port/"])
def test_a_redirect_to_nonsense_is_one_line(site: Site, target: str) -> None:
    page = site.put("/a", "", 302, Location=target)
    assert refusal(page) in ("is redirected to what is no web address", "is not a web address")


def test_a_redirect_in_utf_8_leads_there(site: Site) -> None:
    site.put("/caf%C3%A9", "there")
    page = site.put("/a", "", 302, Location="/café".encode().decode("latin-1"))
    assert fetcher().fetch(page).body == b"there"


def test_robots_txt_with_a_byte_order_mark_is_obeyed(site: Site) -> None:
    site.put("/robots.txt", b"\xef\xbb\xbfUser-agent: *\nDisallow: /\n")
    assert refusal(site.put("/a", "x")).endswith("/robots.txt excludes it")


@pytest.mark.parametrize("name", ["factseek/2.0", "Factseek/1 # ours", "FACTSEEK"])
def test_robots_txt_may_name_a_version(site: Site, name: str) -> None:
    site.put("/robots.txt", f"User-agent: {name}\nDisallow: /a")
    assert refusal(site.put("/a", "x")) == f"is not fetched: {site.address}/robots.txt excludes it"
    assert fetcher().fetch(site.put("/b", "y")).body == b"y"


@pytest.mark.parametrize("delay", ["inf", "nan", "1e999", "-3", "soon"])
def test_an_odd_delay_of_robots_txt_is_none(site: Site, delay: str) -> None:
    site.put("/robots.txt", f"User-agent: *\nCrawl-delay: {delay}")
    waits: list[float] = []
    fetching = Fetcher(FetchSettings(seconds_between=0.0), allow_private=True, sleep=waits.append)
    for path in ("/a", "/b"):
        fetching.fetch(site.put(path, "x"))
    assert waits == []


def test_the_time_limit_holds_for_an_address_with_its_redirects(site: Site) -> None:
    def slowly(handler: BaseHTTPRequestHandler) -> None:
        time.sleep(0.4)
        reply(handler, b"", 302, Location="/b" if handler.path == "/a" else "/a")

    site.answers |= {"/a": slowly, "/b": slowly}
    assert refusal(site.address + "/a", seconds=0.6) == "took more than 0.6 seconds"
    assert site.asked.count("/a") + site.asked.count("/b") == 2


def test_a_reason_beyond_ascii_is_kept(site: Site, tmp_path: Path) -> None:
    def odd(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(
            "HTTP/1.1 200 Très bien\r\nContent-Length: 1\r\n\r\nx".encode("latin-1")
        )

    site.answers["/a"] = odd
    with Archive(tmp_path / "a.warc.gz") as archive:
        settings = FetchSettings(seconds_between=0.0)
        fetching = Fetcher(settings, allow_private=True, keep=archive.add)
        assert fetching.fetch(site.address + "/a").body == b"x"
