"""A stage is one file; and the stage that there is, on the command line, over HTTP and as a
property.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from factseek.retrieval import stages

STAGE = '''
"""Turns a ranking round."""

from msgspec.structs import replace

from . import with_part

LABEL, HELP = "Toy", "last first"


def open(value, context):
    """Return the stage."""
    return Toy()


class Toy:
    window = 3

    def depth(self, k):
        """Return how many hits it wants."""
        return k

    def apply(self, queries, hits, texts, limit):
        """Return the hits in the opposite order."""
        turned = []
        for ranked in hits:
            scored = [with_part(hit, "toy", rank, hit.score) for rank, hit in enumerate(ranked, 1)]
            turned.append([replace(hit, score=-float(at)) for at, hit in enumerate(scored[::-1])])
        return turned
'''
QUERY = "measles vaccine"


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
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
    explained = client.post(
        "/v1/english/search", json={**body, "stages": ["toy"], "explain": True}
    ).json
    assert explained["explanation"]["hits"][0]["stages"] == {
        "toy": {"rank": 3, "score": plain[2]["score"]}
    }


@pytest.mark.usefixtures("toy")
def test_the_page_offers_it_by_its_label_and_says_what_it_did(client: FlaskClient) -> None:
    address = "/?index=english&query=measles+vaccine&retriever=bm25&hits=3"
    plain, turned = client.get(address).text, client.get(f"{address}&stages=toy").text
    assert re.search(r'<input[^>]*name="stages"[^>]*value="toy"', plain)
    assert "Toy: number 3 before, number 1 after" in turned
    assert "Toy: it came" not in plain
