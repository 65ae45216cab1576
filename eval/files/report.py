"""The faults that a check finds in a submission, the check of its ids, and the pairing of the files
of two options.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

from ...core.errors import CheckFailed, QueryError
from ...core.files import files_in
from ...core.notebook import frame, html
from ...core.records.lines import UNENDED, place, quote_value
from ...core.terminal import format_count

Severity = Literal["error", "warning"]

# The number of errors, and of warnings, whose messages are kept; the others are only counted.
KEPT = 20


class FileProblem(NamedTuple):
    """One fault; line 0 means the file as a whole."""

    line: int
    severity: Severity
    reason: str


class CheckReport:
    """The faults of one file: the first twenty errors and, counted separately, the first twenty
    warnings.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.errors = self.warnings = 0
        self._kept: list[FileProblem] = []

    def error(self, line: int, reason: str) -> None:
        """Add a fault that makes the figure undefined or wrong."""
        self.errors += 1
        if self.errors <= KEPT:
            self._kept.append(FileProblem(line, "error", reason))

    def warning(self, line: int, reason: str) -> None:
        """Add a fault that the organisers tolerate."""
        self.warnings += 1
        if self.warnings <= KEPT:
            self._kept.append(FileProblem(line, "warning", reason))

    @property
    def problems(self) -> list[FileProblem]:
        """The kept faults by line, errors before warnings; faults of the file as a whole come
        last.
        """
        return sorted(
            self._kept, key=lambda problem: (problem.line or float("inf"), problem.severity)
        )

    def to_frame(self) -> Any:
        """Return the kept faults as a DataFrame."""
        return frame(FileProblem._fields, self.problems)

    def _repr_html_(self) -> str:
        """Return the kept faults as HTML, for a notebook."""
        rows = [tuple(map(str, problem)) for problem in self.problems]
        return html(self.verdict, (FileProblem._fields, rows))

    @property
    def messages(self) -> list[str]:
        """A message for each kept fault, then the numbers of further errors and warnings."""
        texts = [f"{place(self.path, p.line)}: {p.severity}: {p.reason}" for p in self.problems]
        more = {"more error": self.errors - KEPT, "more warning": self.warnings - KEPT}
        return texts + [
            f"{self.path}: and {format_count(count, kind)}"
            for kind, count in more.items()
            if count > 0
        ]

    @property
    def notes(self) -> list[str]:
        """The messages, without those on a missing line end, which :func:`.tables.note_unended`
        reports.
        """
        return [text for text in self.messages if not text.endswith(f": {UNENDED}")]

    @property
    def verdict(self) -> str:
        """One line: the number of errors and warnings."""
        counts = [
            format_count(n, kind)
            for kind, n in (("error", self.errors), ("warning", self.warnings))
            if n
        ]
        return f"{self.path}: {', '.join(counts) or 'no fault found'}"

    def refuse(self) -> None:
        """Raise CheckFailed, with the first error and the number of the others, if there is any
        error.
        """
        if self.errors:
            first = next(problem for problem in self.problems if problem.severity == "error")
            more = f"; and {format_count(self.errors - 1, 'more error')}" if self.errors > 1 else ""
            where = place(self.path, first.line)
            raise CheckFailed(f"{first.reason}{more}", place=where, remedy="the file is not scored")

    def as_json(self) -> dict[str, Any]:
        """Return the report as ``check --json`` prints it."""
        problems = [problem._asdict() for problem in self.problems]
        return {
            "file": str(self.path),
            "errors": self.errors,
            "warnings": self.warnings,
            "problems": problems,
        }


T = TypeVar("T")


def read_or_refuse(path: Path, read: Callable[[Path, CheckReport], T]) -> tuple[T, CheckReport]:
    """Return what ``read`` finds in a submission, and the report; raise CheckFailed if it has
    errors.
    """
    report = CheckReport(path)
    found = read(path, report)
    report.refuse()
    return found, report


