"""The paths that an option names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...retrieval.errors import QueryError
from ...retrieval.files import files_in
from ...retrieval.terminal import counted


def paired(
    gold: Sequence[Path], runs: Sequence[Path], gold_name: str = "--gold", runs_name: str = "--run"
) -> list[tuple[Path, Path]]:
    """Return each file of ``--gold`` with one of ``--run``: by position, or, where both are a folder, by name.

    Raises QueryError, which calls them by their names, if one has more than the other.
    """
    if len(gold) == len(runs) == 1 and gold[0].is_dir() and runs[0].is_dir():
        return _by_name(gold[0], runs[0])
    right, answers = files_in(gold), files_in(runs)
    if len(right) != len(answers):
        has = f"{gold_name} has {counted(len(right), 'file')}, {runs_name} {len(answers)}"
        raise QueryError(f"{has}: they are paired by position")
    return list(zip(right, answers, strict=True))


def _by_name(gold: Path, runs: Path) -> list[tuple[Path, Path]]:
    right, answers = ({path.stem: path for path in files_in([folder])} for folder in (gold, runs))
    for here, there, folder in ((right, answers, runs), (answers, right, gold)):
        missing = next((name for name in here if name not in there), None)
        if missing is not None:
            raise QueryError(f"has no file for {here[missing]}", place=folder, remedy="files are paired by name")
    return [(right[name], answers[name]) for name in right]


def only(paths: Sequence[Path], option: str) -> Path:
    """Return the one path of an option that takes one.

    Raises QueryError if there are more.
    """
    if len(paths) != 1:
        raise QueryError(f"give one file, not {len(paths)}", place=option)
    return paths[0]
