"""Measure rankers of check-worthiness: ``python -m benchmarks.checkworthiness``.

Needs ``FACTSEEK_DATA``, the folder that holds CheckThat! 2021 task 1. Every ranker learns from train alone and is
judged on dev. Prints the tables and writes them into ``docs/check-worthiness.md``.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from benchmarks import checkworthiness_data as data
from benchmarks import checkworthiness_tables as tables
from benchmarks.checkworthiness_data import Debates, TweetSplit, labels_of
from benchmarks.checkworthiness_tables import ScoredLists
from benchmarks.data_folder import data_folder
from benchmarks.marked import replace_marked
from benchmarks.parts import part
from factseek.claims.checkworthiness.rankers import Trained, kind
from factseek.claims.settings import Config
from factseek.eval.reports.machine import this_machine
from factseek.eval.reports.page import markdown_table
from factseek.retrieval.domain import Statement
from factseek.retrieval.errors import FactseekError
from factseek.retrieval.progress import bar
from factseek.retrieval.terminal import say, write

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
    splits, spoken = data.tweets(folder), data.debates(folder)
    judged = {
        language: ScoredLists([labels_of(split.dev)], {}, data.rows_an_id(split.dev))
        for language, split in splits.items()
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
            "AP on dev": tables.results(judged),
            "Members of the best ranker": tables.ablation({**best.figures, "debates": speaking["best"].figures["en"]}),
            "Calibration of the best ranker on dev": _calibration(best, speaking["best"], splits, spoken),
            "Joint against single": tables.joint(networks)
            + "".join(f"\n{tables.differences(judged, *pair)}" for pair in _pairs()),
            "The files": tables.oddities([data.oddity(language, split) for language, split in splits.items()])
            + _topics(splits["ar"]),
        }
    return "\n".join(f"## {title}\n\n{content}" for title, content in sections.items())


_ON_DEBATES = ("random", "ngram", "best")


def _learned(model: str, statements: Sequence[Statement], config: Config = CONFIG) -> Trained:
    with part(f"{model}: learning from {len(statements):,} statements"):
        return kind(model).train(statements, config, bar)


def _scored(learned: Trained, spoken: Debates) -> list[tables.Scores]:
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
        precisions[language] = tables.official(judged[language], name), float(trained.figures[language]["AP"])
    return precisions


def _pairs() -> list[tuple[str, str]]:
    """Return the networks with and without their language head, over each encoder."""
    names = list(NETWORKS)
    return list(zip(names[::2], names[1::2], strict=True))


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
            rows.append([name, *tables.calibration(labels, probabilities)])
    return markdown_table(["", "worth checking", "said", "Brier", "Brier of the mean", "gap"], rows)


def _topics(arabic: TweetSplit) -> str:
    mixed, topics = data.by_topic(arabic, CONFIG)
    return (
        f"\nArabic, words and characters alone, cross-validated AP: {mixed:.4f} with topics on both sides, "
        f"{topics:.4f} with whole topics held out.\n"
    )


if __name__ == "__main__":
    sys.exit(main())
