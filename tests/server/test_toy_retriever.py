"""A retriever is one file: put beside the others, it is asked for everywhere that the others
are.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from factseek.core.errors import ConfigError
from factseek.retrieval import retrievers
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.server.app import create_app
from factseek.server.settings import ServerSettings
from factseek.settings import Config, convert

RETRIEVER = '''
"""Ranks by how many of the query's words a document holds, letter by letter."""

from typing import Annotated

import msgspec

from ...core.settings import Settings
from ..lucene.index import flat_text
from ..search.cut import top_k
from . import Retriever, RetrieverKind


class ToySettings(Settings, frozen=True, kw_only=True):
    letters: Annotated[int, msgspec.Meta(ge=1)] = 3


SETTINGS = ToySettings


class ToyKind(RetrieverKind):
    name = "toy"
    label = "Toy"
    help = "words counted one by one"
    default_weight = 0.25

    def open(self, name, snapshot, config, *, group):
        return Toy(snapshot, config.of(ToySettings), group)


class Toy(Retriever):
    def __init__(self, snapshot, settings, group):
        self.snapshot, self.letters, self.group = snapshot, settings.letters, group

    def search(self, queries, k, where=None, limit=None):
        """Return at most k hits a query in the total order."""
        rows, keep = self.snapshot.rows, self.snapshot.mask(where)
        ranked = [self.ranked(query, keep, limit) for query in queries]
        return [
            top_k(lambda n: (scores[:n], found[:n]), k, rows, group=self.group)
            for scores, found in ranked
        ]

    def ranked(self, query, keep, limit):
        """Return the scores and the rows of all passages, best first."""
        words = [word for word in query.text.casefold().split() if len(word) >= self.letters]
        scored = []
        for row, text in enumerate(self.texts()):
            if limit is not None:
                limit.require_seconds("toy")
            if keep is None or keep[row]:
                scored.append((float(sum(word in text for word in words)), row))
        scored.sort(key=lambda pair: -pair[0])
        return [score for score, _ in scored], [row for _, row in scored]

    def texts(self):
        """Yield the text of each row; a real retriever would keep these in a view."""
        for segment in self.snapshot.segments:
            for title, passage in segment.documents.each_passage():
                yield flat_text(title, passage.text).casefold()


KIND = ToyKind()
'''
QUERY = "measles vaccine doses"


@pytest.fixture(autouse=True)
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    (tmp_path / "toy.py").write_text(RETRIEVER, "utf-8")
    monkeypatch.setattr(retrievers, "__path__", [*retrievers.__path__, str(tmp_path)])
    yield
    sys.modules.pop(f"{retrievers.__name__}.toy", None)


@pytest.fixture
def fused(folders: dict[str, Path]) -> Iterator[Index]:
    weights = {"bm25": 1, "dense": 1, "toy": 2}
    with Index(
        folders["english"],
        convert({"search": {"fusion": {"kind": "rrf", "weights": weights}}}, "test"),
    ) as index:
        yield index


def test_it_is_searched_fused_and_explained(fused: Index) -> None:
    assert "toy" in fused.info.retrievers
    alone = fused.search([QUERY], Search(retriever="toy"))[0]
    assert [(hit.docid, hit.score) for hit in alone[:1]] == [("measles", 3.0)]
    hybrid = fused.search([QUERY])[0]
    assert hybrid[0].docid == "measles"
    assert [part.retriever for part in hybrid[0].parts] == ["bm25", "dense", "toy"]
    assert hybrid[0].parts[2].vote == pytest.approx(2 / 11)
    evidence = fused.evidence(QUERY, hybrid)
    assert evidence[0].retrievers["toy"].score == 3.0


def test_it_is_served_described_and_shown(fused: Index, folders: dict[str, Path]) -> None:
    config = Config(search=fused.settings.search, server=ServerSettings())
    client = create_app(config, {"english": fused}).test_client()
    answer = client.post(
        "/v1/english/search", json={"query": QUERY, "retriever": "toy", "explain": True}
    ).json
    assert answer["hits"][0]["retrievers"] == {"toy": {"rank": 1, "score": 3.0}}
    assert answer["explanation"]["hits"][0]["retrievers"] == {
        "toy": {"rank": 1, "score": 3.0, "vote": 3.0}
    }
    weights = {"bm25": 0, "toy": 1}
    answer = client.post(
        "/v1/english/search", json={"query": QUERY, "fusion": {"weights": weights}}
    ).json
    assert set(answer["hits"][0]["retrievers"]) == {"bm25", "toy"}
    assert "toy" in client.get("/v1/indexes/english").json["index"]["retrievers"]
    assert "toy" in json.dumps(
        client.get("/openapi.json").json["components"]["schemas"]["SearchRequest"]
    )
    page = client.get(f"/?index=english&view=side&query={QUERY.replace(' ', '+')}").text
    assert '<section class="column toy"' in page
    assert "words counted one by one" in page


def test_it_has_settings_of_its_own(folders: dict[str, Path]) -> None:
    with Index(folders["english"], convert({"toy": {"letters": 6}}, "test")) as index:
        (hits,) = index.search([QUERY], Search(retriever="toy"))
    assert hits[0].score == 2.0  # "doses" is too short
    with pytest.raises(ConfigError, match=r"toy\.letters"):
        convert({"toy": {"letters": 0}}, "test")
