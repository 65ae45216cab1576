"""The stage ``rerank`` over HTTP, with a real CrossEncoder: what it did to each hit, and what it had no time for."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from factseek.retrieval.config import RerankSettings
from factseek.retrieval.encoders.cross_encoder import open_cross_encoder
from factseek.retrieval.lucene.index import flat_text
from factseek.retrieval.search.index import open_index
from factseek.server.app import create_app
from factseek.server.settings import ServerSettings
from factseek.settings import Config
from tests.small_models import small_cross_encoder

pytestmark = pytest.mark.real
QUERY = "measles vaccine"


@pytest.fixture(scope="module")
def reranking(tmp_path_factory: pytest.TempPathFactory) -> RerankSettings:
    folder = tmp_path_factory.mktemp("rerank")
    return RerankSettings(model=str(small_cross_encoder()), cache=str(folder / "cache"))


def answer(folder: Path, settings: RerankSettings, stages: list[str]) -> Any:
    """Return what a server with these settings answers."""
    config = Config(rerank=settings, server=ServerSettings(indexes={"english": str(folder)}))
    with open_index(folder, config) as index:
        client = create_app(config, {"english": index}).test_client()
        body = {"query": QUERY, "retriever": "bm25", "stages": stages}
        # The first answer loads the model.
        return [client.post("/v1/english/search", json=body).json for _ in range(2)][1]


def test_a_hit_says_what_re_ranking_did_to_it(folders: dict[str, Path], reranking: RerankSettings) -> None:
    model = open_cross_encoder(reranking)
    plain = answer(folders["english"], reranking, [])["hits"]
    ranked = answer(folders["english"], reranking, ["rerank"])
    assert "coverage" not in ranked
    texts = {hit["docid"]: flat_text(hit["title"], hit["passage"]["text"]) for hit in plain}
    scores = {docid: model.score(QUERY, text) for docid, text in texts.items()}
    assert [hit["docid"] for hit in ranked["hits"]] == sorted(scores, key=lambda docid: -scores[docid])
    for hit in ranked["hits"]:
        assert hit["score"] == hit["stages"]["rerank"]["gave"] == pytest.approx(scores[hit["docid"]], rel=1e-5)
        assert plain[hit["stages"]["rerank"]["rank"] - 1]["docid"] == hit["docid"]


def test_what_re_ranking_has_no_time_for_is_answered_and_named(
    folders: dict[str, Path], reranking: RerankSettings
) -> None:
    plain = [hit["docid"] for hit in answer(folders["english"], reranking, [])["hits"]]
    hasty = msgspec.structs.replace(reranking, seconds=1e-5)
    ranked = answer(folders["english"], hasty, ["rerank"])
    assert ranked["coverage"] == {"bm25": "complete", "rerank": "cut off"}
    docids = [hit["docid"] for hit in ranked["hits"]]
    scored = [hit["docid"] for hit in ranked["hits"] if "gave" in hit["stages"]["rerank"]]
    assert sorted(docids) == sorted(plain)
    assert len(scored) < len(plain)
    assert docids[: len(scored)] == scored
    assert docids[len(scored) :] == [docid for docid in plain if docid not in scored]
