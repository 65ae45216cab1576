"""Statements and claims as tasks hand them to what learns."""

from __future__ import annotations

from pathlib import Path

from factseek.eval.tasks import STATEMENTS, VERDICTS
from factseek.retrieval.domain import Claim, Statement

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


def test_fever_claims_come_with_label_and_groups(root: Path) -> None:
    path = root / "examples" / "fever-dev.jsonl"
    first, second, *_ = VERDICTS.load("fever").read_claims(path, labelled=True)
    groups = ((("EX-EN-01-0001-002", 0),), (("en-vaccines-measles", 12),))
    assert first == Claim(
        "537", "More than 100,000 people died of measles in 2023.", label="SUPPORTS", groups=groups, place=f"{path}:1"
    )
    assert (second.label, second.groups) == ("NOT ENOUGH INFO", ())
    bare = VERDICTS.load("fever").read_claims(path, labelled=False)
    assert bare[0] == first._replace(label="", groups=())
    assert len(bare) == 18


def test_arabic_claims_are_named_by_topic_and_tweet(root: Path) -> None:
    path = root / "examples" / "verification-ar.tsv"
    claims = VERDICTS.load("ct2020-verification").read_claims(path, labelled=True)
    assert (claims[0].qid, claims[0].topic, claims[0].label) == (
        "EX-AR-01/1000000000000000401",
        "EX-AR-01",
        "TRUE",
    )
    assert sum(claim.label == "TRUE" for claim in claims) * 2 == len(claims) == 24
