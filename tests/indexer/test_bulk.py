"""The documents of a bulk are checked one by one, and against each other."""

from __future__ import annotations

import json

import pytest

from factseek.indexer.publishing import checked

pytestmark = pytest.mark.inner

BAD = [
    (b'{"docid": "a b", "text": "x"}', "docid 'a b' holds white space"),
    (b'{"docid": "a", "text": " "}', "has neither text nor title"),
    (b'{"docid": "a"}', 'has no "text" or "contents"'),
    (b'{"docid": "a", "text": 1}', '"text" is a number, not a string'),
    (b'{"docid": "a", "text": NaN}', "is not JSON (NaN is not a number of JSON)"),
    (b"[]", "is a JSON list, not a JSON object"),
    (b'{"docid": "a", "text": "x", "m": ' + b"[" * 5_000 + b"]" * 5_000 + b"}", "is nested too deeply"),
]


@pytest.mark.parametrize(("line", "reason"), BAD)
def test_a_document_that_makes_no_sense_is_refused(line: bytes, reason: str) -> None:
    assert [item.refused for item in checked([line], "en")] == [reason]


def test_documents_are_held_against_each_other() -> None:
    given = [{"docid": "a", "text": "one"}, {"docid": "a", "text": "two"}, {"docid": "a", "text": "one"}]
    items = checked([json.dumps(row).encode() for row in given], "en")
    assert [(item.refused, item.repeated) for item in items] == [
        ("", False),
        ("docid 'a' stands at item 1 already, with other content", False),
        ("", True),
    ]
