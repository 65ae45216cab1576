"""A training that is stopped: by Ctrl-C to the real command, by a disk that takes no more. One line, nothing half."""

from __future__ import annotations

import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from factseek.eval.learn.cli import INTERRUPTED
from tests.conftest import overriding
from tests.small_models import small_cross_encoder

pytestmark = pytest.mark.deep
LONGEST = 200


def stopped(
    arguments: Sequence[object], *, when: Callable[[], bool] | None = None, largest: int | None = None
) -> tuple[int, str, str]:
    """Run a command; send SIGINT when something holds, or let no file grow beyond so many bytes."""

    def before() -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if largest is not None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (largest, largest))

    program = str(Path(sys.executable).with_name("factseek"))
    process = subprocess.Popen(
        [program, *map(str, arguments)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=before,  # noqa: PLW1509  no threads here
    )
    ends = time.monotonic() + LONGEST
    while when is not None and process.poll() is None and time.monotonic() < ends:
        if when():
            process.send_signal(signal.SIGINT)
            break
        time.sleep(0.001)
    out, err = process.communicate(timeout=LONGEST)
    return process.returncode, out, err


@pytest.fixture(params=["encoder", "reranker"])
def training(
    request: pytest.FixtureRequest, asked: list[object], tmp_path_factory: pytest.TempPathFactory
) -> list[object]:
    if request.param == "encoder":
        return asked
    base = small_cross_encoder()
    return ["train", "reranker", *overriding(asked[2:], ["--base", base])]


def test_ctrl_c_while_the_first_checkpoint_is_written_leaves_nothing(training: list[object], tmp_path: Path) -> None:
    first = tmp_path / ".model.training" / "checkpoint-1"
    code, printed, said = stopped(training, when=first.exists)
    assert (code, printed) == (130, "")
    assert said.splitlines()[-1] == f"factseek: {INTERRUPTED}"
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []


def test_ctrl_c_while_the_model_is_written_keeps_the_training(training: list[object], tmp_path: Path) -> None:
    code, printed, said = stopped(training, when=lambda: any(tmp_path.glob(".train-*/model")))
    assert (code, printed) == (130, "")
    assert said.splitlines()[-1] == f"factseek: {INTERRUPTED}"
    assert "Traceback" not in said
    assert [path.name for path in tmp_path.iterdir()] == [".model.training"]
    code, _, said = stopped(training)
    assert code == 0, said
    assert f"note: the training goes on from {tmp_path / '.model.training' / 'checkpoint-'}" in said
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


@pytest.mark.parametrize(
    ("megabytes", "message"),
    [
        (30, "Error while serializing: I/O error: File too large (os error 27)"),
        (80, "[enforce fail at inline_container.cc:"),
    ],
)
def test_a_checkpoint_that_cannot_be_written_is_one_line(
    training: list[object], tmp_path: Path, megabytes: int, message: str
) -> None:
    """The weights are larger than the one limit, what the optimizer keeps is larger than the other."""
    code, printed, said = stopped(training, largest=megabytes << 20)
    assert (code, printed) == (2, "")
    assert said.splitlines()[-1].startswith(f"factseek: {tmp_path}: cannot be written: {message}")
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("seconds", [3, 5, 8, 11])
def test_ctrl_c_leaves_no_combination(asked: list[object], tmp_path: Path, seconds: float) -> None:
    began = time.monotonic()
    small = ["train", "combiner", *asked[2:10], "--folds", "3"]
    code, printed, said = stopped(small, when=lambda: time.monotonic() > began + seconds)
    assert "Traceback" not in said
    if code:
        assert (code, printed) == (130, "")
        assert said.splitlines()[-1].startswith("factseek: interrupted")
        assert list(tmp_path.iterdir()) == []
    else:
        assert [path.name for path in tmp_path.iterdir()] == ["model"]
