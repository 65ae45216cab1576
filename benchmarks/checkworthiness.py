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
from benchmarks.measuring import part, replace_marked
from factseek.claims.checkworthiness.rankers import Trained, kind
from factseek.claims.learning.folds import average_precision
from factseek.claims.settings import Config
from factseek.eval.reports.machine import this_machine
from factseek.eval.reports.page import markdown_table
from factseek.eval.tasks import STATEMENTS
from factseek.retrieval.domain import Statement
from factseek.retrieval.errors import FactseekError
from factseek.retrieval.progress import bar
from factseek.retrieval.terminal import say, write

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
Labels = NDArray[np.int64]


class ScoredLists(NamedTuple):
    """Lists that are ranked each by itself (a file of tweets, or debates), with the scores that each ranker gave.

    ``rows`` is how many rows worth checking there are for each id worth checking: more than 1 where ids are repeated.
    The official scorer counts every row as found, and every id once as to be found.
    """

    labels: list[Labels]
    scores: dict[str, list[Scores]]
    rows: float = 1.0


class Resampled(NamedTuple):
    """A mean of average precisions, and where 95 % of the resampled ones lie."""

    value: float
    low: float
    high: float

    def __str__(self) -> str:
        return f"{self.value:.4f} ({self.low:.3f} to {self.high:.3f})"


def official(judged: ScoredLists, name: str) -> float:
    """Return the mean over lists of average precision."""
    return float(_each(judged, name).mean())


def resampled(judged: ScoredLists) -> dict[str, Scores]:
    """Return the official figure of each ranker on resampled lists, the same ones for every ranker.

    One list is resampled by its statements; of several, whole lists are drawn, as one debate is one observation.
    """
    random = np.random.default_rng(0)
    precisions_of: dict[str, list[float]] = {name: [] for name in judged.scores}
    whole = {name: _each(judged, name) for name in judged.scores}
    for _ in range(RESAMPLES):
        if len(judged.labels) > 1:
            drawn = random.integers(0, len(judged.labels), len(judged.labels))
            for name, values in whole.items():
                precisions_of[name].append(float(values[drawn].mean()))
            continue
        labels = judged.labels[0]
        drawn = np.sort(random.integers(0, len(labels), len(labels)))
        for name, scores in judged.scores.items():
            precisions_of[name].append(judged.rows * average_precision(labels[drawn], scores[0][drawn]))
    return {name: np.array(values) for name, values in precisions_of.items()}


def _each(judged: ScoredLists, name: str) -> Scores:
    pairs = zip(judged.labels, judged.scores[name], strict=True)
    return judged.rows * np.array([average_precision(labels, scores) for labels, scores in pairs])


def interval(value: float, drawn: Scores) -> Resampled:
    """Return the percentile interval of resampled figures."""
    low, high = np.percentile(drawn, (2.5, 97.5))
    return Resampled(value, float(low), float(high))


def results(judged: Mapping[str, ScoredLists]) -> str:
    """Return the table of AP on dev, and the table of the best ranker's gain on the n-gram baseline."""
    drawn = {where: resampled(lists) for where, lists in judged.items()}
    return precisions(judged, drawn) + "\n" + _gains(judged, drawn)


def precisions(judged: Mapping[str, ScoredLists], drawn: Mapping[str, Mapping[str, Scores]]) -> str:
    """Return the table of AP on dev, with intervals: a row for each ranker, a column for each language or debates."""
    names = list(dict.fromkeys(name for lists in judged.values() for name in lists.scores))

    def cell(where: str, name: str) -> str:
        if name not in judged[where].scores:
            return ""
        return str(interval(official(judged[where], name), drawn[where][name]))

    return markdown_table(["ranker", *judged], [[name, *(cell(where, name) for where in judged)] for name in names])


def _gains(judged: Mapping[str, ScoredLists], drawn: Mapping[str, Mapping[str, Scores]]) -> str:
    rows = []
    for where, lists in judged.items():
        base, best = official(lists, "ngram"), official(lists, "best")
        gain = interval(best - base, drawn[where]["best"] - drawn[where]["ngram"])
        goal = GOALS.get(where, base)
        verdict = "reached" if gain.value >= goal else "missed"
        gained = f"{gain.value:+.4f} ({gain.low:+.3f} to {gain.high:+.3f})"
        rows.append([where, gained, f"+{goal:.4f}".rstrip("0"), verdict])
    return markdown_table(["", "best less n-gram (95 %)", "goal", ""], rows, left=1)


def ablation(figures: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the cross-validated AP of each member alone, and of the kept ones without it."""
    members = sorted({name for of_language in figures.values() for name in of_language["alone"]})

    def cell(language: str, name: str) -> str:
        of_language = figures[language]
        if name not in of_language["alone"]:
            return ""
        without = of_language["without"].get(name)
        return f"{of_language['alone'][name]:.4f}" + (f" / {without:.4f}" if without is not None else "")

    rows = [[name, *(cell(language, name) for language in figures)] for name in members]
    rows.append(["**together**", *(f"**{of_language['AP']:.4f}**" for of_language in figures.values())])
    return markdown_table(["AP alone / of the others", *figures], rows)


def calibration(labels: Labels, probabilities: Scores) -> list[str]:
    """Return five cells: observed and predicted mean, Brier score, that of the mean, calibration gap over ten bins."""
    brier = float(np.mean((probabilities - labels) ** 2))
    bins = np.minimum((probabilities * 10).astype(int), 9)
    gap = sum(
        abs(float(probabilities[bins == number].mean() - labels[bins == number].mean())) * int((bins == number).sum())
        for number in range(10)
        if (bins == number).any()
    )
    mean = float(labels.mean())
    return [
        f"{mean:.3f}",
        f"{probabilities.mean():.3f}",
        f"{brier:.4f}",
        f"{mean * (1 - mean):.4f}",
        f"{gap / len(labels):.3f}",
    ]


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


def main() -> int:
    """Measure, print the tables, write the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="where check-worthiness.md is")
    args = parser.parse_args()
    try:
        with part("all of check-worthiness"):
            measured = _measured(data_folder())
    except FactseekError as error:
        say(f"benchmarks.checkworthiness: {error.line}")
        return 2
    content = f"{this_machine()}.\n\n{measured}"
    write(content + "\n")
    replace_marked(args.docs / "check-worthiness.md", "measured", content)
    return 0


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
    for model, learned in speaking.items():
        judged["debates"].scores[model] = _scored(learned, spoken)
    networks = {name: _network(name, splits, judged) for name in NETWORKS}
    with part("tables"):
        sections = {
            "AP on dev": results(judged),
            "Members of the best ranker": ablation({**best.figures, "debates": speaking["best"].figures["en"]}),
            "Calibration of the best ranker on dev": _calibration(best, speaking["best"], splits, spoken),
            "Joint against single": joint(networks),
        }
    return "\n".join(f"## {title}\n\n{content}" for title, content in sections.items())


_ON_DEBATES = ("random", "ngram", "best")


def _learned(model: str, statements: Sequence[Statement], config: Config = CONFIG) -> Trained:
    with part(f"{model}: learning from {len(statements):,} statements"):
        return kind(model).train(statements, config, bar)


def _scored(learned: Trained, spoken: Debates) -> list[Scores]:
    """Return the scores of each debate, all scored in one call."""
    scores = learned.ranker.score([statement for debate in spoken.dev for statement in debate])
    return np.split(scores, np.cumsum([len(debate) for debate in spoken.dev])[:-1])


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
        precisions[language] = official(judged[language], name), float(trained.figures[language]["AP"])
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
