"""The tweets and debates of CheckThat! 2021 task 1, and what is odd about them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from factseek.claims.checkworthiness.members import lexical
from factseek.claims.checkworthiness.members.trials import population, trial
from factseek.claims.learning.folds import average_precision
from factseek.claims.text.duplicates import groups, repeated
from factseek.eval.tasks import STATEMENTS
from factseek.retrieval.domain import Statement

TWEETS = {
    "ar": ("1a-arabic/CT21-AR-Train-T1-Labels.tsv", "1a-arabic/CT21-AR-Dev-T1-Labels.tsv"),
    "bg": ("1a-bulgarian/dataset_train_v1_bulgarian.tsv", "1a-bulgarian/dataset_dev_v1_bulgarian.tsv"),
    "en": ("1a-english/dataset_train_v1_english.tsv", "1a-english/dataset_dev_v1_english.tsv"),
    "es": ("1a-spanish/dataset_train.tsv", "1a-spanish/dataset_dev.tsv"),
    "tr": ("1a-turkish/dataset_train_v1_turkish.tsv", "1a-turkish/dataset_dev_v1_turkish.tsv"),
}


class Split(NamedTuple):
    """What is learned from, and what is ranked; each statement labelled."""

    train: list[Statement]
    dev: list[Statement]


class Debates(NamedTuple):
    """Debates by file: those learned from, and those ranked."""

    train: list[list[Statement]]
    dev: list[list[Statement]]


def tweets(data: Path) -> dict[str, Split]:
    """Read the tweets of the five languages."""
    found = {}
    read_tweets = STATEMENTS.load("ct2021-1a").read_statements
    for language, names in TWEETS.items():
        train, dev = (read_tweets(data / "ct2021-task1" / name, labelled=True) for name in names)
        found[language] = Split(*([one._replace(language=language) for one in part] for part in (train, dev)))
    return found


def debates(data: Path) -> Debates:
    """Read the debates, in the order of their files' names."""
    folder = data / "ct2021-task1" / "1b-english"

    read_debate = STATEMENTS.load("ct2021-1b").read_statements

    def part(name: str) -> list[list[Statement]]:
        files = sorted((folder / name).glob("*.tsv"))
        return [[one._replace(language="en") for one in read_debate(file, labelled=True)] for file in files]

    return Debates(part("train"), part("dev"))


def labels_of(statements: Sequence[Statement]) -> NDArray[np.int64]:
    """Return the label of each statement; of an id that is repeated, the last, as the official scorer does."""
    last = {one.qid: one.label for one in statements}
    return np.array([last[one.qid] for one in statements], dtype=np.int64)


def rows_an_id(statements: Sequence[Statement]) -> float:
    """Return how many rows worth checking there are for each id that is."""
    worth = {one.qid: label for one, label in zip(statements, labels_of(statements).tolist(), strict=True)}
    return float(labels_of(statements).sum() / sum(worth.values()))


class Oddity(NamedTuple):
    """What is odd about a language's files."""

    language: str
    train: int
    train_share: float
    dev: int
    dev_share: float
    alike: int
    known: int
    new_topics: int
    repeated: int


def oddity(language: str, split: Split) -> Oddity:
    """Count near-duplicates, topics unseen in training, and repeated ids.

    ``alike`` counts tweets of train that nearly say what another of train says, ``known`` those of dev.
    """
    topics = {one.topic for one in split.train}
    sizes = np.bincount(groups(split.train))
    return Oddity(
        language,
        len(split.train),
        float(labels_of(split.train).mean()),
        len(split.dev),
        float(labels_of(split.dev).mean()),
        int(sizes[sizes > 1].sum()),
        int(repeated(split.dev, split.train).sum()),
        sum(one.topic not in topics for one in split.dev),
        len(split.train) - len({one.qid for one in split.train}),
    )


def by_topic(split: Split, folds: NDArray[np.int64]) -> tuple[float, float]:
    """Return the cross-validated AP of words and characters, by the given folds and with whole topics held out."""
    member = lexical.learn(split.train, (1.0,))
    names = {topic: number for number, topic in enumerate(dict.fromkeys(one.topic for one in split.train))}
    topics = np.array([names[one.topic] for one in split.train])
    found = [trial(member, population(split.train, parts), seed=0) for parts in (folds, topics)]
    values = [average_precision(labels_of(split.train), one.scores) for one in found]
    return values[0], values[1]
