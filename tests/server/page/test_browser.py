"""The pages in a real browser: what is seen, pressed and read aloud."""

from __future__ import annotations

from urllib.parse import quote, urlsplit
from urllib.request import urlopen

import pytest
from selenium import webdriver
from selenium.common.exceptions import WebDriverException
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from factseek.server.page.routes import EXAMPLES

from .conftest import ARABIC, CLAIM, DOCUMENT, NARROW, PHONE, SEARCH, SIDE, Browser

pytestmark = pytest.mark.real


def test_a_claim_is_searched_for(browser: Browser) -> None:
    browser.open("/")
    box = browser.one("#query")
    assert browser.driver.switch_to.active_element == box
    box.send_keys(CLAIM, Keys.ENTER)
    assert browser.asked["query"] == [CLAIM]
    assert [heading.text.split("\n")[0] for heading in browser.all("h2")] == ["Hybrid words and meaning together"]
    assert "97" in [mark.text for mark in browser.all("#hybrid-1 mark")]
    assert browser.one("#query").get_attribute("value") == CLAIM


def test_an_example_is_one_press_away(browser: Browser) -> None:
    browser.open("/")
    assert [link.text for link in browser.all(".examples a")] == [example.claim for example in EXAMPLES]
    browser.one(".examples a").click()
    assert browser.asked["query"] == [EXAMPLES[0].claim]
    assert browser.one("#hybrid-1 .passage").text.startswith("Two doses of the measles vaccine")


def test_columns_stand_beside_each_other(browser: Browser) -> None:
    browser.open(SIDE)
    columns = [browser.one(f"#{name}").rect for name in ("bm25", "hybrid", "dense")]
    assert columns[0]["x"] + columns[0]["width"] < columns[1]["x"] < columns[2]["x"]
    assert len({column["y"] for column in columns}) == 1


def test_a_document_is_opened_and_left(browser: Browser) -> None:
    browser.open(SEARCH)
    browser.one("#hybrid-1 h3 a").click()
    assert urlsplit(browser.driver.current_url).path == "/documents/example-en/measles"
    assert urlsplit(browser.driver.current_url).fragment == "passage-0"
    assert browser.one("h1").text == "Measles vaccine"
    assert {"measles", "vaccine"} <= {mark.text.lower() for mark in browser.all(".text mark")}
    browser.driver.back()
    assert browser.asked["query"] == [CLAIM]
    assert browser.all("#hybrid-1")
    browser.one("#hybrid-1 h3 a").click()
    browser.one(".back a").click()
    assert browser.asked == {"index": ["example-en"], "query": [CLAIM]}


def test_arabic_is_read_from_the_right(browser: Browser) -> None:
    browser.open(ARABIC)
    assert browser.one("#query").value_of_css_property("direction") == "rtl"
    for selector in ("#bm25-1 article", "#bm25-1 .passage"):
        assert browser.one(selector).value_of_css_property("direction") == "rtl"
    rank, title = browser.one("#bm25-1 .rank").rect, browser.one("#bm25-1 h3 a").rect
    assert rank["x"] > title["x"]
    browser.one("#bm25-1 h3 a").click()
    assert browser.one(".text p").value_of_css_property("direction") == "rtl"


@pytest.mark.parametrize("path", ["/", SEARCH, SIDE, ARABIC, DOCUMENT, "/docs", "/documents/example-en/none"])
def test_a_phone_needs_no_scrolling_sideways(browser: Browser, path: str) -> None:
    for size in (PHONE, NARROW):
        browser.size(size)
        browser.open(path)
        assert browser.script("document.documentElement.scrollWidth") <= size[0]
    browser.driver.get_log("browser")  # the page that is not there is reported as such


def test_a_phone_shows_one_ranking_below_the_other(browser: Browser) -> None:
    browser.size(PHONE)
    browser.open(SIDE)
    assert len({browser.one(f"#{name}").rect["x"] for name in ("bm25", "hybrid", "dense")}) == 1
    assert browser.one("#hybrid").rect["y"] < browser.one("#bm25").rect["y"] < browser.one("#dense").rect["y"]
    assert [link.text for link in browser.all(".jump a")] == ["Hybrid", "Sparse", "Dense"]
    browser.all(".jump a")[2].click()
    top = browser.script("document.querySelector('#dense h2').getBoundingClientRect().top")
    assert 0 < top < PHONE[1] / 2


def test_a_query_is_never_run(browser: Browser) -> None:
    query = "<script>document.title='hacked'</script><img src=x onerror=\"document.title='hacked'\"> measles"
    browser.open(f"/?index=example-en&query={quote(query)}")
    assert browser.driver.title == f"{query} · factseek"
    assert browser.one("#query").get_attribute("value") == query
    assert browser.all("script:not([src]), img[src=x]") == []
    browser.open("/documents/example-en/moon")
    assert browser.all("script:not([src]), .text b") == []


