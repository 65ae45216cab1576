"""The commands that judge: ``check``, ``score`` and ``compare``."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...retrieval.errors import QueryError
from ...retrieval.terminal import BAD_FILE, DONE, Subparsers, add_json, say, write
from ..tasks import RANKING, is_description, names, task

if TYPE_CHECKING:
    from ..files.answers import ScoreOptions, Scores

_COMPARED = "AP,P@10,nDCG@10,RR"

_REFUSALS = {
    "max_evidence": "has no sentences to count; it is {takers}'s",
    "measures": "has measures of its own alone; it is for {takers}",
}
"""Why a task does not take an option of ``score``, by the option's name; ``takers`` are the tasks that do."""


def register(commands: Subparsers) -> None:
    """Add ``check``, ``score`` and ``compare`` to the command line."""
    _register_check(commands)
    _register_score(commands)
    _register_compare(commands)


def _register_check(commands: Subparsers) -> None:
    parser = _parser(commands, "check", "say every fault of a submission before it is sent")
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE", help="the submission, or a folder of them")
    parser.add_argument(
        "--input",
        nargs="+",
        type=Path,
        default=[],
        metavar="FILE",
        help="the task's input, to check that all of it is answered; for several files, one each by position, or, where"
        " both are a folder, by name",
    )
    add_json(parser)
    parser.set_defaults(command=check)


def _register_score(commands: Subparsers) -> None:
    parser = _parser(commands, "score", "score a submission as the organisers do")
    parser.add_argument("--gold", nargs="+", type=Path, required=True, metavar="FILE", help="the judgements")
    parser.add_argument(
        "--run",
        nargs="+",
        type=Path,
        required=True,
        metavar="FILE",
        help="the submission; for a task of several files one each, paired with the gold by position, or, where both"
        " are a folder, by name",
    )
    parser.add_argument("--per-query", action="store_true", help="print the figures of each query too")
    parser.add_argument(
        "--max-evidence",
        type=int,
        metavar="N",
        help=f"{_takers('max_evidence')}: how many sentences count (default: 5)",
    )
    parser.add_argument(
        "--measures", metavar="LIST", help="names of ir-measures, such as AP,P@5 (default: those of the task)"
    )
    add_json(parser)
    parser.set_defaults(command=score)


def _register_compare(commands: Subparsers) -> None:
    parser = commands.add_parser(
        "compare",
        help="compare runs: intervals, paired tests, the queries that moved",
        description="Compare two or more runs on one set of judgements; each is tested against each before it.",
    )
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN", help="the runs, the baseline first")
    parser.add_argument("--qrels", nargs=1, type=Path, required=True, metavar="FILE", help="the judgements")
    parser.add_argument(
        "--measures", default=_COMPARED, metavar="LIST", help=f"names of ir-measures (default: {_COMPARED})"
    )
    parser.add_argument(
        "--task",
        default=RANKING.default(),
        metavar="TASK",
        help=f"a ranking task's files (default: {RANKING.default()})",
    )
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the resampling (default: 0)")
    parser.add_argument("--html", type=Path, metavar="FILE", help="write the report as a page too")
    add_json(parser)
    parser.set_defaults(command=compare)


