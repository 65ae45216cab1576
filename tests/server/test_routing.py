"""Addresses lead where werkzeug says, and are written for whoever asks, who may be behind a
proxy.
"""

import re
from typing import Any

import msgspec
import pytest
from flask.testing import FlaskClient

from factseek.core.errors import ConfigError
from factseek.retrieval.search.index import Index
from factseek.server.app import create_app
from factseek.settings import Config

PROXY, INNER, STRANGER = "10.9.8.7", "192.0.2.1", "198.51.100.4"
SAID = {
    "X-Forwarded-For": "203.0.113.5",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Host": "facts.example",
    "X-Forwarded-Prefix": "/evidence",
}
HTML = {"Accept": "text/html"}
LINK = re.compile(r'\b(?:href|src|action|formaction)="([^"#?][^"]*)"')


def behind(config: Config, indexes: dict[str, Index], **more: Any) -> FlaskClient:
    server = msgspec.structs.replace(
        config.server,
        trusted_proxies=["10.0.0.0/8", INNER],
        adapters={"serper": "english", "alegre": ""},
        **more,
    )
    return create_app(msgspec.structs.replace(config, server=server), indexes).test_client()


@pytest.fixture(scope="module")
def proxied(config: Config, indexes: dict[str, Index]) -> FlaskClient:
    return behind(config, indexes)


def ask(client: FlaskClient, address: str, peer: str, said: dict[str, str], **more: Any) -> Any:
    return client.open(
        address, environ_base={"REMOTE_ADDR": peer}, headers={**HTML, **said}, **more
    )


PAGES = [
    "/?query=measles+vaccine",
    "/documents/english/measles",
    "/check",
    "/verify",
    "/add",
    "/docs",
    "/nothing",
]


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
    assert (
        "https://facts.example/evidence/documents/english/"
        in ask(proxied, "/?query=sea+level", PROXY, SAID).text
    )
    assert "curl -s https://facts.example/evidence/v1/" in ask(proxied, "/docs", PROXY, SAID).text
    assert ask(proxied, "/openapi.json", PROXY, SAID).json["servers"] == [{"url": "/evidence"}]
    assert ask(proxied, "/openapi.json", STRANGER, SAID).json["servers"] == [{"url": "/"}]
    hits = ask(
        proxied, "/serper/search", PROXY, SAID, method="POST", json={"q": "sea level", "num": 1}
    ).json
    assert hits["organic"][0]["link"].startswith(
        "https://facts.example/evidence/v1/english/documents/"
    )


@pytest.mark.parametrize(
    "said", [SAID, {"Host": "facts.example"}, {**SAID, "Host": "facts.example"}]
)
def test_what_a_stranger_calls_the_server_is_in_no_answer(
    proxied: FlaskClient, said: dict[str, str]
) -> None:
    asked: list[tuple[str, dict[str, Any]]] = [
        (page, {}) for page in [*PAGES, "/?query=sea+level", "/openapi.json"]
    ]
    asked += [("/alegre/text/similarity", {"method": "POST", "json": {}})]
    asked += [("/serper/search", {"method": "POST", "json": {"q": "sea level"}})]
    for address, more in asked:
        answer = ask(proxied, address, STRANGER, said, **more)
        assert "facts.example" not in answer.text + str(answer.headers), address
        assert "/evidence" not in answer.text + str(answer.headers), address
    assert (
        "http://localhost/documents/english/"
        in ask(proxied, "/?query=sea+level", STRANGER, said).text
    )


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
def test_what_no_proxy_would_say_is_passed_over(
    proxied: FlaskClient, header: str, value: str
) -> None:
    said, silent = (
        ask(proxied, "/?query=sea+level", PROXY, headers).text for headers in ({header: value}, {})
    )
    assert LINK.findall(said) == LINK.findall(silent)
    assert re.findall(r"https?://\S+", said) == re.findall(r"https?://\S+", silent)


def test_each_client_has_a_rate(
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
        assert statuses(PROXY, "203.0.113.9", "203.0.113.9:4711", "203.0.113.9:4712") == [
            200,
            200,
            429,
        ]
        assert statuses(PROXY, "203.0.113.10", "nobody", "[2001:db8::7]:4711") == [200, 200, 200]
        # Who is asked by a chain of proxies is who the farthest of those that are trusted was asked
        # by.
        assert statuses(PROXY, *[f"1.2.3.{n}, 203.0.113.12, {INNER}" for n in range(3)]) == [
            200,
            200,
            429,
        ]
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
