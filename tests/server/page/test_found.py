"""What a fact-checker found: under each hit, on the page of the document, and in citations."""

import json
import re
from html import unescape
from pathlib import Path
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient

from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.search.index import Index
from factseek.server.app import create_app
from factseek.settings import Config

from .test_page import get

CLAIM = "Wind turbines kill all the birds."
BEGINNING = (
    "Cats and windows kill a thousand times as many of them, as twelve surveys in Europe say."
)
END = "The last survey is the one that counted the fewest."
FOUND = " ".join([BEGINNING, *["Each survey counted for a whole year."] * 8, END])
HERONS = "Herons build nests of clay. They feed on honey alone. They sleep for most of the year."
REVIEWS = [
    {
        "@type": "ClaimReview",
        "url": "https://checks.example.org/turbines",
        "claimReviewed": CLAIM,
        "headline": "No, cats kill more",
        "datePublished": "2024-03-05",
        "inLanguage": "en",
        "author": {"@type": "Organization", "name": "Bird Desk"},
        "reviewRating": {"alternateName": "False", "ratingExplanation": FOUND},
    },
    {
        "@type": "ClaimReview",
        "url": "https://checks.example.org/herons",
        "claimReviewed": HERONS,
        "headline": "Where herons live",
        "datePublished": "2023-01-02",
        "inLanguage": "en",
        "author": {"@type": "Organization", "name": "Bird Desk"},
        "reviewRating": {"alternateName": "Wrong"},
    },
    {
        "@type": "ClaimReview",
        "url": "https://checks.example.org/owls",
        "claimReviewed": "Owls turn their heads around completely.",
        "headline": "How far owls look",
        "datePublished": "2022-07-01",
        "inLanguage": "en",
        "author": {"@type": "Organization", "name": "Bird Desk"},
        "reviewBody": "They turn them by 270 degrees.",
    },
]
DESK = {
    "docid": "bats",
    "title": "Bats see",
    "text": "Bats and turbines are blind.",
    "rating": "Falsch",
    "publisher": "Night Desk",
    "date": "2021-06-07",
    "explanation": FOUND,
}


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory, indexes: dict[str, Index]) -> FlaskClient:
    root = tmp_path_factory.mktemp("found")
    (root / "reviews.json").write_text(json.dumps(REVIEWS), "utf-8")
    (root / "desk.jsonl").write_text(json.dumps(DESK) + "\n", "utf-8")
    opened = {}
    for name, kind, file in (
        ("reviews", "claimreview", "reviews.json"),
        ("desk", "jsonl", "desk.jsonl"),
    ):
        build(BuildRequest(kind=kind, sources=(root / file,), folder=root / name), Config())
        opened[name] = Index(root / name)
    served = {**opened, "arabic": indexes["arabic"]}
    yield create_app(Config(), served, judged_by={}).test_client()
    for index in opened.values():
        index.close()


def read(text: str) -> str:
    """Return what a person reads of a page, without what opens by a press."""
    text = re.sub(r"<details.*?</details>", "", text, flags=re.DOTALL)
    text = re.sub(r"</?(mark|bdi)\b[^>]*>", "", text)
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())


def cards(client: FlaskClient, address: str, headline: str) -> list[str]:
    """Return what is read of the hits with a headline."""
    response = client.get(f"{address}&lang=en")
    assert response.status_code == 200
    articles = re.findall(r"<article.*?</article>", response.text, re.DOTALL)
    return [card for card in map(read, articles) if headline in card]


@pytest.mark.parametrize(
    "view",
    [
        "index=reviews",
        "index=reviews&view=side",
        "index=reviews&index=arabic",
        "index=reviews&index=arabic&view=side",
    ],
)
def test_the_beginning_of_what_was_found_is_under_a_hit(client: FlaskClient, view: str) -> None:
    hits = cards(client, f"/?{view}&query={quote(CLAIM)}", "No, cats kill more")
    assert hits
    for card in hits:
        shown = card[card.index("What was found") :].removeprefix("What was found ")
        beginning = shown[: shown.index(" …")]
        assert FOUND.startswith(f"{beginning} ")
        assert 280 <= len(beginning) <= 300
        assert "Read the rest" in shown
        assert "by Bird Desk, 2024-03-05" in shown


def test_a_short_finding_has_no_rest(client: FlaskClient) -> None:
    (card,) = cards(client, "/?index=reviews&query=owls", "How far owls look")
    assert "They turn them by 270 degrees." in card
    assert "Read the rest" not in card


def test_a_fact_check_without_a_rating_has_its_publisher_and_date(client: FlaskClient) -> None:
    (card,) = cards(client, "/?index=reviews&query=owls", "How far owls look")
    assert "Not rated by Bird Desk, 2022-07-01" in card


