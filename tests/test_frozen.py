"""What was written down by ``python -m tests.frozen.freeze`` still holds."""

import json
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from tests.frozen import freeze

SCORES_OF_VECTORS = 0.08
"""Scores of vectors differ by so much between processors; z-scores over few hits make most of
it.
"""


def frozen(name: str) -> Any:
    return json.loads((freeze.HERE / name).read_text("utf-8"))


def test_the_help_of_every_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    now, then = freeze.helps(), frozen("help.json")
    assert now.keys() == then.keys()
    for name, text in then.items():
        assert now[name] == text, name


@pytest.mark.real
def test_runs(example_folder: Path, tmp_path: Path) -> None:
    now, then = freeze.runs(example_folder / "indexes", tmp_path), frozen("runs.json")
    assert now.keys() == then.keys()
    for name, run in then.items():
        if isinstance(run, str):
            assert now[name] == run, f"{name}: other bytes"
            continue
        for (qid, hits), (other, expected) in zip(by_query(now[name]), by_query(run), strict=True):
            assert qid == other
            check_ranking(hits, expected, f"{name} {qid}")


def by_query(run: list[list[Any]]) -> list[tuple[str, dict[str, float]]]:
    """Return the scores by docid of each query, in order."""
    return [
        (qid, {docid: score for _, docid, score in lines})
        for qid, lines in groupby(run, lambda line: line[0])
    ]


def check_ranking(hits: dict[str, float], expected: dict[str, float], where: str) -> None:
    """Check that every document is there with a score that is near; one at the cut may have made
    way for another.
    """
    cut = min(expected.values()) + SCORES_OF_VECTORS
    for docid, score in expected.items():
        if score > cut:
            assert hits[docid] == pytest.approx(score, abs=SCORES_OF_VECTORS), f"{where} {docid}"


@pytest.mark.real
def test_answers_over_http(example_folder: Path) -> None:
    now, then = freeze.answers(example_folder / "indexes"), frozen("answers.json")
    assert len(then) >= 200
    assert len(now) == len(then)
    for answer, expected in zip(now, then, strict=True):
        check(answer, expected)


def check(answer: dict[str, Any], expected: dict[str, Any]) -> None:
    request = f"{expected['method']} {expected['address']} {expected.get('body')}"
    body, then = answer.pop("answer"), expected.pop("answer")
    assert answer == expected, request
    if isinstance(then, dict) and then.get("retriever") in ("dense", "hybrid") and "hits" in then:
        scores = [{hit["docid"]: hit["score"] for hit in one["hits"]} for one in (body, then)]
        check_ranking(*scores, request)
    elif expected["address"] == "/v1/claims/rank" and isinstance(then, dict) and "claims" in then:
        # They rest on vectors too: of the words of claims that are near each other another may come
        # first.
        for one in (body, then):
            for claim in one["claims"]:
                del claim["words"]
        assert freeze.near(body, then, SCORES_OF_VECTORS), f"{request}\n{body}\n{then}"
    else:
        assert freeze.near(body, then, 1e-6), f"{request}\n{body}\n{then}"
