"""Checkpoints: those that are whole are kept, and what could not be written is told in one line."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest

from factseek.eval.models.checkpoints import kept, last_checkpoint
from factseek.eval.models.request import ModelTraining, TrainingRequest
from factseek.retrieval import saving
from factseek.retrieval.errors import MachineError, QueryError


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


def test_the_newest_whole_checkpoint_is_gone_on_from(
    request_: TrainingRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    request_.checkpoints.mkdir()  # As the trainer makes it.
    assert last_checkpoint(request_) is None
    for step in (8, 10):
        checkpoint(request_, step, json.dumps({"global_step": step}))
    checkpoint(request_, 12, '{"global_st')
    checkpoint(request_, 14, None)
    assert last_checkpoint(request_) == request_.checkpoints / "checkpoint-10"
    assert capsys.readouterr().err == ""


def test_checkpoints_of_another_training_are_removed_with_a_note(
    request_: TrainingRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    last_checkpoint(request_)
    checkpoint(request_, 8, "{}")
    other = TrainingRequest(
        what="encoder", settings=ModelTraining(base="b", seed=1), files=(), index="i", target=request_.target
    )
    assert last_checkpoint(other) is None
    assert (
        capsys.readouterr().err == f"note: {other.checkpoints} held the checkpoints of another training; "
        "they were removed\n"
    )
    assert [path.name for path in other.checkpoints.iterdir()] == ["request.sha256"]


def test_an_end_before_its_time_keeps_what_is_whole(request_: TrainingRequest) -> None:
    def training(*states: str | None) -> None:
        with kept(request_):
            last_checkpoint(request_)
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


def test_an_end_before_the_training_leaves_another_one_alone(request_: TrainingRequest) -> None:
    cut = checkpoint(request_, 1, None)
    with pytest.raises(KeyboardInterrupt), kept(request_):
        raise KeyboardInterrupt
    assert cut.exists()


LIMITED = "Error while serializing: I/O error: File too large (os error 27)"
CUT = "[enforce fail at inline_container.cc:672] . unexpected pos 9 vs 8"
FULL = "the disk is full; make room and run the same command again"


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (OSError(errno.ENOSPC, "No space left on device"), FULL),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), FULL),
        (RuntimeError("I/O error: No space left on device (os error 28)"), FULL),
        (RuntimeError(LIMITED), f"cannot be written: {LIMITED}"),
        (RuntimeError(f"{CUT}\nand where that was"), f"cannot be written: {CUT}"),
    ],
)
def test_what_could_not_be_written_is_one_line(
    request_: TrainingRequest, tmp_path: Path, error: Exception, message: str
) -> None:
    with pytest.raises(MachineError) as caught, kept(request_):
        raise error
    assert caught.value.line == f"{tmp_path}: {message}"


def test_whatever_fails_where_there_is_no_room_is_a_full_disk(
    request_: TrainingRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saving, "_ROOM", 1 << 62)
    with pytest.raises(MachineError) as caught, kept(request_):
        raise RuntimeError("anything")
    assert caught.value.line == f"{tmp_path}: {FULL}"


@pytest.mark.parametrize("error", [RuntimeError("a mistake of ours"), QueryError("too few")])
def test_other_errors_stay_what_they_are(request_: TrainingRequest, error: Exception) -> None:
    with pytest.raises(type(error)) as caught, kept(request_):
        raise error
    assert caught.value is error
