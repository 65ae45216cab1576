"""Claims to verify are read as they stand, and verdicts written as the checkers want them."""

from __future__ import annotations

from pathlib import Path

import pytest

from factseek.eval.tasks import VERDICTS
from factseek.retrieval.domain import Claim
from factseek.retrieval.errors import QueryError, SourceError


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


@pytest.mark.parametrize("name", VERDICTS.names())
def test_what_is_written_passes_its_check(name: str, root: Path, tmp_path: Path) -> None:
    source = root / "examples" / ("fever-dev.jsonl" if name == "fever" else "claims-ar.tsv")
    claims = VERDICTS.load(name).read_claims(source, labelled=False)
    labels = VERDICTS.load(name).LABELS
    output = tmp_path / "out"
    records = [(claim, labels[i % len(labels)], [("page", 3)]) for i, claim in enumerate(claims)]
    VERDICTS.load(name).write_verdicts(records, output, "me")
    assert not VERDICTS.load(name).check(output, source).errors
    with pytest.raises(QueryError, match="MAYBE"):
        VERDICTS.load(name).write_verdicts([(claims[0], "MAYBE", [])], output, "me")


def test_a_claim_that_comes_twice_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "claims.tsv"
    path.write_text("topic_id\ttweet_id\ttweet_text\nT\t1\tx\nT\t1\ty\n")
    with pytest.raises(SourceError, match=r"claims.tsv:3: claim 'T/1' is on line 2 already"):
        VERDICTS.load("ct2020-verification").read_claims(path, labelled=False)
