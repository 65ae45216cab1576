"""A stage is one file; and the stage that there is, on the command line, over HTTP and as a property."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient
from hypothesis import given
from hypothesis import strategies as st

from factseek.retrieval import stages
from factseek.retrieval.domain import Document, Hit, Part, Span
from factseek.retrieval.index.local import Index
from factseek.retrieval.live.snapshot import Stored
from factseek.retrieval.searcher import Search
from factseek.retrieval.stages import per_source

STAGE = '''
"""Turns a ranking round."""

from . import with_part

LABEL, HELP = "Toy", "last first"


def open(value):
    """Return the stage."""
    return Toy()


class Toy:
    def depth(self, k):
        """Return how many hits it wants."""
        return k

    def apply(self, queries, hits, texts, limit):
        """Return the hits in the opposite order."""
        scored = [[with_part(hit, "toy", rank, hit.score) for rank, hit in enumerate(of, 1)] for of in hits]
        return [ranked[::-1] for ranked in scored]
'''
QUERY = "measles vaccine"


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The folder of stages, with one more."""
    (tmp_path / "toy.py").write_text(STAGE, "utf-8")
    monkeypatch.setattr(stages, "__path__", [*stages.__path__, str(tmp_path)])
    yield
    sys.modules.pop(f"{stages.__name__}.toy", None)


@pytest.mark.usefixtures("toy")
@pytest.mark.parametrize("retriever", ["bm25", "dense", "hybrid"])
def test_a_stage_is_one_file(folders: dict[str, Path], client: FlaskClient, retriever: str) -> None:
    body = {"query": QUERY, "retriever": retriever, "k": 3}
    plain = client.post("/v1/english/search", json=body).json["hits"]
    turned = client.post("/v1/english/search", json={**body, "stages": ["toy"]}).json["hits"]
    assert [hit["docid"] for hit in turned] == [hit["docid"] for hit in plain][::-1]
    assert [hit["rank"] for hit in turned] == [1, 2, 3]
    assert turned[0]["stages"] == {"toy": {"rank": 3, "score": plain[2]["score"]}}
    assert turned[0]["retrievers"] == plain[2]["retrievers"]
    assert "stages" not in plain[0]
    explained = client.post("/v1/english/search", json={**body, "stages": ["toy"], "explain": True}).json
    assert explained["explanation"]["hits"][0]["stages"] == {"toy": {"rank": 3, "score": plain[2]["score"]}}


def test_the_command_line_takes_stages(folders: dict[str, Path], command: Callable[..., tuple[int, str, str]]) -> None:
    asked = ["search", "measles vaccine", "--index", folders["english"], "--retriever", "bm25", "--json"]
    code, printed, _ = command(*asked, "--stage", "per_source=1")
    assert code == 0
    assert all("per_source" in hit["stages"] for hit in json.loads(printed)["hits"])
    code, _, said = command(*asked, "--stage", "poem")
    assert (code, said) == (2, "factseek: unknown stage 'poem'; there are per_source\n")


SOURCES = st.lists(st.sampled_from(["", "a.example", "b.example", "c.example"]), max_size=40)


@given(sources=SOURCES, most=st.integers(1, 4))
def test_at_most_so_many_hits_of_a_source(sources: list[str], most: int) -> None:
    hits = [Hit(str(at), float(len(sources) - at)) for at in range(len(sources))]

    def texts(asked):
        return [Stored(Document(hit.docid, "", source=sources[int(hit.docid)]), Span(0, 0, 0), "") for hit in asked]

    (kept,) = per_source.open(str(most)).apply(["q"], [hits], texts, None)
    docids = [hit.docid for hit in kept]
    assert docids == sorted(docids, key=int)
    for source in ("a.example", "b.example", "c.example"):
        of_source = [str(at) for at, name in enumerate(sources) if name == source]
        assert [docid for docid in docids if docid in of_source] == of_source[:most]
    assert [docid for docid in docids if not sources[int(docid)]] == [str(i) for i, s in enumerate(sources) if not s]
    assert all(hit.parts[-1] == Part("per_source", int(hit.docid) + 1, hit.score) for hit in kept)


def test_a_staged_list_is_the_beginning_of_a_longer_one(folders: dict[str, Path]) -> None:
    with Index(folders["english"]) as index:
        for retriever in ("bm25", "dense"):
            asked = Search(retriever=retriever, stages=("per_source=1",))
            longest = index.search([QUERY], asked._replace(k=50))[0]
            for k in range(1, len(longest) + 1):
                assert index.search([QUERY], asked._replace(k=k))[0] == longest[:k]
