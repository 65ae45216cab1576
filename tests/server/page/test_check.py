"""The tab Check reads along: fact-checks of the same claims, the order of a text, and files."""

import csv
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient

from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.search.index import Index
from factseek.server.api.rankers import ServedRanker
from factseek.server.app import create_app
from factseek.settings import Config

from .test_page import get

CHECKED = "The MMR jab causes autism and they have known it for years."
REVIEW = "https://health-check.example.org/mmr-autism"
TRANSCRIPT = (
    "[00:01:02] Moderator: Welcome to the debate.\n"
    f"[00:01:05] Smith: {CHECKED}\n"
    "[00:01:09] Moderator: Is that so?\n"
    "[00:01:12] Smith: In 2019 the number of cases fell by 40 percent.\n"
)


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory, examples: Path) -> Iterator[Index]:
    folder = tmp_path_factory.mktemp("reviews") / "index"
    source = examples / "reviews-en.json"
    build(BuildRequest(kind="claimreview", sources=(source,), folder=folder), Config())
    with Index(folder, Config()) as index:
        yield index


@pytest.fixture
def client(
    reviews: Index, indexes: dict[str, Index], config: Config, rankers: dict[str, ServedRanker]
) -> FlaskClient:
    served = {"english": indexes["english"], "reviews": reviews}
    return create_app(config, served, ranked_by=rankers, judged_by={}).test_client()


def ranked(client: FlaskClient, *texts: str, **options: object) -> list[dict[str, object]]:
    claims = [{"id": str(number), "text": text} for number, text in enumerate(texts, 1)]
    answer = client.post("/v1/claims/rank", json={"claims": claims, **options})
    assert answer.status_code == 200, answer.text
    by_id: list[dict[str, object]] = sorted(answer.json["claims"], key=lambda claim: claim["id"])
    return by_id


def test_a_ranked_claim_has_its_fact_check(client: FlaskClient) -> None:
    checked, greeting = ranked(client, CHECKED, "Good morning everybody!")
    review = checked["checked_before"]
    assert isinstance(review, dict)
    assert (review["index"], review["docid"], review["url"]) == ("reviews", REVIEW, REVIEW)
    assert (review["rating"], review["publisher"]) == ("False", "Health Check Desk")
    assert greeting["checked_before"] is None


def test_a_client_may_leave_the_fact_checks_out(client: FlaskClient) -> None:
    (claim,) = ranked(client, CHECKED, checked=False)
    assert claim["checked_before"] is None


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("El paro bajó un 3 por ciento en el último año", "es"),
        ("Le chômage a baissé de 3 pour cent l'année dernière", "fr"),
        ("Die Arbeitslosigkeit sank im letzten Jahr um 3 Prozent", "de"),
        ("İşsizlik geçen yıl yüzde 3 azaldı", "tr"),
    ],
)
def test_a_language_that_the_ranker_has_not_learned_gets_no_percentage(
    client: FlaskClient, text: str, language: str
) -> None:
    (claim,) = ranked(client, text)
    assert claim["probability"] is None
    assert claim["note"] == f"the text is in {language}, but the ranker learned from en"
    page = get(client, f"/check?text={quote(text)}")
    assert not any("%" in said for said in page.text_of("p"))
    assert "score" not in " ".join(page.text_of("p"))


def test_the_page_shows_the_fact_check_with_its_claim_and_link(client: FlaskClient) -> None:
    page = get(client, f"/check?text={quote(CHECKED)}")
    (said,) = [text for text in page.text_of("p") if text.startswith("Checked before:")]
    said = " ".join(said.split())
    assert said.startswith("Checked before: False by Health Check Desk, 2024-11-12 Wake up!! The")
    assert REVIEW in [link.get("href") for link in page.all("a")]


def test_a_transcript_is_shown_in_its_order_with_times_and_ranks(client: FlaskClient) -> None:
    text = client.get(f"/check?text={quote(TRANSCRIPT)}").text
    order = text[text.index('class="order"') :]
    lines = [
        " ".join(re.sub(r"<[^>]+>", " ", line).split())
        for line in re.findall(r'<li id="said-\d">(.*?)</li>', order, re.DOTALL)
    ]
    assert [re.sub(r" Rank \d$", "", line) for line in lines] == [
        "00:01:02 Moderator Welcome to the debate.",
        f"00:01:05 Smith {CHECKED}",
        "00:01:09 Moderator Is that so?",
        "00:01:12 Smith In 2019 the number of cases fell by 40 percent.",
    ]
    ranks = [line.rsplit(" ", 1)[1] for line in lines]
    assert sorted(ranks) == ["1", "2", "3", "4"]
    first = text[text.index('id="claim-1"') : text.index('id="claim-2"')]
    number = ranks.index("1")
    before = [None, "Welcome to the debate.", CHECKED, "Is that so?"][number]
    assert before is None or f"The sentence before it: </span><bdi>{before}" in first
    assert f'href="#said-{number + 1}"' in first


def test_the_ranking_is_a_table_for_excel(client: FlaskClient) -> None:
    response = client.get(f"/check?text={quote(TRANSCRIPT)}&format=csv")
    assert response.mimetype == "text/csv"
    disposition = response.headers["Content-Disposition"]
    assert re.search(r"worth checking Welcome to the debate \d{4}-\d\d-\d\d\.csv", disposition)
    content = response.data.decode("utf-8")
    assert content.startswith("\ufeffrank,number,time,speaker,text,")
    rows = list(csv.DictReader(io.StringIO(content.removeprefix("\ufeff"))))
    assert [row["rank"] for row in rows] == ["1", "2", "3", "4"]
    (row,) = [row for row in rows if row["checked_before"]]
    assert (row["time"], row["speaker"], row["text"]) == ("00:01:05", "Smith", CHECKED)
    assert (row["checked_before"], row["checked_url"]) == ("False", REVIEW)


def test_the_ranking_is_json_lines(client: FlaskClient) -> None:
    response = client.post("/check", data={"text": f"=1+1 {CHECKED}", "format": "jsonl"})
    response = client.get(response.location) if response.status_code == 303 else response
    (row,) = [json.loads(line) for line in response.text.splitlines()]
    assert row["text"] == f"=1+1 {CHECKED}"
    assert row["rank"] == 1


def test_a_cell_is_no_formula(client: FlaskClient) -> None:
    response = client.get(f"/check?text={quote('=1+1 is not two, they say')}&format=csv")
    (row,) = csv.DictReader(io.StringIO(response.data.decode("utf-8-sig")))
    assert row["text"] == "'=1+1 is not two, they say"


def test_a_negative_score_is_a_number_in_the_table(client: FlaskClient) -> None:
    address = f"/check?text={quote(TRANSCRIPT)}&format="
    lines = client.get(f"{address}jsonl").text.splitlines()
    scores = [json.loads(line)["score"] for line in lines]
    assert min(scores) < 0
    table = client.get(f"{address}csv").data.decode("utf-8-sig")
    assert [float(row["score"]) for row in csv.DictReader(io.StringIO(table))] == scores


def test_a_long_number_stays_a_text_in_the_table(client: FlaskClient) -> None:
    text = "Good morning.\n1234567890123456789\n"
    table = client.get(f"/check?text={quote(text)}&kind=tweets&format=csv").data.decode("utf-8-sig")
    texts = [row["text"] for row in csv.DictReader(io.StringIO(table))]
    assert "'1234567890123456789" in texts