def _parser(commands: Subparsers, name: str, what: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=what,
        description=f"{what[0].upper()}{what[1:]}.",
        epilog="tasks:\n"
        + "\n".join(f"  {name:20} {task(name).SUMMARY} (official: {task(name).OFFICIAL})" for name in names()),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("task", metavar="TASK", help=f"one of {', '.join(names())}, or a .yaml that describes one")
    return parser


def check(args: argparse.Namespace) -> int:
    """Print every fault of the files; return 1 if one is an error."""
    chosen = task(args.task)
    reports = [chosen.check(path, input_path) for path, input_path in _with_inputs(args.files, args.input)]
    if args.json:
        write(_json([report.as_json() for report in reports]))
    else:
        for report in reports:
            write("".join(f"{line}\n" for line in [*report.messages, report.verdict]))
    return BAD_FILE if any(report.errors for report in reports) else DONE


def _with_inputs(files: list[Path], inputs: list[Path]) -> list[tuple[Path, Path | None]]:
    """Return each file that is checked, a folder standing for its files, with its input if there are any.

    Raises QueryError if there is not one input for each.
    """
    from ...retrieval.files import files_in
    from ..files.report import paired

    if not inputs:
        return [(path, None) for path in files_in(files)]
    return [(path, source) for source, path in paired(inputs, files, "--input", "the submission")]


def score(args: argparse.Namespace) -> int:
    """Print the figures of a submission, the official one first."""
    from ..reports.tables import figure, table
    from .score import score as score_files

    options = _score_options(args)
    scores = score_files(args.task, args.gold, args.run, options)
    for note in scores.notes:
        say(f"note: {note}")
    if args.json:
        write(_json(scores.as_json(per_query=args.per_query)))
        return DONE
    header, rows = _score_rows(scores)
    write(table(header, rows))
    if args.per_query:
        each = [[key, name, figure(value)] for key, row in scores.per_query.items() for name, value in row.items()]
        write("\n" + table([scores.unit, "measure", "value"], each, left=2))
    return DONE


def _score_options(args: argparse.Namespace) -> ScoreOptions:
    """Return the options of the score.

    Raises QueryError if an option is not one of the task's.
    """
    from ..files.answers import ScoreOptions
    from ..scoring.measures import named

    asked: dict[str, Any] = {}
    for option, refusal in _REFUSALS.items():
        value = getattr(args, option)
        if value is None:
            continue
        if (args.task in names() or is_description(args.task)) and option not in task(args.task).OPTIONS:
            raise QueryError(
                f"{args.task} {refusal.format(takers=_takers(option))}",
                place=f"--{option.replace('_', '-')} {value}",
            )
        asked[option] = tuple(named(value)) if option == "measures" else value
    return ScoreOptions(**asked)


def _takers(option: str) -> str:
    """Return the names of the tasks whose score takes an option."""
    return ", ".join(name for name in names() if option in task(name).OPTIONS)


def _score_rows(scores: Scores) -> tuple[list[str], list[list[str]]]:
    from ..reports.tables import figure

    header = [
        "measure",
        "value",
        *["over topics"] * bool(scores.topics),
        *["if ties fell otherwise"] * bool(scores.ties),
    ]
    rows = []
    for name, value in scores.values.items():
        row = [f"{name} (official)" if name == scores.official else name, figure(value)]
        if scores.topics:
            row.append(figure(scores.topics[name]))
        if scores.ties:
            low, high = scores.ties.get(name, (value, value))
            row.append(f"{figure(low)} to {figure(high)}" if name in scores.ties else "")
        rows.append(row)
    return header, rows


def compare(args: argparse.Namespace) -> int:
    """Print the comparison of two or more runs."""
    from ...retrieval.files import writable
    from ...retrieval.trec import write_text
    from ..files.tables import unended
    from ..scoring.measures import named
    from .compare import compare as compare_runs
    from .compare import compared_task, read_runs
    from .report import as_html, as_text
    from .score import hinting

    if args.seed < 0:
        raise QueryError(f"--seed {args.seed}: give a number from 0")
    measures = named(args.measures)
    if args.html:
        writable(args.html, [*args.runs, *args.qrels])
    chosen = compared_task(args.task)
    with hinting(chosen, args.qrels, [[run] for run in args.runs], "--qrels and a run"):
        repeats: list[str] = []
        qrels = chosen.read_gold(args.qrels, repeats.append)
        runs, notes = read_runs(args.task, args.runs, qrels)
    notes = (*repeats, *notes, *unended([*args.qrels, *args.runs]))
    comparison = compare_runs(qrels, runs, measures, seed=args.seed, notes=notes)
    for note in comparison.notes:
        say(f"note: {note}")
    write(_json(comparison.as_json()) if args.json else as_text(comparison))
    if args.html:
        write_text(args.html, [as_html(comparison)])
        say(f"{args.html}: the report")
    return DONE


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"
