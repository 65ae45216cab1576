"""Measure rankers of check-worthiness: ``python -m benchmarks.checkworthiness``.

``FACTSEEK_DATA`` must name the folder with CheckThat! 2021 task 1. Every ranker learns from the train part only, and is
evaluated on the dev part. The program prints the tables and writes them into ``docs/figures.md``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

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


Statements = list[Statement]


class Split(NamedTuple):
    """Labelled statements to learn from and to rank, as one list for each file."""

    train: list[Statements]
    dev: list[Statements]

    @property
    def learned(self) -> Statements:
        """The statements to learn from."""
        return [statement for of_file in self.train for statement in of_file]


def tweets(data: Path) -> dict[str, Split]:
    """Read the tweets of the five languages."""
    read = STATEMENTS.load("ct2021-1a").read_statements
    return {
        language: Split(
            *(
                [[tweet._replace(language=language) for tweet in read(data / "ct2021-task1" / name, labelled=True)]]
                for name in names
            )
        )
        for language, names in TWEETS.items()
    }


def debates(data: Path) -> Split:
    """Read the debates, in the order of their files' names."""
    read = STATEMENTS.load("ct2021-1b").read_statements
    files = (sorted((data / "ct2021-task1" / "1b-english" / part).glob("*.tsv")) for part in ("train", "dev"))
    return Split(
        *(
            [[line._replace(language="en") for line in read(path, labelled=True)] for path in of_part]
            for of_part in files
        )
    )


def labels_of(statements: Sequence[Statement]) -> NDArray[np.int64]:
    """Return the label of each statement; if an id repeats, its last label counts, as in the official scorer."""
    last = {statement.qid: statement.label for statement in statements}
    return np.array([last[statement.qid] for statement in statements], dtype=np.int64)


def rows_an_id(statements: Sequence[Statement]) -> float:
    """Return the number of rows worth checking for each id worth checking."""
    worth = {statement.qid: label for statement, label in zip(statements, labels_of(statements).tolist(), strict=True)}
    return float(labels_of(statements).sum() / sum(worth.values()))


RESAMPLES = 2_000
GOALS = {"ar": 0.05, "bg": 0.10, "en": 0.05, "es": 0.10, "tr": 0.05}
"""The gain over the n-gram baseline that the best ranker should reach."""
Scores = NDArray[np.float64]


class ScoredLists(NamedTuple):
    """Lists that are ranked separately (a file of tweets, or debates), with the scores of each ranker.

    ``rows`` is the number of rows worth checking for each id worth checking; it is above 1 if ids repeat. The official
    scorer counts every row as found, but each id only once as relevant.
    """

    labels: list[NDArray[np.int64]]
    scores: dict[str, list[Scores]]
    rows: float = 1.0

    def precisions(self, name: str) -> Scores:
        """Return the average precision of each list in a ranker's order."""
        pairs = zip(self.labels, self.scores[name], strict=True)
        return self.rows * np.array([average_precision(labels, scores) for labels, scores in pairs])

    def resampled(self) -> dict[str, Scores]:
        """Return the mean precision of each ranker on resampled lists, the same ones for every ranker.

        A single list is resampled by its statements. Several lists are resampled as wholes, because one debate is one
        observation.
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
    """Return two tables: AP on dev, and the best ranker's gain over the n-gram baseline with intervals."""
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
    """Return five cells: observed mean, predicted mean, Brier score, Brier score of the observed mean, calibration gap.

    The calibration gap is measured over ten bins.
    """
    bins = np.minimum((probabilities * 10).astype(int), 9)
    gaps = [abs(float((probabilities - labels)[bins == number].sum())) for number in range(10)]
    mean, brier = float(labels.mean()), float(np.mean((probabilities - labels) ** 2))
    figures = f"{mean:.3f}", f"{probabilities.mean():.3f}", f"{brier:.4f}", f"{mean * (1 - mean):.4f}"
    return [*figures, f"{sum(gaps) / len(labels):.3f}"]


ROOT = Path(__file__).resolve().parent.parent
CONFIG = Config()


@program
def main() -> None:
    """Measure, print the tables, write the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="the folder of figures.md")
    args = parser.parse_args()
    with part("all of check-worthiness"):
        measured = _measured(data_folder())
    content = f"{this_machine()}.\n\n{measured}"
    write(content + "\n")
    replace_marked(args.docs / "figures.md", "checkworthiness", content)


def _measured(folder: Path) -> str:
    splits, spoken = tweets(folder), debates(folder)
    judged = {
        language: ScoredLists([labels_of(split.dev[0])], {}, rows_an_id(split.dev[0]))
        for language, split in splits.items()
    }
    judged["debates"] = ScoredLists([labels_of(statements) for statements in spoken.dev], {})
    every = [statement for split in splits.values() for statement in split.learned]
    best, speaking = _learned("best", every), {}
    for model in ("random", "ngram", "best"):
        for language, split in splits.items():
            learned = best if model == "best" else _learned(model, split.learned)
            judged[language].scores[model] = [learned.ranker.score(split.dev[0])]
        speaking[model] = _learned(model, spoken.learned)
        scores = speaking[model].ranker.score([sentence for debate in spoken.dev for sentence in debate])
        judged["debates"].scores[model] = np.split(scores, np.cumsum([len(debate) for debate in spoken.dev])[:-1])
    sections = {
        "AP on dev": results(judged),
        "Calibration of the best ranker on dev": _calibration(best, speaking["best"], splits, spoken),
    }
    return "\n".join(f"### {title}\n\n{content}" for title, content in sections.items())


def _learned(model: str, statements: Sequence[Statement]) -> Trained:
    with part(f"{model}: learning from {len(statements):,} statements"):
        return kind(model).train(statements, CONFIG, bar)


def _calibration(best: Trained, speaking: Trained, splits: Mapping[str, Split], spoken: Split) -> str:
    # Line numbers repeat between debates, so each list uses only the labels of its own lines.
    parts = {**{language: (best, split) for language, split in splits.items()}, "debates": (speaking, spoken)}
    rows = []
    for name, (trained, split) in parts.items():
        statements = [statement for of_file in split.dev for statement in of_file]
        probabilities = trained.ranker.probability(trained.ranker.score(statements))
        if probabilities is not None:
            rows.append([name, *calibration(np.concatenate([*map(labels_of, split.dev)]), probabilities)])
    return markdown_table(["", "worth checking", "said", "Brier", "Brier of the mean", "gap"], rows)


if __name__ == "__main__":
    sys.exit(main())
