"""Reviews that are exported hold what schema.org and Google ask of them, and are read back as they
were.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator

from factseek import commands
from factseek.core.errors import SourceError
from factseek.core.records.claim_review import review_of
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.collections import ReadOptions, reader
from factseek.indexer.export import documents_of, export_reviews
from factseek.settings import Config

ADDRESS = {"type": "string", "pattern": "^https?://[^\\s]+$"}
NAMED = {
    "type": "object",
    "required": ["@type", "name"],
    "properties": {
        "@type": {"enum": ["Organization", "Person"]}, "name": {"type": "string", "minLength": 1},
        "url": ADDRESS, "image": ADDRESS, "jobTitle": {"type": "string"},
        "sameAs": {"type": "array", "minItems": 1, "items": ADDRESS},
    },
    "additionalProperties": False,
}  # fmt: skip
DATE = {"type": "string", "pattern": "^[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?$"}
NUMBER = {"type": "number"}
WORK = {
    "type": "object",
    "required": ["@type", "url"],
    "properties": {"@type": {"const": "CreativeWork"}, "url": ADDRESS},
    "additionalProperties": False,
}
REVIEW: dict[str, Any] = {
    "type": "object",
    "required": ["@type", "claimReviewed", "reviewRating", "url"],
    "properties": {
        "@type": {"const": "ClaimReview"},
        "@id": {"type": "string", "pattern": "^(https?:|urn:)"},
        "url": ADDRESS,
        "claimReviewed": {"type": "string", "minLength": 1},
        "headline": {"type": "string"},
        "datePublished": DATE,
        "inLanguage": {"type": "string", "pattern": "^[a-z]{2,3}$"},
        "author": NAMED,
        "publisher": NAMED,
        "reviewRating": {
            "type": "object",
            "required": ["@type", "alternateName"],
            "properties": {
                "@type": {"const": "Rating"},
                "alternateName": {"type": "string", "minLength": 1},
                "ratingValue": NUMBER,
                "bestRating": NUMBER,
                "worstRating": NUMBER,
                "ratingExplanation": {"type": "string"},
            },
            "dependentRequired": {"ratingValue": ["bestRating", "worstRating"]},
            "additionalProperties": False,
        },
        "itemReviewed": {
            "type": "object",
            "required": ["@type"],
            "properties": {
                "@type": {"const": "Claim"},
                "author": NAMED,
                "datePublished": DATE,
                "firstAppearance": WORK,
                "appearance": {"type": "array", "minItems": 1, "items": WORK},
            },
            "additionalProperties": False,
        },
    },
    "additionalProperties": False,
}
"""The properties of schema.org's ClaimReview, Rating and Claim that are written.

Required are those that Google's documentation of fact checks (ClaimReview structured data) calls
required: claimReviewed, reviewRating with its alternateName, and url.
"""
FEED = {
    "type": "object",
    "required": ["@context", "@type", "dataFeedElement"],
    "properties": {
        "@context": {"const": "https://schema.org"}, "@type": {"const": "DataFeed"},
        "dataFeedElement": {"type": "array", "minItems": 1, "items": REVIEW},
    },
    "additionalProperties": False,
}  # fmt: skip


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory, examples: Path) -> Path:
    folder = tmp_path_factory.mktemp("reviews") / "index"
    source = examples / "reviews-en.json"
    build(BuildRequest(kind="claimreview", sources=(source,), folder=folder, dense=False), Config())
    return folder


def faults(schema: dict[str, Any], value: Any) -> list[str]:
    return [error.message for error in Draft202012Validator(schema).iter_errors(value)]


def test_what_is_exported_holds_what_is_required_and_is_read_back(
    index: Path, tmp_path: Path
) -> None:
    path = tmp_path / "feed.json"
    assert (
        commands.main(
            ["export", "--as", "claimreview", "--index", str(index), "--output", str(path)]
        )
        == 0
    )
    feed = json.loads(path.read_text("utf-8"))
    assert faults(FEED, feed) == []
    assert len(feed["dataFeedElement"]) == 22
    again = [record.document for record in reader("claimreview").read([path], ReadOptions())]
    assert again == [stored.document for stored in documents_of(index)]
    assert b"".join(export_reviews(index, None, Counter())) == path.read_bytes()


FIRST, LATER, LAST = (f"https://posts.example.com/{number}" for number in range(3))
APPEARANCES = [
    ({"firstAppearance": {"@type": "CreativeWork", "url": FIRST}}, FIRST, []),
    ({"firstAppearance": FIRST, "appearance": [{"url": LATER}, {"url": FIRST}]}, FIRST, [LATER]),
    ({"appearance": [{"url": LATER}, {"url": LAST}]}, "", [LATER, LAST]),
    ({}, "", []),
]


@pytest.mark.parametrize(("claim", "first", "later"), APPEARANCES)
def test_first_appearances_are_written(
    claim: dict[str, Any], first: str, later: list[str], tmp_path: Path
) -> None:
    written = {
        "@type": "ClaimReview",
        "url": "https://a.example.org/1",
        "claimReviewed": "It is so.",
        "reviewRating": "True",
        "itemReviewed": {"@type": "Claim", **claim},
        "author": {"@type": "Organization", "name": "Us"},
    }
    (tmp_path / "a.json").write_text(json.dumps(written), "utf-8")
    (document,) = (
        record.document for record in reader("claimreview").read([tmp_path], ReadOptions())
    )
    review = review_of(document)
    assert review is not None
    assert faults(REVIEW, review) == []
    appeared = review.get("itemReviewed", {})
    assert appeared.get("firstAppearance", {}).get("url", "") == first
    assert [work["url"] for work in appeared.get("appearance", [])] == later
    assert document.metadata.get("appearances", []) == ([first] if first else []) + later
    (tmp_path / "a.json").write_text(json.dumps(review), "utf-8")
    assert [
        record.document for record in reader("claimreview").read([tmp_path], ReadOptions())
    ] == [document]


def test_an_index_without_reviews_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, folder = tmp_path / "a.jsonl", tmp_path / "index"
    source.write_text('{"docid": "1", "text": "a"}\n{"docid": "2", "text": "b"}\n', "utf-8")
    build(BuildRequest(kind="jsonl", sources=(source,), folder=folder, dense=False), Config())
    left_out: Counter[str] = Counter()
    with pytest.raises(SourceError):
        list(export_reviews(folder, None, left_out))
    assert left_out == {"without a claim, an address or a rating": 2}
    output = tmp_path / "no.json"
    assert (
        commands.main(
            ["export", "--as", "claimreview", "--index", str(folder), "--output", str(output)]
        )
        == 2
    )
    assert not output.exists()
    assert capsys.readouterr().err == (
        f"factseek: {folder}: contains no review of a claim; add documents with a text, a web "
        "address, and a rating "
        "in their metadata\n"
    )
