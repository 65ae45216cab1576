"""Train an encoder or a re-ranker, write it to a new folder, and measure it on held-out queries.

The trainers come from sentence-transformers and transformers, which also write and read the
checkpoints. An interrupted training leaves its checkpoints next to the folder, and the same request
resumes from them.
"""

from __future__ import annotations

import hashlib
import json
import logging
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec
import numpy as np

from ... import __version__
from ...core.errors import FactseekError, MachineError, QueryError
from ...core.files import saving_reported, sha256, storable, sync_tree, write_atomically
from ...core.progress import Progress, silent
from ...core.terminal import say
from ...retrieval.encoders.cache import model_folder
from ...retrieval.encoders.sources import check_model_folder, find_model
from ...retrieval.search.index import Index
from ..run.batch import Judged
from ..scoring.statistics import Values, compare_pairs, intervals
from ..scoring.tables import interval_table
from .examples import read_candidates, split


class ModelTraining(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a training; the command line says what most of them mean.

    After ``patience`` evaluations on the stopping queries without a gain, the training ends. With
    ``patience`` 0, it never ends early, its last model is kept, and the stopping queries also judge
    the model.
    """

    base: str
    epochs: int = 3
    batch: int = 16
    rate: float = 2e-5
    negatives: int = 4
    depth: int = 50
    max_tokens: int = 192
    looks: int = 2
    patience: int = 2
    measure: str = "nDCG@10"
    teacher: str = ""
    seed: int = 0


ALONE = ModelTraining(base="")  # the default settings of an encoder or a re-ranker
ADDED = ModelTraining(
    base="", epochs=6, rate=5e-5, negatives=2, depth=20, max_tokens=128, patience=0
)
"""The settings of an encoder whose ranking is fused: it is trained beyond the point where it ranks
best alone.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRequest:
    """The kind of model (``encoder``, ``reranker``), the settings, the training files, the index,
    the new folder.
    """

    what: str
    settings: ModelTraining
    files: tuple[Path, ...]
    index: str
    target: Path

    @property
    def checkpoints(self) -> Path:
        """The folder of the training's checkpoints, next to the result."""
        return self.target.with_name(f".{self.target.name}.training")

    def sources(self) -> list[dict[str, str]]:
        """Return the names of the files with their SHA-256."""
        return [{"name": storable(path.name), "sha256": sha256(path)} for path in self.files]

    def digest(self) -> str:
        """Return a digest that identifies this training; only the same training may resume from its
        checkpoints.
        """
        facts: list[Any] = [
            self.what,
            msgspec.to_builtins(self.settings),
            self.sources(),
            self.index,
        ]
        return hashlib.sha256(msgspec.json.encode(facts)).hexdigest()


# The setting for each kind of model.
SETTINGS = {"encoder": "encoder.model", "reranker": "rerank.model"}
# The name under which the trainer receives the measure of the stopping queries.
LOOKED_AT = "stopping"
_NOUNS = {"encoder": "sentence encoder", "reranker": "re-ranker"}
_LIBRARIES = ("sentence-transformers", "transformers", "torch", "accelerate")
_TIMED_STEPS = 3
_WARM_UP = 0.1
_LONGEST = 200  # the number of characters of a library's message to show


def train(
    index: Index, judged: Judged, request: TrainingRequest, progress: Progress = silent
) -> tuple[dict[str, Any], str]:
    """Train, and write the model to the new folder ``request.target``.

    Return its card (``training.json`` in the folder), and its figures on the judging queries as a
    table. Raises QueryError if the folder exists, or there are too few judged queries or no
    negatives; MachineError if the model is not on this machine, or the disk is full.
    """
    from .models import EncoderTraining, RerankerTraining

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
            "sources": request.sources(),
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
        text = (
            f"{interval_table(settings.measure, {'before': of_before, 'trained': of_after})}\n"
            f"{len(parts.judging):,} queries that the model did not learn from: {ranked}\n"
            f"{test.verdict(f'held-out {settings.measure}')}\n"
        )
        # Write next to the target, and rename when complete.
        with tempfile.TemporaryDirectory(prefix=".train-", dir=request.target.parent) as scratch:
            made = Path(scratch) / "model"
            training.save(str(made))
            (made / "training.json").write_text(json.dumps(card, indent=2) + "\n", "utf-8")
            (made / "README.md").write_text(_readme(request, card, text), "utf-8")
            sync_tree(made)
            made.rename(request.target)
    shutil.rmtree(request.checkpoints, ignore_errors=True)
    return card, text


def check_target(target: Path) -> None:
    """Raise QueryError if a model cannot be written to the new folder ``target``."""
    if target.exists():
        raise QueryError("already exists", place=target, remedy="give a new folder")
    if not target.parent.is_dir():
        raise QueryError(
            f"there is no folder {target.parent}", place=target, remedy="create it first"
        )


def prepare(seed: int) -> None:
    """Import the libraries without progress bars, reports and access to the model hub, and with
    fixed seeds.
    """
    os.environ.setdefault("HF_HUB_DISABLE_PROGRESS_BARS", "1")
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")
    import torch
    from transformers import set_seed
    from transformers.utils import logging as reports

    reports.disable_progress_bar()  # type: ignore[no-untyped-call]
    reports.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)
    set_seed(seed)
    torch.use_deterministic_algorithms(True, warn_only=True)


