"""Lines between columns: every shared document joined once in each gap, ends in the middle of its ranks."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from factseek.retrieval.evidence import Evidence, PassageAnswer
from factseek.server.page.joins import gap, numbered

RANKING = st.lists(st.sampled_from("abcdefgh"), unique=True)


def hits(docids: list[str]) -> list[Evidence]:
    passage = PassageAnswer(number=0, start=0, end=0, text="", highlights=[])
    empty = dict.fromkeys(("title", "url", "date", "language", "source", "topic", "kind"), "")
    return [
        Evidence(rank=rank, docid=docid, score=1.0, retrievers={}, passage=passage, metadata={}, **empty)
        for rank, docid in enumerate(docids, 1)
    ]


def test_a_line_by_hand() -> None:
    left, right = hits(["a", "b"]), hits(["c", "x", "b"])
    drawn = gap(left, right, {"b": 1}, 3)
    assert (drawn.width, drawn.height) == (100, 300)
    (line,) = drawn.lines
    assert line == (1, 2, 3, "M0 150C50 150 50 250 100 250")


def test_documents_are_numbered_as_they_stand() -> None:
    rankings = {"bm25": hits(["a", "b", "c"]), "hybrid": hits(["c", "a", "d"]), "dense": hits(["e", "c"])}
    assert numbered(rankings) == {"a": 1, "c": 2}


@given(RANKING, RANKING)
def test_every_shared_document_is_joined_once(left: list[str], right: list[str]) -> None:
    rankings = {"bm25": hits(left), "dense": hits(right)}
    joins = numbered(rankings)
    shared = set(left) & set(right)
    assert joins.keys() == shared
    assert sorted(joins.values()) == list(range(1, len(shared) + 1))
    drawn = gap(rankings["bm25"], rankings["dense"], joins, max(len(left), len(right), 1))
    assert {(line.left, line.right) for line in drawn.lines} == {
        (left.index(docid) + 1, right.index(docid) + 1) for docid in shared
    }
    for line in drawn.lines:
        assert all(0 <= int(number) <= drawn.height for number in re.findall(r"\d+", line.path))


def test_a_document_with_several_passages_is_joined_by_its_best() -> None:
    left = hits(["a", "a", "b"])
    drawn = gap(left, hits(["b", "a"]), numbered({"bm25": left, "dense": hits(["b", "a"])}), 3)
    assert [(line.left, line.right) for line in drawn.lines] == [(1, 2), (3, 1)]
