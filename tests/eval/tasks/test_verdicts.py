"""Claims to verify are read as they stand, and verdicts written as the checkers want them."""

from __future__ import annotations

from pathlib import Path

from factseek.eval.tasks import VERDICTS
from factseek.retrieval.domain import Claim


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


def test_labels_may_be_json_and_in_small_letters(tmp_path: Path) -> None:
    path = tmp_path / "train.jsonl"
    path.write_text('{"topic_id": "T", "tweet_id": "1", "tweet_text": "x", "label": "true"}\n')
    assert VERDICTS.load("ct2020-verification").read_claims(path, labelled=True)[0].label == "TRUE"
