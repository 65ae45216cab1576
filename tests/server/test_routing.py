"""Addresses lead where werkzeug says, and are written for whoever asks, who may be behind a proxy."""

from __future__ import annotations

import html
import http.client
import re
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urljoin
from urllib.request import Request, urlopen

import msgspec
import pytest
from flask import Flask
from flask.testing import FlaskClient

from factseek.retrieval.errors import ConfigError
from factseek.retrieval.search.index import Index
from factseek.server.app import Application, create_app
from factseek.server.routing import REMEMBERED
from factseek.settings import Config

from .served import serve, until

PROXY, INNER, STRANGER = "10.9.8.7", "192.0.2.1", "198.51.100.4"
SAID = {
    "X-Forwarded-For": "203.0.113.5",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Host": "facts.example",
    "X-Forwarded-Prefix": "/evidence",
}
HTML = {"Accept": "text/html"}
LINK = re.compile(r'\b(?:href|src|action|formaction)="([^"#?][^"]*)"')


def made(kind: type[Flask]) -> Flask:
    app = kind(__name__)
    app.url_map.merge_slashes = False
    app.add_url_rule("/v1/<name>/search", "search", lambda name: name, methods=["GET", "POST"])
    app.add_url_rule("/v1/<name>/documents/<path:docid>", "document", lambda name, docid: docid)
    app.add_url_rule("/pages/", "pages", lambda: "pages")
    return app


def test_the_memory_of_addresses_is_bounded() -> None:
    app = made(Application)
    client = app.test_client()
    for number in range(REMEMBERED + 10):
        assert client.get(f"/v1/{number}/search").text == str(number)
    assert len(app.url_map.remembered) == 10
    assert client.get(f"/v1/{'long' * 60}/search").status_code == 200
    assert len(app.url_map.remembered) == 10


def behind(config: Config, indexes: dict[str, Index], **more: Any) -> FlaskClient:
    """A client of an application that trusts two proxies."""
    server = msgspec.structs.replace(
        config.server, trusted_proxies=["10.0.0.0/8", INNER], adapters={"serper": "english", "alegre": ""}, **more
    )
    return create_app(msgspec.structs.replace(config, server=server), indexes).test_client()


@pytest.fixture(scope="module")
def proxied(config: Config, indexes: dict[str, Index]) -> FlaskClient:
    return behind(config, indexes)


def ask(client: FlaskClient, address: str, peer: str, said: dict[str, str], **more: Any) -> Any:
    return client.open(address, environ_base={"REMOTE_ADDR": peer}, headers={**HTML, **said}, **more)


PAGES = ["/?query=measles+vaccine", "/documents/english/measles", "/check", "/verify", "/add", "/docs", "/nothing"]


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_leads_back_through_the_proxy(proxied: FlaskClient, page: str) -> None:
    text = ask(proxied, page, PROXY, SAID).text
    links = LINK.findall(text)
    own = [link for link in links if not link.startswith("https://who.example.org")]
    assert len(own) > 8
    assert {link for link in own if not link.startswith("/evidence/")} == set()
    direct = LINK.findall(ask(proxied, page, STRANGER, {}).text)
    assert [link.removeprefix("/evidence") for link in links] == direct


def test_redirects_citations_and_descriptions_name_the_proxy(proxied: FlaskClient) -> None:
    sent = ask(proxied, "/", PROXY, SAID, method="POST", data={"query": "moon"})
    assert sent.location.startswith("/evidence/?")
    slash = ask(proxied, "/alegre/text/similarity", PROXY, SAID, method="POST", json={})
    assert slash.location == "https://facts.example/evidence/alegre/text/similarity/"
    assert "https://facts.example/evidence/documents/english/" in ask(proxied, "/?query=sea+level", PROXY, SAID).text
    assert "curl -s https://facts.example/evidence/v1/" in ask(proxied, "/docs", PROXY, SAID).text
    assert ask(proxied, "/openapi.json", PROXY, SAID).json["servers"] == [{"url": "/evidence"}]
    assert ask(proxied, "/openapi.json", STRANGER, SAID).json["servers"] == [{"url": "/"}]
    hits = ask(proxied, "/serper/search", PROXY, SAID, method="POST", json={"q": "sea level", "num": 1}).json
    assert hits["organic"][0]["link"].startswith("https://facts.example/evidence/v1/english/documents/")


@pytest.mark.parametrize("said", [SAID, {"Host": "facts.example"}, {**SAID, "Host": "facts.example"}])
def test_what_a_stranger_calls_the_server_is_in_no_answer(proxied: FlaskClient, said: dict[str, str]) -> None:
    asked: list[tuple[str, dict[str, Any]]] = [(page, {}) for page in [*PAGES, "/?query=sea+level", "/openapi.json"]]
    asked += [("/alegre/text/similarity", {"method": "POST", "json": {}})]
    asked += [("/serper/search", {"method": "POST", "json": {"q": "sea level"}})]
    for address, more in asked:
        answer = ask(proxied, address, STRANGER, said, **more)
        assert "facts.example" not in answer.text + str(answer.headers), address
        assert "/evidence" not in answer.text + str(answer.headers), address
    assert "http://localhost/documents/english/" in ask(proxied, "/?query=sea+level", STRANGER, said).text


