"""A page that needs a key asks for it in a form; without script, the browser asks in its own
dialogue.
"""

import base64
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient
from selenium import webdriver

from factseek.retrieval.search.index import Index
from factseek.server.app import create_app
from factseek.server.auth import digest
from factseek.server.settings import ServerSettings
from factseek.settings import Config

from ..conftest import KEY, writable
from .conftest import WIDE, Browser, listening
from .test_browser import click, write

PAGE = {"Accept": "text/html,*/*;q=0.8"}
FORM = "Only people with a key can see this page."


@pytest.fixture
def private(indexes: dict[str, Index]) -> FlaskClient:
    """A server that answers only those with a key."""
    config = Config(server=ServerSettings(keys={"tests": digest(KEY)}))
    return create_app(config, {"english": indexes["english"]}).test_client()


def basic(key: str) -> dict[str, str]:
    return {"Authorization": f"Basic {base64.b64encode(f'any:{key}'.encode()).decode()}"}


@pytest.mark.parametrize("address", ["/", "/?query=measles", "/documents/english/moon", "/add"])
def test_a_form_asks_in_plain_words(private: FlaskClient, address: str) -> None:
    asked = private.get(address, headers=PAGE)
    assert asked.status_code == 401
    # With this challenge alone, no browser opens a dialogue over the form.
    assert asked.headers["WWW-Authenticate"] == 'Bearer realm="factseek"'
    assert FORM in asked.text
    assert "english" not in asked.text.replace(quote(address), "").replace(address, "")


def test_without_script_the_browser_asks(private: FlaskClient) -> None:
    asked = private.get("/?query=old%20moon", headers=PAGE).text
    other = "/key?to=/?query%3Dold%2520moon"
    assert f'<noscript><meta http-equiv="refresh" content="0; url={other}"></noscript>' in asked
    challenge = private.get(other, headers=PAGE)
    assert challenge.status_code == 401
    assert challenge.headers["WWW-Authenticate"].startswith("Basic ")
    answer = private.get(other, headers={**PAGE, **basic(KEY)})
    assert (answer.status_code, answer.location) == (303, "/?query=old%20moon")
    # A browser that sends a wrong key by itself asks again.
    wrong = private.get("/", headers={**PAGE, **basic("fs_wrong")})
    assert wrong.headers["WWW-Authenticate"].startswith("Basic ")


@pytest.mark.parametrize(
    "elsewhere", ["//evil.example", "https://evil.example/", "/\\evil.example", "/\t/evil", ""]
)
def test_a_key_leads_only_to_this_server(private: FlaskClient, elsewhere: str) -> None:
    answer = private.get(f"/key?to={quote(elsewhere, safe='')}", headers=basic(KEY))
    assert (answer.status_code, answer.location) == (303, "/")


def test_programs_are_told_both_ways(private: FlaskClient) -> None:
    for address in ("/v1/indexes", "/"):
        asked = private.get(address)
        assert asked.headers["WWW-Authenticate"].startswith("Basic ")
        assert asked.headers["WWW-Authenticate"].endswith(', Bearer realm="factseek"')


def test_the_script_may_ask_only_this_server(private: FlaskClient, client: FlaskClient) -> None:
    policy = "Content-Security-Policy"
    without_keys = client.get("/").headers[policy]
    assert private.get("/").headers[policy] == f"{without_keys}; connect-src 'self'"


@pytest.fixture
def visitor(chromium: webdriver.Chrome, live: Path) -> Iterator[Browser]:
    """A browser before a server that answers only those with a key; it has none yet."""
    with writable(live, private=True) as serving, listening(serving.app) as port:
        visitor = Browser(chromium, f"http://localhost:{port}")
        visitor.size(WIDE)
        yield visitor


def wait_for(visitor: Browser, words: str) -> None:
    from selenium.webdriver.support.wait import WebDriverWait

    WebDriverWait(visitor.driver, 60).until(
        lambda _: words in visitor.script("document.body.innerText"), words
    )


def give(visitor: Browser, key: str) -> None:
    visitor.one("[name=key]").send_keys(f"{key}\n")


@pytest.mark.real
def test_a_key_that_was_typed_stays_in_the_tab(visitor: Browser, axe: str) -> None:
    visitor.open("/add?lang=en")
    wait_for(visitor, FORM)
    assert visitor.violations(axe) == []
    give(visitor, "fs_wrong")
    wait_for(visitor, "This server does not know this key.")
    give(visitor, KEY)
    wait_for(visitor, "Add a document")
    write(visitor, "text", "Quokkas live on Rottnest Island.")
    click(visitor, visitor.one("button[value=preview]"))
    wait_for(visitor, "What will be added")
    click(visitor, visitor.one("button[value=add]"))
    wait_for(visitor, "The document was added to live.")
    click(visitor, visitor.one(".go a"))
    wait_for(visitor, "with the key tests")
    for link, heading in (("Edit", "Edit the document"), ("Delete", "Delete the document")):
        click(visitor, visitor.driver.find_element("link text", link))
        wait_for(visitor, heading)
        assert visitor.violations(axe) == []
        visitor.driver.back()
        wait_for(visitor, "with the key tests")
    # The browser loads the page itself, and the script gets it again with the key.
    visitor.driver.refresh()
    wait_for(visitor, "with the key tests")
    visitor.driver.back()
    wait_for(visitor, "Add a document")
    addresses = visitor.script("performance.getEntriesByType('resource').map(each => each.name)")
    assert not any(KEY in each for each in [*addresses, visitor.driver.current_url])
    click(visitor, visitor.one("[data-forget] button"))
    wait_for(visitor, FORM)
    assert visitor.script("sessionStorage.length") == 0
