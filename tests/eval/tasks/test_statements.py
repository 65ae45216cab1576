"""Statements as files hold them and as they come."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from factseek.eval.tasks import STATEMENTS
from factseek.retrieval.domain import Statement
from factseek.retrieval.errors import SourceError

HEADER = "topic_id\ttweet_id\ttweet_url\ttweet_text\tclaim\tclaim-worthiness\n"


def test_tweets_with_their_labels(tmp_path: Path) -> None:
    path = tmp_path / "tweets.tsv"
    path.write_text(HEADER + 't1\t007\tu\ta "stray quote\t1\t1\nt2\t7\tu\tother\t0\t0\n')
    found = STATEMENTS.load("ct2021-1a").read_statements(path, labelled=True)
    assert found[0] == Statement("007", 'a "stray quote', topic="t1", label=1, place=f"{path}:2")
    assert [(one.qid, one.label) for one in found] == [("007", 1), ("7", 0)]
    assert [one.label for one in STATEMENTS.load("ct2021-1a").read_statements(path, labelled=False)] == [None, None]


def test_sentences_with_their_speakers(tmp_path: Path) -> None:
    path = tmp_path / "debate.tsv"
    path.write_text("1\tA B\tGood evening.\t0\n2\tSYSTEM\t(APPLAUSE)\t1\n")
    found = STATEMENTS.load("ct2021-1b").read_statements(path, labelled=True)
    assert found[1] == Statement("2", "(APPLAUSE)", topic="debate", speaker="SYSTEM", label=1, place=f"{path}:2")


def test_a_stream_gives_what_the_file_gives(tmp_path: Path) -> None:
    tweets, debate = tmp_path / "tweets.tsv", tmp_path / "debate.tsv"
    tweets.write_text(HEADER + "t1\t1\tu\tone\t1\t1\r\n\nt2\t2\tu\ttwo\t0\t0\n")
    debate.write_text("1\tA\tone\n2\tB\ttwo\n")
    for task, path in (("ct2021-1a", tweets), ("ct2021-1b", debate)):
        with path.open("rb") as file:
            assert list(STATEMENTS.load(task).stream_statements(file, str(path))) == STATEMENTS.load(
                task
            ).read_statements(path, labelled=False)


def test_json_comes_in_either_task_and_among_rows() -> None:
    spoken = json.dumps({"text": "three", "speaker": "C"}).encode()
    found = list(STATEMENTS.load("ct2021-1b").stream_statements([b"1\tA\tone", spoken, b"2\tB\ttwo"], "live"))
    assert [(one.qid, one.speaker, one.text) for one in found] == [
        ("1", "A", "one"),
        ("2", "C", "three"),
        ("2", "B", "two"),
    ]


def test_a_stream_is_read_no_further_than_it_is_asked() -> None:
    def lines():
        yield b'{"text": "one"}'
        raise AssertionError("read too far")

    assert next(iter(STATEMENTS.load("ct2021-1a").stream_statements(lines(), "live"))).text == "one"


def test_an_object_that_is_none() -> None:
    with pytest.raises(SourceError, match=r"^live:1: is not JSON: '\{1\}'$"):
        list(STATEMENTS.load("ct2021-1a").stream_statements([b"{1}"], "live"))
