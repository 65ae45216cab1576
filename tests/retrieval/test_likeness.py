"""How like hits are to the first ones, against plain loops."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from factseek.indexer.build import BuildRequest, build
from factseek.indexer.settings import Config
from factseek.retrieval.dense.vectors import Vectors
from factseek.retrieval.domain import Hit
from factseek.retrieval.lucene.analysis import TermCache
from factseek.retrieval.search.combiner import matrix, names
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.likeness import NAMES, features, views_of
from factseek.retrieval.search.options import Search

pytestmark = pytest.mark.inner


def unit_vectors(rows: int) -> Vectors:
    drawn = np.random.default_rng(rows).normal(size=(rows, 16))
    return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("hits", [0, 1, 2, 4, 25])
def test_likeness_is_the_cosine_to_the_others(hits: int) -> None:
    vectors = unit_vectors(hits)
    found = features(vectors)
    assert found.shape == (hits, len(NAMES))
    for at, row in enumerate(found):
        cosines = {to: float(np.dot(vectors[at], vectors[to])) for to in range(hits) if to != at}
        for value, first in zip(row, (3, 5, 10), strict=False):
            among = [cosine for to, cosine in cosines.items() if to < first]
            assert value == pytest.approx(sum(among) / len(among) if among else 0, abs=1e-6)
        assert row[3] == pytest.approx(max(cosines.values(), default=0), abs=1e-6)


def test_likeness_does_not_depend_on_how_it_is_computed() -> None:
    vectors = unit_vectors(40)
    assert (features(vectors) == features(np.asfortranarray(vectors))).all()
    assert (features(vectors) == features(vectors.copy())).all()


def test_each_ranking_by_vectors_has_its_own_view() -> None:
    assert views_of(("bm25", "dense", "dense:other")) == {"dense": "vectors", "dense:other": "vectors:other"}
    columns = names(("bm25", "dense", "dense:other"))
    assert columns[-8] == "dense: like the first 3"
    assert columns[-1] == "dense:other: like another"


def test_nothing_is_alike_in_a_view_that_is_missing() -> None:
    hits, passages = [Hit(str(at), 1.0 - at, 0, ()) for at in range(3)], [("", "text")] * 3
    vectors = {"vectors:other": unit_vectors(3)}
    terms = TermCache(lambda words: [(word,) for word in words])
    found = matrix("query", hits, passages, terms, ("bm25", "dense", "dense:other"), vectors=vectors)
    assert (found[:, -8:-4] == 0).all()
    assert (found[:, -4:] == features(vectors["vectors:other"])).all()


def test_the_vectors_of_hits_are_those_of_their_passages(root: Path, tmp_path: Path) -> None:
    source = root / "examples/snippets-en.tsv"
    build(BuildRequest(kind="snippets", sources=(source,), folder=tmp_path / "index"), Config())
    with Index(tmp_path / "index") as index:
        (hits,) = index.search(["measles vaccine"], Search(retriever="dense"))
        vectors = index.passage_vectors(hits[::-1], "vectors")
        assert index.passage_vectors([], "vectors").shape[0] == 0
        asked = index.encoder.encode_query(["measles vaccine"])[0]
    assert len(hits) > 3
    assert vectors @ asked == pytest.approx([hit.score for hit in hits[::-1]], abs=1e-6)
