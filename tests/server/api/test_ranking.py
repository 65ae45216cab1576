"""Claims ranked over HTTP: the command line's scores and words, and each mistake in one line."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from flask.testing import FlaskClient

from factseek.claims.checkworthiness.rankers import Ranker
from factseek.core.deadline import CutOffError
from factseek.core.domain import Statement
from factseek.eval.tasks import STATEMENTS
from factseek.retrieval.search.index import Index
from factseek.server.api.rankers import ServedRanker, open_rankers
from factseek.server.app import create_app
from factseek.server.settings import ServerSettings
from factseek.settings import Config

Command = Callable[..., tuple[int, str, str]]


def asked(client: FlaskClient, claims: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    answer = client.post("/v1/claims/rank", json={"claims": claims, **more})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json
    return found


@pytest.fixture(scope="module")
def tweets(examples: Path) -> list[dict[str, Any]]:
    found = STATEMENTS.load("ct2021-1a").read_statements(
        examples / "checkworthy-en-dev.tsv", labelled=False
    )
    return [{"id": one.qid, "text": one.text} for one in found]


@pytest.fixture
def small(indexes: dict[str, Index]) -> Callable[..., FlaskClient]:
    def made(ranked_by: dict[str, ServedRanker], **settings: Any) -> FlaskClient:
        return create_app(
            Config(server=ServerSettings(**settings)), indexes, ranked_by=ranked_by
        ).test_client()

    return made


def test_scores_and_words_are_those_of_the_command_line(
    client: FlaskClient,
    command: Command,
    tweets: list[dict[str, Any]],
    ranker_file: Path,
    tmp_path: Path,
) -> None:
    source = tmp_path / "tweets.jsonl"
    source.write_text("".join(json.dumps(one) + "\n" for one in tweets), "utf-8")
    ranking = [
        "rank",
        "ct2021-1a",
        "--load",
        ranker_file,
        "--input",
        source,
        "--words",
        4,
        "--top",
        0,
    ]
    code, out, _ = command(*ranking, "--json")
    assert code == 0
    printed = [json.loads(line) for line in out.splitlines()]
    answer = asked(client, tweets, words=4)
    assert [
        {name: one[name] for name in ("rank", "score", "probability", "id", "text", "words")}
        for one in answer["claims"]
    ] == [{"words": [], **{name: one[name] for name in one if name != "topic"}} for one in printed]
    assert (
        answer["ranker"],
        answer["task"],
        answer["model"],
        answer["languages"],
        answer["note"],
    ) == (
        "tweets",
        "ct2021-1a",
        "best",
        ["en"],
        "",
    )


BAD: list[tuple[Any, str, str]] = [
    ({}, "claims", "claims: is missing"),
    (
        {"claims": [{"id": "1", "text": " \t"}]},
        "claims[0].text",
        "claims[0].text: contains no text",
    ),
    (
        {"claims": [{"id": "1", "text": "a"}, {"id": "2", "text": "x" * 301}]},
        "claims[1].text",
        "claims[1].text: has 301 characters, but at most 300 are allowed",
    ),
    (
        {"claims": [{"id": "1", "text": "a"}] * 2},
        "claims[1].id",
        "claims[1].id: another claim has the same id",
    ),
    (
        {"claims": [{"id": "1", "text": "a", "language": "tr"}]},
        "claims[0].language",
        "claims[0].language: 'tr' is not a language of the ranker, which knows en",
    ),
]


@pytest.mark.parametrize(("body", "field", "detail"), BAD)
def test_a_mistake_is_named(client: FlaskClient, body: Any, field: str, detail: str) -> None:
    answer = client.post("/v1/claims/rank", json=body)
    problem = answer.json or {}
    assert (answer.status_code, answer.mimetype) == (400, "application/problem+json")
    assert (problem["error"], problem["field"], problem["detail"]) == ("bad-input", field, detail)


def test_a_ranker_that_was_lost_is_said_to_be_and_the_others_go_on(
    small: Callable[..., FlaskClient], ranker_file: Path, tmp_path: Path
) -> None:
    named = {"lost": str(tmp_path / "lost.model"), "tweets": str(ranker_file)}
    client = small(open_rankers(Config(server=ServerSettings(rankers=named))), rankers=named)
    claims = [{"id": "1", "text": "a"}]
    answer = client.post("/v1/claims/rank", json={"claims": claims})
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "60")
    assert (answer.json or {})[
        "detail"
    ] == "ranker 'lost' could not be loaded; the server's log gives the reason"
    assert str(tmp_path) not in answer.text
    assert asked(client, claims, ranker="tweets")["ranker"] == "tweets"


class Short:
    def __init__(self, ranker: Ranker, scorings: int) -> None:
        self._ranker = ranker
        self._left = scorings

    def score(self, statements: Sequence[Statement]) -> Any:
        self._left -= 1
        if self._left < 0:
            raise CutOffError("ranking took longer than its time limit")
        return self._ranker.score(statements)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ranker, name)


def test_what_takes_too_long_is_cut_off_and_said_to_be(
    small: Callable[..., FlaskClient], rankers: dict[str, ServedRanker]
) -> None:
    def client(scorings: int) -> FlaskClient:
        one = rankers["tweets"]
        short: Any = Short(one.learned.ranker, scorings)
        return small({"tweets": one._replace(learned=one.learned._replace(ranker=short))})

    claims = [{"id": str(number), "text": f"{number} of 10 children cough"} for number in range(10)]
    whole = asked(client(11), claims)
    assert whole["note"] == ""
    assert all(one["words"] for one in whole["claims"])
    part = asked(client(5), claims)
    assert part["note"] == "the time was too short to weigh the words of the last 6 of 10 claims"
    assert part["claims"][:4] == whole["claims"][:4]
    assert part["claims"][4:] == [{**one, "words": []} for one in whole["claims"][4:]]
    answer = client(0).post("/v1/claims/rank", json={"claims": claims})
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert (answer.json or {})["error"] == "timed-out"
    assert (answer.json or {})[
        "detail"
    ] == "ranking took longer than its time limit (10 seconds); send fewer claims at once"
