"""The words of the page: those of its readers, not those of the field."""

import json
import re
from collections.abc import Iterator
from html import unescape
from pathlib import Path
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient

from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.search.index import Index
from factseek.server.app import create_app
from factseek.settings import Config

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
        "/verify?index=english&claim=measles+vaccine",
        "/verify?index=english&index=arabic&claim=measles+vaccine",
        "/verify?index=english&claim=Elon+Musk+bought+Twitter",  # nothing bears on it
        "/?index=english&query=The+measles+vaccine+contains+mercury+and+microchips",
        "/?index=english&query=La+vacuna+contra+el+sarampi%C3%B3n+no+es+segura&lang=en",
        "/verify?index=english&claim=La+vacuna+contra+el+sarampi%C3%B3n+no+es+segura&lang=en",
        "/documents/english/measles?lang=en",
        "/",
    ],
)
def test_no_word_of_the_field_comes_before_why_this(client: FlaskClient, address: str) -> None:
    shown = client.get(address)
    assert shown.status_code == 200
    assert JARGON.findall(seen(shown.text)) == []


def test_no_word_of_the_field_is_in_the_choices(client: FlaskClient) -> None:
    text = client.get(f"{SEARCH}&lang=en").text
    choices = text[text.index("<form") : text.index("<main")]
    assert "More choices" in choices
    assert JARGON.findall(re.sub(r"<[^>]*>", " ", choices)) == []


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


@pytest.mark.parametrize("address", ["/?query=", "/?view=side&query=", "/verify?claim="])
@pytest.mark.parametrize("language", ["en", "ar"])
def test_no_blank_comes_before_a_full_stop(
    client: FlaskClient, address: str, language: str
) -> None:
    for text in ("نهر النيل", "Elon Musk bought Twitter", "Measles vaccine contains microchips"):
        page = client.get(f"{address}{quote(text)}&index=english&lang={language}").text
        read = re.sub(r"<[^>]*>", "", re.sub(r"<textarea.*?</textarea>", "", page, flags=re.S))
        assert re.findall(r"\w+\s+[.،,](?!\w)", read) == []


@pytest.fixture
def two_topics(tmp_path: Path) -> Iterator[FlaskClient]:
    texts = {"health": "The vaccine of the Rockats. " * 4, "space": "Planets and rockets. " * 4}
    opened = {}
    for name, text in texts.items():
        source = tmp_path / f"{name}.jsonl"
        source.write_text(json.dumps({"docid": "1", "text": text}), "utf-8")
        folder = tmp_path / name
        build(BuildRequest(kind="jsonl", sources=(source,), folder=folder, dense=False), Config())
        opened[name] = Index(folder)
    yield create_app(Config(), opened).test_client()
    for index in opened.values():
        index.close()


@pytest.mark.parametrize(
    ("query", "meant"),
    [
        ("vacine planats", "vaccine planets"),  # one index knows the first, the other the second
        ("vacine of the rockats", "vaccine of the rockats"),  # one of them has this word
    ],
)
def test_words_that_different_indexes_know_are_mended_together(
    two_topics: FlaskClient, query: str, meant: str
) -> None:
    address = f"/?index=health&index=space&lang=en&query={quote(query)}"
    assert re.findall(r"Did you mean <a [^>]*><bdi>(.*?)</bdi>", two_topics.get(address).text) == [
        meant
    ]


def test_both_misspelt_words_are_mended(client: FlaskClient) -> None:
    page = client.get("/?index=english&query=measels+vacine&lang=en").text
    assert "measles vaccine</bdi>" in page


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
