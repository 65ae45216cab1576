"""The pages, as HTML that a parser reads."""

from html.parser import HTMLParser
from urllib.parse import quote, urljoin

import pytest
from flask.testing import FlaskClient

from factseek.server.page.routes import EXAMPLES

VOID = {"meta", "link", "img", "input", "br"}


class Page(HTMLParser):
    """Elements with their attributes, the text inside each, and whether tags are balanced."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self._texts: list[list[str]] = []
        self._open: list[int] = []
        self.feed(text)
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self._open.append(len(self.elements))
        self.elements.append((tag, dict(attrs)))
        self._texts.append([])

    def handle_endtag(self, tag: str) -> None:
        assert self.elements[self._open.pop()][0] == tag

    def handle_data(self, data: str) -> None:
        for number in self._open:
            self._texts[number].append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.elements if name == tag]

    def text_of(self, tag: str) -> list[str]:
        texts = zip(self.elements, self._texts, strict=True)
        return ["".join(pieces).strip() for (name, _), pieces in texts if name == tag]


def get(client: FlaskClient, address: str, status: int = 200) -> Page:
    response = client.get(address, headers={"Accept": "text/html"})
    assert response.status_code == status, response.text
    assert response.mimetype == "text/html"
    return Page(response.text)


def test_the_empty_page_asks_for_a_claim(client: FlaskClient) -> None:
    page = get(client, "/")
    assert [option["value"] for option in page.all("option")] == [
        "",
        "tweet",
        "",
        "bm25",
        "hybrid",
        "dense",
    ]
    form = page.all("form")[0]
    assert (form["method"], form["action"], form["role"]) == ("post", "/", "search")
    assert "section" in [tag for tag, _ in page.elements]


def test_the_page_without_bundled_indexes_has_no_examples(client: FlaskClient) -> None:
    assert all(claim not in client.get("/").text for _, claim in EXAMPLES)


def test_only_web_addresses_are_linked(client: FlaskClient) -> None:
    page = get(client, "/?index=english&query=measles")
    outside = {
        link["href"]: link["rel"]
        for link in page.all("a")
        if not str(link["href"]).startswith(("/", "#", "?"))
    }
    assert outside == {"https://who.example.org/measles": "noopener noreferrer nofollow"}


def test_the_page_takes_a_date(client: FlaskClient) -> None:
    page = get(client, "/?index=english&query=measles&as_of=2020-03")
    field = next(field for field in page.all("input") if field["name"] == "as_of")
    assert (field["type"], field["value"]) == ("text", "2020-03")
    assert set(page.text_of("time")) == {"2019-05-02", "1972-12-14"}
    day = get(client, "/?index=english&query=measles&as_of=2019-05-02")
    assert next(field for field in day.all("input") if field["name"] == "as_of")["type"] == "date"


def test_nothing_found_is_said(client: FlaskClient) -> None:
    page = client.get("/?index=english&query=measles&as_of=1900").text
    assert "Nothing found up to 1900, without undated documents." in page


def test_a_note_is_shown(client: FlaskClient) -> None:
    assert (
        "your text looks Arabic. Meaning search knows only English here; names and numbers"
        in client.get(f"/?index=english&query={quote('نهر النيل')}").text
    )


def test_a_tweet_is_read_as_one(client: FlaskClient) -> None:
    tweet = quote("RT @moon: #MeaslesVaccine https://t.co/moon")
    plain = get(client, f"/?index=english&query={tweet}")
    page = get(client, f"/?index=english&query={tweet}&profile=tweet")
    assert "moon" in plain.text_of("mark")
    assert {"measles", "vaccine"} <= set(page.text_of("mark"))
    assert "moon" not in page.text_of("mark")
    assert [option["value"] for option in page.all("option") if "selected" in option] == ["tweet"]
    link = next(
        str(a["href"])
        for a in page.all("a")
        if str(a["href"]).startswith("/documents/english/measles?")
    )
    document = get(client, link)
    assert {"measles", "vaccine"} <= set(document.text_of("mark"))
    assert any("profile=tweet" in str(a["href"]) for a in document.all("a"))


def test_every_hit_leads_to_its_document(client: FlaskClient) -> None:
    page = get(client, "/?index=english&query=sea+level&as_of=2022")
    links = [
        str(link["href"]) for link in page.all("a") if str(link["href"]).startswith("/documents/")
    ]
    assert links
    for link in links:
        document = get(client, link)
        back = [
            str(a["href"])
            for a in document.all("a")
            if str(a["href"]).startswith("/?") and "query" in str(a)
        ][1]
        assert urljoin("/", back) == "/?index=english&query=sea+level&as_of=2022"
        assert "block chosen" in [section["class"] for section in document.all("section")]
        shown = {text.lower() for text in document.text_of("mark")}
        assert shown <= {"sea", "level"}
        assert ("sea" in shown) == ("measles" not in link and "moon" not in link)


def test_a_document_that_is_not_there_is_a_page(client: FlaskClient) -> None:
    page = get(client, "/documents/english/none", 404)
    assert page.text_of("h1") == ["No such document"]


def links(page: Page, label: str) -> list[str]:
    hrefs = [attributes["href"] or "" for attributes in page.all("a")]
    return [href for href, text in zip(hrefs, page.text_of("a"), strict=True) if text == label]


def anchors(page: Page) -> list[str]:
    return [item["id"] or "" for item in page.all("li") if item.get("id")]


def test_facets_count_what_holds_a_word_and_narrow_by_a_link(client: FlaskClient) -> None:
    page = get(client, "/?index=english&query=measles+vaccine")
    assert "3 documents contain at least one of these words" in page.text_of("p")
    (narrower,) = links(page, "health")
    narrowed = get(client, narrower)
    assert anchors(narrowed) == ["hybrid-1"]
    assert "1 document contains at least one of these words" in narrowed.text_of("p")
    # The other values of the field stay, with what they would give, and the chip leads back.
    assert links(narrowed, "news")
    (wider,) = [
        a["href"] for a in narrowed.all("a") if a.get("aria-label") == "Remove “topic health”"
    ]
    assert anchors(get(client, str(wider))) == anchors(page)


def test_another_choice_begins_with_the_first_hits(client: FlaskClient) -> None:
    later = get(client, "/?index=english&query=measles+vaccine&offset=1")
    assert "hybrid-1" not in anchors(later)
    (narrower,) = links(later, "health")
    assert anchors(get(client, narrower)) == ["hybrid-1"]


def test_pages_follow_each_other_by_links(client: FlaskClient) -> None:
    first = get(client, "/?index=english&query=measles&filter=language%3Den&hits=2")
    (forward,) = links(first, "Next hits")
    second = get(client, forward)
    assert anchors(second) == ["hybrid-3", "hybrid-4"]
    assert links(second, "Previous hits")
    back = get(client, links(second, "Previous hits")[0])
    assert anchors(back) == anchors(first)
    last = get(client, links(second, "Next hits")[0])
    assert not links(last, "Next hits")


@pytest.mark.parametrize(
    ("parameters", "detail"),
    [
        (
            "k=3",
            "There is no parameter 'k' on this page; the parameters are index, query, like, as_of, "
            "since, undated, "
            "profile, filter, retriever, stages, collapse, sort, view, hits, offset, lang.",
        ),
        ("offset=x", "Offset: expected int, got str."),
        ("hits=51", "51 is out of range: ask for 1 to 50."),
        ("lang=fr", "'fr' is not a language of this page; the languages are en and ar."),
        ("offset=50", "50 is out of range: a page of this size begins after at most 40 hits."),
        (
            "filter=colour=red",
            "Filter 'colour=red': there is no field 'colour'; the fields are topic, source, "
            "language, kind.",
        ),
        ("query=again", "Query is given 2 times."),
    ],
)
def test_what_the_page_does_not_know_is_refused(
    client: FlaskClient, parameters: str, detail: str
) -> None:
    page = get(client, f"/?index=english&query=measles&{parameters}", 400)
    assert [text for text in page.text_of("p") if text == detail]


def test_a_document_page_refuses_what_it_does_not_know(client: FlaskClient) -> None:
    response = client.get("/documents/english/measles?k=3", headers={"Accept": "text/html"})
    assert response.status_code == 400
    assert "here is no parameter &#39;k&#39; on this page" in response.text
