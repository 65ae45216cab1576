"""Measure rankers of check-worthiness: ``python -m benchmarks.checkworthiness``.

Needs ``FACTSEEK_DATA``, the folder that holds CheckThat! 2021 task 1. Every ranker learns from train alone and is
judged on dev. Prints the tables and writes them into ``docs/check-worthiness.md``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from benchmarks.data import data_folder
from benchmarks.measuring import part, program, replace_marked
from factseek.claims.checkworthiness.rankers import Trained, kind
from factseek.claims.learning.folds import average_precision
from factseek.claims.settings import Config
from factseek.eval.scoring.machine import this_machine
from factseek.eval.scoring.tables import markdown_table
from factseek.eval.tasks import STATEMENTS
from factseek.retrieval.domain import Statement
from factseek.retrieval.progress import bar
from factseek.retrieval.terminal import write

TWEETS = {
    "ar": ("1a-arabic/CT21-AR-Train-T1-Labels.tsv", "1a-arabic/CT21-AR-Dev-T1-Labels.tsv"),
    "bg": ("1a-bulgarian/dataset_train_v1_bulgarian.tsv", "1a-bulgarian/dataset_dev_v1_bulgarian.tsv"),
    "en": ("1a-english/dataset_train_v1_english.tsv", "1a-english/dataset_dev_v1_english.tsv"),
    "es": ("1a-spanish/dataset_train.tsv", "1a-spanish/dataset_dev.tsv"),
    "tr": ("1a-turkish/dataset_train_v1_turkish.tsv", "1a-turkish/dataset_dev_v1_turkish.tsv"),
}


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


RESAMPLES = 2_000
GOALS = {"ar": 0.05, "bg": 0.10, "en": 0.05, "es": 0.10, "tr": 0.05}
"""What the best ranker is to gain on the n-gram baseline."""
Scores = NDArray[np.float64]


class ScoredLists(NamedTuple):
    """Lists that are ranked each by itself (a file of tweets, or debates), with the scores that each ranker gave.

    ``rows`` is how many rows worth checking there are for each id worth checking: more than 1 where ids are repeated.
    The official scorer counts every row as found, and every id once as to be found.
    """

    labels: list[NDArray[np.int64]]
    scores: dict[str, list[Scores]]
    rows: float = 1.0

    def precisions(self, name: str) -> Scores:
        """Return the average precision of each list, as a ranker orders it."""
        pairs = zip(self.labels, self.scores[name], strict=True)
        return self.rows * np.array([average_precision(labels, scores) for labels, scores in pairs])

    def resampled(self) -> dict[str, Scores]:
        """Return the mean precision of each ranker on resampled lists, the same ones for every ranker.

        One list is resampled by its statements; of several, whole lists are drawn, as one debate is one observation.
        """
        random = np.random.default_rng(0)
        (labels, *others), size = self.labels, len(self.labels)
        if others:
            draws = random.integers(0, size, (RESAMPLES, size))
            return {name: self.precisions(name)[draws].mean(axis=1) for name in self.scores}
        draws = np.sort(random.integers(0, len(labels), (RESAMPLES, len(labels))), axis=1)
        return {
            name: self.rows * np.array([average_precision(labels[drawn], scores[drawn]) for drawn in draws])
            for name, (scores,) in self.scores.items()
        }


def results(judged: Mapping[str, ScoredLists]) -> str:
    """Return the table of AP on dev, and that of the best ranker's gain on the n-gram baseline, with intervals."""
    names = list(dict.fromkeys(name for lists in judged.values() for name in lists.scores))
    cells: dict[str, dict[str, str]] = {name: {} for name in names}
    gains = []
    for where, lists in judged.items():
        drawn, means = lists.resampled(), {name: float(lists.precisions(name).mean()) for name in lists.scores}
        for name, mean in means.items():
            cells[name][where] = f"{mean:.4f} ({_interval(drawn[name])})"
        gain, goal = means["best"] - means["ngram"], GOALS.get(where, means["ngram"])
        said = f"{gain:+.4f} ({_interval(drawn['best'] - drawn['ngram'], '+')})"
        gains.append([where, said, f"+{goal:.4f}".rstrip("0"), "reached" if gain >= goal else "missed"])
    rows = [[name, *(cells[name].get(where, "") for where in judged)] for name in names]
    gained = markdown_table(["", "best less n-gram (95 %)", "goal", ""], gains, left=1)
    return f"{markdown_table(['ranker', *judged], rows)}\n{gained}"


def _interval(drawn: Scores, sign: str = "") -> str:
    low, high = np.percentile(drawn, (2.5, 97.5))
    return f"{low:{sign}.3f} to {high:{sign}.3f}"


def calibration(labels: NDArray[np.int64], probabilities: Scores) -> list[str]:
    """Return five cells: observed and predicted mean, Brier score, that of the mean, calibration gap over ten bins."""
    bins = np.minimum((probabilities * 10).astype(int), 9)
    gaps = [abs(float((probabilities - labels)[bins == number].sum())) for number in range(10)]
    mean, brier = float(labels.mean()), float(np.mean((probabilities - labels) ** 2))
    figures = f"{mean:.3f}", f"{probabilities.mean():.3f}", f"{brier:.4f}", f"{mean * (1 - mean):.4f}"
    return [*figures, f"{sum(gaps) / len(labels):.3f}"]


