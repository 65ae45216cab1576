"""Tweets as JSON: the whole text of a tweet, and the tweets in answers and archives.

In several formats, ``text`` is cut, and the whole text is elsewhere in the same object:

- API v1.1: in ``extended_tweet``; of a retweet, in ``retweeted_status``. The text that a tweet
  quotes is in ``quoted_status``.
- API v2: in ``note_tweet``. Retweeted and quoted tweets are in ``includes``, or, if twarc has moved
  them, in ``referenced_tweets``.
- An archive of an account: ``tweets.js``, a list after the name of a variable, each tweet under the
  key ``tweet``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

Object = Mapping[str, Any]
_ASSIGNMENT = re.compile(r"\s*(?:window\.)?YTD\.\w+\.part\d+\s*=\s*")
"""The beginning of a file in an archive of an account, before its list."""
_SIGNS = frozenset(
    "extended_tweet retweeted_status quoted_status full_text id_str referenced_tweets "
    "note_tweet edit_history_tweet_ids in_reply_to_user_id conversation_id".split()
)
"""The keys that only tweets have."""
_IDS = ("tweet_id", "tweetid", "id_str", "id")


def whole_file(text: str, *, plain: bool = False) -> list[Object] | None:
    """Return the tweets in a text that is one JSON value: a tweet, a list of tweets or an answer of
    the API, which may span several lines, or a file of an account's archive.

    With ``plain``, any object with an id and a text is a tweet. Return None for any other text,
    including JSON lines.
    """
    assignment = _ASSIGNMENT.match(text)
    if assignment is None and not text.lstrip().startswith(("{", "[")):
        return None
    try:
        value = json.loads(text[assignment.end() :].rstrip("; \r\n") if assignment else text)
    except (ValueError, RecursionError):
        return None
    values = value if isinstance(value, list) else [value]
    is_one = _may_be_tweet if plain else _is_answer_or_has_sign
    if not all(map(is_one, values)) and not assignment:
        return None
    if not values and not assignment:
        return None
    return [tweet for each in _objects(values) for tweet in tweets_in(each)]


def tweets_in(value: Object) -> Iterator[Object]:
    """Yield the tweets in a JSON object, each with its whole text under ``full_text``.

    The object may be a tweet, an answer of the API with ``data``, or an entry of an archive. An
    object of another kind is yielded as it is.
    """
    if not _is_answer(value):
        archived = value.get("tweet")
        yield _with_whole_text(archived if isinstance(archived, Mapping) else value, {})
        return
    data = value["data"]
    tweets = data if isinstance(data, list) else [data]
    others = [*tweets, *_objects(_object(value.get("includes")).get("tweets"))]
    for tweet in tweets:
        yield _with_whole_text(tweet, {str(other.get("id")): other for other in others})


def texts_of_tweets(text: str) -> list[str] | None:
    """Return the whole texts of the tweets in a text of JSON, or None if it is no JSON of tweets.

    The text may be one JSON value, or one object a line.
    """
    text = text.lstrip("\ufeff")
    tweets = whole_file(text, plain=True)
    if tweets is None:
        values = objects_of(text)
        if not (values and all(map(_may_be_tweet, values))):
            return None
        tweets = [tweet for value in values for tweet in tweets_in(value)]
    texts = (str(tweet.get("full_text") or tweet.get("text") or "").strip() for tweet in tweets)
    return [" ".join(text.split()) for text in texts if text]


def objects_of(text: str) -> list[Object]:
    """Return the JSON objects that a text consists of: one, a list of them, or one a line.

    Return an empty list for any other text.
    """
    if not text.lstrip().startswith(("{", "[")):
        return []
    for lines in ([text], text.split("\n")):
        try:
            values = [json.loads(line) for line in lines if line.strip()]
        except (ValueError, RecursionError):
            continue
        values = values[0] if isinstance(values[0], list) else values
        return values if all(isinstance(value, dict) for value in values) else []
    return []


def _with_whole_text(tweet: Object, included: Mapping[str, Object]) -> Object:
    text = _whole_text(tweet, included, deep=True)
    if not text or not _has_sign(tweet):
        return tweet
    # Readers prefer other names of texts, such as `tweet_text` of a table.
    return {**{key: tweet[key] for key in tweet if key != "text"}, "full_text": text}


def _whole_text(tweet: Object, included: Mapping[str, Object], *, deep: bool) -> str:
    """Return the whole text of a tweet, or of the one that it retweets; ``deep`` adds the text that
    it quotes.
    """
    retweeted = _other(tweet, "retweeted", included)
    if retweeted and (text := _whole_text(retweeted, included, deep=deep)):
        return text
    extended, note = _object(tweet.get("extended_tweet")), _object(tweet.get("note_tweet"))
    texts = (
        extended.get("full_text"),
        note.get("text"),
        # The website's own answers have it there.
        _object(_object(note.get("note_tweet_results")).get("result")).get("text"),
        tweet.get("full_text"),
        tweet.get("text"),
    )
    own = next((text for text in texts if isinstance(text, str) and text.strip()), "")
    quoted = _other(tweet, "quoted", included) if deep else None
    said = _whole_text(quoted, included, deep=False) if quoted else ""
    return f"{own} {said}" if own and said and said not in own else own or said


def _other(tweet: Object, relation: str, included: Mapping[str, Object]) -> Object | None:
    """Return the tweet that a tweet has retweeted or quoted, ``None`` if it is not known."""
    if own := _object(tweet.get(f"{relation}_status")):
        return own
    for reference in _objects(tweet.get("referenced_tweets")):
        if reference.get("type") == relation:
            other = included.get(str(reference.get("id")))
            return other or (reference if "text" in reference else None)
    return None


def _is_tweet(value: object) -> bool:
    return isinstance(value, Mapping) and "text" in value and any(key in value for key in _IDS)


def _is_answer(value: object) -> bool:
    data = _object(value).get("data")
    if data == []:  # a search without a result
        return "meta" in _object(value)
    return _is_tweet(data) or (isinstance(data, list) and all(map(_is_tweet, data)))


def _is_answer_or_has_sign(value: object) -> bool:
    return _is_answer(value) or _has_sign(value)


def _may_be_tweet(value: object) -> bool:
    is_archived = isinstance(_object(value).get("tweet"), Mapping)
    return _is_answer_or_has_sign(value) or _is_tweet(value) or is_archived


def _has_sign(value: object) -> bool:
    return not _SIGNS.isdisjoint(_object(value))


def _object(value: object) -> Object:
    return value if isinstance(value, Mapping) else {}


def _objects(value: object) -> list[Object]:
    if not isinstance(value, list):
        return []
    return [entry for entry in value if isinstance(entry, Mapping)]
