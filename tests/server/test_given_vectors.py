"""A server of indexes whose vectors the user brought."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import factseek
from factseek import commands
from factseek.retrieval.config import SearchSettings
from factseek.server.app import create_app
from factseek.server.runtime import IndexReloader
from factseek.server.settings import ServerSettings
from factseek.settings import Config

LINES = "a\tmeasles vaccine\nb\tsea level rise\n"
VECTORS = {"a": [1.0, 0.0, 0.0], "b": [0.0, 1.0, 0.0]}


@pytest.fixture
def indexes(tmp_path: Path) -> dict[str, str]:
    """Return an index of given vectors, and one that has those of an encoder too."""
    source = tmp_path / "texts.tsv"
    source.write_text(LINES, "utf-8")
    given = tmp_path / "vectors.jsonl"
    given.write_text('{"docid":"a","vector":[1,0,0]}\n{"docid":"b","vector":[0,1,0]}\n', "utf-8")
    factseek.build("snippets", [source], tmp_path / "given", vectors=VECTORS)
    factseek.build("snippets", [source], tmp_path / "both")
    add = ["compact", "--index", str(tmp_path / "both"), "--add", "vectors:mine"]
    assert commands.main([*add, "--vectors", str(given)]) == 0
    return {name: str(tmp_path / name) for name in ("given", "both")}


@pytest.mark.parametrize("retriever", ["auto", "hybrid"])
def test_a_server_serves_given_vectors(indexes: dict[str, str], retriever: str) -> None:
    config = Config(
        server=ServerSettings(indexes=indexes), search=SearchSettings(retriever=retriever)
    )
    app = create_app(config, {})
    reloader = IndexReloader(app.extensions["factseek"], config)
    reloader.start()
    try:
        client = app.test_client()

        def search(index: str, **body: Any) -> Any:
            return client.post(f"/v1/{index}/search", json={"query": "measles", **body}).json

        assert client.get("/readyz").json["indexes"] == {"given": "ready", "both": "ready"}
        assert [hit["docid"] for hit in search("given", retriever="bm25")["hits"]] == ["a"]
        nearest = search("given", retriever="dense", vector=[0, 1, 0])
        assert nearest["hits"][0]["docid"] == "b"
        assert search("both")["retriever"] == "hybrid"
        assert search("both", retriever="dense:mine", vector=[0, 1, 0])["hits"][0]["docid"] == "b"
        assert search("given", retriever="dense")["detail"] == (
            "query: given: the vectors of this index were given: factseek cannot make the vector "
            "of a text; give the vector of the query (run --query-vectors FILE, or vector in the "
            "body of a request), or search with the retriever bm25"
        )
    finally:
        reloader.stop()
