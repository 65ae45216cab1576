"""Claims ranked over HTTP: the command line's scores and words, and each mistake in one line."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import msgspec
import pytest
from flask import Flask
from flask.testing import FlaskClient

from factseek.claims.checkworthiness import training
from factseek.claims.checkworthiness.rankers import Ranker
from factseek.eval.tasks import STATEMENTS
from factseek.retrieval.deadline import CutOffError
from factseek.retrieval.domain import Statement
from factseek.retrieval.progress import silent
from factseek.retrieval.records import model_file
from factseek.retrieval.search.index import Index
from factseek.server.api.rankers import ServedRanker, opened
from factseek.server.app import create_app
from factseek.server.settings import ServerSettings
from factseek.settings import Config

WORTH = "The measles vaccine protects 97 percent of the children."
NOT = "My cat wishes you a good morning!"
Command = Callable[..., tuple[int, str, str]]


def asked(client: FlaskClient, claims: list[dict[str, Any]], **more: Any) -> dict[str, Any]:
    answer = client.post("/v1/claims/rank", json={"claims": claims, **more})
    assert answer.status_code == 200, answer.text
    found: dict[str, Any] = answer.json
    return found


@pytest.fixture(scope="module")
def tweets(examples: Path) -> list[dict[str, Any]]:
    """The bundled tweets that the ranker has not seen."""
    found = STATEMENTS.load("ct2021-1a").read_statements(examples / "checkworthy-en-dev.tsv", labelled=False)
    return [{"id": one.qid, "text": one.text} for one in found]


@pytest.fixture
def small(indexes: dict[str, Index]) -> Callable[..., FlaskClient]:
    """Makes a client of a server with other settings."""

    def made(ranked_by: dict[str, ServedRanker], **settings: Any) -> FlaskClient:
        return create_app(Config(server=ServerSettings(**settings)), indexes, ranked_by=ranked_by).test_client()

    return made


def test_scores_and_words_are_those_of_the_command_line(
    client: FlaskClient, command: Command, tweets: list[dict[str, Any]], ranker_file: Path, tmp_path: Path
) -> None:
    source = tmp_path / "tweets.jsonl"
    source.write_text("".join(json.dumps(one) + "\n" for one in tweets), "utf-8")
    ranking = ["rank", "ct2021-1a", "--load", ranker_file, "--input", source, "--words", 4, "--top", 0]
    code, out, _ = command(*ranking, "--json")
    assert code == 0
    printed = [json.loads(line) for line in out.splitlines()]
    answer = asked(client, tweets, words=4)
    assert [
        {name: one[name] for name in ("rank", "score", "probability", "id", "text", "words")}
        for one in answer["claims"]
    ] == [{"words": [], **{name: one[name] for name in one if name != "topic"}} for one in printed]
    assert (answer["ranker"], answer["task"], answer["model"], answer["languages"], answer["note"]) == (
        "tweets",
        "ct2021-1a",
        "best",
        ["en"],
        "",
    )


@pytest.mark.real
def test_scores_with_vectors_are_those_of_a_stream(
    example_folder: Path,
    small: Callable[..., FlaskClient],
    command: Command,
    tweets: list[dict[str, Any]],
    tmp_path: Path,
) -> None:
    model, source = example_folder / "indexes" / "tweets.model", tmp_path / "tweets.jsonl"
    source.write_text("".join(json.dumps(one) + "\n" for one in tweets), "utf-8")
    code, out, _ = command("rank", "ct2021-1a", "--load", model, "--input", source, "--stream", "--words", 2)
    assert code == 0
    printed = {one["id"]: (one["score"], one["words"]) for one in map(json.loads, out.splitlines())}
    client = small(opened(Config(server=ServerSettings(rankers={"example": str(model)}))), search_seconds=60.0)
    answer = asked(client, tweets, words=2)
    assert {one["id"]: (one["score"], one["words"]) for one in answer["claims"]} == printed


def test_what_is_worth_checking_comes_first_and_equals_stay_in_order(client: FlaskClient) -> None:
    claims = [{"id": "a", "text": NOT}, {"id": "b", "text": WORTH}, {"id": "c", "text": NOT}, {"id": "a", "text": NOT}]
    answer = asked(client, claims)
    assert [(one["rank"], one["id"]) for one in answer["claims"]] == [(1, "b"), (2, "a"), (3, "c"), (4, "a")]
    scores = [one["score"] for one in answer["claims"]]
    assert scores[0] > scores[1] == scores[2] == scores[3]


def test_a_word_weighs_what_the_score_loses_without_it(client: FlaskClient) -> None:
    whole = asked(client, [{"id": "1", "text": WORTH}], words=3)["claims"][0]
    assert len(whole["words"]) == 3
    for one in whole["words"]:
        left = asked(client, [{"id": "1", "text": WORTH.replace(one["word"], "")}], words=0)["claims"][0]
        assert left["words"] == []
        assert whole["score"] - left["score"] == one["weight"]


def test_no_more_than_asked_are_answered(client: FlaskClient, tweets: list[dict[str, Any]]) -> None:
    every = asked(client, tweets, words=1)["claims"]
    assert asked(client, tweets, words=1, top=3)["claims"] == every[:3]
    assert asked(client, tweets, words=1, top=10_000)["claims"] == every


def test_neighbours_and_threads_change_no_score(client: FlaskClient, app: Flask, tweets: list[dict[str, Any]]) -> None:
    every = {one["id"]: (one["score"], one["words"]) for one in asked(client, tweets, words=2)["claims"]}

    def alone(tweet: dict[str, Any]) -> Any:
        found = asked(app.test_client(), [tweet], words=2)["claims"][0]
        return found["score"], found["words"]

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(alone, tweets)) == [every[tweet["id"]] for tweet in tweets]


def test_a_claim_in_another_language_is_answered_with_a_note(client: FlaskClient) -> None:
    claims = [{"id": "1", "text": "نهر النيل هو أطول أنهار العالم."}, {"id": "2", "text": WORTH}]
    notes = {one["id"]: one["note"] for one in asked(client, claims)["claims"]}
    assert notes == {"1": "is in Arabic, the ranker learned from en", "2": ""}
    named = asked(client, [{**claims[0], "language": "en"}])["claims"][0]
    assert (named["note"], named["language"]) == ("", "en")


BAD: list[tuple[Any, str, str]] = [
    ({}, "claims", "claims: is missing"),
    ({"claims": []}, "claims", "claims: 1 to 20 are ranked at once, these are 0"),
    (
        {"claims": [{"id": "1", "text": "a"}] * 21},
        "claims",
        "claims: 1 to 20 are ranked at once, these are 21",
    ),
    ({"claims": ["a"]}, "claims[0]", "claims[0]: expected object, got str"),
    ({"claims": [{"text": "a"}]}, "claims[0].id", "claims[0].id: is missing"),
    ({"claims": [{"id": 7, "text": "a"}]}, "claims[0].id", "claims[0].id: expected str, got int"),
    ({"claims": [{"id": "", "text": "a"}]}, "claims[0].id", "claims[0].id: expected str of length >= 1"),
    ({"claims": [{"id": "1"}]}, "claims[0].text", "claims[0].text: is missing"),
    ({"claims": [{"id": "1", "text": " \t"}]}, "claims[0].text", "claims[0].text: holds no text"),
    (
        {"claims": [{"id": "1", "text": "a"}, {"id": "2", "text": "x" * 301}]},
        "claims[1].text",
        "claims[1].text: has 301 characters; at most 300 are read",
    ),
    (
        {"claims": [{"id": "1", "text": "a", "language": "tr"}]},
        "claims[0].language",
        "claims[0].language: 'tr' is not a language that the ranker knows: en",
    ),
    (
        {"claims": [{"id": "1", "text": "a", "language": "english"}]},
        "claims[0].language",
        "claims[0].language: expected str matching regex '^([a-z]{2,3})?(?!\\\\n)$'",
    ),
    (
        {"claims": [{"id": "1", "text": "a", "topic": "x"}]},
        "claims[0].topic",
        "claims[0].topic: there is no such field",
    ),
    ({"claims": [{"id": "1", "text": "a"}], "words": -1}, "words", "words: expected int >= 0"),
    ({"claims": [{"id": "1", "text": "a"}], "words": 101}, "words", "words: expected int <= 100"),
    ({"claims": [{"id": "1", "text": "a"}], "top": 0}, "top", "top: expected int >= 1"),
    ({"claims": [{"id": "1", "text": "a"}], "k": 1}, "k", "k: there is no such field"),
]


@pytest.mark.parametrize(("body", "field", "detail"), BAD)
def test_a_mistake_is_named(client: FlaskClient, body: Any, field: str, detail: str) -> None:
    answer = client.post("/v1/claims/rank", json=body)
    problem = answer.json or {}
    assert (answer.status_code, answer.mimetype) == (400, "application/problem+json")
    assert (problem["error"], problem["field"], problem["detail"]) == ("bad-input", field, detail)


def test_a_ranker_that_is_not_there_is_named(client: FlaskClient, small: Callable[..., FlaskClient]) -> None:
    claims = [{"id": "1", "text": "a"}]
    problem = client.post("/v1/claims/rank", json={"claims": claims, "ranker": "debates"}).json or {}
    assert (problem["status"], problem["error"]) == (404, "unknown-ranker")
    assert problem["detail"] == "there is no ranker 'debates'; served are: tweets"
    none = small({}).post("/v1/claims/rank", json={"claims": claims}).json or {}
    assert (none["status"], none["error"]) == (404, "unknown-ranker")
    assert none["detail"] == (
        "no ranker is served: train one (factseek rank … --save FILE) and name it under server.rankers, or with "
        "--ranker NAME=FILE"
    )


def test_a_ranker_that_was_lost_is_said_to_be_and_the_others_go_on(
    small: Callable[..., FlaskClient], ranker_file: Path, tmp_path: Path
) -> None:
    named = {"lost": str(tmp_path / "lost.model"), "tweets": str(ranker_file)}
    client = small(opened(Config(server=ServerSettings(rankers=named))), rankers=named)
    claims = [{"id": "1", "text": "a"}]
    answer = client.post("/v1/claims/rank", json={"claims": claims})
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "60")
    assert (answer.json or {})["detail"] == "ranker 'lost' could not be loaded; the server's log says why"
    assert str(tmp_path) not in answer.text
    assert asked(client, claims, ranker="tweets")["ranker"] == "tweets"


class Short:
    """A ranker whose time is over after so many scorings."""

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
    assert part["note"] == "there was no time to weigh the words of the last 6 of 10 claims"
    assert part["claims"][:4] == whole["claims"][:4]
    assert part["claims"][4:] == [{**one, "words": []} for one in whole["claims"][4:]]
    answer = client(0).post("/v1/claims/rank", json={"claims": claims})
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
    assert (answer.json or {})["error"] == "timed-out"
    assert (answer.json or {})[
        "detail"
    ] == "ranking took longer than its time limit (10 seconds); send fewer claims at once"


def test_time_runs_out_between_texts(small: Callable[..., FlaskClient], rankers: dict[str, ServedRanker]) -> None:
    claims = [{"id": str(number), "text": "word " * 60} for number in range(1_000)]
    client = small(rankers, search_seconds=0.001)
    assert client.post("/v1/claims/rank", json={"claims": claims}).status_code == 503


def test_a_debate_is_ranked_by_speaker_and_text(
    small: Callable[..., FlaskClient], examples: Path, command: Command, tmp_path: Path
) -> None:
    model, health = tmp_path / "debates.model", examples / "debate-health.tsv"
    train = ["rank", "ct2021-1b", "--train", examples / "debate-climate.tsv", "--model", "ngram", "--save", model]
    assert command(*train)[0] == 0
    code, out, _ = command("rank", "ct2021-1b", "--load", model, "--input", health, "--json", "--top", 0)
    assert code == 0
    printed = {one["id"]: one["score"] for one in map(json.loads, out.splitlines())}
    lines = STATEMENTS.load("ct2021-1b").read_statements(health, labelled=False)
    claims = [{"id": one.qid, "text": one.text, "speaker": one.speaker} for one in lines]
    client = small(opened(Config(server=ServerSettings(rankers={"debates": str(model)}))))
    answer = asked(client, claims, words=0)
    assert {one["id"]: one["score"] for one in answer["claims"]} == printed
    assert (answer["task"], answer["claims"][0]["probability"]) == ("ct2021-1b", None)


def test_several_languages_are_told_apart(small: Callable[..., FlaskClient], tmp_path: Path) -> None:
    path, source = tmp_path / "two.model", tmp_path / "made-up.tsv"
    source.write_text("")
    texts = {"en": ("The bridge was built in the year of the great flood", "What a lovely and quiet morning it is")}
    texts["es"] = ("El puente fue construido en el año de la gran riada", "Qué mañana tan hermosa y tranquila hace")
    made = [
        Statement(code, text, label=1 - place, language=code)
        for code, pair in texts.items()
        for place, text in enumerate(pair)
    ]
    learned = training.train("ct2021-1a", "ngram", [(source, made)], Config(), silent)
    model_file.save(path, learned.manifest, learned.ranker.state())
    client = small(opened(Config(server=ServerSettings(rankers={"two": str(path)}))))
    claims = [{"id": one.language, "text": one.text} for one in made]
    assert all(one["id"] == one["language"] for one in asked(client, claims)["claims"])


def test_a_ranker_that_knows_no_words_says_so(small: Callable[..., FlaskClient], tmp_path: Path) -> None:
    learned = training.train("ct2021-1a", "random", [], Config(), silent)
    model_file.save(tmp_path / "r", learned.manifest, learned.ranker.state())
    client = small(opened(Config(server=ServerSettings(rankers={"random": str(tmp_path / "r")}))))
    answer = asked(client, [{"id": "1", "text": WORTH}, {"id": "2", "text": NOT}])
    assert answer["note"] == "random does not use words, so no word has a weight"
    assert [one["words"] for one in answer["claims"]] == [[], []]


def test_rankings_are_counted_and_not_logged(client: FlaskClient, caplog: pytest.LogCaptureFixture) -> None:
    with (
        caplog.at_level("INFO", logger="factseek.access"),
        client.post("/v1/claims/rank", json={"claims": [{"id": "1", "text": "secretword"}]}) as answer,
    ):
        took = msgspec.json.decode(answer.data)["took_ms"]
    assert set(took) == {"rank", "explain"}
    counted = client.get("/metrics").text
    for stage in took:
        assert f'factseek_stage_seconds_count{{retriever="",route="/v1/claims/rank",stage="{stage}"}}' in counted
    assert "secretword" not in counted + caplog.text
