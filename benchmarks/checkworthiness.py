"""Measure rankers of check-worthiness: ``python -m benchmarks.checkworthiness``.

``FACTSEEK_DATA`` must name the folder with CheckThat! 2021 task 1. Every ranker learns from the
train part only, and is evaluated on the dev part. The program prints the tables and writes them
into ``docs/figures.md``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import data_folder
from benchmarks.measuring import part, program, publish
from factseek.claims.checkworthiness.rankers import Trained, kind
from factseek.claims.learning.folds import average_precision
from factseek.claims.settings import Config
from factseek.core.domain import Statement
from factseek.core.progress import bar
from factseek.eval.scoring.machine import this_machine
from factseek.eval.scoring.tables import markdown_table
from factseek.eval.tasks import STATEMENTS

TWEETS = {
    "ar": ("1a-arabic/CT21-AR-Train-T1-Labels.tsv", "1a-arabic/CT21-AR-Dev-T1-Labels.tsv"),
    "bg": (
        "1a-bulgarian/dataset_train_v1_bulgarian.tsv",
        "1a-bulgarian/dataset_dev_v1_bulgarian.tsv",
    ),
    "en": ("1a-english/dataset_train_v1_english.tsv", "1a-english/dataset_dev_v1_english.tsv"),
    "es": ("1a-spanish/dataset_train.tsv", "1a-spanish/dataset_dev.tsv"),
    "tr": ("1a-turkish/dataset_train_v1_turkish.tsv", "1a-turkish/dataset_dev_v1_turkish.tsv"),
}
RESAMPLES = 2_000
GOALS = {"ar": 0.05, "bg": 0.10, "en": 0.05, "es": 0.10, "tr": 0.05}
"""The gain over the n-gram baseline that the best ranker should reach."""
Scores = NDArray[np.float64]


class Part(NamedTuple):
    """Labelled statements: ``train`` to learn from, ``dev`` to rank, in one list for tweets or one
    for each debate.
    """

    train: list[Statement]
    dev: list[list[Statement]]


def parts() -> dict[str, Part]:
    """Read the tweets of the five languages, and the debates in the order of their files' names."""
    folder = data_folder() / "ct2021-task1"
    files = {
        language: ([folder / train], [folder / dev]) for language, (train, dev) in TWEETS.items()
    }
    files["debates"] = tuple(
        sorted((folder / "1b-english" / part).glob("*.tsv")) for part in ("train", "dev")
    )
    read_of = {}
    for name, pair in files.items():
        read = STATEMENTS.load("ct2021-1b" if name == "debates" else "ct2021-1a").read_statements
        language = "en" if name == "debates" else name
        train, dev = (
            [
                [line._replace(language=language) for line in read(path, labelled=True)]
                for path in paths
            ]
            for paths in pair
        )
        read_of[name] = Part([statement for of_file in train for statement in of_file], dev)
    return read_of


def labels_of(statements: Sequence[Statement]) -> NDArray[np.int64]:
    """Return the label of each statement; if an id repeats, its last label counts, as in the
    official scorer.
    """
    last = {statement.qid: statement.label for statement in statements}
    return np.array([last[statement.qid] for statement in statements], dtype=np.int64)


class ScoredLists(NamedTuple):
    """Lists that are ranked separately (a file of tweets, or debates), with the scores of each
    ranker.

    ``rows`` is the number of rows worth checking divided by the number of ids worth checking. It is
    above 1 if ids repeat. The official scorer counts every row as found, but each id only once as
    relevant.
    """

    labels: list[NDArray[np.int64]]
    scores: dict[str, list[Scores]]
    rows: float

    def precisions(self, name: str) -> Scores:
        """Return the average precision of each list in a ranker's order."""
        pairs = zip(self.labels, self.scores[name], strict=True)
        return self.rows * np.array([average_precision(labels, scores) for labels, scores in pairs])

    def resampled(self) -> dict[str, Scores]:
        """Return the mean average precision of each ranker on resampled lists, the same lists for
        every ranker.

        A single list is resampled by its statements. Several lists are resampled as wholes, because
        one debate is one observation.
        """
        random = np.random.default_rng(0)
        (labels, *others), size = self.labels, len(self.labels)
        if others:
            draws = random.integers(0, size, (RESAMPLES, size))
            return {name: self.precisions(name)[draws].mean(axis=1) for name in self.scores}
        draws = np.sort(random.integers(0, len(labels), (RESAMPLES, len(labels))), axis=1)
        return {
            name: self.rows
            * np.array([average_precision(labels[drawn], scores[drawn]) for drawn in draws])
            for name, (scores,) in self.scores.items()
        }


