"""Run a trainer of sentence-transformers: its arguments, its progress, early stopping.

The trainers are Hugging Face's; the arguments here are those in which training an encoder and a re-ranker agree.
"""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable
from contextlib import closing
from time import monotonic
from typing import Any

from ...retrieval.errors import MachineError
from ...retrieval.progress import Progress
from ...retrieval.terminal import say
from ..scoring.statistics import Values
from .checkpoints import last_checkpoint
from .request import ModelTraining, TrainingRequest

LOOKED_AT = "stopping"
"""The name under which the measure of the stopping queries is handed to the trainer."""
_TIMED_STEPS = 3
_WARM_UP = 0.1


def quiet() -> None:
    """Import the libraries so that they show no bars and no reports, and reach for no hub and no tracker."""
    for name, value in (
        ("HF_HUB_DISABLE_PROGRESS_BARS", "1"),
        ("HF_HUB_OFFLINE", "1"),
        ("TOKENIZERS_PARALLELISM", "false"),
    ):
        os.environ.setdefault(name, value)
    from transformers.utils import logging as reports

    reports.disable_progress_bar()  # type: ignore[no-untyped-call]
    reports.set_verbosity_error()  # type: ignore[no-untyped-call]
    logging.getLogger("sentence_transformers").setLevel(logging.ERROR)


def without_examples(model: Any) -> Any:
    """Return a model whose checkpoints hold no texts of the collection: its library would put some into a card."""
    model.model_card_data.generate_widget_examples = False
    model.model_card_data.widget = [{}]  # There are some already: it looks for none.
    return model


def check_installed() -> None:
    """Raise MachineError if the trainers lack a package."""
    try:
        import accelerate  # noqa: F401
        import datasets  # noqa: F401
    except ImportError as error:
        raise MachineError(
            f"training needs the package {error.name}",
            remedy="install it with: python -m pip install 'factseek[train]'",
        ) from None


def seed(number: int) -> None:
    """Seed everything that draws, so that the same training gives the same model on the same machine."""
    import torch
    from transformers import set_seed

    set_seed(number)
    torch.use_deterministic_algorithms(True, warn_only=True)


def look(values: Callable[[], Values]) -> Any:
    """Return what a trainer asks for the mean measure of the stopping queries."""
    from sentence_transformers.base.evaluation import BaseEvaluator

    class Look(BaseEvaluator):  # type: ignore[misc]
        """The model that is measured is the one whose values are asked for."""

        def __call__(self, model: Any, *_: Any, **__: Any) -> dict[str, float]:
            """Return the mean."""
            return {LOOKED_AT: float(values().mean())}

    return Look()


def steps_between_looks(rows: int, settings: ModelTraining) -> int:
    """Return after how many steps the stopping queries are looked at."""
    return max(1, math.ceil(rows / settings.batch) // settings.looks)


def arguments(kind: Callable[..., Any], request: TrainingRequest, rows: int) -> Any:
    """Return the arguments of a trainer, of the class ``kind``, for so many rows to learn from."""
    import torch

    settings = request.settings
    between = steps_between_looks(rows, settings)
    return kind(
        output_dir=str(request.checkpoints),
        num_train_epochs=settings.epochs,
        per_device_train_batch_size=settings.batch,
        learning_rate=settings.rate,
        warmup_steps=_WARM_UP,
        seed=settings.seed,
        data_seed=settings.seed,
        eval_strategy="steps",
        eval_steps=between,
        save_strategy="steps",
        save_steps=between,
        save_total_limit=2,
        load_best_model_at_end=True,
        metric_for_best_model=f"eval_{LOOKED_AT}",
        greater_is_better=True,
        logging_strategy="no",
        report_to="none",
        disable_tqdm=True,
        use_cpu=not torch.cuda.is_available(),
    )


def callbacks(request: TrainingRequest, progress: Progress) -> list[Any]:
    """Return what watches a trainer: early stopping, progress, and an estimate of the time where there is no GPU."""
    from transformers import EarlyStoppingCallback

    return [EarlyStoppingCallback(early_stopping_patience=request.settings.patience), _steps_shown(progress)]


def learn(trainer: Any, request: TrainingRequest) -> None:
    """Train; go on from the last checkpoint of the same training. The model is then the best one that was seen."""
    from transformers import PrinterCallback

    trainer.remove_callback(PrinterCallback)
    checkpoint = last_checkpoint(request)
    if checkpoint is not None:
        say(f"note: the training goes on from {checkpoint}")
    trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)


def _steps_shown(progress: Progress) -> Any:
    from transformers import TrainerCallback

    class StepsShown(TrainerCallback):
        """Shows the steps, and after the first ones how long the others will take."""

        def on_train_begin(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            """Start the bar."""
            self._bar = progress("training", "steps", state.max_steps)
            self._bar.update(state.global_step)
            self._began, self._first = monotonic(), state.global_step

        def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            """Count a step."""
            self._bar.update(1)
            left = state.max_steps - state.global_step
            if args.use_cpu and left and state.global_step - self._first == _TIMED_STEPS:
                seconds = (monotonic() - self._began) / _TIMED_STEPS
                steps = f"{state.max_steps:,} steps of {seconds:.1f} s each"
                say(f"note: there is no GPU; {steps}: about {_duration(left * seconds)}")

        def on_train_end(self, args: Any, state: Any, control: Any, **_: Any) -> None:
            """End the bar."""
            with closing(self._bar):
                pass

    return StepsShown()


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 2 * 3600 else f"{seconds / 3600:.1f} hours"
