"""A ranker is one file: put beside the others it is listed, trained, saved, loaded and ranks."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from factseek.claims.checkworthiness import rankers
from tests.claims.conftest import EXAMPLES, Rank

TOY = '''
"""Score a statement by the number of its digits."""

import numpy as np

from ....core.records.model_file import State
from . import Trained

LEARNS = True


class Digits:
    explains = True

    def score(self, statements):
        return np.array([float(sum(map(str.isdigit, statement.text))) for statement in statements])

    def probability(self, scores):
        return None

    def state(self):
        return State({}, {})


def train(statements, config, progress):
    return Trained(Digits(), {})


def restore(state, config):
    return Digits()
'''


@pytest.fixture(autouse=True)
def plugged(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("plugged")
    (folder / "toy_digits.py").write_text(TOY)
    monkeypatch.setattr(rankers, "__path__", [*rankers.__path__, str(folder)])
    yield
    sys.modules.pop(f"{rankers.__name__}.toy_digits", None)
    vars(rankers).pop("toy_digits", None)


def test_the_ranker_is_trained_saved_loaded_and_ranks(rank: Rank, tmp_path: Path) -> None:
    train, dev = EXAMPLES / "checkworthy-en-train.tsv", EXAMPLES / "checkworthy-en-dev.tsv"
    trained = rank("ct2021-1a", "--model", "toy-digits", "--train", train, "--save", "model")
    assert trained.code == 0, trained.err
    ranked = rank(
        "ct2021-1a", "--load", "model", "--input", dev, "--top", 3, "--words", 1, "--json"
    )
    assert ranked.code == 0, ranked.err
    rows = [json.loads(line) for line in ranked.out.splitlines()]
    digits = [sum(map(str.isdigit, row["text"])) for row in rows]
    assert [row["score"] for row in rows] == digits == sorted(digits, reverse=True)
