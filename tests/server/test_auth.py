"""Keys and rates."""

import argparse
import base64
import io
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

from factseek.core.errors import ConfigError
from factseek.core.terminal import run
from factseek.retrieval.search.index import Index
from factseek.server import cli
from factseek.server.app import create_app
from factseek.server.auth import Rates, digest
from factseek.server.settings import ServerSettings
from factseek.settings import Config, read

KEY, OTHER = "fs_" + "Kk0_" * 10 + "KeY", "fs_" + "oTh-" * 10 + "eR9"
"""Of the shape of real ones, and the same in each run: they stand in the names of tests."""
Limited = Callable[..., FlaskClient]


@pytest.fixture
def limited(indexes: dict[str, Index]) -> Limited:
    def made(**settings: object) -> FlaskClient:
        return create_app(Config(server=ServerSettings(**settings)), indexes).test_client()  # type: ignore[arg-type]

    return made


def basic(user: str, password: str) -> str:
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


@pytest.mark.parametrize(
    "given",
    [
        "",
        "Bearer",
        "Bearer wrong",
        f"Bearer {KEY}x",
        f"Token {KEY}",
        "Basic !",
        basic(KEY, "x"),
        "Bearer é",
        "Basic é",
    ],
)
@pytest.mark.parametrize("address", ["/v1/indexes", "/", "/v1/english/search?query=moon", "/docs"])
def test_nobody_gets_in_without_a_key(limited: Limited, given: str, address: str) -> None:
    client = limited(keys={"newsroom": digest(KEY)})
    answer = client.get(
        address, headers={"Authorization": given.encode().decode("latin-1")} if given else {}
    )
    assert answer.status_code == 401
    assert (
        answer.headers["WWW-Authenticate"]
        == 'Basic realm="factseek: any user name, the key as password", Bearer realm="factseek"'
    )
    assert answer.mimetype == "application/problem+json"
    assert KEY not in answer.text


@pytest.mark.parametrize(
    "given", [f"Bearer {KEY}", f"bearer {KEY}", f"Bearer {OTHER}", basic("me", KEY)]
)
def test_whoever_has_a_key_gets_in(limited: Limited, given: str) -> None:
    client = limited(keys={"newsroom": digest(KEY), "desk": digest(OTHER)})
    assert client.get("/v1/indexes", headers={"Authorization": given}).status_code == 200


@pytest.mark.parametrize("address", ["/livez", "/readyz", "/metrics", "/static/style.css"])
def test_what_looks_after_a_server_needs_no_key(limited: Limited, address: str) -> None:
    with limited(keys={"newsroom": digest(KEY)}, per_minute=1).get(address) as answer:
        assert answer.status_code == 200


def test_too_many_requests_are_told_when_to_come_back(limited: Limited) -> None:
    client = limited(per_minute=2)
    assert [client.get("/v1/indexes").status_code for _ in range(3)] == [200, 200, 429]
    answer = client.get("/v1/indexes")
    assert answer.json is not None
    assert answer.json["error"] == "too-many-requests"
    assert 1 <= int(answer.headers["Retry-After"]) <= 30


def test_where_documents_are_written_reading_is_open_unless_the_server_is_private(
    limited: Limited,
) -> None:
    settings = {"keys": {"newsroom": digest(KEY)}, "writes": True}
    client, private = limited(**settings), limited(**settings, private=True)
    may, wrong = {"Authorization": f"Bearer {KEY}"}, {"Authorization": f"Bearer {OTHER}"}
    search = {"query": "moon"}
    for ask in (client.get, client.head):
        for address in (
            "/v1/indexes",
            "/",
            "/v1/english/search?query=moon",
            "/v1/english/documents/moon",
        ):
            assert [ask(address).status_code, ask(address, headers=may).status_code] == [200, 200]
            assert ask(address, headers=wrong).status_code == 401
            assert private.get(address).status_code == 401
    assert client.post("/v1/english/search", json=search).status_code == 200
    assert client.post("/", data=search).status_code == 303
    for method, address, more in (
        ("PUT", "/v1/english/documents/x", {"json": {"text": "x"}}),
        ("DELETE", "/v1/english/documents/x", {}),
        ("POST", "/v1/english/documents", {"json": [{"docid": "x", "text": "x"}]}),
        ("PUT", "/v1/aliases/english", {"json": {"index": "arabic"}}),
        ("GET", "/add", {}),
        (
            "POST",
            "/add",
            {
                "data": {"text": "x"},
                "headers": {"Sec-Fetch-Site": "same-origin", "Accept": "text/html"},
            },
        ),
    ):
        answer = client.open(address, method=method, **more)
        assert (answer.status_code, "Basic" in answer.headers["WWW-Authenticate"]) == (401, True), (
            method,
            address,
        )


