"""Answers that an approximate index of vectors had a part in say so, and no others."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from factseek import commands
from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.search.index import Index
from factseek.server.app import create_app
from factseek.settings import convert

CONFIG = convert({"dense": {"auto_flat_below": 16, "exact_below": 1}}, "settings")
MARK = "By an approximate index: a few of the nearest may be missing."


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index whose vectors are searched approximately."""
    root = tmp_path_factory.mktemp("approximate")
    lines = [json.dumps({"docid": f"d{number}", "text": f"Vaccine {number} prevents measles."}) for number in range(20)]
    (root / "docs.jsonl").write_text("\n".join(lines), "utf-8")
    build(BuildRequest(kind="jsonl", sources=(root / "docs.jsonl",), folder=root / "index"), CONFIG)
    return root / "index"


@pytest.fixture
def client(folder: Path) -> Iterator[FlaskClient]:
    with Index(folder, CONFIG) as index:
        yield create_app(CONFIG, {"vaccines": index}).test_client()


@pytest.mark.parametrize(("retriever", "approximate"), [("bm25", None), ("dense", True), ("hybrid", True)])
def test_every_answer_says_whether_it_is_approximate(
    client: FlaskClient, retriever: str, approximate: bool | None
) -> None:
    address, asked = "/v1/vaccines/search", {"query": "measles", "retriever": retriever}
    batch = {"queries": [{"qid": "1", "text": "measles"}], "retriever": retriever}
    many = client.post("/v1/search", json={**asked, "indexes": ["vaccines"]}).json
    answers = [
        client.get(address, query_string=asked).json,
        client.post(address, json=asked).json,
        client.post(f"{address}/batch", json=batch).json["results"][0],
        many["indexes"]["vaccines"],
    ]
    assert [answer.get("approximate") for answer in answers] == [approximate] * 4


@pytest.mark.parametrize(("view", "times"), [("", 1), ("side", 2)])
def test_the_page_says_which_rankings_are_approximate(client: FlaskClient, view: str, times: int) -> None:
    page = client.get("/", query_string={"query": "measles", "index": "vaccines", "view": view})
    assert page.text.count(MARK) == times


def test_the_command_says_so_in_json(folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def printed(settings: str, *options: str) -> str:
        (tmp_path / "config.yaml").write_text(settings, "utf-8")
        words = ["search", "measles", "--index", str(folder), "--json", "--config", str(tmp_path / "config.yaml")]
        assert commands.main([*words, *options]) == 0
        return capsys.readouterr().out

    assert json.loads(printed("dense: {exact_below: 1}"))["approximate"] is True
    assert "approximate" not in json.loads(printed("dense: {exact_below: 1}", "--retriever", "bm25"))
    assert "approximate" not in json.loads(printed("dense: {type: flat}"))
