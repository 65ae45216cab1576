"""Tweets as JSON: the whole text where ``text`` is cut, in each format that has it elsewhere."""

import json
from pathlib import Path

import pytest

from factseek.core.errors import SourceError
from factseek.core.records.tweet_objects import texts_of_tweets, tweets_in
from factseek.eval.files.topics import read_topics
from factseek.eval.files.tweets import read_tweets
from factseek.eval.tasks.ct2021_1a import stream_statements
from factseek.server.errors import BadInput
from factseek.server.page.statements import kind_of, statements_of

WHOLE = "The ferry to Northport carried forty thousand people last summer, says the port office"
CUT = "The ferry to Northport carried forty thousand…"
QUOTED = "The bridge is closed"

EXTENDED = {"id": 5, "id_str": "5", "text": CUT, "extended_tweet": {"full_text": WHOLE}}
NOTE = {"id": "5", "text": CUT, "note_tweet": {"text": WHOLE}}
RETWEETED = [{"type": "retweeted", "id": "4"}]
FORMS: dict[str, object] = {
    "extended_tweet": EXTENDED,
    "full_text beside a cut text": {"id_str": "5", "text": CUT, "full_text": WHOLE},
    "retweeted_status": {
        "id_str": "5",
        "full_text": f"RT @port: {CUT}",
        "retweeted_status": {"id_str": "4", "full_text": WHOLE},
    },
    "retweeted_status in compatibility mode": {
        "id_str": "5",
        "text": f"RT @port: {CUT}",
        "retweeted_status": {**EXTENDED, "id_str": "4"},
    },
    "note_tweet": NOTE,
    "note_tweet of the website": {
        "id_str": "5",
        "full_text": CUT,
        "note_tweet": {"note_tweet_results": {"result": {"id": "x", "text": WHOLE}}},
    },
    "a retweet of a tweet that has a note": {
        "data": {"id": "5", "text": f"RT @port: {CUT}", "referenced_tweets": RETWEETED},
        "includes": {"tweets": [{**NOTE, "id": "4"}]},
    },
    "API v2, one tweet": {"data": NOTE},
    "API v2, a page": {"data": [NOTE], "meta": {"result_count": 1}},
    "API v2, a retweet": {
        "data": [{"id": "5", "text": f"RT @port: {CUT}", "referenced_tweets": RETWEETED}],
        "includes": {"tweets": [{"id": "4", "text": WHOLE}]},
    },
    "API v2, flattened": {
        "id": "5",
        "text": f"RT @port: {CUT}",
        "referenced_tweets": [{**RETWEETED[0], "text": WHOLE}],
    },
    "an entry of an archive": {"tweet": {"id_str": "5", "full_text": WHOLE}},
}


@pytest.fixture
def put(tmp_path: Path):
    def write(content: str) -> Path:
        path = tmp_path / "tweets"
        path.write_text(content, "utf-8")
        return path

    return write


@pytest.mark.parametrize("form", FORMS)
def test_the_whole_text_is_read_by_every_command_and_the_page(form: str, put) -> None:
    line = json.dumps(FORMS[form])
    path = put(line + "\n")
    assert [tuple(query) for query in read_topics(path)] == [("5", WHOLE)]
    assert [(tweet.tweet_id, tweet.text) for tweet in read_tweets(path)] == [("5", WHOLE)]
    assert [each.text for each in stream_statements([line.encode()], "-")] == [WHOLE]
    assert kind_of(line) == "tweets"
    assert [claim.text for claim in statements_of(line, "tweets", 9)] == [WHOLE]


@pytest.mark.parametrize("indent", [None, 1])
def test_a_file_of_one_value_may_span_lines(indent: int | None, put) -> None:
    answer = json.dumps({"data": [NOTE, {"id": "6", "text": "b"}]}, indent=indent)
    archive = f"window.YTD.tweets.part0 = {json.dumps([FORMS['an entry of an archive']], indent=2)}"
    for content, texts in ((answer, [WHOLE, "b"]), (archive, [WHOLE])):
        path = put(content + "\n")
        assert [query.text for query in read_topics(path)] == texts
        assert [tweet.text for tweet in read_tweets(path)] == texts
        assert texts_of_tweets(content) == texts


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize("value", [EXTENDED, [EXTENDED]])
def test_a_tweet_and_a_list_of_tweets_may_span_lines(
    value: object, indent: int | None, put
) -> None:
    path = put(json.dumps(value, indent=indent))
    assert [query.text for query in read_topics(path)] == [WHOLE]
    assert [tweet.text for tweet in read_tweets(path)] == [WHOLE]


