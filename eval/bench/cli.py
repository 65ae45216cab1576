"""The command ``bench``: compare sparse, dense and hybrid retrieval on one collection."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from ...retrieval.config import Config
from ...retrieval.errors import QueryError
from ...retrieval.files import os_errors_reported, write_atomically
from ...retrieval.progress import bar
from ...retrieval.search.index import open_index
from ...retrieval.terminal import DONE, Subparsers, add_index, add_json, config_of, say, write
from ..learn.cli import add_judged, add_option, judged_files
from ..run.batch import read_judged
from ..scoring.measures import parse_measures
from .bench import as_html, as_markdown, choose_retrievers, plot
from .bench import bench as bench_on

_MEASURES = "nDCG@10,R@100,AP,RR@10"
_SUFFIXES = (".json", ".md", ".png", ".html")
"""The suffixes of the reports; ``--output`` names a folder, so a name with one of them is an error."""


def register(commands: Subparsers) -> None:
    """Add ``bench`` to the command line."""
    parser = commands.add_parser(
        "bench",
        help="measure quality against speed: sparse, dense, hybrid",
        description="Measure quality, latency, memory and size of the retrievers on one index; the first measure is "
        "plotted. The folder of --output gets bench.json, bench.md, bench.png and bench.html.",
    )
    add_index(parser)
    add_judged(parser)
    parser.add_argument("--output", type=Path, required=True, metavar="DIR", help="the folder that gets the reports")
    retrievers = "retrievers, each with its stages: bm25,hybrid+rerank (default: all of the index)"
    parser.add_argument("--retrievers", metavar="LIST", help=retrievers)
    measures = f"measures by their names in ir-measures or trec_eval (default: {_MEASURES})"
    parser.add_argument("--measures", default=_MEASURES, metavar="LIST", help=measures)
    add_option(parser, "timed", int, 500, "the number of searches to time, with one caller and with eight")
    parser.add_argument("--name", metavar="NAME", help="the name of the collection (default: the index's folder)")
    add_option(parser, "seed", int, 0, "the seed of the bootstrap intervals")
    add_json(parser)
    parser.set_defaults(command=bench)


def bench(args: argparse.Namespace) -> int:
    """Measure the retrievers, print the tables, and write the reports."""
    if args.timed < 1:
        raise QueryError(f"--timed {args.timed}: give a number of searches, 1 or more")
    if args.seed < 0:
        raise QueryError(f"--seed {args.seed}: give 0 or more")
    if not args.output.is_dir() and (args.output.is_file() or args.output.suffix in _SUFFIXES):
        raise QueryError("is not a folder", place=args.output, remedy="--output names the folder that gets the reports")
    with os_errors_reported(args.output):
        args.output.mkdir(parents=True, exist_ok=True)
    config = config_of(args, Config)
    with open_index(args.index, config) as index:
        result = bench_on(
            index,
            retrievers=choose_retrievers(args.retrievers, index),
            measures=parse_measures(args.measures),
            judged=read_judged(judged_files(args), index),
            name=args.name or index.info.name,
            timed=args.timed,
            seed=args.seed,
            progress=bar,
        )
    for note in result.notes:
        say(f"note: {note}")
    drawn, tables = plot([result]), as_markdown(result)
    as_json = json.dumps(result.as_json(), ensure_ascii=False, indent=2) + "\n"
    reports = {"bench.json": as_json.encode(), "bench.md": tables.encode(), "bench.png": drawn}
    reports["bench.html"] = as_html(result, drawn).encode()
    for name, content in reports.items():
        write_atomically(args.output / name, content)
    write(as_json if args.json else tables)
    say(f"{args.output}: {', '.join(reports)}")
    return DONE
