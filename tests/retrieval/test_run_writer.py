"""Lines of runs: written fast, and as a slow and plain writer would write them."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.retrieval.domain import Hit, ScoredDocids
from factseek.retrieval.errors import QueryError
from factseek.retrieval.records.runs import best_documents, columns, run_lines, runs_lines, score_texts
from factseek.retrieval.search.order import ordered

SINGLES = st.floats(width=32, allow_nan=False, allow_infinity=False)
HITS = st.lists(
    st.builds(Hit, st.sampled_from("abcdé"), SINGLES | st.sampled_from([1.0, 2.0]), st.integers(0, 2)), max_size=8
)
BAD = ["", "a b", " a", "a ", "a\tb", "a\u00a0b", "\u3000", "a\0b", "\ud800", "a\nb", "\x1f"]


def slow(qid: str, hits: list[Hit], tag: str) -> str:
    seen: dict[str, Hit] = {}
    for hit in ordered(hits):
        seen.setdefault(hit.docid, hit)
    rows = [(qid, "Q0", hit.docid, str(rank), hit.score, tag) for rank, hit in enumerate(seen.values(), 1)]
    return "".join(f"{q} {q0} {d} {r} {said(s)} {t}\n" for q, q0, d, r, s, t in rows)


def said(score: float) -> str:
    return score_texts(np.array([score], dtype=np.float32))[0]


@given(st.lists(HITS, max_size=5))
def test_lines_are_those_of_a_plain_writer(drawn: list[list[Hit]]) -> None:
    answers = [(f"q{at}", best_documents(hits)) for at, hits in enumerate(drawn)]
    assert runs_lines(answers, "t") == [slow(f"q{at}", hits, "t") for at, hits in enumerate(drawn)]


@given(st.lists(HITS, min_size=1, max_size=5))
def test_a_query_is_written_alike_in_any_company(drawn: list[list[Hit]]) -> None:
    answers = [(f"q{at}", best_documents(hits)) for at, hits in enumerate(drawn)]
    assert runs_lines(answers, "t") == [run_lines(f"q{at}", hits, "t") for at, hits in enumerate(drawn)]


@given(st.lists(SINGLES))
def test_scores_read_back_to_the_same_float32(drawn: list[float]) -> None:
    scores = np.array(drawn, dtype=np.float32)
    texts = score_texts(scores)
    assert np.array([float(text) for text in texts], dtype=np.float32).tolist() == scores.tolist()
    assert not any(set(text) - set("-0123456789.") for text in texts)


@pytest.mark.parametrize(
    ("score", "text"),
    [
        (0.1, "0.1"), (12.3456, "12.3456"), (100, "100.0"), (-2.5, "-2.5"), (0, "0.0"), (1e-4, "0.0001"),
        (9_999_999, "9999999.0"), (1e7, "10000000.0"), (1e-7, "0.0000001"), (1 / 61, "0.016393442"),
        (16_777_216, "16777216.0"),
    ],
)  # fmt: skip
def test_scores_are_said_in_few_digits(score: float, text: str) -> None:
    assert said(score) == text


def test_most_scores_are_said_in_as_few_digits_as_can_be() -> None:
    scores = np.random.default_rng(0).uniform(0.001, 60, 20_000).astype(np.float32)
    longer = sum(len(text) > len(str(score)) for text, score in zip(score_texts(scores), scores, strict=True))
    assert longer < 20


def test_the_best_passage_of_a_document_stands_for_it() -> None:
    found = best_documents([Hit("a", 0.5, 1), Hit("b", 0.25), Hit("a", 0.75, 2), Hit("c", 0.25)])
    assert found == ScoredDocids(["a", "c", "b"], [0.75, 0.25, 0.25])


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("at", [0, 1, 2])
def test_one_value_that_cannot_stand_in_a_column_is_found_among_many(bad: str, at: int) -> None:
    values = ["x", "é"]
    values.insert(at, bad)
    with pytest.raises(QueryError):
        columns(values)


@given(st.lists(st.text(st.characters(blacklist_categories=("Cs", "Cc", "Z")), min_size=1)))
def test_values_without_white_space_pass(values: list[str]) -> None:
    columns(values)
