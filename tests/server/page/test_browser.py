"""The pages in a real browser: what is seen, pressed and read aloud."""

from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.remote.webelement import WebElement
from selenium.webdriver.support.wait import WebDriverWait

from tests.server.conftest import KEY, writable

from .conftest import ARABIC, CLAIM, DOCUMENT, NARROW, PHONE, SEARCH, SIDE, WIDE, Browser, listening

pytestmark = pytest.mark.real


def test_a_claim_is_searched_for(browser: Browser) -> None:
    browser.open("/")
    box = browser.one("#query")
    assert browser.driver.switch_to.active_element == box
    box.send_keys(CLAIM, Keys.ENTER)
    assert browser.asked["query"] == [CLAIM]
    assert [heading.text.split("\n")[0] for heading in browser.all("h2")] == [
        "Words and meaning both together"
    ]
    assert "97" in [mark.text for mark in browser.all("#hybrid-1 mark")]
    assert browser.one("#query").get_attribute("value") == CLAIM


def test_arabic_is_read_from_the_right(browser: Browser) -> None:
    browser.open(ARABIC)
    assert browser.one("#query").value_of_css_property("direction") == "rtl"
    for selector in ("#bm25-1 article", "#bm25-1 .passage"):
        assert browser.one(selector).value_of_css_property("direction") == "rtl"
    rank, title = browser.one("#bm25-1 .rank").rect, browser.one("#bm25-1 h3 a").rect
    assert rank["x"] > title["x"]
    browser.one("#bm25-1 h3 a").click()
    assert browser.one(".text p").value_of_css_property("direction") == "rtl"


@pytest.mark.parametrize(
    "path", ["/", SEARCH, SIDE, ARABIC, DOCUMENT, "/docs", "/documents/example-en/none"]
)
def test_a_phone_needs_no_scrolling_sideways(browser: Browser, path: str) -> None:
    for size in (PHONE, NARROW):
        browser.size(size)
        browser.open(path)
        assert browser.script("document.documentElement.scrollWidth") <= size[0]
    browser.driver.get_log("browser")  # the page that is not there is reported as such


def test_the_keyboard_reaches_everything(browser: Browser) -> None:
    browser.open(SEARCH)
    reached = []
    for _ in range(12):
        webdriver.ActionChains(browser.driver).send_keys(Keys.TAB).perform()
        element = browser.driver.switch_to.active_element
        reached.append(
            element.get_attribute("class") or element.get_attribute("name") or element.text
        )
        ring = float(element.value_of_css_property("outline-width").removesuffix("px"))
        assert ring > 0 or element.get_attribute("id") == "query"  # the whole box shows it
    assert reached[:7] == ["skip", "brand", "Search", "Check", "Verify", "Add", "العربية"]
    assert reached[7:] == ["query", "Search", "index", "index", "since"]
    browser.open(SEARCH)
    webdriver.ActionChains(browser.driver).send_keys(Keys.TAB, Keys.ENTER).perform()
    assert browser.driver.current_url.endswith("#main")


@pytest.mark.parametrize("path", ["/", SEARCH, SIDE, ARABIC, DOCUMENT, "/docs"])
def test_every_reference_within_a_page_has_its_one_target(browser: Browser, path: str) -> None:
    browser.open(path)
    ids, wanted = browser.script(
        """[[...document.querySelectorAll('[id]')].map(one => one.id),
            [...document.querySelectorAll(
                '[aria-labelledby], [aria-describedby], label[for], a[href^="#"]'
            )].flatMap(
                one => [one.getAttribute('aria-labelledby'),
                        one.getAttribute('aria-describedby'), one.htmlFor,
                        one.hash && decodeURIComponent(one.hash.slice(1))].filter(Boolean))]"""
    )
    assert len(ids) == len(set(ids))
    assert set(wanted) <= set(ids)


STATES = {
    "start": "/",
    "list": SEARCH,
    "side by side": SIDE,
    "narrowed": (
        f"{SEARCH}&filter=topic%3Dhealth&since=2019&undated=keep&hits=2&stages=per_source%3D1"
    ),
    "several indexes": f"/?index=example-en&index=example-ar&query={quote('measles نهر')}",
    "the newest first, misspelt": "/?index=example-en&query=measels&sort=date",
    "more like this": "/?index=example-en&like=measles",
    "Arabic": ARABIC,
    "Arabic, side by side": f"{SIDE}&lang=ar",
    "nothing found": "/?index=example-en&query=measles&as_of=1900",
    "problem": f"/?index=example-en&query={quote('?!')}",
    "no page": "/nothing",
    "check": f"/check?text={quote('Two doses are 97 percent effective, a study found.')}",
    "check, empty": "/check",
    "verify": "/verify?index=example-en&claim="
    + quote("Two doses of the measles vaccine are effective."),
    "verify, no model": f"/verify?index=example-ar&claim={quote('نهر النيل')}",
    "add": "/add",
    "document": DOCUMENT,
    "reference": "/docs",
}


@pytest.mark.parametrize("state", STATES)
def test_nobody_is_shut_out(browser: Browser, axe: str, state: str) -> None:
    browser.open(STATES[state])
    open_all = "document.querySelectorAll('main details').forEach(one => { one.open = true; })"
    browser.driver.execute_script(open_all)
    browser.driver.get_log("browser")  # a page that is a problem is reported as such
    assert browser.violations(axe) == []
    browser.scheme("dark")
    browser.size(PHONE)
    assert browser.violations(axe) == []


TEXT = "Quokkas live on Rottnest Island, and eat leaves at night."


@pytest.fixture
def editor(chromium: webdriver.Chrome, live: Path) -> Iterator[Browser]:
    with writable(live) as serving, listening(serving.app) as port:
        chromium.get(f"http://editor:{KEY}@127.0.0.1:{port}/key?to=/add")
        editor = Browser(chromium, f"http://127.0.0.1:{port}")
        editor.size(WIDE)
        editor.scheme("light")
        chromium.get_log("browser")
        yield editor
        complaints = [
            entry["message"] for entry in chromium.get_log("browser") if entry["level"] == "SEVERE"
        ]
        assert [message for message in complaints if "400" not in message] == []


def press(editor: Browser, act: str) -> None:
    follow(editor, editor.one(f"button[value={act}]"))


def follow(editor: Browser, element: WebElement) -> None:
    """Press what leads to another page, and wait until that has been read whole.

    The page that is left carries a mark, for which the driver is asked: to ask it for an element of
    a page that is just going fails in more than one way.
    """
    editor.script("document.documentElement.dataset.leaving = 'yes'")
    click(editor, element)
    arrived = (
        "document.readyState === 'complete' && !('leaving' in document.documentElement.dataset)"
    )
    WebDriverWait(editor.driver, 60, ignored_exceptions=(WebDriverException,)).until(
        lambda _: editor.script(arrived)
    )


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
    assert (
        editor.one("[role=status]").text
        == "The document was added to live. The next search finds it."
    )
    search = editor.all(".go a")[1]
    assert search.text == "Search for it"
    follow(editor, search)
    assert editor.asked["query"] == ["Quokkas"]
    card = editor.one("#bm25-1")
    assert card.find_element("css selector", "h3 a").text == "Quokkas"
    assert "zoo.example.org" in card.text
    follow(editor, card.find_element("css selector", "h3 a"))
    assert TEXT in editor.one("main").text
