"""The example's claims with labels: forms of the tasks, counts, and evidence that stands where it is said to stand."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from factseek.claims.text.polarity import lexicon, polarity
from factseek.eval.tasks import task
from factseek.indexer.collections import ReadOptions, fever, snippets, webpages
from factseek.retrieval.domain import Document
from factseek.retrieval.sentences import sentences


@pytest.fixture(scope="module")
def pages(examples: Path) -> dict[str, Document]:
    found = fever.read([examples / "fever-pages.jsonl"], ReadOptions())
    return {record.document.docid: record.document for record in found}


def claims(examples: Path, part: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (examples / f"fever-{part}.jsonl").read_text("utf-8").splitlines()]


@pytest.mark.parametrize(("part", "count", "worth"), [("train", 42, 24), ("dev", 18, 11)])
def test_tweets_are_read_as_the_task_reads_them(examples: Path, part: str, count: int, worth: int) -> None:
    gold = task("ct2021-1a").read_gold([examples / f"checkworthy-en-{part}.tsv"])
    assert (len(gold.tweets), sum(gold.labels.values())) == (count, worth)
    assert len({tweet.topic for tweet in gold.tweets}) == 6
    assert all(re.fullmatch(r"[1-9]\d{18}", tweet.tweet_id) for tweet in gold.tweets)


def test_tweets_of_training_and_dev_differ(examples: Path) -> None:
    parts = [task("ct2021-1a").read_queries(examples / f"checkworthy-en-{part}.tsv") for part in ("train", "dev")]
    assert not {query.qid for query in parts[0]} & {query.qid for query in parts[1]}
    assert not {query.text for query in parts[0]} & {query.text for query in parts[1]}


@pytest.mark.parametrize(("name", "worth"), [("climate", 7), ("health", 8)])
def test_debates_are_read_as_the_task_reads_them(examples: Path, name: str, worth: int) -> None:
    (labels,) = task("ct2021-1b").read_gold([examples / f"debate-{name}.tsv"])
    assert (len(labels), sum(labels)) == (28, worth)


def test_the_verdicts_are_those_of_the_arabic_claims(examples: Path) -> None:
    gold = task("ct2020-verification").read_gold([examples / "verification-gold-ar.tsv"])
    queries = task("ct2020-verification").read_queries(examples / "claims-ar.tsv")
    assert list(gold) == [query.qid for query in queries]


def test_half_of_the_claims_to_train_on_are_true(examples: Path) -> None:
    header, *rows = [line.split("\t") for line in (examples / "verification-ar.tsv").read_text("utf-8").splitlines()]
    assert header == ["topic_id", "tweet_id", "tweet_text", "label"]
    labels = [row[3] for row in rows]
    assert (labels.count("TRUE"), labels.count("FALSE"), len(labels)) == (12, 12, 24)
    queries = task("ct2020-verification").read_queries(examples / "verification-ar.tsv")
    assert [query.text for query in queries] == [row[2] for row in rows]


@pytest.mark.parametrize(("part", "counts"), [("train", (14, 13, 9)), ("dev", (7, 6, 5)), ("negated", (9, 9, 0))])
def test_claims_in_fevers_form_have_evidence_that_exists(
    examples: Path, pages: dict[str, Document], part: str, counts: tuple[int, int, int]
) -> None:
    numbers = {
        row["id"]: [number for number, _ in fever.sentences(row["lines"])]
        for row in map(json.loads, (examples / "fever-pages.jsonl").read_text("utf-8").splitlines())
    }
    rows = task("fever").read_gold([examples / f"fever-{part}.jsonl"])
    labels = [row.label for row in rows]
    assert tuple(labels.count(label) for label in ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO")) == counts
    for row in rows:
        named = [sentence for group in row.groups for sentence in group]
        if row.label == "NOT ENOUGH INFO":
            assert named == [(None, None)]
        else:
            assert named
            assert all(number in numbers[str(page)] for page, number in named), row.claim


def test_claims_in_fevers_form_have_ids_of_their_own(examples: Path) -> None:
    found = [row["id"] for part in ("train", "dev", "negated") for row in claims(examples, part)]
    assert len(set(found)) == len(found) == 72


def test_every_claim_among_the_negated_is_negated(examples: Path) -> None:
    for row in claims(examples, "negated"):
        assert polarity(row["claim"], lexicon("en")).negations, row["claim"]


def test_the_pages_are_the_sentences_of_the_snippets_and_web_pages(examples: Path, pages: dict[str, Document]) -> None:
    sources = [
        *snippets.read([examples / "snippets-en.tsv"], ReadOptions()),
        *webpages.read([examples / "pages-en"], ReadOptions()),
    ]
    documents = [record.document for record in sources]
    assert list(pages) == [document.docid for document in documents]
    for document in documents:
        texts = [document.text[sentence.start : sentence.end] for sentence in sentences(document.text)]
        assert pages[document.docid].text == " ".join(texts)