def check_ids(
    report: CheckReport,
    lines: Mapping[str, int],
    expected: Collection[str],
    *,
    name: str,
    source: str,
    missing: Severity = "error",
) -> None:
    """Report the ids of ``source`` that a file lacks, and the ids of the file that ``source``
    lacks.

    ``lines`` maps each id in the file to its line. If the two have no id in common, report only
    that.
    """
    if not lines or not expected:
        return
    known = set(expected)
    strangers = [key for key in lines if key not in known]
    folded = {_fold_key(key): key for key in known} if strangers else {}
    if len(strangers) == len(lines):
        examples = (
            f"; {source} has {quote_value(next(iter(expected)))}, the file "
            f"{quote_value(strangers[0])}"
        )
        hint = _near_hint(folded, strangers[0]) or examples
        report.error(0, f"no {name} in common with {source}: the file may be for other data{hint}")
        return
    for key in strangers:
        report.error(
            lines[key], f"{name} {quote_value(key)} is not in {source}{_near_hint(folded, key)}"
        )
    for key in expected:
        if key not in lines:
            add = report.error if missing == "error" else report.warning
            add(0, f"{name} {quote_value(key)} of {source} is missing")


def near_miss(strangers: Collection[str], known: Collection[str]) -> str:
    """Return a hint for the first id that differs from a known one only by case, zeros or white
    space, or ``""``.
    """
    folded = {_fold_key(key): key for key in known}
    return next((hint for key in strangers if (hint := _near_hint(folded, key))), "")


def _fold_key(key: str) -> str:
    return "/".join(part.strip().lstrip("0") for part in key.casefold().split("/"))


def _near_hint(folded: Mapping[str, str], key: str) -> str:
    """Return a hint that names the known id which the unknown one probably means, or ``""``."""
    meant = folded.get(_fold_key(key))
    if meant is None or meant == key:
        return ""
    parts = list(zip(meant.split("/"), key.split("/"), strict=True))
    bare = [(a.strip(), b.strip()) for a, b in parts]
    spaces = any(
        a.replace(c, "", 1) != b.replace(d, "", 1)
        for (a, b), (c, d) in zip(parts, bare, strict=True)
    )
    case = any(a.lstrip("0") != b.lstrip("0") for a, b in bare)
    zeros = any(a.casefold() != b.casefold() for a, b in bare)
    differ = " and ".join(["white space"] * spaces + ["case"] * case + ["a leading zero"] * zeros)
    return (
        f"; {quote_value(meant)} and {quote_value(key)} differ by {differ} alone: ids are "
        "compared letter by letter"
    )


def pair_files(
    gold: Sequence[Path], runs: Sequence[Path], gold_name: str = "--gold", runs_name: str = "--run"
) -> list[tuple[Path, Path]]:
    """Return each file of ``--gold`` with one of ``--run``: paired by position, or by name if both
    are folders.

    Raises QueryError, which names the two options, if one has more files than the other.
    """
    if len(gold) == len(runs) == 1 and gold[0].is_dir() and runs[0].is_dir():
        right, answers = _by_stem(gold[0]), _by_stem(runs[0])
        for here, there, folder in ((right, answers, runs[0]), (answers, right, gold[0])):
            for name in [name for name in here if name not in there]:
                raise QueryError(
                    f"has no file for {here[name]}",
                    place=folder,
                    remedy="add a file of the same name",
                )
        return [(right[name], answers[name]) for name in right]
    gold, runs = files_in(gold), files_in(runs)
    if len(gold) != len(runs):
        has = f"{gold_name} has {format_count(len(gold), 'file')}, {runs_name} {len(runs)}"
        raise QueryError(
            f"{has}: give the same number to both, because files are paired by position"
        )
    return list(zip(gold, runs, strict=True))


def _by_stem(folder: Path) -> dict[str, Path]:
    files: dict[str, Path] = {}
    for path in files_in([folder]):
        name = path.name.removesuffix(".gz")
        stem = name.rpartition(".")[0] or name
        if stem in files:
            what = (
                f"has {files[stem].name} and {path.name}: files are paired by name without ending"
            )
            raise QueryError(
                what, place=folder, remedy="rename one of the two, or give the files one by one"
            )
        files[stem] = path
    return files


def only(paths: Sequence[Path], option: str) -> Path:
    """Return the one path of an option; raise QueryError if it has more paths, or none."""
    if len(paths) != 1:
        raise QueryError(f"give one file, not {len(paths)}", place=option)
    return paths[0]
