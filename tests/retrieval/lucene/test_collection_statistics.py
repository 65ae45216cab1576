"""BM25 with the statistics of a larger collection, against Lucene over the whole of it."""

from __future__ import annotations

import pickle
import random
from pathlib import Path

import pytest

from factseek.retrieval.lucene.analysis import Analyzer
from factseek.retrieval.lucene.index import Fields, PassageSearcher, PassageWriter, Weights
from factseek.retrieval.lucene.jvm import start
from factseek.retrieval.search.collection_statistics import (
    CollectionQuery,
    CollectionStatistics,
    joined_counts,
    joined_fields,
)

pytestmark = pytest.mark.inner

WORDS = [f"w{number:03d}" for number in range(120)]


def passages(seed: int) -> list[tuple[str, str, str]]:
    """Return docid, title and text of passages of very different lengths, of words of very different frequency."""
    draw = random.Random(seed)
    weights = [1 / (rank + 1) for rank in range(len(WORDS))]
    return [
        (f"d{number}", " ".join(draw.choices(WORDS, weights, k=3)),
         " ".join(draw.choices(WORDS, weights, k=draw.choice([0, 3, 17, 90]))))
        for number in range(400)
    ]  # fmt: skip


def written(folder: Path, some: list[tuple[str, str, str]], fields: Fields) -> PassageSearcher:
    writer = PassageWriter(folder / "s" / "lucene", "english", fields)
    for docid, title, text in some:
        writer.add(title, text, f"id:s:{docid}")
    writer.finish()
    return PassageSearcher([folder / "s" / "lucene"], "english", fields)


@pytest.mark.parametrize("fields", ["flat", "title_text"])
@pytest.mark.parametrize("shards", [1, 3, 401])
def test_scores_are_those_of_the_whole_collection_to_the_last_bit(tmp_path: Path, fields: Fields, shards: int) -> None:
    start()
    collection = passages(7)
    whole = written(tmp_path / "whole", collection, fields)
    parts = [collection[at::shards] for at in range(min(shards, 7))]
    if shards > 7:
        parts = [collection, [], *([] for _ in range(2))]
    opened = [written(tmp_path / f"part{at}", part, fields) for at, part in enumerate(parts)]
    terms = Analyzer("english")
    sizes = joined_fields([shard.field_statistics() for shard in opened])
    assert sizes == tuple(whole.field_statistics())
    for number, query in enumerate(["w000 w001", "w119", "w050 w050 w003 nowhere", "nowhere"]):
        named = [(field.field, term) for field in sizes for term in sorted(set(terms.tokens(query)))]
        counts = joined_counts([shard.term_counts(named) for shard in opened])
        assert counts == whole.term_counts(named)
        asked = CollectionQuery(query, CollectionStatistics("first", sizes, dict(zip(named, counts, strict=True))), {})
        asked = pickle.loads(pickle.dumps(asked))
        for weights in (Weights(), Weights(1.2, 0.75, 2.0, 0.5)):
            scores, rows = whole.search(query, 1000, None, weights)
            expected = sorted(zip(scores, (collection[row][0] for row in rows), strict=True))
            found = []
            for part, shard in zip(parts, opened, strict=True):
                of_shard = shard.search(asked, 1000, None, weights)
                found += zip(of_shard[0], (part[row][0] for row in of_shard[1]), strict=True)
            assert sorted(found) == expected
            assert bool(expected) == (number < 3)
    for shard in (whole, *opened):
        shard.close()
