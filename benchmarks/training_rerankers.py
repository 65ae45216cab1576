"""Train re-rankers on SciFact's claims and measure the stage that runs one: what it adds to hybrid, what it costs."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import chain
from pathlib import Path
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from benchmarks.training_claims import JudgingClaims, values
from factseek.eval.reports.page import markdown_table
from factseek.eval.scoring.statistics import Values, paired
from factseek.retrieval.config import Config, RerankSettings
from factseek.retrieval.index.local import open_index
from factseek.retrieval.searcher import Search

DEPTH = 10
"""Hits that are re-ranked: learned from, judged and searched with."""
MEASURE = "nDCG@10"
_COMMON = ("--negatives", 2, "--depth", DEPTH, "--batch", 8, "--looks", 1)
_TIMED = 40
"""Claims whose searches are timed."""


class RerankerSetting(NamedTuple):
    """A way of training: its name, the base (the name of another setting's model, or a model), and the options."""

    name: str
    base: str
    options: tuple[object, ...]
    from_documents: bool = False

    def arguments(self, data: Path, index: Path, work: Path) -> list[object]:
        """Return the arguments of ``factseek`` that train it."""
        base = work / self.base if (work / self.base).is_dir() else self.base
        judged = ("--queries", data / "queries.jsonl", "--qrels", data / "qrels" / "train.tsv")
        taught = ("--from-documents",) if self.from_documents else judged
        asked = ["train", "reranker", "--index", index, *taught, "--base", base]
        return [*asked, *_COMMON, *self.options, "--output", work / self.name]


CHOSEN = RerankerSetting("reranker", "all-MiniLM-L6-v2", ("--max-tokens", 128, "--rate", 1e-4, "--epochs", 1))
TRIED = (CHOSEN,)
"""The settings that were tried; the first is that of the first table."""


class RankedRow(NamedTuple):
    """A ranking of the judging claims: its name, their measures, and processor milliseconds a search."""

    name: str
    values: Values
    milliseconds: float


def needed(setting: RerankerSetting) -> list[RerankerSetting]:
    """Return the settings whose models have to be there for this one, itself the last."""
    before = [needed(other) for other in TRIED if other.name == setting.base]
    return [*chain.from_iterable(before), setting]


def measured(index: Path, model: Path, claims: JudgingClaims, seed: int) -> str:
    """Return the table of hybrid search with and without the stage, over all documents."""
    weight = card(model)["beside"]["rerank.weight"]
    rows = [_row("hybrid", index, Config(), (), claims)]
    for share in dict.fromkeys((weight, 1.0)):
        settings = Config(rerank=RerankSettings(model=str(model), depth=DEPTH, weight=share))
        rows.append(_row(f"re-ranked, weight {share:g}", index, settings, ("rerank",), claims))
    header = ("ranking", MEASURE, "gain over hybrid, 95 % interval", "p", "processor ms a search")
    lines = [_line(row, rows[0], seed) for row in rows]
    return f"{len(claims.queries)} claims that judge.\n\n{markdown_table(header, lines, left=1)}"


def tried(folder: Path) -> str:
    """Return the table of the settings whose models are there, each by the command's own figures."""
    header = ("model", "options", "weight", "learned", "before", "trained", "difference, 95 % interval")
    cards = [(setting, card(folder / setting.name)) for setting in TRIED if (folder / setting.name).is_dir()]
    return markdown_table(header, [_tried_line(setting, facts) for setting, facts in cards], left=2)


def card(model: Path) -> Any:
    """Return what a training wrote of itself."""
    return json.loads((model / "training.json").read_text("utf-8"))


def _row(name: str, folder: Path, settings: Config, stages: Sequence[str], claims: JudgingClaims) -> RankedRow:
    search = Search(k=100, retriever="hybrid", stages=tuple(stages))
    with open_index(folder, settings) as index:
        index.search(list(claims.queries.values())[:1], search)
        began = process_time()
        for query in list(claims.queries.values())[:_TIMED]:
            index.search([query], search)
        worked = process_time() - began
        return RankedRow(name, values(index, claims, search, MEASURE), 1000 * worked / min(_TIMED, len(claims.queries)))


def _line(row: RankedRow, first: RankedRow, seed: int) -> list[str]:
    test = paired(first.values, row.values, seed)
    gain = f"{test.difference.mean:+.3f} ({test.difference.low:+.3f} to {test.difference.high:+.3f})"
    own = [f"{float(np.mean(row.values)):.3f}", f"{row.milliseconds:.0f}"]
    return [row.name, own[0], *(["", ""] if row is first else [gain, f"{test.p_randomisation:.3f}"]), own[1]]


def _tried_line(setting: RerankerSetting, facts: Mapping[str, Any]) -> list[str]:
    figures = facts["figures"]
    difference = figures["test"]["difference"]
    options = " ".join(str(option) for option in (f"--base {setting.base}", *setting.options))
    return [
        setting.name,
        f"`{options}{' --from-documents' if setting.from_documents else ''}`",
        f"{facts['beside']['rerank.weight']:g}",
        str(facts["queries"]["learned"]),
        *(f"{figures[name]['mean']:.3f}" for name in ("before", "after")),
        f"{difference['mean']:+.3f} ({difference['low']:+.3f} to {difference['high']:+.3f})",
    ]
