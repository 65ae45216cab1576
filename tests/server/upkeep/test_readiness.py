"""Readiness is a real search, asked until it was answered."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import pytest

from factseek.retrieval.errors import IndexStateError
from factseek.retrieval.index.local import Index
from factseek.server.upkeep.readiness import Readiness

pytestmark = pytest.mark.inner


def test_an_index_that_answered_is_not_asked_again(indexes: dict[str, Index], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Sequence[str]] = []
    search = indexes["english"].search

    def counted(queries: Sequence[str], *rest: Any) -> Any:
        asked.append(queries)
        return search(queries, *rest)

    monkeypatch.setattr(indexes["english"], "search", counted)
    readiness = Readiness(indexes)
    assert readiness.states() == {"english": "ready", "arabic": "ready"}
    searches = len(asked)
    assert searches
    assert readiness.states() == {"english": "ready", "arabic": "ready"}
    assert len(asked) == searches


@pytest.mark.parametrize("error", [IndexStateError("segment 0 is damaged"), RuntimeError("segment 0 is damaged")])
def test_a_broken_index_is_named_and_asked_again(
    indexes: dict[str, Index], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    def broken(*_: Any) -> Any:
        raise error

    readiness = Readiness(indexes)
    with monkeypatch.context() as patch, caplog.at_level(logging.ERROR, "factseek.server"):
        patch.setattr(indexes["english"], "search", broken)
        assert readiness.states() == {"english": "unavailable", "arabic": "ready"}
    assert "english is not ready" in caplog.text
    assert "segment 0 is damaged" in caplog.text
    assert readiness.states() == {"english": "ready", "arabic": "ready"}