def load_base(name: str, load: Callable[[str], Any]) -> Any:
    """Return the model that ``load`` makes from its folder; the checkpoints of this model contain
    no training texts.

    Raises MachineError if the model is not on this machine, is incomplete, or cannot be loaded.
    """
    with model_folder(find_model(name, "model")) as folder:
        check_model_folder(folder)
        try:
            model = load(str(folder))
        except FactseekError:
            raise
        except Exception as error:
            reason = (str(error).strip().partition("\n")[0] or type(error).__name__)[:_LONGEST]
            raise MachineError(
                f"cannot be loaded: {reason}", place=name, remedy="fetch the model again"
            ) from error
    model.model_card_data.generate_widget_examples = False
    model.model_card_data.widget = [{}]  # With an entry present, the library generates none.
    return model


def look(values: Callable[[], Values]) -> Any:
    """Return an evaluator for a trainer: it gives the mean of ``values``, and ignores the model
    that it receives.
    """
    from sentence_transformers.base.evaluation import BaseEvaluator

    class Look(BaseEvaluator):  # type: ignore[misc]
        def __call__(self, *_: Any, **__: Any) -> dict[str, float]:
            return {LOOKED_AT: float(values().mean())}

    return Look()


def arguments(kind: Callable[..., Any], request: TrainingRequest, rows: int) -> Any:
    """Return the arguments of a trainer, of the class ``kind``, for a training set of ``rows``
    rows.
    """
    import torch

    settings = request.settings
    between = max(1, math.ceil(rows / settings.batch) // settings.looks)
    return kind(
        output_dir=str(request.checkpoints),
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=settings.batch,
        learning_rate=settings.rate,
        warmup_steps=_WARM_UP,
        seed=settings.seed,
        data_seed=settings.seed,
        eval_strategy="steps" if settings.patience else "no",
        eval_steps=between,
        save_strategy="steps",
        save_steps=between,
        save_total_limit=2,
        load_best_model_at_end=settings.patience > 0,
        metric_for_best_model=f"eval_{LOOKED_AT}",
        greater_is_better=True,
        logging_strategy="no",
        report_to="none",
        disable_tqdm=True,
        use_cpu=not torch.cuda.is_available(),
    )


def run_trainer(trainer: Any, request: TrainingRequest, progress: Progress) -> None:
    """Train from the last checkpoint of the same training, if any; with early stopping, keep the
    best model.
    """
    from transformers import EarlyStoppingCallback, PrinterCallback
    from transformers.trainer_utils import get_last_checkpoint

    trainer.remove_callback(PrinterCallback)
    if request.settings.patience:
        trainer.add_callback(
            EarlyStoppingCallback(early_stopping_patience=request.settings.patience)
        )
    trainer.add_callback(_steps_shown(progress))
    folder = request.checkpoints
    noted = folder / "request.sha256"
    if noted.is_file() and noted.read_text("utf-8") == request.digest():
        _drop_cut(folder)
    else:
        if folder.exists() and any(folder.iterdir()):
            say(f"note: removed the checkpoints of another training from {folder}")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        write_atomically(noted, request.digest().encode())
    checkpoint = get_last_checkpoint(str(folder))  # type: ignore[no-untyped-call]
    if checkpoint is not None:
        say(f"note: the training continues from {checkpoint}")
    trainer.train(resume_from_checkpoint=checkpoint)


@contextmanager
def _checkpoints_kept(request: TrainingRequest) -> Iterator[None]:
    """If a training fails or is interrupted, keep complete checkpoints; raise MachineError if the
    disk is full.
    """
    try:
        with saving_reported(request.target.parent):
            yield
    except BaseException:
        if request.checkpoints.is_dir() and not _drop_cut(request.checkpoints):
            shutil.rmtree(request.checkpoints, ignore_errors=True)
        raise


def _drop_cut(folder: Path) -> list[Path]:
    """Remove incomplete checkpoints; return the others."""
    whole = []
    for checkpoint in folder.glob("checkpoint-*"):
        try:
            # The last file of a checkpoint.
            json.loads((checkpoint / "trainer_state.json").read_text("utf-8"))
            whole.append(checkpoint)
        except (OSError, ValueError):
            shutil.rmtree(checkpoint, ignore_errors=True)
    return whole


def _steps_shown(progress: Progress) -> Any:
    """Return the callback that shows the steps and, without a GPU, estimates the remaining time."""
    from transformers import TrainerCallback

    class StepsShown(TrainerCallback):
        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self._bar = progress("training", "step", state.max_steps)
            self._bar.update(state.global_step)
            self._began, self._first = monotonic(), state.global_step

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self._bar.update(1)
            left = state.max_steps - state.global_step
            if args.use_cpu and left and state.global_step - self._first == _TIMED_STEPS:
                seconds = (monotonic() - self._began) / _TIMED_STEPS
                steps = f"{state.max_steps:,} steps of {seconds:.1f} s each"
                whole = left * seconds
                about = f"{whole:.0f} seconds" if whole < 120 else f"{whole / 60:.0f} minutes"
                about = about if whole < 2 * 3600 else f"{whole / 3600:.1f} hours"
                say(f"note: there is no GPU, so {steps} will take about {about}")

        def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            self._bar.close()

    return StepsShown()


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
