"""Train an encoder or a re-ranker, measure it on held-out queries, and write it to a new folder."""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from ... import __version__
from ...core.errors import MachineError, QueryError
from ...core.files import make_folder_of, saving_reported, sync_tree
from ...core.notebook import frame, html
from ...core.progress import Progress, silent
from ...retrieval.encoders.sources import for_language
from ...retrieval.search.index import Index
from ..run.batch import Judged
from ..scoring.statistics import Interval, compare_pairs, intervals
from ..scoring.tables import interval_cells, interval_header, interval_table
from .examples import read_candidates, split
from .models import EncoderTraining, RerankerTraining
from .trainer import TrainingRequest, drop_cut_checkpoints

# The setting for each kind of model.
SETTINGS = {"encoder": "encoder.model", "reranker": "rerank.model"}
_NOUNS = {"encoder": "sentence encoder", "reranker": "re-ranker"}
_LIBRARIES = ("sentence-transformers", "transformers", "torch", "accelerate")


_SHARED = (
    "some queries that share relevant documents are in different parts, so the figures may be too "
    "high"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainedModel:
    """A trained encoder or re-ranker in the new folder ``folder``.

    ``card`` is the content of ``training.json`` in the folder. ``rows`` maps the ranking before and
    after the training to its mean on the judging queries, ``ranked`` says what was ranked, and
    ``verdict`` says whether the gain is significant. ``notes`` are on the judgements and the parts.
    """

    folder: Path
    card: Mapping[str, Any]
    measure: str
    rows: Mapping[str, Interval]
    ranked: str
    verdict: str
    notes: tuple[str, ...]

    @property
    def sure(self) -> bool:
        """Whether the gain is significant."""
        return bool(self.card["better"])

    @property
    def beside(self) -> Mapping[str, float]:
        """The settings to set together with the model, such as ``rerank.weight``."""
        beside: Mapping[str, float] = self.card["beside"]
        return beside

    @property
    def text(self) -> str:
        """The means as a table for the terminal, and the verdict."""
        return f"{interval_table(self.measure, self.rows)}\n{self.ranked}\n{self.verdict}\n"

    def as_json(self) -> dict[str, Any]:
        """Return the card, as ``factseek train --json`` prints it."""
        return dict(self.card)

    def to_frame(self) -> Any:
        """Return the mean before and after the training with its interval as a DataFrame."""
        rows = [(name, of.mean, of.low, of.high) for name, of in self.rows.items()]
        return frame(["model", self.measure, "low", "high"], rows, "model")

    def _repr_html_(self) -> str:
        """Return the means and the verdict as HTML, for a notebook."""
        table = (interval_header(self.measure), interval_cells(self.rows))
        return html(self.verdict, table, notes=(self.ranked, *self.notes))


def base_of(index: Index, named: str) -> str:
    """Return the model to train further: the named one, or the encoder of the index."""
    encoder = index.info.encoder
    made_by = encoder and (encoder.model or encoder.name)
    return named or made_by or for_language(index.settings.encoder, index.info.language).model


def train(
    index: Index, judged: Judged, request: TrainingRequest, progress: Progress = silent
) -> TrainedModel:
    """Train, and write the model to the new folder ``request.target``; measure it on the judging
    queries.

    Raises QueryError if the folder exists, or there are too few judged queries or no
    negatives; MachineError if the model is not on this machine, or the disk is full.
    """
    check_target(request.target)
    try:
        import accelerate  # noqa: F401
        import datasets  # noqa: F401
    except ImportError as error:
        remedy = "install it with: python -m pip install 'factseek[train]'"
        raise MachineError(f"training needs the package {error.name}", remedy=remedy) from None
    settings = request.settings
    parts = split(
        read_candidates(index, judged, settings.depth, progress), judged.qrels, settings.seed
    )
    if not any(candidate.negatives() for candidate in parts.learned):
        raise QueryError(
            f"all of the first {settings.depth} hits are relevant: there are no negatives to learn "
            "from"
        )
    if not settings.patience:
        parts = parts._replace(stopping=(), judging=[*parts.stopping, *parts.judging])
    training: Any = (EncoderTraining if request.what == "encoder" else RerankerTraining)(
        request, judged.qrels
    )
    before = training.before(parts.judging)
    with _checkpoints_kept(request):
        training.learn(parts.learned, parts.stopping, progress)
        after = training.values(parts.judging)
        of_before, of_after = intervals(np.stack([before, after], axis=1), settings.seed)
        test = compare_pairs(before, after, settings.seed)
        ranked = training.describe_ranked(parts.judging)
        figures = {
            "of": ranked,
            "measure": settings.measure,
            "before": of_before,
            "after": of_after,
            "test": test,
        }
        facts = {
            "what": request.what,
            "better": test.sure,
            "index": request.index,
            "sources": list(request.sources),
            "settings": settings,
            "beside": training.beside,
            "queries": {
                name: len(getattr(parts, name)) for name in ("learned", "stopping", "judging")
            },
            "grouped": parts.grouped,
            "figures": figures,
            "versions": {
                "factseek": __version__,
                **{name: metadata.version(name) for name in _LIBRARIES},
            },
        }
        card = msgspec.to_builtins(facts)
        trained = TrainedModel(
            folder=request.target,
            card=card,
            measure=settings.measure,
            rows={"before": of_before, "trained": of_after},
            ranked=f"{len(parts.judging):,} queries that the model did not learn from: {ranked}",
            verdict=test.verdict(f"held-out {settings.measure}"),
            notes=judged.notes if parts.grouped else (*judged.notes, _SHARED),
        )
        # Write next to the target, and rename when complete.
        with tempfile.TemporaryDirectory(prefix=".train-", dir=request.target.parent) as scratch:
            made = Path(scratch) / "model"
            training.save(str(made))
            (made / "training.json").write_text(json.dumps(card, indent=2) + "\n", "utf-8")
            (made / "README.md").write_text(_readme(request, card, trained.text), "utf-8")
            sync_tree(made)
            made.rename(request.target)
    shutil.rmtree(request.checkpoints, ignore_errors=True)
    return trained


def check_target(target: Path) -> None:
    """Make the folder above the new folder ``target``; raise QueryError if that exists."""
    if target.exists():
        raise QueryError("already exists", place=target, remedy="give a new folder")
    make_folder_of(target)


@contextmanager
def _checkpoints_kept(request: TrainingRequest) -> Iterator[None]:
    """If a training fails or is interrupted, keep complete checkpoints; raise MachineError if the
    disk is full.
    """
    try:
        with saving_reported(request.target.parent):
            yield
    except BaseException:
        if request.checkpoints.is_dir() and not drop_cut_checkpoints(request.checkpoints):
            shutil.rmtree(request.checkpoints, ignore_errors=True)
        raise


def _readme(request: TrainingRequest, card: dict[str, Any], text: str) -> str:
    def format_facts(facts: Mapping[str, object], form: str) -> str:
        return "\n".join(form.format(name, value) for name, value in facts.items() if value != "")

    beside = "".join(f", with `{name}` {value:g}" for name, value in card["beside"].items())
    sources = "\n".join(
        f"- {source['name']}, SHA-256 {source['sha256']}" for source in card["sources"]
    )
    return f"""# {request.target.name}

A {_NOUNS[request.what]} that `factseek train {request.what}` made of {request.settings.base}
for the index {request.index}. Set `{SETTINGS[request.what]}` to this folder{beside}.

## What it is worth

```
{text.rstrip()}
```

## What it learned from

{sources or "- titles and sentences of the documents of the index, without judgements"}
- queries: {", ".join(f"{count} {name}" for name, count in card["queries"].items())}

## Settings

{format_facts(card["settings"], "- {}: {}")}

## Versions

{format_facts(card["versions"], "- {} {}")}
"""
