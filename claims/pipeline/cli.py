"""The command ``pipeline``: it reads tweets and writes a page for an editor."""

from __future__ import annotations

import argparse
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ... import __version__
from ...retrieval.errors import QueryError
from ...retrieval.files import writable, write_atomically
from ...retrieval.progress import bar
from ...retrieval.records.runs import write_text
from ...retrieval.search.index import open_index
from ...retrieval.terminal import DONE, Subparsers, add_index, add_json, config_of, report, say
from ..checkworthiness import ranking
from ..checkworthiness.cli import language_of_task
from ..settings import Config
from ..text.languages import check_languages, read_language, with_language
from ..verdicts import training as verifying
from ..verdicts.cli import add_where, finder_of
from ..verdicts.verdict import TrainedVerdicts
from .steps import check, json_line, page

if TYPE_CHECKING:
    from ..formats import StatementTasks


def register(commands: Subparsers, formats: StatementTasks) -> None:
    """Add ``pipeline``; ``formats`` reads the tasks' files."""
    parser = commands.add_parser(
        "pipeline",
        help="rank tweets, find evidence and write a page of verdicts with sources",
        description=(
            "Rank tweets or sentences by check-worthiness, find evidence for the first of them, and judge these. The"
            " output is JSON lines for programs and an HTML page for editors."
        ),
    )
    parser.add_argument("--input", type=Path, required=True, metavar="FILE", help="tweets, or a debate")
    parser.add_argument("--task", choices=formats.names(), default=formats.default(), help="the format of FILE")
    language = "the language of FILE, ISO 639-1 (default: the task's only language, else detected)"
    parser.add_argument("--language", type=read_language, default="", metavar="CODE", help=language)
    ranker, model = "a ranker that factseek rank --save wrote", "a model that factseek verdict --save wrote"
    parser.add_argument("--ranker", type=Path, required=True, metavar="MODEL", help=ranker)
    parser.add_argument("--verdicts", type=Path, required=True, metavar="MODEL", help=model)
    parser.add_argument("--top", type=int, default=10, metavar="N", help="how many claims to check (default: 10)")
    parser.add_argument("--output", type=Path, required=True, metavar="FILE", help="the JSON lines")
    html = "the HTML page (default: the output's name plus .html)"
    parser.add_argument("--html", type=Path, metavar="FILE", help=html)
    parser.add_argument("--title", default="Claims to check", help="the title of the page (default: Claims to check)")
    add_index(parser)
    add_where(parser)
    add_json(parser)
    parser.set_defaults(command=partial(run, formats=formats))


def run(args: argparse.Namespace, formats: StatementTasks) -> int:
    """Rank, find evidence and judge; write the JSON lines and the page."""
    html = args.html or args.output.with_name(f"{args.output.name}.html")
    _refuse(args, html)
    config = config_of(args, Config)
    format_ = formats.load(args.task)
    language = args.language or language_of_task(format_)
    statements = with_language(format_.read_statements(args.input, labelled=False), language)
    with open_index(args.index, config) as index:
        finder = finder_of(args, index, config)
        ranker = ranking.load(args.ranker, args.task, config)
        check_languages(statements, ranker.manifest.languages, str(args.input))
        learned = verifying.load(args.verdicts, config)
        verifier = learned.verifier(finder, config.verdict, for_people=True)
        checked = check(ranker.ranker, verifier, statements, args.top, bar)
        heading = {
            "title": args.title,
            "statements": len(statements),
            "ranker": ranker.manifest.model,
            "model": learned.manifest.model,
            "worth": _worth(learned),
            "collection": f"{index.info.name} ({index.info.id})",
            "version": __version__,
        }
        content = page(checked, heading, index.terms)
    write_text(args.output, map(json_line, checked))
    write_atomically(html, content.encode())
    abstained = sum(bool(checked_claim.verdict.abstained) for checked_claim in checked)
    text = f"{args.output}: the {len(checked):,} of {len(statements):,} statements most worth checking, with evidence\n"
    counts = {"statements": len(statements), "checked": len(checked), "abstained": abstained}
    report(args, {"output": str(args.output), "page": str(html), **counts}, f"{text}{html}: the page\n")
    if abstained:
        say(f"note: the evidence allows no verdict on {abstained:,} of {len(checked):,} claims; the page shows why")
    return DONE


def _worth(learned: TrainedVerdicts) -> str:
    figures = learned.manifest.figures
    if not figures:
        return "The quality of the verdicts was not measured."
    own, alone = figures[learned.manifest.model], figures["hypothesis"]
    return (
        f"In a cross-validation, the most probable label was right for {own['accuracy']:.0%} of "
        f"{figures['claims']:,} claims that the model had not learned from (macro-F1 {own['macro_f1']:.2f}; "
        f"{alone['macro_f1']:.2f} without any evidence)."
    )


def _refuse(args: argparse.Namespace, html: Path) -> None:
    if args.top < 1:
        raise QueryError(f"--top {args.top}: give a number, 1 or more")
    for path in (args.output, html):
        writable(path, [args.input, args.ranker, args.verdicts])
    if html.absolute() == args.output.absolute():
        raise QueryError(f"--html {html}: is also the file of the JSON lines", remedy="give another file")