def test_a_hit_in_the_finding_shows_its_beginning_too(client: FlaskClient) -> None:
    query = "The last survey counted the fewest"
    address = f"/?index=reviews&retriever=bm25&query={quote(query)}"
    (card,) = cards(client, address, "No, cats kill more")
    assert END in card
    assert f"Claim {CLAIM}" in card
    assert f"What was found {BEGINNING}" in card
    assert card.index("What was found") < card.index("Claim ")


def test_the_arabic_page_says_what_was_found_in_arabic(client: FlaskClient) -> None:
    page = client.get(f"/?index=reviews&query={quote(CLAIM)}&lang=ar").text
    assert '<p class="beside" dir="rtl"><span>ما تبيّن</span> <bdi lang="en">Cats and' in page
    assert ">اقرأ البقية<" in page
    assert "<bdi>Bird Desk</bdi>، <time" in page


def test_a_rating_does_not_seem_to_be_one_of_the_sentence(client: FlaskClient) -> None:
    rated = "Rated False by Bird Desk, 2024-03-05"
    found = read(client.get(f"/verify?index=reviews&claim={quote(BEGINNING)}&lang=en").text)
    assert f"What was found {BEGINNING} Claim {CLAIM} {rated}" in found
    claims = read(client.get(f"/verify?index=reviews&claim={quote(CLAIM)}&lang=en").text)
    assert f"Claim {CLAIM} {rated}" in claims


def test_a_sentence_of_another_rated_thing_is_no_claim(tmp_path: Path) -> None:
    film = {"docid": "film", "text": "A heron lives in a castle.", "rating": "PG-13"}
    (tmp_path / "film.jsonl").write_text(json.dumps(film), "utf-8")
    source, folder = tmp_path / "film.jsonl", tmp_path / "films"
    build(BuildRequest(kind="jsonl", sources=(source,), folder=folder, dense=False), Config())
    with Index(folder) as index:
        films = create_app(Config(), {"films": index}, judged_by={}).test_client()
        page = read(films.get("/verify?claim=A+heron+lives+in+a+castle&lang=en").text)
    assert "they take. A heron lives in a castle. Rated PG-13" in page


def test_a_claim_does_not_lead_to_what_was_found(client: FlaskClient) -> None:
    page = read(client.get("/verify?index=reviews&claim=They+turn+them+by+270+degrees").text)
    found = page[page.index("What was found They") :]
    assert found.startswith(
        "What was found They turn them by 270 degrees. "
        "Claim Owls turn their heads around completely. Not rated by Bird Desk, 2022-07-01"
    )


@pytest.mark.parametrize("index", ["reviews", "desk"])
def test_the_rest_is_on_the_page_of_the_document(client: FlaskClient, index: str) -> None:
    query = "turbines"
    page = get(client, f"/?index={index}&retriever=bm25&query={query}&lang=en")
    (rest,) = [str(link["href"]) for link in page.all("a") if str(link["href"]).endswith("#found")]
    text = client.get(rest).text
    assert text.count('id="found"') == 1
    assert END in read(text[text.index('id="found"') :])
    assert read(text).count(END) == 1


def citation_of(client: FlaskClient, address: str) -> tuple[str, str]:
    """Return the first plain citation of a page, and the first record of RIS."""
    text = client.get(address).text
    boxes = re.findall(r"<textarea[^>]*readonly[^>]*>\n(.*?)</textarea>", text, re.DOTALL)
    plain, ris, *_ = map(unescape, boxes)
    return plain, ris


@pytest.mark.parametrize(
    ("address", "cited"),
    [
        (f"/?index=reviews&query={quote(BEGINNING)}", f"Fact check (False): “{CLAIM}”"),
        (f"/verify?index=reviews&claim={quote(BEGINNING)}", f"Fact check (False): “{CLAIM}”"),
        ("/verify?index=reviews&claim=Herons+feed+on+honey", f"Fact check (Wrong): “{HERONS}”"),
        (
            f"/documents/reviews/{quote(str(REVIEWS[0]['url']), safe='')}",
            f"Fact check (False): “{CLAIM}”",
        ),
        ("/documents/desk/bats", "Fact check (Falsch): “Bats and turbines are blind.”"),
    ],
)
def test_a_fact_check_is_cited_as_one_wherever_it_is_shown(
    client: FlaskClient, address: str, cited: str
) -> None:
    plain, ris = citation_of(client, address)
    assert plain.startswith(f"{cited}. ")
    assert f"TI  - {cited}" in ris


@pytest.mark.parametrize(
    ("format", "title"),
    [
        ("ris", "TI  - Fact check (False): “{}”"),
        ("bibtex", "title = {{{{Fact check (False): “{}”}}}}"),
        ("jsonld", '"name":"Fact check (False): “{}”"'),
    ],
)
def test_each_file_of_citations_says_that_it_is_a_fact_check(
    client: FlaskClient, format: str, title: str
) -> None:
    for path, field in (("/export", "query"), ("/verify/export", "claim")):
        address = f"{path}?index=reviews&format={format}&{field}={quote(BEGINNING)}"
        assert title.format(CLAIM) in client.get(address).text