def joint(precisions_by_network: Mapping[str, Mapping[str, tuple[float, float]]]) -> str:
    """Return AP on dev and cross-validated for each network, by language."""
    languages = list(next(iter(precisions_by_network.values())))
    show: Callable[[tuple[float, float]], str] = lambda pair: f"{pair[0]:.4f} / {pair[1]:.4f}"  # noqa: E731
    rows = []
    for name, values in precisions_by_network.items():
        mean = tuple(float(np.mean([values[language][side] for language in languages])) for side in (0, 1))
        rows.append([name, *(show(values[language]) for language in languages), f"{mean[0]:.4f} / {mean[1]:.4f}"])
    return markdown_table(["network", *languages, "mean"], rows)


ROOT = Path(__file__).resolve().parent.parent
CONFIG = Config()

NETWORKS: dict[str, dict[str, Any]] = {
    "multilingual-e5-small, claim and language": {"claim_weight": 0.6},
    "multilingual-e5-small, claim alone": {"claim_weight": 1.0},
    "characters, claim and language": {"encoder": "characters", "shared": 0, "claim_weight": 0.6},
    "characters, claim alone": {"encoder": "characters", "shared": 0, "claim_weight": 1.0},
}
"""The network with and without its language head: over the vectors of the embedded multilingual encoder, as by default,
and over the encoder that is trained with them."""


@program
def main() -> None:
    """Measure, print the tables, write the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="where check-worthiness.md is")
    args = parser.parse_args()
    with part("all of check-worthiness"):
        measured = _measured(data_folder())
    content = f"{this_machine()}.\n\n{measured}"
    write(content + "\n")
    replace_marked(args.docs / "check-worthiness.md", "measured", content)


def _measured(folder: Path) -> str:
    splits, spoken = tweets(folder), debates(folder)
    judged = {
        language: ScoredLists([labels_of(split.dev)], {}, rows_an_id(split.dev)) for language, split in splits.items()
    }
    judged["debates"] = ScoredLists([labels_of(statements) for statements in spoken.dev], {})
    for model in ("random", "ngram"):
        for language, split in splits.items():
            judged[language].scores[model] = [_learned(model, split.train).ranker.score(split.dev)]
    best = _learned("best", [statement for split in splits.values() for statement in split.train])
    for language, split in splits.items():
        judged[language].scores["best"] = [best.ranker.score(split.dev)]
    speaking = {
        model: _learned(model, [statement for debate in spoken.train for statement in debate]) for model in _ON_DEBATES
    }
    sentences = [statement for debate in spoken.dev for statement in debate]
    ends = np.cumsum([len(debate) for debate in spoken.dev])[:-1]
    for model, learned in speaking.items():
        judged["debates"].scores[model] = np.split(learned.ranker.score(sentences), ends)
    networks = {name: _network(name, splits, judged) for name in NETWORKS}
    with part("tables"):
        sections = {
            "AP on dev": results(judged),
            "Calibration of the best ranker on dev": _calibration(best, speaking["best"], splits, spoken),
            "Joint against single": joint(networks),
        }
    return "\n".join(f"## {title}\n\n{content}" for title, content in sections.items())


_ON_DEBATES = ("random", "ngram", "best")


def _learned(model: str, statements: Sequence[Statement], config: Config = CONFIG) -> Trained:
    with part(f"{model}: learning from {len(statements):,} statements"):
        return kind(model).train(statements, config, bar)


def _network(
    name: str, splits: Mapping[str, TweetSplit], judged: Mapping[str, ScoredLists]
) -> dict[str, tuple[float, float]]:
    """Train a network on all languages; return AP on dev and cross-validated by language."""
    settings = msgspec.structs.replace(CONFIG.claims.multilingual, **NETWORKS[name])
    config = msgspec.structs.replace(CONFIG, claims=msgspec.structs.replace(CONFIG.claims, multilingual=settings))
    trained = _learned("multilingual", [statement for split in splits.values() for statement in split.train], config)
    precisions = {}
    for language, split in splits.items():
        judged[language].scores[name] = [trained.ranker.score(split.dev)]
        precisions[language] = float(judged[language].precisions(name).mean()), float(trained.figures[language]["AP"])
    return precisions


def _calibration(best: Trained, speaking: Trained, splits: Mapping[str, TweetSplit], spoken: Debates) -> str:
    parts = {language: (best, split.dev) for language, split in splits.items()}
    parts["debates"] = (speaking, [statement for debate in spoken.dev for statement in debate])
    rows = []
    for name, (trained, statements) in parts.items():
        probabilities = trained.ranker.probability(trained.ranker.score(statements))
        if probabilities is not None:
            # Line numbers repeat from debate to debate: their labels are taken as they stand.
            labels = (
                labels_of(statements)
                if name != "debates"
                else np.array([int(statement.label or 0) for statement in statements])
            )
            rows.append([name, *calibration(labels, probabilities)])
    return markdown_table(["", "worth checking", "said", "Brier", "Brier of the mean", "gap"], rows)


if __name__ == "__main__":
    sys.exit(main())
