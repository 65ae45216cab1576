"""Many choices at once: few of each on a page, whose links hold all of the others; HEAD; the end of
a list.
"""

import re
from collections.abc import Mapping, Sequence
from html import unescape
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from factseek.retrieval.config import SearchSettings
from factseek.retrieval.search.index import Index
from factseek.server.app import create_app
from factseek.settings import Config


@pytest.fixture(scope="module")
def wide_client(indexes: dict[str, Index]) -> FlaskClient:
    return create_app(Config(), indexes).test_client()


def filters(count: int) -> list[str]:
    return [f"topic=t{number:03}" for number in range(count)]


@pytest.mark.parametrize("count", [1, 50, 200])
def test_what_an_address_can_hold_is_shown(wide_client: FlaskClient, count: int) -> None:
    asked = {"index": "english", "query": "measles", "filter": filters(count)}
    by_address, by_form = (
        wide_client.get("/", query_string=asked),
        wide_client.post("/", data=asked),
    )
    assert by_address.status_code == 200
    assert by_address.text.count("Remove “topic t") == count
    assert by_form.status_code in (200, 303)


@pytest.mark.parametrize("path", ["/", "/export?format=csv"])
@pytest.mark.parametrize(
    ("many", "limit"),
    [
        ({"filter": filters(990)}, "200"),
        ({"filter": ["topic=" + "x" * 100_000]}, "8,190"),
        ({"index": ["english"] * 900}, "64"),
        ({"stages": ["mmr"] * 900}, "16"),
        ({"lang": "x" * 100_000}, "20"),
    ],
)
def test_a_form_of_more_is_refused_with_the_limit(
    wide_client: FlaskClient, path: str, many: Mapping[str, Sequence[str]], limit: str
) -> None:
    (field,) = many
    asked = {"query": "measles", **many} if field != "like" else many
    answer = wide_client.post(path, data=asked, headers={"Accept": "text/html"})
    assert answer.status_code == 400
    assert limit in answer.text
    assert len(answer.data) < 200_000


def test_a_query_of_many_conditions_has_few_chips(wide_client: FlaskClient) -> None:
    for conditions in (1_000, 30_000):
        query = "measles" + " -moon" * conditions
        answer = wide_client.post(
            "/", data={"query": query, "filter": filters(200)}, follow_redirects=True
        )
        assert len(answer.data) < 2_000_000
        assert answer.text.count("Remove “leaving out") <= 50


@pytest.mark.parametrize("names", [["english"], ["arabic", "english"]])
@pytest.mark.parametrize(("max_k", "hits"), [(4, 2), (3, 1), (4, 4)])
@pytest.mark.parametrize("view", ["", "side"])
def test_each_offer_is_answered(
    folders: dict[str, Path], names: list[str], max_k: int, hits: int, view: str
) -> None:
    config = Config(search=SearchSettings(max_k=max_k, k=2))
    opened = {name: Index(folders[name], config) for name in names}
    client = create_app(config, opened).test_client()
    address = f"/?query=the+measles+vaccine+نهر&hits={hits}&view={view}" + "".join(
        f"&index={name}" for name in names
    )
    pages = 0
    while address:
        answer = client.get(address)
        assert answer.status_code == 200, answer.text
        pages += 1
        assert pages <= max_k // hits
        following = re.search(r'<a href="([^"]*)" rel="next"', answer.text)
        address = unescape(following[1]) if following else ""
    assert pages == max_k // hits
    for index in opened.values():
        index.close()
