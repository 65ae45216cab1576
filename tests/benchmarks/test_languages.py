"""The figures within and across languages, of rankings that are known."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.fusion import DEFAULT, Case, RankedCase, Ranking, languages_report
from benchmarks.quality import BenchCollection
from factseek.eval.run.batch import SearchQuery
from factseek.retrieval.domain import Hit

pytestmark = pytest.mark.inner

SECOND: Ranking = {"q1": [Hit("b", 2.0), Hit("a", 1.9), Hit("c", 0.0)]}
FIRST: Ranking = {"q1": [Hit("a", 2.0), Hit("b", 1.0)]}


def ranked(name: str, dense: str = "dense") -> RankedCase:
    """Return a case with one question, which the ranking by vectors answers first and BM25 second."""
    collection = BenchCollection("XQuAD-R en", (), Path("q"), Path("qrels"))
    case = Case(name, "XQuAD-R", collection, (SearchQuery("q1", "claim", None),), {"q1": {"a": 1}}, dense)
    return RankedCase(case, {"bm25": SECOND, "dense": SECOND} | {dense: FIRST})


def test_across_languages_the_multilingual_ranking_counts() -> None:
    cases = [ranked("XQuAD-R en"), ranked("XQuAD-R ar over en", "dense:multilingual-e5-small")]

    table = languages_report(cases, DEFAULT)

    figures = "0.500 (0.500 to 0.500) | 1.000 (1.000 to 1.000) | 1.000 (1.000 to 1.000) | +0.500 (+0.500 to +0.500) |"
    for name in ("XQuAD-R en", "XQuAD-R ar over en", "mean over the pairs"):
        assert f"| {name} | {figures}" in table
