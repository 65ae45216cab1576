"""Comparisons of runs, as ``factseek compare --json`` prints them, under the names that they are served by."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import msgspec
from flask import Flask, current_app

from ...retrieval.errors import ConfigError, QueryError
from ...retrieval.files import read_regular
from ...retrieval.validation import mismatch
from ..settings import Config

_KEY = "factseek.comparisons"


class MeanInterval(msgspec.Struct):
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float


class PairOfRuns(msgspec.Struct):
    """Two runs on one measure: the difference, second minus first, and whether it could be chance."""

    measure: str
    first: str
    second: str
    difference: MeanInterval
    p_randomisation: float
    holm_randomisation: float
    wins: int
    ties: int
    losses: int


class MovedQuery(msgspec.Struct):
    """A query on which two runs differ much: its values, and the ranks of relevant documents in each run."""

    first: str
    second: str
    qid: str
    values: tuple[float, float]
    ranks: dict[str, tuple[int | None, int | None]]


class ComparisonReport(msgspec.Struct):
    """A comparison of runs on one set of queries; ``means`` is by measure, then by run."""

    queries: int
    runs: list[str]
    means: dict[str, dict[str, MeanInterval]]
    pairs: list[PairOfRuns]
    moved: list[MovedQuery]
    notes: list[str] = []


def report_of(content: bytes) -> ComparisonReport:
    """Return the report that was read.

    Raises QueryError if it is none.
    """
    remedy = "give what factseek compare --json printed"
    try:
        return msgspec.json.decode(content, type=ComparisonReport)
    except msgspec.ValidationError as error:
        wrong = mismatch(error)
        reason = "is missing" if wrong.missing else wrong.reason
        raise QueryError(f"is no comparison of runs: {wrong.field or 'its content'} {reason}", remedy=remedy) from None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        raise QueryError("is no comparison of runs: it is not JSON", remedy=remedy) from None


def check(config: Config) -> None:
    """Read every report, so that an error is reported once, before there are workers.

    Raises ConfigError, naming the setting, if one cannot be read.
    """
    for name, path in config.server.comparisons.items():
        _read(name, path)


def install(app: Flask, config: Config) -> None:
    """Give ``app`` the reports that it shows."""
    app.extensions[_KEY] = {name: _read(name, path) for name, path in config.server.comparisons.items()}


def served_reports() -> Mapping[str, ComparisonReport]:
    """Return the reports of the current application by name."""
    reports: Mapping[str, ComparisonReport] = current_app.extensions[_KEY]
    return reports


def _read(name: str, path: str) -> ComparisonReport:
    place = f"server.comparisons.{name}"
    try:
        return report_of(read_regular(Path(path)))
    except OSError as error:
        reason = (error.strerror or "").lower()
        raise ConfigError(f"{path}: cannot be read: {reason}", place=place, remedy="write it anew") from None
    except QueryError as error:
        raise ConfigError(f"{path}: {error.what}", place=place, remedy=error.remedy) from None
