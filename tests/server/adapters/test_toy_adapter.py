"""An adapter is one file: put beside the others, it is served, described, refused and kept as they
are.
"""

import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from flask.testing import FlaskClient

from factseek.retrieval.search.index import Index
from factseek.server import adapters
from factseek.server.app import create_app
from factseek.settings import Config

ADAPTER = '''
"""A protocol of one question: ``GET /first?q=`` answers a title."""

from ...retrieval.search.evidence import AnswerPart
from ..schemas import ForeignFields, SearchOptions
from . import Adapter, configured_index
from ._shared import hits_of


class ToyFailure(AnswerPart):
    """What went wrong."""

    oh: str

    @classmethod
    def of(cls, problem):
        """Return an error as the toy says it."""
        return cls(oh=problem.detail)


adapter = Adapter(__name__, ToyFailure, {400: 422}, key_parameter="token")


class ToyQuestion(ForeignFields):
    """What is body."""

    q: str


class ToyTitle(AnswerPart):
    """The title of the first hit."""

    title: str


@adapter.route("GET", "/first", {"q": "measles"})
def toy_first(body: ToyQuestion) -> ToyTitle:
    """Answer the title of the first hit."""
    hits = hits_of(configured_index().index, body.q, SearchOptions(k=1), query_name="q")
    return ToyTitle(title=hits[0].title)
'''


@pytest.fixture
def toy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, config: Config, indexes: dict[str, Index]
) -> Iterator[FlaskClient]:
    (tmp_path / "toy.py").write_text(ADAPTER, "utf-8")
    monkeypatch.setattr(adapters, "__path__", [*adapters.__path__, str(tmp_path)])
    server = msgspec.structs.replace(config.server, adapters={"toy": "english"})
    yield create_app(msgspec.structs.replace(config, server=server), indexes).test_client()
    sys.modules.pop(f"{adapters.__name__}.toy", None)


def test_it_is_served_and_described(toy: FlaskClient) -> None:
    assert toy.get("/toy/first?q=measles+vaccine+doses&more=passed+over").json == {
        "title": "Measles vaccine"
    }
    document = toy.get("/openapi.json").json
    assert set(document["paths"]["/toy/first"]) == {"get"}
    assert {"ToyTitle", "ToyFailure"} <= set(document["components"]["schemas"])
    assert "/toy/first" in toy.get("/docs").text


def test_it_refuses_in_its_own_words(toy: FlaskClient) -> None:
    refused = toy.get("/toy/first")
    assert (refused.status_code, refused.json) == (422, {"oh": "q: is missing"})
    assert toy.get("/toy/first?q=,").json == {
        "oh": "q: the query ',' contains no words to search for"
    }
    assert toy.get("/toy/second").status_code == 404
    assert toy.get("/toys").json["error"] == "not-found"
