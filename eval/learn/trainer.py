"""The settings of a training, and how the trainers of libraries run.

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
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Any

import msgspec

from ...core.errors import FactseekError, MachineError, QueryError
from ...core.files import write_atomically
from ...core.progress import Progress
from ...core.terminal import say
from ...retrieval.encoders.cache import model_folder
from ...retrieval.encoders.sources import check_model_folder, find_model
from ...retrieval.search.combiner import JudgedFile
from ..scoring.measures import parse_measures
from ..scoring.statistics import Values


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


_LEAST = {
    "epochs": 1,
    "batch": 2,
    "negatives": 1,
    "depth": 2,
    "max_tokens": 8,
    "looks": 1,
    "seed": 0,
}
_LEAST_SAMPLE = 10


def check_settings(settings: ModelTraining, sample: int, spell: Callable[[str], str] = str) -> None:
    """Raise QueryError if a setting of a training, or the number of queries, is out of range.

    ``spell`` gives the name of a setting as the user writes it.
    """
    for name, least in (*_LEAST.items(), ("sample", _LEAST_SAMPLE)):
        value = sample if name == "sample" else getattr(settings, name)
        if value < least:
            raise QueryError(f"{spell(name)} {value}: give {least} or more")
    if not 0 < settings.rate < 1:
        raise QueryError(f"{spell('rate')} {settings.rate}: give a number between 0 and 1")
    _, *others = parse_measures(settings.measure)
    if others:
        raise QueryError(f"{spell('measure')} {settings.measure}: give one measure")


@dataclass(frozen=True, slots=True, kw_only=True)
class TrainingRequest:
    """The kind of model (``encoder``, ``reranker``), the settings, the queries and judgements to
    learn from, the index, the new folder.
    """

    what: str
    settings: ModelTraining
    sources: tuple[JudgedFile, ...]
    index: str
    target: Path

    @property
    def checkpoints(self) -> Path:
        """The folder of the training's checkpoints, next to the result."""
        return self.target.with_name(f".{self.target.name}.training")

    def digest(self) -> str:
        """Return a digest that identifies this training; only the same training may resume from its
        checkpoints.
        """
        facts: list[Any] = [
            self.what,
            msgspec.to_builtins(self.settings),
            msgspec.to_builtins(self.sources),
            self.index,
        ]
        return hashlib.sha256(msgspec.json.encode(facts)).hexdigest()


# The name under which the trainer receives the measure of the stopping queries.
LOOKED_AT = "stopping"
_TIMED_STEPS = 3
_WARM_UP = 0.1
_LONGEST = 200  # the number of characters of a library's message to show


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
        drop_cut_checkpoints(folder)
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


def drop_cut_checkpoints(folder: Path) -> list[Path]:
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
