"""The commands ``check``, ``score`` and ``compare``, with hints if a file belongs to another option
or task.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from ...core.errors import CheckFailed, FactseekError, QueryError, SourceError
from ...core.files import files_in, writable
from ...core.records.lines import Strict
from ...core.records.runs import write_text
from ...core.terminal import (
    BAD_FILE,
    DONE,
    Subparsers,
    add_json,
    add_outputs,
    format_count,
    say,
    write,
)
from ..files.answers import ScoreOptions, Scores
from ..files.report import pair_files
from ..files.tables import note_unended
from ..scoring.latex import latex_table, text_rows
from ..scoring.measures import note_on_programs, parse_measures
from ..scoring.statistics import CORRECTIONS
from ..scoring.tables import figure, table
from ..tasks import RANKING, Task, descriptions, is_description, names, task
from .compare import (
    as_html,
    as_latex,
    as_text,
    compare_scores,
    measures_as_latex,
    names_of,
    read_runs,
)
from .compare import compare as compare_runs

_COMPARED = "AP,P@10,nDCG@10,RR"
_LARGEST = 20_000_000  # the size in bytes above which a file is not tried with other tasks
_REFUSALS = {
    "max_evidence": "has no evidence sentences; use the option only with {takers}",
    "measures": "has only its own measures; use the option only with {takers}",
    "ignore_identical_ids": (
        "has no queries that are also documents; use the option only with {takers}"
    ),
}
"""Why a task does not accept an option of ``score``, by the option's name; ``takers`` are the tasks
that do.
"""


def register(commands: Subparsers) -> None:
    """Add ``check``, ``score`` and ``compare`` to the command line."""
    parser = _parser(commands, "check", "report the errors of a submission file")
    parser.add_argument(
        "files", nargs="+", type=Path, metavar="FILE", help="the submission, or a folder of them"
    )
    answered = (
        "the task's input file, to check that every query is answered; several files are paired "
        "with the"
        " submissions by position, two folders by file name"
    )
    parser.add_argument("--input", nargs="+", type=Path, default=[], metavar="FILE", help=answered)
    add_json(parser)
    parser.set_defaults(command=check)
    parser = _parser(commands, "score", "score a submission as the organisers do")
    parser.add_argument(
        "--gold", nargs="+", type=Path, required=True, metavar="FILE", help="the judgements"
    )
    paired = (
        "the submission, or several runs of a ranking task; several files of another task are "
        "paired with the gold by position, two folders by file name"
    )
    parser.add_argument("--run", nargs="+", type=Path, required=True, metavar="FILE", help=paired)
    parser.add_argument(
        "--per-query", action="store_true", help="also print the scores of each query"
    )
    count = f"{_takers('max_evidence')}: how many sentences count (default: 5)"
    parser.add_argument("--max-evidence", type=int, metavar="N", help=count)
    names_of = "measures by their names in ir-measures or trec_eval"
    parser.add_argument(
        "--measures", metavar="LIST", help=f"{names_of}, as AP,P@5 or map,P_5 (default: the task's)"
    )
    own = (
        f"{_takers('ignore_identical_ids')}: leave out documents that have their query's own "
        "id, as BEIR does"
    )
    parser.add_argument("--ignore-identical-ids", action="store_const", const=True, help=own)
    add_outputs(parser)
    parser.set_defaults(command=score)
    parser = commands.add_parser(
        "compare",
        help="compare runs: intervals, paired tests, the queries that changed most",
        description="Compare two or more runs on one set of judgements. Each run is tested against "
        "every run before"
        " it.",
    )
    parser.add_argument(
        "runs", nargs="+", type=Path, metavar="RUN", help="the runs, the baseline first"
    )
    parser.add_argument(
        "--qrels", nargs=1, type=Path, required=True, metavar="FILE", help="the judgements"
    )
    measures = f"{names_of} (default: {_COMPARED})"
    parser.add_argument("--measures", default=_COMPARED, metavar="LIST", help=measures)
    default = RANKING.default()
    formats = f"the task whose file formats are used (default: {default})"
    parser.add_argument("--task", default=default, metavar="TASK", help=formats)
    parser.add_argument(
        "--seed", type=int, default=0, metavar="N", help="the seed of the resampling (default: 0)"
    )
    parser.add_argument(
        "--html", type=Path, metavar="FILE", help="also write the report as an HTML page"
    )
    parser.add_argument(
        "--baseline",
        default="",
        metavar="NAME",
        help="test every other run against this one alone: the name of its file without the ending",
    )
    parser.add_argument(
        "--correction",
        choices=CORRECTIONS,
        default="holm",
        help="the correction of p-values for the number of tests (default: holm)",
    )
    parser.add_argument(
        "--correct-over",
        choices=("measure", "all"),
        default="measure",
        help="the tests that are corrected together: those of a measure, or all (default: measure)",
    )
    add_outputs(parser)
    parser.set_defaults(command=compare)


def _parser(commands: Subparsers, name: str, what: str) -> argparse.ArgumentParser:
    each = (f"  {one:20} {task(one).SUMMARY} (official: {task(one).OFFICIAL})" for one in names())
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=what,
        description=f"{what[0].upper()}{what[1:]}.",
        epilog="\n".join(["tasks:", *each]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "task", metavar="TASK", help=f"one of {', '.join(names())}, or a .yaml file of a task"
    )
    return parser


def check(args: argparse.Namespace) -> int:
    """Print the faults of each file, at most 20 errors and 20 warnings; return 1 if a file has an
    error.
    """
    chosen = task(args.task)
    if args.input:
        pairs = pair_files(args.input, args.files, "--input", "the submission")
        reports = [chosen.check(path, source) for source, path in pairs]
    else:
        reports = [chosen.check(path) for path in files_in(args.files)]
    lines = [f"{line}\n" for report in reports for line in [*report.messages, report.verdict]]
    write(_json([report.as_json() for report in reports]) if args.json else "".join(lines))
    return BAD_FILE if any(report.errors for report in reports) else DONE


def score(args: argparse.Namespace) -> int:
    """Print the figures of a submission, the official one first."""
    options = _score_options(args)
    if len(args.run) > 1 and task(args.task).SUBMITS == "documents":
        return _score_runs(args, options)
    scores = score_files(args.task, args.gold, args.run, options)
    for note in scores.notes:
        say(f"note: {note}")
    if args.json:
        write(_json(scores.as_json(per_query=args.per_query)))
        return DONE
    header, rows = _score_rows(scores)
    if args.latex:
        runs = ", ".join(path.name for path in args.run)
        chosen = "" if options.measures else ", by the organisers' measures"
        counted = format_count(len(scores.per_query), scores.unit)
        caption = f"{args.task}{chosen}: {runs}; {counted}."
        write(latex_table(header, text_rows(rows), caption))
    else:
        write(table(header, rows))
    if args.per_query:
        each = [
            [key, name, figure(value)]
            for key, row in scores.per_query.items()
            for name, value in row.items()
        ]
        write("\n" + table([scores.unit, "measure", "value"], each, left=2))
    return DONE


def _score_runs(args: argparse.Namespace, options: ScoreOptions) -> int:
    """Print the figures of several runs side by side, the official one first."""
    if len({path.resolve() for path in args.run}) < len(args.run):
        raise QueryError("a run is given twice", place="--run")
    names_of_runs = names_of(args.run)
    scores = {
        name: score_files(args.task, args.gold, [path], options)
        for name, path in zip(names_of_runs, args.run, strict=True)
    }
    programs = note_on_programs(options.measures)  # which are the same for every run
    for name, of_run in scores.items():
        for note in of_run.notes:
            if note not in programs:
                say(f"note: {name}: {note}")
    for note in programs:
        say(f"note: {note}")
    if args.json:
        write(
            _json({name: each.as_json(per_query=args.per_query) for name, each in scores.items()})
        )
        return DONE
    first = scores[names_of_runs[0]]
    if args.latex:
        chosen = "" if options.measures else ", by the organisers' measures"
        about = f"{args.task}{chosen}."
        write(measures_as_latex(compare_scores(scores), first.official, about))
    else:
        rows = [
            [
                f"{measure} (official)" if measure == first.official else measure,
                *(figure(of_run.values[measure]) for of_run in scores.values()),
            ]
            for measure in first.values
        ]
        write(table(["measure", *names_of_runs], rows))
    if args.per_query:
        each = [
            [key, measure, *(figure(of_run.per_query[key][measure]) for of_run in scores.values())]
            for key, row in first.per_query.items()
            for measure in row
        ]
        write("\n" + table([first.unit, "measure", *names_of_runs], each, left=2))
    return DONE


def _score_options(args: argparse.Namespace) -> ScoreOptions:
    """Return the options of a scorer; raise QueryError if the task does not accept one."""
    options: dict[str, Any] = {
        name: value for name in _REFUSALS if (value := getattr(args, name)) is not None
    }
    known = args.task in names() or is_description(args.task)
    for option, value in options.items():
        if known and option not in task(args.task).OPTIONS:
            reason = f"{args.task} {_REFUSALS[option].format(takers=_takers(option))}"
            raise QueryError(
                reason, place=f"--{option.replace('_', '-')}" + f" {value}" * (value is not True)
            )
    if "measures" in options:
        options["measures"] = tuple(parse_measures(options["measures"]))
    return ScoreOptions(**options)


def _score_rows(scores: Scores) -> tuple[list[str], list[list[str]]]:
    """Return the header and the rows of the table of figures."""
    ranges = {name: _tie_range(bounds) for name, bounds in scores.ties.items()}
    header = ["measure", "value"]
    if scores.topics:
        header.append("over topics")
    if any(ranges.values()):
        header.append("with ties in other orders")
    rows = []
    for name, value in scores.values.items():
        row = [f"{name} (official)" if name == scores.official else name, figure(value)]
        if scores.topics:
            row.append(figure(scores.topics[name]))
        if any(ranges.values()):
            row.append(ranges.get(name, ""))
        rows.append(row)
    return header, rows


def _tie_range(bounds: Sequence[float]) -> str:
    """Return the range of a measure under other orders of ties; ``""`` if the shown digits do not
    differ.
    """
    shown = list(map(figure, bounds))
    return " to ".join(shown) if len(set(shown)) > 1 else ""


def _takers(option: str) -> str:
    return ", ".join(name for name in names() if option in task(name).OPTIONS)


def compare(args: argparse.Namespace) -> int:
    """Print the comparison of two or more runs."""
    if args.seed < 0:
        raise QueryError(f"--seed {args.seed}: give 0 or more")
    measures = parse_measures(args.measures)
    if args.html:
        writable(args.html, [*args.runs, *args.qrels, *descriptions(args.task)])
    if task(args.task).SUBMITS != "documents":
        raise QueryError(
            "is not a ranking task: compare cannot compare its submissions", place=args.task
        )
    chosen = RANKING.load(args.task)
    notes: list[str] = []
    with hinting(chosen, args.qrels, [[run] for run in args.runs], "--qrels and a run"):
        qrels = chosen.read_gold(args.qrels, notes.append)
        runs, on_runs = read_runs(chosen, args.runs, qrels)
    notes += [*on_runs, *note_unended([*args.qrels, *args.runs]), *note_on_programs(measures)]
    comparison = compare_runs(
        qrels,
        runs,
        measures,
        seed=args.seed,
        baseline=args.baseline,
        correction=args.correction,
        correct_over=args.correct_over,
        notes=notes,
    )
    for note in comparison.notes:
        say(f"note: {note}")
    if args.json:
        write(_json(comparison.as_json()))
    else:
        write(as_latex(comparison) if args.latex else as_text(comparison))
    if args.html:
        write_text(args.html, [as_html(comparison)])
        say(f"{args.html}: the report")
    return DONE


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def score_files(
    name: str, gold: Sequence[Path], runs: Sequence[Path], options: ScoreOptions
) -> Scores:
    """Return the figures of a submission of the task ``name``.

    Raises QueryError if the task does not accept an option, CheckFailed if the submission has
    errors, SourceError if the gold cannot be read.
    """
    chosen = task(name)
    with hinting(chosen, gold, [runs], "--gold and --run"):
        scores = chosen.score(gold, runs, options)
    further = (*note_unended(files_in([*gold, *runs])), *note_on_programs(options.measures))
    return replace(scores, notes=(*scores.notes, *further))


@contextmanager
def hinting(
    chosen: Task, gold: Sequence[Path], runs: Iterable[Sequence[Path]], options: str
) -> Iterator[None]:
    """Add a hint to a file's error if ``options`` seem to be swapped, or if the file belongs to
    another task.
    """
    try:
        yield
    except (CheckFailed, SourceError) as error:
        runs = list(runs)
        hint = (
            f"{options} seem to be swapped"
            if any(_are_swapped(chosen, gold, run) for run in runs)
            else ""
        )
        hint = hint or _other_task(
            chosen, gold, [path for submission in runs for path in submission]
        )
        if hint:
            raise type(error)(f"{error}; {hint}") from None
        raise


def _are_swapped(chosen: Task, gold: Sequence[Path], runs: Sequence[Path]) -> bool:
    files = all(path.is_file() for path in (*gold, *runs))  # opening a pipe again may wait forever
    submitted = (_reads(chosen.read_submission, path, Strict(path)) for path in gold)
    return files and _reads(chosen.read_gold, runs) and all(submitted)


def _other_task(chosen: Task, gold: Sequence[Path], runs: Sequence[Path]) -> str:
    """Return a hint that names another task which can read the first file that ``chosen`` cannot,
    or ``""``.
    """

    def reads(read: Callable[..., object], path: Path, *given: object) -> bool:
        """Return whether a file can be read without an error; true, without trying, for a pipe or a
        large file.
        """
        return not path.is_file() or path.stat().st_size > _LARGEST or _reads(read, *given)

    bad_gold = (path for path in gold if not reads(chosen.read_gold, path, [path]))
    bad_runs = (
        path for path in runs if not reads(chosen.read_submission, path, path, Strict(path))
    )
    path = next(chain(bad_gold, bad_runs), None)
    if path is None:
        return ""
    others = [(name, task(name)) for name in names() if task(name) is not chosen]
    as_run = (
        f"a submission of {name}"
        for name, other in others
        if _reads(other.read_submission, path, Strict(path))
    )
    as_gold = (f"the gold of {name}" for name, other in others if _reads(other.read_gold, [path]))
    kind = next(chain(as_run, as_gold), "")
    return f"{path.name} looks like {kind}" if kind else ""


def _reads(read: Callable[..., object], *given: object) -> bool:
    try:
        read(*given)
    except FactseekError:
        return False
    return True
