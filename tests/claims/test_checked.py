"""A statement finds the fact-check of its claim, and only that."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from factseek.claims.checked import (
    LIKENESS,
    CheckedBefore,
    differs,
    find_checked,
    has_reviews,
)
from factseek.core.deadline import Deadline
from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.search.index import Index
from factseek.settings import Config


def built(folder: Path, kind: str, source: Path, *, dense: bool = True) -> Index:
    request = BuildRequest(kind=kind, sources=(source,), folder=folder, language="en", dense=dense)
    build(request, Config())
    return Index(folder, Config())


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory, examples: Path) -> Iterator[Index]:
    folder = tmp_path_factory.mktemp("reviews") / "index"
    with built(folder, "claimreview", examples / "reviews-en.json") as index:
        yield index


def found(index: Index, text: str) -> CheckedBefore | None:
    (checked,) = find_checked({"reviews": index}, [text])
    return checked


def test_a_statement_finds_the_fact_check_of_its_claim(reviews: Index) -> None:
    checked = found(reviews, "They have known for years that the MMR jab causes autism")
    assert checked is not None
    assert checked.docid == "https://health-check.example.org/mmr-autism"
    assert (checked.index, checked.rating, checked.verdict) == ("reviews", "False", "false")
    assert (checked.publisher, checked.date) == ("Health Check Desk", "2024-11-12")
    assert checked.claim.startswith("Wake up!! The MMR jab causes autism")
    assert LIKENESS <= checked.likeness <= 1


@pytest.mark.parametrize(
    "text",
    ["Good morning!", "Taxes on bread rose by 4 percent in May.", "The vaccine is on the table"],
)
def test_a_statement_that_nobody_checked_finds_none(reviews: Index, text: str) -> None:
    assert found(reviews, text) is None


@pytest.mark.parametrize(
    ("text", "claim", "is_other"),
    [
        ("The jab does not cause autism", "The jab causes autism", True),
        ("Cases rose in May", "Cases fell in May", True),
        ("Unemployment fell to 3 percent", "Unemployment fell to 5 percent", True),
        ("The treaty of Kyoto was signed", "The treaty of Paris was signed", True),
        ("Does the jab cause autism?", "The jab causes autism", True),
        ("They say the jab causes autism in 2020", "The jab causes autism", False),
        ("Unemployment fell to 3 percent in May", "Unemployment fell to 3 percent", False),
        ("Vaccin et autisme: le jab ne cause pas", "The jab causes autism", False),
    ],
)
def test_what_says_something_else_does_not_get_the_rating(
    text: str, claim: str, is_other: bool
) -> None:
    assert differs(text, claim, "en") == is_other


def test_the_opposite_of_a_claim_has_no_fact_check(reviews: Index) -> None:
    assert found(reviews, "The MMR jab does not cause autism and they have known it") is None


def test_each_statement_has_its_own_answer_in_order(reviews: Index) -> None:
    texts = ["Good morning!"] * 20 + ["The MMR jab causes autism and they have known it for years"]
    checked = list(find_checked({"reviews": reviews}, texts))
    assert [each is not None for each in checked] == [False] * 20 + [True]


def test_the_likest_fact_check_of_several_indexes_counts(reviews: Index, tmp_path: Path) -> None:
    table = tmp_path / "claims.tsv"
    claim = "The MMR jab causes autism"
    table.write_text(f"\tvclaim\ttitle\n1\t{claim}\tTitle\n", "utf-8")
    with built(tmp_path / "index", "claims", table) as claims:
        (checked,) = find_checked({"reviews": reviews, "claims": claims}, [claim])
    assert checked is not None
    assert (checked.index, checked.docid, checked.claim) == ("claims", "1", claim)
    assert checked.likeness == pytest.approx(1, abs=0.1)  # the title is read too


def test_only_fact_checks_with_vectors_are_looked_at(
    reviews: Index, examples: Path, tmp_path: Path
) -> None:
    assert has_reviews(reviews)
    source = examples / "reviews-en.json"
    with built(tmp_path / "words", "claimreview", source, dense=False) as words:
        assert not has_reviews(words)
        assert found(words, "The MMR jab causes autism and they have known it") is None
    with built(tmp_path / "texts", "snippets", examples / "snippets-en.tsv") as texts:
        assert not has_reviews(texts)


def test_nothing_more_comes_after_the_time_limit(reviews: Index) -> None:
    with ThreadPoolExecutor(1) as beside:
        over = Deadline(-1, beside)
        assert list(find_checked({"reviews": reviews}, ["a"] * 40, over)) == []