def results(judged: Mapping[str, ScoredLists]) -> str:
    """Return two tables with intervals: AP on dev, and the gain of ``best`` over the n-gram
    baseline.
    """
    rows: dict[str, list[str]] = {}
    gains = []
    for where, lists in judged.items():
        drawn, means = (
            lists.resampled(),
            {name: float(lists.precisions(name).mean()) for name in lists.scores},
        )
        for name, mean in means.items():
            rows.setdefault(name, [name]).append(f"{mean:.4f} ({_interval(drawn[name])})")
        gain, goal = means["best"] - means["ngram"], GOALS.get(where, means["ngram"])
        said = f"{gain:+.4f} ({_interval(drawn['best'] - drawn['ngram'], '+')})"
        gains.append(
            [where, said, f"+{goal:.4f}".rstrip("0"), "reached" if gain >= goal else "missed"]
        )
    gained = markdown_table(["", "best less n-gram (95 %)", "goal", ""], gains, left=1)
    return f"{markdown_table(['ranker', *judged], list(rows.values()))}\n{gained}"


def _interval(drawn: Scores, sign: str = "") -> str:
    low, high = np.percentile(drawn, (2.5, 97.5))
    return f"{low:{sign}.3f} to {high:{sign}.3f}"


def calibration(labels: NDArray[np.int64], probabilities: Scores) -> list[str]:
    """Return five cells: observed mean, predicted mean, Brier score, Brier score of the observed
    mean, calibration gap.

    The calibration gap is measured over ten bins.
    """
    bins = np.minimum((probabilities * 10).astype(int), 9)
    gaps = [abs(float((probabilities - labels)[bins == number].sum())) for number in range(10)]
    mean, brier = float(labels.mean()), float(np.mean((probabilities - labels) ** 2))
    figures = (
        f"{mean:.3f}",
        f"{probabilities.mean():.3f}",
        f"{brier:.4f}",
        f"{mean * (1 - mean):.4f}",
    )
    return [*figures, f"{sum(gaps) / len(labels):.3f}"]


@program()
def main(_: argparse.Namespace) -> None:
    """Measure, print the tables, write the document."""
    with part("all of check-worthiness"):
        read = parts()
        every = [
            statement for name, of in read.items() if name != "debates" for statement in of.train
        ]
        best = dict.fromkeys(read, _learned("best", every)) | {
            "debates": _learned("best", read["debates"].train)
        }
        judged, rows = {}, []
        for name, of in read.items():
            labels, statements = (
                [labels_of(listed) for listed in of.dev],
                [one for listed in of.dev for one in listed],
            )
            # Different debates have the same line numbers, so every row of a debate counts as an
            # id.
            worth = {} if name == "debates" else {one.qid: one.label for one in statements}
            positives = sum(int(of_list.sum()) for of_list in labels)
            judged[name] = ScoredLists(
                labels, {}, positives / sum(worth.values()) if worth else 1.0
            )
            for model in ("random", "ngram", "best"):
                learned = best[name] if model == "best" else _learned(model, of.train)
                scores = learned.ranker.score(statements)
                judged[name].scores[model] = np.split(
                    scores, np.cumsum([len(listed) for listed in of.dev])[:-1]
                )
            probabilities = learned.ranker.probability(scores)
            if probabilities is not None:
                rows.append([name, *calibration(np.concatenate(labels), probabilities)])
    table = markdown_table(
        ["", "worth checking", "predicted", "Brier", "Brier of the mean", "gap"], rows
    )
    head = f"{this_machine()}.\n\n### AP on dev\n\n{results(judged)}"
    publish("checkworthiness", f"{head}\n### Calibration of the best ranker on dev\n\n{table}")


def _learned(model: str, statements: Sequence[Statement]) -> Trained:
    with part(f"{model}: learning from {len(statements):,} statements"):
        return kind(model).train(statements, Config(), bar)


if __name__ == "__main__":
    sys.exit(main())
