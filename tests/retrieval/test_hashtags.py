"""A hashtag is a word before it is several words."""

import json
from collections.abc import Iterator

import pytest

from factseek.core.text import hashtags_of_words
from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.settings import convert

TEXTS = {
    "whole": "ModeRNA raised its forecast",
    "parts": "mode rna mode rna",
    "words": "wash your hands",
    "word": "hands are warm",
    "other": "unrelated text",
}


@pytest.fixture(scope="module", params=["en", "de"])
def index(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Index]:
    folder = tmp_path_factory.mktemp(f"hashtags-{request.param}")
    source = folder / "documents.jsonl"
    rows = (json.dumps({"docid": docid, "text": text}) for docid, text in TEXTS.items())
    source.write_text("".join(f"{row}\n" for row in rows), "utf-8")
    build(
        BuildRequest(
            kind="jsonl",
            sources=(source,),
            folder=folder / "index",
            language=request.param,
            dense=False,
        ),
        convert({}, "test"),
    )
    with Index(folder / "index") as opened:
        yield opened


def ranked(index: Index, query: str) -> list[str]:
    return [hit.docid for hit in index.search([query], Search(k=9, profile="tweet"))[0]]


def test_a_text_with_the_hashtag_comes_before_one_with_its_words(index: Index) -> None:
    assert ranked(index, "#ModeRNA") == ["whole", "parts"]
    assert ranked(index, "#mode_RNA") == ["parts"]
    assert set(ranked(index, "#ModeRNA is warm")[:2]) == {"whole", "word"}


def test_a_repeated_hashtag_weighs_more_than_its_words_too(index: Index) -> None:
    assert ranked(index, "#ModeRNA #ModeRNA") == ["whole", "parts"]
    assert ranked(index, "#ModeRNA, #ModeRNA.\n#ModeRNA") == ["whole", "parts"]


def test_the_words_of_a_hashtag_that_no_text_has_count_fully(index: Index) -> None:
    tagged, plain = index.search(
        ["#WashYourHands", "WashYourHands wash your hands"], Search(k=9, profile="tweet")
    )
    assert [hit.docid for hit in tagged] == ["words", "word"]
    assert [hit.score for hit in tagged] == [hit.score for hit in plain]


def test_hashtags_of_a_tweet_are_those_of_several_words() -> None:
    text = "RT @a_B: #FollowUp #news &#35;x http://t.co/aB #a_b1 #FollowUp"
    assert hashtags_of_words(text) == (("FollowUp", "Follow Up"), ("a_b1", "a b 1"))
    assert hashtags_of_words("no FollowUp") == ()