def test_the_keyboard_reaches_everything(browser: Browser) -> None:
    browser.open(SEARCH)
    reached = []
    for _ in range(12):
        webdriver.ActionChains(browser.driver).send_keys(Keys.TAB).perform()
        element = browser.driver.switch_to.active_element
        reached.append(element.get_attribute("class") or element.get_attribute("name") or element.text)
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
    ids = browser.script("[...document.querySelectorAll('[id]')].map(one => one.id)")
    assert len(ids) == len(set(ids))
    wanted = browser.script(
        """[...document.querySelectorAll('[aria-labelledby], [aria-describedby], label[for], a[href^="#"]')].flatMap(
            one => [one.getAttribute('aria-labelledby'), one.getAttribute('aria-describedby'), one.htmlFor,
                    one.hash && decodeURIComponent(one.hash.slice(1))].filter(Boolean))"""
    )
    assert set(wanted) <= set(ids)


def test_dark_is_dark(browser: Browser) -> None:
    browser.scheme("dark")
    browser.open("/")
    colour = browser.one("body").value_of_css_property("background-color")
    assert max(int(part) for part in colour.removeprefix("rgba(").removesuffix(")").split(", ")[:3]) < 60


def test_evidence_is_found_narrowed_understood_cited_and_taken_away(browser: Browser) -> None:
    browser.open("/")
    browser.one(".examples a").click()
    next(link for link in browser.all(".facets a") if link.text == "health").click()
    assert browser.asked["filter"] == ["topic=health"]
    assert "health" in browser.one(".chips a").text
    browser.one("#hybrid-1 .why summary").click()
    assert "The passage contains these words of the claim" in browser.one("#hybrid-1 .why").text
    browser.one("#hybrid-1 .cite summary").click()
    citation = "“Measles vaccine.” example data of factseek, 2019-05-02. http://127.0.0.1"
    assert str(browser.one("#hybrid-1-plain").get_attribute("value")).startswith(citation)
    browser.one(".export summary").click()
    table = browser.all(".export a")[0]
    with urlopen(table.get_attribute("href") or "", timeout=60) as answer:
        rows = answer.read().decode()
    assert [row.split(",")[1] for row in rows.splitlines()] == ["docid", "measles"]


def test_what_is_opened_has_room_where_rankings_stand_side_by_side(browser: Browser) -> None:
    browser.open(SIDE)
    for part in (".why", ".cite"):
        browser.one(f"#hybrid-1 {part} summary").click()
    words = "[...document.querySelectorAll('#hybrid-1 .weights bdi')]"
    assert browser.script(f"{words}.every(word => word.getClientRects().length === 1)")
    card = browser.one("#hybrid-1 article").size["width"]
    assert browser.one("#hybrid-1-plain").size["width"] > card / 2
    assert browser.script("document.body.scrollHeight") < 20_000


def test_controls_look_alike_as_links_and_as_buttons(browser: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    """A query that is too long for an address is sent by forms."""
    looks = []
    for longest in (2_000, 30):
        monkeypatch.setattr("factseek.server.page.layout.LONGEST_ADDRESS", longest)
        browser.open("/")
        browser.one("#query").send_keys("measles vaccine")
        browser.one(".box button").click()
        WebDriverWait(browser.driver, 60, ignored_exceptions=(WebDriverException,)).until(
            lambda _: browser.script("document.readyState === 'complete' && document.querySelector('.switch') !== null")
        )
        looks.append(
            [
                [each.value_of_css_property(name) for name in ("padding", "text-decoration-line")]
                for each in browser.all(".switch > *")
            ]
        )
    assert browser.all(".switch > button")
    assert looks[0] == looks[1]


def test_a_tweet_leads_to_its_evidence_and_its_verdict(browser: Browser) -> None:
    browser.open("/check")
    browser.one("#text").send_keys("Good morning!\n", CLAIM)
    browser.one(".box button").click()
    first = browser.one("#claim-1")
    assert CLAIM in first.text
    first.find_elements("css selector", ".go a")[0].click()
    assert browser.one("#hybrid-1 .passage").text.startswith("Two doses of the measles vaccine")
    browser.driver.back()
    browser.all("#claim-1 .go a")[1].click()
    assert browser.one("#claim").get_attribute("value") == CLAIM
    assert "A program drafted this; a person decides." in browser.one(".verdict").text
    assert "about 97 percent effective" in browser.one(".stance .passage").text
