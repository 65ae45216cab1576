"""Checkpoints: those that are whole are kept, those of another training are not gone on from."""

from __future__ import annotations

import errno
import json
from pathlib import Path
from typing import Any

import pytest

from factseek.eval.learn import trainer
from factseek.eval.learn.request import ModelTraining, TrainingRequest
from factseek.retrieval.errors import MachineError
from factseek.retrieval.progress import silent


class NoSteps:
    """A trainer that notes where it is to go on, and ends."""

    resumed: object = "not trained"

    def add_callback(self, callback: object) -> None: ...
    def remove_callback(self, callback: object) -> None: ...
    def train(self, resume_from_checkpoint: object) -> None:
        self.resumed = resume_from_checkpoint


def resumed(request: TrainingRequest) -> Any:
    running = NoSteps()
    trainer.run_trainer(running, request, silent)
    return running.resumed


@pytest.fixture
def request_(tmp_path: Path) -> TrainingRequest:
    settings = ModelTraining(base="b")
    return TrainingRequest(what="encoder", settings=settings, files=(), index="i", target=tmp_path / "model")


def checkpoint(request: TrainingRequest, step: int, state: str | None) -> Path:
    folder = request.checkpoints / f"checkpoint-{step}"
    folder.mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(b"weights")
    if state is not None:
        (folder / "trainer_state.json").write_text(state, "utf-8")
    return folder


def test_the_newest_whole_checkpoint_of_the_same_training_is_gone_on_from(
    request_: TrainingRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    request_.checkpoints.mkdir()  # As the trainer makes it.
    assert resumed(request_) is None
    for step in (8, 10):
        checkpoint(request_, step, json.dumps({"global_step": step}))
    checkpoint(request_, 12, '{"global_st')
    checkpoint(request_, 14, None)
    newest = request_.checkpoints / "checkpoint-10"
    assert resumed(request_) == str(newest)
    assert capsys.readouterr().err == f"note: the training goes on from {newest}\n"
    other = TrainingRequest(
        what="encoder", settings=ModelTraining(base="b", seed=1), files=(), index="i", target=request_.target
    )
    assert resumed(other) is None
    note = f"note: {other.checkpoints} held the checkpoints of another training; they were removed\n"
    assert capsys.readouterr().err == note
    assert [path.name for path in other.checkpoints.iterdir()] == ["request.sha256"]


def test_an_end_before_its_time_keeps_what_is_whole(request_: TrainingRequest) -> None:
    def training(*states: str | None) -> None:
        with trainer._checkpoints_kept(request_):
            resumed(request_)
            for step, state in enumerate(states):
                checkpoint(request_, step, state)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        training(None)
    assert not request_.checkpoints.exists()
    with pytest.raises(KeyboardInterrupt):
        training("{}", "{}", None)
    names = sorted(path.name for path in request_.checkpoints.iterdir())
    assert names == ["checkpoint-0", "checkpoint-1", "request.sha256"]


LIMITED = "Error while serializing: I/O error: File too large (os error 27)"
CUT = "[enforce fail at inline_container.cc:672] . unexpected pos 9 vs 8"
FULL = "the disk is full; make room and run the same command again"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), FULL),
        (RuntimeError("I/O error: No space left on device (os error 28)"), FULL),
        (RuntimeError(LIMITED), f"cannot be written: {LIMITED}"),
        (RuntimeError(f"{CUT}\nand where that was"), f"cannot be written: {CUT}"),
    ],
)
def test_what_could_not_be_written_is_one_line(
    request_: TrainingRequest, tmp_path: Path, error: Exception, message: str
) -> None:
    with pytest.raises(MachineError) as caught, trainer._checkpoints_kept(request_):
        raise error
    assert caught.value.line == f"{tmp_path}: {message}"
