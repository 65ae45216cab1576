"""Long forms of one mark again and again are answered: nobody may hold a worker by them."""

from __future__ import annotations

import msgspec
import pytest
from flask.testing import FlaskClient

from factseek.retrieval.search.index import Index
from factseek.server.api.rankers import ServedRanker
from factseek.server.api.verdicts import ServedVerdicts
from factseek.server.app import create_app
from factseek.settings import Config

LENGTH = 200_000


def long(mark: str, end: str = "") -> str:
    return mark * (LENGTH // len(mark)) + end


@pytest.fixture(scope="module")
def wide(
    config: Config, indexes: dict[str, Index], rankers: dict[str, ServedRanker], models: dict[str, ServedVerdicts]
) -> FlaskClient:
    """A client of a server that reads forms as large as it does by default."""
    server = msgspec.structs.replace(config.server, max_body_bytes=2_000_000)
    app = create_app(msgspec.structs.replace(config, server=server), indexes, ranked_by=rankers, judged_by=models)
    return app.test_client()


RUNS = {
    "blanks": "a\n" + long(" ", "a"),
    "stops": long(".", "a"),
    "stops and closing marks": long('."', "a"),
    "full-width stops": long("。", "a"),
    "ellipses": long("…", "a"),
    "digits": long("7", "a"),
    "times": long("00:", " a"),
    "colons after blanks": "A:" + long(" ", "."),
    "brackets": long("[", "a"),
    "capitals with stops": long("A.", "a"),
    "numbers": long("7 ", "a"),
    "mentions": long("@", "a"),
    "hashtags": long("#aB", "a"),
    "entities": long("&#", ";"),
    "lines of blanks": "a" + long(" \n", "a"),
    "tabs": "tweet_text\t" + long("\t", "\na"),
    "quotes": 'tweet_text,b\n"' + long('"', "a"),
}


@pytest.mark.parametrize("kind", ["", "tweets", "transcript"])
@pytest.mark.parametrize("run", RUNS)
def test_a_long_run_is_checked_or_refused(wide: FlaskClient, run: str, kind: str) -> None:
    response = wide.post("/check", data={"text": RUNS[run], "kind": kind}, follow_redirects=True)
    assert response.status_code in (200, 400)
    assert "</html>" in response.text


@pytest.mark.parametrize("run", RUNS)
def test_a_long_claim_is_answered(wide: FlaskClient, run: str) -> None:
    response = wide.post("/verify", data={"index": "english", "claim": f"vaccine {RUNS[run]}"})
    assert response.status_code in (200, 400)
    assert "</html>" in response.text


CONDITIONS = {"conditions": long("title:a "), "quoted": long('"a" '), "unclosed": long('-"a')}
QUERIES = {**RUNS, **CONDITIONS}


@pytest.mark.parametrize("profile", ["plain", "tweet"])
@pytest.mark.parametrize("query", QUERIES)
def test_a_long_query_is_answered(wide: FlaskClient, query: str, profile: str) -> None:
    response = wide.post("/", data={"index": "english", "query": QUERIES[query], "profile": profile})
    assert response.status_code in (200, 400)
    assert "</html>" in response.text