def test_each_key_has_its_own_rate(limited: Limited) -> None:
    client = limited(keys={"newsroom": digest(KEY), "desk": digest(OTHER)}, per_minute=1)
    statuses = [
        client.get("/v1/indexes", headers={"Authorization": f"Bearer {key}"}).status_code
        for key in (KEY, KEY, OTHER)
    ]
    assert statuses == [200, 429, 200]


@pytest.mark.parametrize("more", [{}, {"writes": True}, {"writes": True, "private": True}])
def test_wrong_keys_count_towards_the_rate_of_their_address(
    limited: Limited, more: dict[str, bool]
) -> None:
    client = limited(keys={"newsroom": digest(KEY)}, per_minute=3, **more)

    def status(given: str, address: str, client: FlaskClient = client) -> int:
        headers = {"Authorization": given} if given.startswith("B") else {"X-API-Key": given}
        return client.get(
            "/v1/indexes", headers=headers, environ_overrides={"REMOTE_ADDR": address}
        ).status_code

    wrong = [f"Bearer {OTHER}", basic("me", "guess"), "guess", f"Bearer {OTHER}x", "another"]
    assert [status(given, "192.0.2.1") for given in wrong] == [401, 401, 401, 429, 429]
    assert status(f"Bearer {OTHER}", "192.0.2.2") == 401
    assert status(f"Bearer {KEY}", "192.0.2.1") == 200


def test_a_key_is_made_and_fits_the_configuration(capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    cli.register(parser.add_subparsers())
    assert run(parser, ["key", "newsroom"]) == 0
    out, err = capsys.readouterr()
    line = re.search(r"newsroom: ([0-9a-f]{64})$", err.rstrip())
    assert line
    assert digest(out.strip()) == line[1]
    assert len(out.strip()) > 40
    assert run(parser, ["key", "a b"]) == 2
    assert capsys.readouterr().err == (
        "factseek: 'a b' cannot be the name of a key; use up to 64 letters, digits, '.', '_' and "
        "'-'\n"
    )


@pytest.mark.parametrize(
    ("held", "what"),
    [
        (KEY, "is a key" if KEY.startswith("fs_") else "is not the hash of a key"),
        ("fs_0123456789", "is a key"),
        ("A" * 64, "is not the hash of a key"),
    ],
)
def test_a_key_that_is_no_hash_is_refused(tmp_path: Path, held: str, what: str) -> None:
    path = tmp_path / "config.yaml"
    path.write_text(f"server: {{keys: {{newsroom: {held}}}}}")
    with pytest.raises(ConfigError) as refused:
        read(path)
    assert refused.value.line == (
        f"{path}: server.keys.newsroom: {what}, but the configuration takes only hashes; factseek "
        "key newsroom --hash asks for the key and prints its line"
    )
    assert held not in refused.value.line


def test_the_hash_of_a_key_is_made(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = argparse.ArgumentParser()
    cli.register(parser.add_subparsers())
    monkeypatch.setattr("sys.stdin", io.StringIO(f"{KEY}\n"))
    assert run(parser, ["key", "newsroom", "--hash"]) == 0
    assert capsys.readouterr().out == f"newsroom: {digest(KEY)}\n"
    monkeypatch.setattr("sys.stdin", io.StringIO("\n"))
    assert run(parser, ["key", "newsroom", "--hash"]) == 2
    error = "factseek: there is no key on standard input; type or paste the key\n"
    assert capsys.readouterr().err == error


def test_what_was_not_asked_is_not_saved_up() -> None:
    rates = Rates()
    assert rates.wait("a", 3, now=1.0) == 0.0
    hour = 3_601.0
    assert [rates.wait("a", 3, now=hour) for _ in range(4)] == [0.0, 0.0, 0.0, pytest.approx(20.0)]


@given(st.integers(1, 600), st.lists(st.floats(0, 30), max_size=60))
def test_in_no_minute_more_than_twice_the_rate_is_answered(
    per_minute: int, pauses: list[float]
) -> None:
    rates, now, answered = Rates(), 1.0, []
    for pause in pauses:
        now += pause
        if not rates.wait("a", per_minute, now):
            answered.append(now)
    for begin in answered:
        assert sum(begin <= moment < begin + 60 for moment in answered) <= 2 * per_minute


def test_the_memory_is_bounded_and_the_oldest_gives_way() -> None:
    rates = Rates()
    for number in range(20_000):
        assert rates.wait(f"address {number}", 1, now=1.0 + number) == 0.0
    assert rates.wait("address 19999", 1, now=20_000.0) > 0.0
