"""The tab Add in a real browser: an editor with a key adds documents through the page, and finds them again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from tests.server.conftest import KEY, writable

from .conftest import WIDE, Browser, listening

pytestmark = pytest.mark.real
TEXT = "Quokkas live on Rottnest Island, and eat leaves at night."


@pytest.fixture
def editor(chromium: webdriver.Chrome, live: Path) -> Iterator[Browser]:
    """The browser of an editor, who typed the key when the browser asked for a password."""
    with writable(live) as serving, listening(serving.app) as port:
        chromium.get(f"http://editor:{KEY}@127.0.0.1:{port}/add")
        editor = Browser(chromium, f"http://127.0.0.1:{port}")
        editor.size(WIDE)
        editor.scheme("light")
        chromium.get_log("browser")
        yield editor
        complaints = [entry["message"] for entry in chromium.get_log("browser") if entry["level"] == "SEVERE"]
        assert [message for message in complaints if "400" not in message] == []


def press(editor: Browser, act: str) -> None:
    follow(editor, editor.one(f"button[value={act}]"))


def follow(editor: Browser, element: WebElement) -> None:
    """Press what leads to another page, and wait until that has been read whole.

    The page that is left carries a mark, for which the driver is asked: to ask it for an element of a page that is
    just going fails in more than one way.
    """
    editor.script("document.documentElement.dataset.leaving = 'yes'")
    click(editor, element)
    arrived = "document.readyState === 'complete' && !('leaving' in document.documentElement.dataset)"
    WebDriverWait(editor.driver, 60, ignored_exceptions=(WebDriverException,)).until(lambda _: editor.script(arrived))


def click(editor: Browser, element: WebElement) -> None:
    editor.script("arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})", element)
    element.click()


def write(editor: Browser, name: str, text: str) -> None:
    field = editor.one(f"form.own [name={name}]")
    field.clear()
    field.send_keys(text)


def test_a_text_is_looked_at_mended_added_and_found(editor: Browser) -> None:
    editor.open("/add?lang=en")
    write(editor, "text", TEXT)
    press(editor, "preview")
    assert [passage.text for passage in editor.all(".preview .passage")] == [TEXT]
    write(editor, "title", "Quokkas")
    write(editor, "url", "https://zoo.example.org/quokkas")
    write(editor, "docid", "quokkas")
    press(editor, "add")
    assert editor.one("[role=status]").text == "The document was added to live. The next search finds it."
    search = editor.all(".go a")[1]
    assert search.text == "Search for it"
    follow(editor, search)
    assert editor.asked["query"] == ["Quokkas"]
    card = editor.one("#bm25-1")
    assert card.find_element("css selector", "h3 a").text == "Quokkas"
    assert "zoo.example.org" in card.text
    follow(editor, card.find_element("css selector", "h3 a"))
    assert TEXT in editor.one("main").text


def test_a_saved_page_is_added_once(editor: Browser, root: Path) -> None:
    page = root / "examples" / "pages-en" / "en-vaccines-measles.html"
    for again in (False, True):
        editor.open("/add?lang=en")
        editor.one("input[type=file]").send_keys(str(page))
        press(editor, "preview")
        assert editor.one("[name=title]").get_attribute("value") == "Why measles comes back when vaccination slips"
        press(editor, "add")
        if not again:
            assert editor.one("[role=status]").text.startswith("The document was added to live")
    assert "already; call this one otherwise, or tick to replace it" in editor.one("main").text
    click(editor, editor.one("input[name=replace]"))
    press(editor, "add")
    assert editor.one("[role=status]").text.startswith("The document was added to live")
    follow(editor, editor.all(".go a")[1])
    assert editor.one("#bm25-1 h3 a").text == "Why measles comes back when vaccination slips"


def test_without_the_key_nothing_is_shown(chromium: webdriver.Chrome, live: Path) -> None:
    with writable(live) as serving:
        assert serving.app.test_client().get("/add").status_code == 401
        with listening(serving.app) as port:
            chromium.get(f"http://editor:another@127.0.0.1:{port}/add")
            assert "form" not in chromium.page_source
    chromium.get_log("browser")
