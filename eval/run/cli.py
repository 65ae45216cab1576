"""The command ``run``: it reads a file of queries and writes a submission."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from time import perf_counter

from ...retrieval.config import Config
from ...retrieval.errors import UsageError
from ...retrieval.progress import bar
from ...retrieval.search.cli import add_search_options, search_from
from ...retrieval.search.index import open_index
from ...retrieval.terminal import DONE, Subparsers, add_index, add_json, config_of, format_count, report, say
from ..scoring.ranking import identical_notes
from ..tasks import RANKING
from .run import RunRequest
from .run import run as run_queries

_EPILOG = """\
defaults of the tasks that differ from those of factseek search:
{habits}
FILE.meta.json, next to the FILE of --output, records how the run was made."""
_SHOWN = 5


def register(commands: Subparsers) -> None:
    """Add ``run`` to the command line."""
    habits = "\n".join(f"  {name:15}  {RANKING.load(name).DEFAULTS}" for name in RANKING.names())
    parser = commands.add_parser(
        "run",
        help="turn a file of queries into a submission",
        description="Search for every query of a task's input file, and write the submission in the same order.",
        epilog=_EPILOG.format(habits=habits),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("task", metavar="TASK", help=f"one of {', '.join(RANKING.names())}, or a .yaml file of a task")
    parser.add_argument("--queries", type=Path, required=True, metavar="FILE", help="the task's input")
    add_index(parser)
    output = "the submission file; compressed if its name ends in .gz"
    parser.add_argument("--output", type=Path, required=True, metavar="FILE", help=output)
    described = (
        "describe in FILE how the run was made, in the format of ir-metadata.org (TIRA expects the name "
        "ir-metadata.yml); if FILE is -, the description goes into the run itself"
    )
    parser.add_argument("--ir-metadata", type=Path, metavar="FILE", help=described)
    about = "a YAML file with further components for --ir-metadata: actor, research goal, data"
    parser.add_argument("--about", type=Path, metavar="FILE", help=about)
    parser.add_argument("--run-id", default="", metavar="ID", help="the run id (default: factseek-RETRIEVER)")
    as_of = "for each query, only documents up to the query's own date"
    parser.add_argument("--as-of-query", action="store_true", help=as_of)
    identical = "leave out the document that has the query's own id, as BEIR does"
    parser.add_argument("--ignore-identical-ids", action="store_true", help=identical)
    add_search_options(parser, hits="that of the task, listed below")
    add_json(parser)
    parser.set_defaults(command=run)


def run(args: argparse.Namespace) -> int:
    """Write the submission and report its contents."""
    if str(args.output) == "-":
        remedy = "give the path of a file: its description is written beside it"
        raise UsageError("--output -: run writes no submission to standard output", remedy=remedy)
    config = config_of(args, Config)
    began = perf_counter()
    with open_index(args.index, config) as index:
        request = RunRequest(
            task=args.task,
            queries=args.queries,
            output=args.output,
            run_id=args.run_id,
            search=search_from(args, config.search.fusion, index.info.filter_fields),
            as_of_query=args.as_of_query,
            ignore_identical_ids=args.ignore_identical_ids,
            described_in=args.ir_metadata,
            about=args.about,
            arguments=tuple(args.arguments),
            also_read=(args.config,) if args.config else (),
        )
        done = run_queries(request, index, bar)
    seconds = perf_counter() - began
    if done.note:
        say(f"note: {done.note}")
    if done.without_words:
        say(f"note: queries without words to search for, and so without hits: {_list_qids(done.without_words)}")
    if done.without_hits:
        say(f"note: queries without hits: {_list_qids(done.without_hits)}")
    for note in identical_notes("query", done.identical_ids):
        say(f"note: {note}")
    line = f"{format_count(done.hits, 'hit')} for {format_count(done.queries, 'query')} in {seconds:.1f} s"
    facts = {"output": str(args.output), **asdict(done), "seconds": round(seconds, 3)}
    report(args, facts, f"{args.output}: {line}\n")
    return DONE


def _list_qids(qids: Sequence[str]) -> str:
    return f"{len(qids):,} ({', '.join(qids[:_SHOWN])}{', …' if len(qids) > _SHOWN else ''})"