@pytest.mark.parametrize("indent", [None, 2])
def test_plain_tweets_and_entries_of_archives_may_be_in_a_list(indent: int | None, put) -> None:
    for rows in ([{"id": 5, "text": WHOLE}], [FORMS["an entry of an archive"]]):
        content = json.dumps(rows, indent=indent)
        path = put(content)
        assert [query.text for query in read_topics(path)] == [WHOLE]
        assert [tweet.text for tweet in read_tweets(path)] == [WHOLE]
        assert [claim.text for claim in statements_of(content, kind_of(content), 9)] == [WHOLE]


@pytest.mark.parametrize(
    ("before", "indent"), [("", None), ("", 2), ("window.YTD.tweets.part0 = ", 2)]
)
def test_a_list_of_tweets_is_no_stream(before: str, indent: int | None) -> None:
    content = before + json.dumps([FORMS["an entry of an archive"]], indent=indent)
    with pytest.raises(SourceError) as caught:
        list(stream_statements(content.encode().splitlines(), "standard input"))
    assert str(caught.value) == (
        "standard input:1: is a JSON list, not JSON lines; save it in a file, and name the file in "
        "--input"
    )


def test_a_tweet_may_begin_with_a_byte_order_mark() -> None:
    assert texts_of_tweets("\ufeff" + json.dumps(EXTENDED)) == [WHOLE]


@pytest.mark.parametrize("indent", [None, 2])
def test_the_page_reads_other_objects_by_their_keys_or_refuses_them(indent: int | None) -> None:
    known = json.dumps([{"tweet_id": 1, "Tweet_Text": "No ferry\nsails"}], indent=indent)
    assert kind_of(known) == "tweets"
    assert [claim.text for claim in statements_of(known, "tweets", 9)] == ["No ferry sails"]
    keys = "tweet_text, tweet, text, sentence or claim"
    unknown = json.dumps({"errors": [{"detail": "No ferry. Not found. None."}]}, indent=indent)
    assert kind_of(unknown) == "tweets"
    for content in (unknown, json.dumps({"a": 1}, indent=2) * 2):
        with pytest.raises(BadInput, match=f"each with a key {keys}"):
            statements_of(content, "tweets", 9)


def test_the_page_refuses_a_table_although_a_row_is_broken() -> None:
    rows = "no\tNo ferry sails.\tA\nyes\tThe bridge is shut.\tB\nno\tcut off\n"
    with pytest.raises(BadInput, match="the lines are rows of a table"):
        statements_of(rows, "tweets", 9)
    assert len(statements_of("No ferry\tsails\t.\nThe bridge\nis shut\n", "tweets", 9)) == 3


def test_a_quoted_text_follows_the_own_one() -> None:
    quoting = {"id_str": "5", "full_text": "Not true!", "quoted_status": {"full_text": QUOTED}}
    assert [tweet["full_text"] for tweet in tweets_in(quoting)] == [f"Not true! {QUOTED}"]
    referring = {
        "data": {
            "id": "5",
            "text": "Not true!",
            "referenced_tweets": [{"type": "quoted", "id": "3"}],
        },
        "includes": {"tweets": [{"id": "3", "text": QUOTED}]},
    }
    assert [tweet["full_text"] for tweet in tweets_in(referring)] == [f"Not true! {QUOTED}"]


def test_a_reply_keeps_its_own_text() -> None:
    reply = {
        "data": [
            {"id": "5", "text": "No.", "referenced_tweets": [{"type": "replied_to", "id": "3"}]}
        ],
        "includes": {"tweets": [{"id": "3", "text": QUOTED}]},
    }
    assert [tweet["full_text"] for tweet in tweets_in(reply)] == ["No."]


def test_objects_that_are_no_tweets_stay_as_they_are() -> None:
    for value in ({"qid": "1", "query": "x"}, {"data": [{"question": "x"}]}, {"data": {}}):
        assert list(tweets_in(value)) == [value]
    assert texts_of_tweets('{"qid": "1", "query": "x"}') is None
    assert texts_of_tweets("[1] is a footnote") is None
    assert texts_of_tweets("[]") is None


def test_an_answer_without_tweets_has_none(put) -> None:
    path = put('{"meta": {"result_count": 0}, "data": []}\n' + json.dumps({"data": NOTE}) + "\n")
    assert [query.text for query in read_topics(path)] == [WHOLE]
