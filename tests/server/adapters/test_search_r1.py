"""Search-R1's retriever: golden requests and answers written from its server and its client, and
the client of verl.
"""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from flask.testing import FlaskClient

QUERIES = ["measles vaccine doses", "walked on the moon"]


@pytest.mark.parametrize(
    ("body", "loc"),
    [
        ({}, "queries"),
        ({"queries": "one"}, "queries"),
        ({"queries": ["measles", 7]}, "queries[1]"),
        ({"queries": ["measles"], "topk": 51}, "topk"),
    ],
)
def test_what_makes_no_sense_is_refused_as_fastapi_does(
    asked: FlaskClient, body: Any, loc: str
) -> None:
    answer = asked.post("/search-r1/retrieve", json=body)
    assert answer.status_code == 422
    assert [fault["loc"] for fault in answer.json["detail"]] == [["body", loc]]


VERL = Path(sys.prefix) / "of-verl" / "verl" / "tools" / "utils" / "search_r1_like_utils.py"
"""Where ``.ci/run`` puts the module with which verl, a library of reinforcement learning, asks
Search-R1's retriever.

It is apart from the other packages, and read by its path: verl brings a package ``tests`` along,
and imports much.
"""


def verls_client() -> ModuleType:
    if not VERL.exists():
        pytest.skip(
            f"{VERL} is not there: pip install --no-deps --target .venv/of-verl verl==0.5.0"
        )
    spec = importlib.util.spec_from_file_location(VERL.stem, VERL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.real
def test_verls_client(base: str, asked: FlaskClient) -> None:
    client = verls_client()
    text, metadata = client.perform_single_search_batch(
        f"{base}/search-r1/retrieve", QUERIES, topk=2
    )
    body = {"queries": QUERIES, "topk": 2, "return_scores": True}
    assert metadata["api_response"] == asked.post("/search-r1/retrieve", json=body).json
    assert (metadata["status"], metadata["total_results"]) == ("success", 4)
    title = metadata["api_response"]["result"][0][0]["document"]["contents"].partition("\n")[0]
    assert json.loads(text)["result"].startswith(f"Doc 1 (Title: {title})\n")
    _, refused = client.perform_single_search_batch(
        f"{base}/search-r1/retrieve", QUERIES, topk=10_001
    )
    assert (refused["status"], refused["api_response"]) == ("api_error", None)
