"""A model of verdicts is one file: put beside the others it is listed, trained, saved, loaded and
judges.
"""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from factseek.claims.verdicts import models

Command = Callable[..., tuple[int, str, str]]

TOY = '''
"""Decide by whether a claim has an even number of letters."""

import numpy as np

from ....core.records.model_file import State

SUMMARY = "toy model: the number of letters"
READS_EVIDENCE = False


class Letters:
    def __init__(self, number):
        self.number = number

    def probabilities(self, cases):
        rows = np.zeros((len(cases.texts), self.number))
        rows[np.arange(len(rows)), [len(text) % 2 for text in cases.texts]] = 1.0
        return rows

    def state(self):
        return State({"number": self.number}, {})


def fit(cases, classes, labels, settings):
    return Letters(len(labels))


def restore(state):
    return Letters(state.settings["number"])
'''


@pytest.fixture(autouse=True)
def plugged(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    folder = tmp_path_factory.mktemp("plugged")
    (folder / "toy_letters.py").write_text(TOY)
    monkeypatch.setattr(models, "__path__", [*models.__path__, str(folder)])
    yield
    sys.modules.pop(f"{models.__name__}.toy_letters", None)
    vars(models).pop("toy_letters", None)


def test_a_model_is_trained_saved_and_judges(
    command: Command, examples: Path, pages: Path, tmp_path: Path
) -> None:
    train, dev = examples / "fever-train.jsonl", examples / "fever-dev.jsonl"
    asked = ["verdict", "fever", "--input", dev, "--index", pages, "--output"]
    model = ["--model", "toy-letters", "--train", train, "--save", tmp_path / "model"]
    code, _, err = command(*asked, tmp_path / "one.jsonl", *model)
    assert code == 0, err
    code, _, err = command(*asked, tmp_path / "two.jsonl", "--load", tmp_path / "model")
    assert code == 0, err
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    labels = [
        json.loads(line)["predicted_label"]
        for line in (tmp_path / "two.jsonl").read_text("utf-8").splitlines()
    ]
    odd = [len(json.loads(line)["claim"]) % 2 for line in dev.read_text("utf-8").splitlines()]
    assert len(set(zip(labels, odd, strict=True))) == len(set(odd)) == 2
    assert command("check", "fever", tmp_path / "two.jsonl", "--input", dev)[0] == 0
