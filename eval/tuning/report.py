"""The report of a tuning: tables for the terminal, JSON, and a configuration with its evidence."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import msgspec
import yaml

from ...retrieval.config import Config
from ..reports.tables import figure, table
from .grid import COLUMNS, Setting
from .tune import Tuning

FIRST_LINE = "# Written by factseek tune"
_SHOWN = 10


def as_text(tuning: Tuning) -> str:
    """Return a tuning as tables for the terminal."""
    top = [*tuning.tried[:_SHOWN]]
    rows = [(figure(mean), *setting.row()) for setting, mean in top]
    folds = [
        (str(at), str(fold.queries), figure(fold.mean), figure(fold.default), *fold.setting.row())
        for at, fold in enumerate(tuning.folds, 1)
    ]
    return "\n".join(
        [
            table(("", tuning.measure, "95 % interval", *COLUMNS), _summary(tuning)),
            f"the best {len(top)} of {len(tuning.tried)} settings tried, on all {tuning.queries:,} queries:\n",
            table((tuning.measure, *COLUMNS), rows),
            "chosen by the other folds, and the default, on each:\n",
            table(("fold", "queries", tuning.measure, "default", *COLUMNS), folds),
            f"{verdict(tuning)}\n",
        ]
    )


def verdict(tuning: Tuning) -> str:
    """Return a sentence on what was chosen and why."""
    test = tuning.test
    low, high = f"{test.difference.low:+.4f}", f"{test.difference.high:+.4f}"
    evidence = (
        f"cross-validated {tuning.measure} {test.difference.mean:+.4f} against the default "
        f"(95 % interval {low} to {high}, randomisation test p = {test.p_randomisation:.4f})"
    )
    if tuning.sure:
        return f"tuned settings are chosen: {evidence}"
    return f"the default is kept: no better beyond chance, {evidence}"


def as_json(tuning: Tuning) -> dict[str, Any]:
    """Return the whole result, with every setting tried and its mean."""
    return {
        "measure": tuning.measure,
        "queries": tuning.queries,
        "seed": tuning.seed,
        "tuned": tuning.sure,
        "chosen": _setting(tuning.chosen),
        "default": {"setting": _setting(tuning.default), **tuning.default_mean._asdict()},
        "best": {"setting": _setting(tuning.best), "mean": tuning.best_mean},
        "cross_validated": tuning.cross_validated._asdict(),
        "test": tuning.test._asdict() | {"difference": tuning.test.difference._asdict()},
        "folds": [
            {"queries": fold.queries, "mean": fold.mean, "default": fold.default, "setting": _setting(fold.setting)}
            for fold in tuning.folds
        ],
        "tried": [{"setting": _setting(setting), "mean": mean} for setting, mean in tuning.tried],
    }


def as_yaml(tuning: Tuning, config: Config, about: str, folder: Path) -> str:
    """Return a configuration with the chosen settings and all that ``config`` changes; the evidence is in comments.

    Paths are relative to ``folder``.
    """
    evidence = [f"{FIRST_LINE}: {about}", verdict(tuning), "", *as_text(tuning).split("\n")]
    comments = [line if line.startswith("#") else f"# {line}".rstrip() for line in evidence]
    while comments[-1] == "#":
        comments.pop()
    return "\n".join(comments) + "\n\n" + yaml.safe_dump(settings(tuning, config, folder), sort_keys=False)


def settings(tuning: Tuning, config: Config, folder: Path) -> dict[str, Any]:
    """Return the settings of the configuration file, as mappings."""
    changed = _changed(msgspec.to_builtins(config), msgspec.to_builtins(type(config)()))
    indexes = changed.get("server", {}).get("indexes", {})
    for name, path in indexes.items():
        indexes[name] = os.path.relpath(path, folder)
    chosen = tuning.chosen
    search = changed.setdefault("search", {})
    if chosen.retriever != tuning.default.retriever:
        search["retriever"] = chosen.retriever
    if chosen.stages != tuning.default.stages:
        search["stages"] = list(chosen.stages)
    search["fusion"] = msgspec.to_builtins(chosen.fusion)
    changed["bm25"] = msgspec.to_builtins(chosen.bm25)
    return dict(sorted(changed.items()))


def _summary(tuning: Tuning) -> list[tuple[str, ...]]:
    default, held_out = tuning.default_mean, tuning.cross_validated
    none = ("",) * len(COLUMNS)
    return [
        ("default", figure(default.mean), _interval(default.low, default.high), *tuning.default.row()),
        ("best on all queries", figure(tuning.best_mean), "", *tuning.best.row()),
        ("cross-validated", figure(held_out.mean), _interval(held_out.low, held_out.high), *none),
    ]


def _interval(low: float, high: float) -> str:
    return f"{figure(low)} to {figure(high)}"


def _setting(setting: Setting) -> dict[str, Any]:
    return {name: msgspec.to_builtins(value) for name, value in setting._asdict().items()}


def _changed(values: dict[str, Any], default: dict[str, Any]) -> dict[str, Any]:
    """Return the values that differ from the defaults; a mapping of names (indexes, kinds) is taken whole."""
    changed: dict[str, Any] = {}
    for name, value in values.items():
        if isinstance(value, dict) and isinstance(default.get(name), dict) and default[name]:
            inner = _changed(value, default[name])
            if inner:
                changed[name] = inner
        elif value != default.get(name):
            changed[name] = list(value) if isinstance(value, tuple) else value
    return changed
