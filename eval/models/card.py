"""The card of a trained model: ``README.md`` for people and ``training.json`` for programs, in its folder."""

from __future__ import annotations

import json
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec

from ... import __version__
from ..reports.tables import figure, table
from ..training.report import difference_in_words
from .trained import TrainedModel

_NOUNS = {"encoder": "sentence encoder", "reranker": "re-ranker"}
SETTINGS = {"encoder": "encoder.model", "reranker": "rerank.model"}
"""The setting that takes each kind of model."""
_LIBRARIES = ("sentence-transformers", "transformers", "torch", "accelerate")


def as_json(trained: TrainedModel) -> dict[str, Any]:
    """Return the card as data."""
    request = trained.request
    return {
        "what": request.what,
        "better": trained.sure,
        "index": request.index,
        "sources": request.sources(),
        "settings": msgspec.to_builtins(request.settings),
        "beside": dict(trained.beside),
        "queries": dict(trained.counts),
        "grouped": trained.grouped,
        "figures": {
            "of": trained.ranked,
            "measure": request.settings.measure,
            "before": trained.before._asdict(),
            "after": trained.after._asdict(),
            "test": trained.test._asdict() | {"difference": trained.test.difference._asdict()},
        },
        "versions": {"factseek": __version__, **{name: metadata.version(name) for name in _LIBRARIES}},
    }


def as_text(trained: TrainedModel) -> str:
    """Return the figures as a table with a sentence on what training gained."""
    rows = [
        (name, figure(interval.mean), f"{figure(interval.low)} to {figure(interval.high)}")
        for name, interval in (("before", trained.before), ("trained", trained.after))
    ]
    measure = trained.request.settings.measure
    of = f"{trained.counts['judging']:,} queries that it has not seen: {trained.ranked}"
    sentence = difference_in_words(trained.test, trained.sure, f"held-out {measure}")
    return f"{table(('', measure, '95 % interval'), rows)}\n{of}\n{sentence}\n"


def write_card(folder: Path, trained: TrainedModel) -> None:
    """Write both forms of the card."""
    facts = as_json(trained)
    (folder / "training.json").write_text(json.dumps(facts, indent=2) + "\n", "utf-8")
    (folder / "README.md").write_text(_readme(trained, facts), "utf-8")


def _with_settings(trained: TrainedModel) -> str:
    return "".join(f", with `{name}` {value:g}" for name, value in trained.beside.items())


def _readme(trained: TrainedModel, facts: dict[str, Any]) -> str:
    request = trained.request
    sources = [f"- {source['name']}, SHA-256 {source['sha256']}" for source in facts["sources"]]
    settings = [f"- {name}: {value}" for name, value in facts["settings"].items() if value != ""]
    versions = [f"- {name} {version}" for name, version in facts["versions"].items()]
    return "\n".join(
        [
            f"# {request.target.name}",
            "",
            f"A {_NOUNS[request.what]} that `factseek train {request.what}` made of {request.settings.base}",
            f"for the index {request.index}. `{SETTINGS[request.what]}` takes this folder{_with_settings(trained)}.",
            "",
            "## What it is worth",
            "",
            "```",
            as_text(trained).rstrip(),
            "```",
            "",
            "## What it learned from",
            "",
            *(sources or ["- titles and sentences of the documents of the index, without judgements"]),
            f"- queries: {', '.join(f'{count} {name}' for name, count in trained.counts.items())}",
            "",
            "## Settings",
            "",
            *settings,
            "",
            "## Versions",
            "",
            *versions,
            "",
        ]
    )
