"""The tweets and debates of CheckThat! 2021 task 1, and their oddities."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from factseek.claims.checkworthiness.members import lexical
from factseek.claims.checkworthiness.members._trials import population, trial
from factseek.claims.learning.folds import average_precision, folds
from factseek.claims.settings import BestSettings, ClaimsSettings, Config
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


CONFIG = Config(claims=ClaimsSettings(best=BestSettings(strengths=(1.0,))))


class TweetSplit(NamedTuple):
    """The statements to learn from and those to rank, all labelled."""

    train: list[Statement]
    dev: list[Statement]


class Debates(NamedTuple):
    """Debates by file: those learned from, and those ranked."""

    train: list[list[Statement]]
    dev: list[list[Statement]]


def tweets(data: Path) -> dict[str, TweetSplit]:
    """Read the tweets of the five languages."""
    splits = {}
    read_tweets = STATEMENTS.load("ct2021-1a").read_statements
    for language, names in TWEETS.items():
        train, dev = (read_tweets(data / "ct2021-task1" / name, labelled=True) for name in names)
        splits[language] = TweetSplit(*([tweet._replace(language=language) for tweet in part] for part in (train, dev)))
    return splits


def debates(data: Path) -> Debates:
    """Read the debates, in the order of their files' names."""
    folder = data / "ct2021-task1" / "1b-english"

    read_debate = STATEMENTS.load("ct2021-1b").read_statements

    def part(name: str) -> list[list[Statement]]:
        files = sorted((folder / name).glob("*.tsv"))
        return [[sentence._replace(language="en") for sentence in read_debate(file, labelled=True)] for file in files]

    return Debates(part("train"), part("dev"))


def labels_of(statements: Sequence[Statement]) -> NDArray[np.int64]:
    """Return the label of each statement; of an id that is repeated, the last, as the official scorer does."""
    last = {statement.qid: statement.label for statement in statements}
    return np.array([last[statement.qid] for statement in statements], dtype=np.int64)


def rows_an_id(statements: Sequence[Statement]) -> float:
    """Return the number of rows worth checking for each id that is worth checking."""
    worth = {statement.qid: label for statement, label in zip(statements, labels_of(statements).tolist(), strict=True)}
    return float(labels_of(statements).sum() / sum(worth.values()))


class Oddity(NamedTuple):
    """The oddities of a language's files, counted."""

    language: str
    train: int
    train_share: float
    dev: int
    dev_share: float
    alike: int
    known: int
    new_topics: int
    repeated: int


def oddity(language: str, split: TweetSplit) -> Oddity:
    """Return the counts of near-duplicates, topics unseen in training, and repeated ids.

    ``alike`` counts tweets of train that nearly repeat another of train, ``known`` tweets of dev that do.
    """
    topics = {tweet.topic for tweet in split.train}
    sizes = np.bincount(groups(split.train))
    return Oddity(
        language,
        len(split.train),
        float(labels_of(split.train).mean()),
        len(split.dev),
        float(labels_of(split.dev).mean()),
        int(sizes[sizes > 1].sum()),
        int(repeated(split.dev, split.train).sum()),
        sum(tweet.topic not in topics for tweet in split.dev),
        len(split.train) - len({tweet.qid for tweet in split.train}),
    )


def by_topic(split: TweetSplit, config: Config) -> tuple[float, float]:
    """Return the cross-validated AP of words and characters, with topics on both sides and with whole ones held out."""
    member = lexical.make(split.train, CONFIG)
    mixed = folds([tweet._replace(topic="") for tweet in split.train], config.claims.folds, config.claims.seed)
    names = {topic: number for number, topic in enumerate(dict.fromkeys(tweet.topic for tweet in split.train))}
    topics = np.array([names[tweet.topic] for tweet in split.train])
    results = [trial(member, population(split.train, parts), seed=0) for parts in (mixed, topics)]
    values = [average_precision(labels_of(split.train), result.scores) for result in results]
    return values[0], values[1]
