"""The words of the page: those of its readers, not those of the field."""

import re
from html import unescape
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient

SEARCH = "/?index=english&query=measles+vaccine"
JARGON = re.compile(r"\b(Hybrid|Sparse|Dense|BM25|Collapse|ranker|en)\b")
LINK = "https://social.example/@somebody/1"


def seen(text: str) -> str:
    """Return what a person sees of the main part of a page, without tags and details."""
    main = re.sub(r"<details.*?</details>", "", text[text.index("<main") :], flags=re.DOTALL)
    return re.sub(r"<[^>]*>", " ", main)


@pytest.mark.parametrize(
    "address",
    [
        SEARCH,
        f"{SEARCH}&view=side",
        f"{SEARCH}&index=arabic",
        f"{SEARCH}&collapse=near&sort=date",
        "/check?index=english&text=Two+doses+work.",
        "/check?index=english&text=%D9%86%D9%87%D8%B1+%D8%A7%D9%84%D9%86%D9%8A%D9%84&lang=en",
        "/indexes?lang=en",
    ],
)
def test_no_word_of_the_field_comes_before_why_this(client: FlaskClient, address: str) -> None:
    shown = client.get(address)
    assert shown.status_code == 200
    assert JARGON.findall(seen(shown.text)) == []


def test_the_name_of_a_ranking_is_in_its_reasons(client: FlaskClient) -> None:
    text = client.get(SEARCH).text
    assert "Words: ranked number 1 <small>(the same words, <bdi>bm25</bdi>)</small>" in text


@pytest.mark.parametrize("address", ["/?query=", "/verify?claim=", "/check?text="])
def test_a_bare_link_asks_for_the_text_of_the_post(client: FlaskClient, address: str) -> None:
    shown = client.get(f"{address}{quote(LINK, safe='')}&index=english&lang=en")
    assert shown.status_code == 400
    reason = (
        "This is only a link, and factseek opens no links; paste the text of the post or of the "
        "page."
    )
    assert reason in shown.text
    arabic = client.get(f"{address}{quote(LINK, safe='')}&index=english&lang=ar").text
    assert "هذا رابط فقط، وfactseek لا يفتح الروابط" in arabic
    more = client.get(f"{address}{quote(f'Measles vaccine {LINK}', safe='')}&index=english")
    assert more.status_code == 200


def test_a_link_before_a_full_stop_is_followed_by_it(client: FlaskClient) -> None:
    shown = client.get(f"/?index=english&lang=en&query={quote('نهر النيل')}").text
    assert "This index is in another language." in shown
    assert re.search(r">arabic</(a|button)>\.", shown)


def test_the_indexes_are_a_page(client: FlaskClient) -> None:
    start = client.get("/?lang=en").text
    assert '<a href="/indexes?lang=en">Indexes</a>' in start
    shown = client.get("/indexes?lang=en").text
    for words in (
        '<a href="/?index=english&amp;lang=en"><bdi>english</bdi></a>',
        "Documents: 5",
        "Language: English",
        "Language: Arabic",
        "Finds the same words and the same meaning.",
    ):
        assert words in shown, words
    assert "اللغة: العربية" in client.get("/indexes?lang=ar").text


def test_a_document_is_cited_as_its_hit_is(client: FlaskClient) -> None:
    hits = client.get("/export?format=ris&index=english&query=measles+vaccine&hits=1")
    document = client.get("/documents/english/measles?lang=en").text
    assert "Cite" in document
    assert "“Measles vaccine.” who.example.org, 2019-05-02." in unescape(document)
    for line in hits.text.strip().splitlines():
        assert line.strip() in unescape(document), line
