"""CheckThat! 2021 task 1B: rank the sentences of debates and speeches by check-worthiness
(English).

Each debate is one file. Gold and runs are paired by position, and figures are means over the
debates.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from ...core.domain import Statement
from ...core.errors import QueryError, SourceError
from ...core.records.lines import Faults, Strict, quote_value
from ...core.records.runs import write_text
from ...core.records.table_shape import unlike_columns
from ...core.terminal import format_count
from ..files.answers import ScoreOptions, Scores
from ..files.report import CheckReport, pair_files, read_or_refuse
from ..files.tables import is_header, rows, text_lines, whole
from ..files.tweets import no_labels, read_label, stream, with_labels
from ..scoring.checkworthiness import (
    LabelledScore,
    digits,
    figures,
    find_changed,
    over_files,
    read_score,
    tie_note,
    ties,
)

SUMMARY = (
    "CheckThat! 2021 task 1B: check-worthiness of the sentences of debates, one file a debate (en)"
)
OFFICIAL = "AP"
SUBMITS = "statements"
DEFAULT = False
LANGUAGES = ("en",)
OPTIONS = ()

_LAYOUT = ("line_number", "score")
_GOLD = ("line_number", "speaker", "text", "label")
_COLUMNS = f"columns between tabs, but {len(_GOLD)} are expected ({' '.join(_GOLD)})"
_LAST = 9_999  # the last line number that the official checker accepts


class DebateLine(NamedTuple):
    """A sentence of a debate; ``label`` is ``""`` if the file has none."""

    line: int
    speaker: str
    text: str
    label: str


def read_gold(paths: Sequence[Path]) -> list[list[int]]:
    return [
        [read_label(row.line, row.label, Strict(path)) for row in read_sentences(path)]
        for path in paths
    ]


def read_statements(path: Path, *, labelled: bool) -> list[Statement]:
    sentences = read_sentences(path)
    statements = [
        _statement(path, line, str(line), speaker, text) for line, speaker, text, _ in sentences
    ]
    if not labelled:
        return statements
    if not any(sentence.label for sentence in sentences):
        raise no_labels(path, _GOLD[:-1], _GOLD[-1:])
    return with_labels(
        path, statements, [(sentence.line, sentence.label) for sentence in sentences]
    )


def stream_statements(lines: Iterable[bytes], source: str) -> Iterator[Statement]:
    path, due = Path(source), 1

    def take(line: int, text: str) -> Statement:
        nonlocal due
        fields = text.split("\t")
        if len(fields) not in (len(_GOLD) - 1, len(_GOLD)):
            raise SourceError(f"has {len(fields)} {_COLUMNS}", place=f"{path}:{line}")
        if whole(fields[0]) != due:
            raise SourceError(
                f"line number {quote_value(fields[0])}, expected {due}", place=f"{path}:{line}"
            )
        due += 1
        return _statement(path, line, fields[0], fields[1], fields[2])

    return stream(lines, source, take)


def _statement(path: Path, line: int, number: str, speaker: str, text: str) -> Statement:
    place = f"{path}:{line}"
    if not text.strip():
        raise SourceError("the sentence is empty", place=place, remedy="give every line a text")
    return Statement(number, text.strip(), topic=path.stem, speaker=speaker.strip(), place=place)


def write(records: Iterable[tuple[str, str, float]], path: Path, run_id: str) -> None:
    """Write the scores of one debate by line number, from 1 without a gap; a record is debate,
    number and score.
    """
    scores = {line: score_ for _, line, score_ in records}
    numbers = [str(number) for number in range(1, len(scores) + 1)]
    missing = next((line for line in numbers if line not in scores), None)
    if not scores or missing or len(scores) > _LAST:
        reason = (
            f"line {missing} of the debate has no score" if missing else f"has {len(scores)} lines"
        )
        raise QueryError(
            f"{reason}: lines run 1, 2, 3 … without a gap, to {_LAST} at most", place=path
        )
    write_text(path, (f"{line}\t{digits(scores[line])}\n" for line in numbers))


def check(path: Path, input_path: Path | None = None) -> CheckReport:
    report = CheckReport(path)
    scores = read_submission(path, report)
    if input_path is not None:
        _check_length(report, len(scores), len(read_sentences(input_path)), str(input_path))
    return report


def score(gold: Sequence[Path], runs: Sequence[Path], options: ScoreOptions) -> Scores:
    """Return the official figures, the mean AP over debates first; of a folder, score each file."""
    pairs = pair_files(gold, runs)
    notes: list[str] = []
    debates, answers = [path.stem for path, _ in pairs], [run.stem for _, run in pairs]
    if debates != answers and sorted(debates) == sorted(answers):
        path, run = next(pair for pair in pairs if pair[0].stem != pair[1].stem)
        notes.append(
            f"files are paired by position, {path} with {run}, but their names suggest other pairs"
        )
    per_file: dict[str, dict[str, float]] = {}
    worst: dict[str, dict[str, float]] = {}
    best: dict[str, dict[str, float]] = {}
    for (path, run), labels in zip(pairs, read_gold([path for path, _ in pairs]), strict=True):
        scores, report = read_or_refuse(run, read_submission)
        _check_length(report, len(scores), len(labels), str(path))
        report.refuse()
        name = str(path) if path.stem in per_file else path.stem
        items = [
            LabelledScore(str(line), *pair)
            for line, pair in enumerate(zip(scores, labels, strict=True), 1)
        ]
        per_file[name] = figures(items, sum(labels))
        tied = ties(items, sum(labels))
        worst[name], best[name] = (
            (tied.worst, tied.best) if tied else (per_file[name], per_file[name])
        )
        notes += [f"{name}: {note}" for note in tie_note(per_file[name]["AP"], tied)]
        notes += [f"{name}: has no sentence worth checking and counts 0"] * (not any(labels))
    return Scores(
        official=OFFICIAL,
        unit="debate",
        values=over_files(per_file),
        per_query=per_file,
        ties=find_changed(over_files(worst), over_files(best)),
        notes=tuple(notes),
    )


def read_submission(path: Path, faults: Faults) -> list[float]:
    scores = []
    due = 1
    for line, (number, score_) in rows(path, faults, _LAYOUT):
        value = read_score(line, score_, faults)
        if number != str(due):
            reason = (
                f"line number {quote_value(number)}, expected {due}: lines run 1, 2, 3 … in order"
            )
            faults.error(
                line, reason + ("; a submission has no header" if is_header(line, number) else "")
            )
            due = whole(number) or due
        if due > _LAST:
            faults.error(
                line, f"line number {due} is refused by the official checker: at most {_LAST}"
            )
        due += 1
        scores.append(0.0 if value is None else value)
    return scores


def _check_length(report: CheckReport, lines: int, expected: int, source: str) -> None:
    if lines != expected and not report.errors:
        report.error(
            0,
            f"has {format_count(lines, 'line')}, but {source} has {expected}: every line needs a "
            "score",
        )


def read_sentences(path: Path) -> list[DebateLine]:
    """Return the sentences of a debate, whose lines are numbered from 1; raise SourceError at the
    first bad line.
    """
    faults = Strict(path)
    sentences = []
    for number, text in text_lines(path, faults):
        fields = text.split("\t")
        if len(fields) not in (len(_GOLD) - 1, len(_GOLD)):
            odd = unlike_columns(path) if number == 1 and len(fields) == 1 else ""
            faults.error(number, f"has {len(fields)} {_COLUMNS}{odd}")
        if fields[0] != str(number):
            faults.error(number, f"line number {quote_value(fields[0])}, expected {number}")
        sentences.append(
            DebateLine(number, fields[1], fields[2], fields[3] if len(fields) == len(_GOLD) else "")
        )
    if not sentences:
        faults.error(0, "contains no sentences")
    return sentences