@pytest.mark.parametrize(
    ("header", "value"),
    [
        ("X-Forwarded-Prefix", "//facts.example"),
        ("X-Forwarded-Prefix", "evidence"),
        ("X-Forwarded-Prefix", '/"><script>'),
        ("X-Forwarded-Proto", "javascript"),
        ("X-Forwarded-Host", "facts.example/evidence"),
    ],
)
def test_what_no_proxy_would_say_is_passed_over(proxied: FlaskClient, header: str, value: str) -> None:
    said, silent = (ask(proxied, "/?query=sea+level", PROXY, headers).text for headers in ({header: value}, {}))
    assert LINK.findall(said) == LINK.findall(silent)
    assert re.findall(r"https?://\S+", said) == re.findall(r"https?://\S+", silent)


def test_each_client_behind_a_proxy_has_its_own_rate(
    config: Config, indexes: dict[str, Index], caplog: pytest.LogCaptureFixture
) -> None:
    client = behind(config, indexes, per_minute=2)

    def statuses(peer: str, *callers: str) -> list[int]:
        said = [{"X-Forwarded-For": caller} if caller else {} for caller in callers]
        found = []
        for each in said:
            with ask(client, "/v1/indexes", peer, each) as answer:  # what is closed is logged
                found.append(answer.status_code)
        return found

    with caplog.at_level("INFO", "factseek.access"):
        assert statuses(PROXY, "203.0.113.9", "203.0.113.9:4711", "203.0.113.9:4712") == [200, 200, 429]
        assert statuses(PROXY, "203.0.113.10", "nobody", "[2001:db8::7]:4711") == [200, 200, 200]
        # Who is asked by a chain of proxies is who the farthest of those that are trusted was asked by.
        assert statuses(PROXY, *[f"1.2.3.{n}, 203.0.113.12, {INNER}" for n in range(3)]) == [200, 200, 429]
        assert statuses(STRANGER, "203.0.113.20", "203.0.113.21", "203.0.113.22") == [200, 200, 429]
    callers = [record.fields["caller"] for record in caplog.records if hasattr(record, "fields")]
    assert callers[0] == "address 203.0.113.9"
    assert callers[4:6] == [f"address {PROXY}", "address 2001:db8::7"]
    assert callers[6] == "address 203.0.113.12"
    assert callers[-1] == f"address {STRANGER}"


def test_a_proxy_without_an_address_is_named(config: Config, indexes: dict[str, Index]) -> None:
    server = msgspec.structs.replace(config.server, trusted_proxies=["proxy.example"])
    with pytest.raises(ConfigError) as error:
        create_app(msgspec.structs.replace(config, server=server), indexes)
    assert error.value.line.startswith(
        "server.trusted_proxies: 'proxy.example' is not an address of a proxy; write it as"
    )


class _Proxy(BaseHTTPRequestHandler):
    """Hands ``/facts/…`` on as ``/…``, as nginx's ``location /facts/ { proxy_pass http://127.0.0.1:PORT/; }`` does."""

    port = 0

    def do_GET(self) -> None:
        to = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        said = {"X-Forwarded-For": self.headers.get("Client", "203.0.113.1"), "X-Forwarded-Prefix": "/facts"}
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        headers = {name: value for name, value in self.headers.items() if name != "Client"}
        assert self.path.startswith("/facts/")
        to.request(self.command, self.path.removeprefix("/facts"), body, {**headers, **said})
        answer = to.getresponse()
        content = answer.read()
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("date", "server", "connection", "transfer-encoding", "content-length"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        """Be silent."""


@pytest.mark.real
def test_behind_a_real_proxy_every_link_works_and_each_client_has_its_rate(
    folders: dict[str, Path], tmp_path: Path
) -> None:
    settings = "workers: 1, trusted_proxies: [127.0.0.1], per_minute: 100"
    with serve(folders, tmp_path / "server", settings) as server:
        handler = type("Proxy", (_Proxy,), {"port": server.port})
        proxy = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        threading.Thread(target=proxy.serve_forever, daemon=True).start()
        root = f"http://127.0.0.1:{proxy.server_port}"

        def asked(address: str, client: str = "203.0.113.1", form: bytes | None = None) -> tuple[str, str]:
            with urlopen(Request(address, form, {"Client": client, **HTML}), timeout=60) as answer:
                return answer.url, answer.read().decode(errors="replace")

        try:
            found, text = asked(f"{root}/facts/", form=b"query=measles+vaccine")
            assert found == f"{root}/facts/?query=measles+vaccine"
            links = {html.unescape(link) for link in LINK.findall(text)}
            own = [urljoin(found, link) for link in links if not link.startswith("https://who.example.org")]
            assert len(own) > 30
            for link in own:
                asked(link, client="203.0.113.2")
            assert f"{root}/facts/documents/en/measles-undated" in text  # cited
            statuses = []
            for client in ["203.0.113.3"] * 120 + ["203.0.113.4"]:
                try:
                    asked(f"{root}/facts/v1/indexes", client)
                    statuses.append(200)
                except HTTPError as error:
                    statuses.append(error.code)
            assert (statuses[0], statuses[-2:]) == (200, [429, 200])
            assert '"caller":"address 203.0.113.4"' in until(lambda: "113.4" in (log := server.log.read_text()) and log)
        finally:
            proxy.shutdown()
            proxy.server_close()
