"""Interrupt a training at one of its looks at whether to stop, and see that it goes on to the same model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from factseek.eval.learn import trainer
from factseek.eval.learn.cli import INTERRUPTED

Command = Callable[..., tuple[int, str, str]]


def check_goes_on(asked: Sequence[object], folder: Path, command: Command, *, at_look: int) -> None:
    """Train ``folder / "model"`` whole, then again, interrupted at a look and gone on with: the bytes are the same."""
    code, _, said = command(*asked)
    assert code == 0, said
    (folder / "model").rename(folder / "whole")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(trainer, "look", _interrupting(at_look))
        code, printed, said = command(*asked)
    assert (code, printed) == (130, "")
    assert said.splitlines()[-1] == f"factseek: {INTERRUPTED}"
    assert "Traceback" not in said
    assert not (folder / "model").exists()
    code, _, said = command(*asked)
    assert code == 0, said
    assert "note: the training goes on from " in said
    assert sorted(path.name for path in folder.iterdir()) == ["model", "whole"]
    model, whole = (folder / name / "model.safetensors" for name in ("model", "whole"))
    assert model.read_bytes() == whole.read_bytes()


def _interrupting(at_look: int) -> Callable[[Callable[[], Any]], Any]:
    look = trainer.look
    looks: list[int] = []

    def interrupted(values: Callable[[], Any]) -> Any:
        def then_stop() -> Any:
            looks.append(1)
            if len(looks) == at_look:
                raise KeyboardInterrupt
            return values()

        return look(then_stop)

    return interrupted
