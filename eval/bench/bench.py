"""The command ``bench``: it compares retrievers on one collection by quality, speed, memory and
size.

A measured configuration is named after its retriever (``hybrid``), or after its retriever and
stages (``hybrid+rerank``).
"""

from __future__ import annotations

import argparse
import io
import json
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from html import escape
from itertools import chain, cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import replace

from ...core.errors import QueryError
from ...core.files import os_errors_reported, write_atomically
from ...core.notebook import html, html_table
from ...core.progress import Progress, bar, silent
from ...core.records.runs import ScoreTable
from ...core.settings import to_mapping, view
from ...core.terminal import (
    DONE,
    Subparsers,
    add_outputs,
    format_count,
    say,
    write,
)
from ...retrieval import retrievers as retriever_kinds
from ...retrieval.arguments import add_index, config_of
from ...retrieval.config import Config
from ...retrieval.search.index import Index, open_index
from ...retrieval.store import manifest as manifests
from ..learn.cli import add_judged, add_option, judged_files
from ..run.batch import DEPTH, Judged, chunks, depth_of, read_judged, search_docids
from ..run.compare import Comparison, compare, pair_row
from ..run.compare import as_latex as quality_as_latex
from ..scoring.latex import latex_table, text_rows
from ..scoring.machine import Machine, this_machine
from ..scoring.measures import note_on_programs, parse_measures
from ..scoring.ranking import identical_notes, own_first
from ..scoring.statistics import RESAMPLES
from ..scoring.tables import figure, html_image, markdown_table, page
from .load import Load, Timings, measure, retriever_of, search_of

_MEASURES = "nDCG@10,R@100,AP,RR@10"
_SUFFIXES = (".json", ".md", ".png", ".html")
"""The suffixes of the reports; ``--output`` names a folder, so a name with one of them is an
error.
"""
CALLERS = (1, 8)
_SPEED = (
    "retriever",
    "p50 ms",
    "p95",
    "p99",
    "queries/s",
    "8 callers: p50 ms",
    "p95",
    "p99",
    "queries/s",
    "encoding",
    "first answer s",
    "peak MB",
    "index MB",
    "build s",
)
_PAIRS = (
    "measure",
    "first",
    "second",
    "difference",
    "95 % interval",
    "p (Holm)",
    "wins",
    "ties",
    "losses",
)
_MARKS = ("o", "s", "^", "D", "v", "P")


def register(commands: Subparsers) -> None:
    """Add ``bench`` to the command line."""
    parser = commands.add_parser(
        "bench",
        help="measure quality against speed: sparse, dense, hybrid",
        description="Measure quality, latency, memory and size of the retrievers on one index; the "
        "first measure is "
        "plotted. The folder of --output gets bench.json, bench.md, bench.png and bench.html.",
    )
    add_index(parser)
    add_judged(parser)
    parser.add_argument(
        "--output", type=Path, required=True, metavar="DIR", help="the folder that gets the reports"
    )
    retrievers = "retrievers, each with its stages: bm25,hybrid+rerank (default: all of the index)"
    parser.add_argument("--retrievers", metavar="LIST", help=retrievers)
    measures = f"measures by their names in ir-measures or trec_eval (default: {_MEASURES})"
    parser.add_argument("--measures", default=_MEASURES, metavar="LIST", help=measures)
    add_option(
        parser, "timed", int, 500, "the number of searches to time, with one caller and with eight"
    )
    parser.add_argument(
        "--name", metavar="NAME", help="the name of the collection (default: the index's folder)"
    )
    add_option(parser, "seed", int, 0, "the seed of the bootstrap intervals")
    add_outputs(parser)
    parser.set_defaults(command=bench_command)


def bench_command(args: argparse.Namespace) -> int:
    """Measure the retrievers, print the tables, and write the reports."""
    if args.timed < 1:
        raise QueryError(f"--timed {args.timed}: give a number of searches, 1 or more")
    if args.seed < 0:
        raise QueryError(f"--seed {args.seed}: give 0 or more")
    if not args.output.is_dir() and (args.output.is_file() or args.output.suffix in _SUFFIXES):
        raise QueryError(
            "is not a folder",
            place=args.output,
            remedy="--output names the folder that gets the reports",
        )
    with os_errors_reported(args.output):
        args.output.mkdir(parents=True, exist_ok=True)
    config = config_of(args, Config)
    with open_index(args.index, config) as index:
        result = bench(
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
    if args.json:
        write(as_json)
    else:
        write(as_latex(result) if args.latex else tables)
    say(f"{args.output}: {', '.join(reports)}")
    return DONE


class Measured(NamedTuple):
    """One retriever: its timings, the MB of its part of the index, and the seconds to build that
    part (0: unknown).
    """

    retriever: str
    timings: Timings
    megabytes: float
    build_seconds: float


ShownTable = tuple[Sequence[str], list[Sequence[str]], int]
"""A header, the rows below it, and the number of left-aligned columns."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """The result of a benchmark; ``quality`` compares runs of ``depth`` hits, and timed searches
    ask for ``k`` hits.
    """

    name: str
    manifest: str
    documents: int
    passages: int
    encoder: str
    depth: int
    k: int
    timed: int
    machine: Machine
    quality: Comparison
    measured: tuple[Measured, ...]
    notes: tuple[str, ...] = ()

    def as_latex(self) -> str:
        """Return the tables in LaTeX, as ``factseek bench --latex`` prints them."""
        return as_latex(self)

    def to_frame(self) -> Any:
        """Return the mean of each measure (columns) for each retriever (rows) as a DataFrame."""
        return self.quality.to_frame()

    def _repr_html_(self) -> str:
        """Return the tables as HTML, for a notebook."""
        shown = (table[:2] for table in tables(self).values())
        return html(method(self), *shown, notes=self.notes)

    def as_json(self) -> dict[str, Any]:
        """Return the benchmark in the form of ``bench.json``."""
        return {
            "name": self.name,
            "index": {
                "manifest": self.manifest,
                "documents": self.documents,
                "passages": self.passages,
            },
            "encoder": self.encoder,
            "machine": asdict(self.machine),
            "versions": msgspec.to_builtins(manifests.versions()),
            "measured_at": manifests.now(),
            "hits": {"quality": self.depth, "latency": self.k},
            "timed_queries": self.timed,
            "quality": self.quality.as_json(),
            "retrievers": {
                name: {
                    **msgspec.to_builtins(timings),
                    "megabytes": megabytes,
                    "build_seconds": seconds,
                }
                for name, timings, megabytes, seconds in self.measured
            },
            "notes": list(self.notes),
        }


def bench(
    index: Index,
    judged: Judged,
    *,
    name: str,
    retrievers: Sequence[str],
    measures: Sequence[str],
    timed: int = 500,
    seed: int = 0,
    progress: Progress = silent,
) -> Bench:
    """Measure the quality of each retriever on all judged queries, and its latency on ``timed``
    searches.

    Raises QueryError if the index lacks what a retriever needs.
    """
    for retriever in retrievers:
        staged = search_of(retriever)
        index.resolve(staged)
        if staged.stages:
            index.search(["claim"], replace(staged, k=1))
    depth = max(depth_of(measures), min(DEPTH, judged.search.k or DEPTH))
    runs: dict[str, ScoreTable] = {retriever: {} for retriever in retrievers}
    for retriever, run in runs.items():
        staged = search_of(retriever)
        search = replace(
            judged.search, retriever=staged.retriever, stages=staged.stages, k=depth, group=True
        )
        with closing(progress(retriever, "query", len(judged.queries))) as meter:
            for chunk in chunks(judged.queries):
                found = search_docids(index, chunk, search)
                run.update({done.qid: dict(zip(*done.ranking, strict=True)) for done in found})
                meter.update(len(chunk))
    own = dict.fromkeys(qid for table in runs.values() for qid in own_first(table, judged.qrels))
    programs = tuple(note_on_programs(measures))
    quality = compare(judged.qrels, runs, measures, seed=seed, notes=programs)
    resolved = index.resolve(judged.search)
    wordy = tuple(
        islice((query for query in judged.queries if resolved.has_words(query.text)), timed)
    )
    if not wordy:
        raise QueryError("no judged query contains words to search for")
    measured = []
    with closing(progress("timing", "retriever", len(retrievers))) as meter:
        for retriever in retrievers:
            load = Load(
                index=str(index.info.place),
                config=to_mapping(view(index.settings, Config)),
                retriever=retriever,
                profile=judged.search.profile,
                queries=wordy,
                k=index.settings.search.k,
                timed=timed,
                callers=CALLERS,
            )
            timings, needed = measure(load), index.footprint(retriever_of(retriever))
            measured.append(Measured(retriever, timings, needed.bytes / 1e6, needed.seconds))
            meter.update()
    encoder = index.info.encoder
    return Bench(
        name=name,
        manifest=index.info.id,
        documents=index.info.documents,
        passages=index.info.passages,
        encoder=f"{encoder.name}, {encoder.precision}" if encoder else "",
        depth=depth,
        k=index.settings.search.k,
        timed=timed,
        machine=this_machine(),
        quality=quality,
        measured=tuple(measured),
        notes=(*judged.notes, *identical_notes("query", list(own)), *programs),
    )


def choose_retrievers(text: str | None, index: Index) -> tuple[str, ...]:
    """Split a list of retrievers (None: all of the index); raise QueryError if it is empty or one
    cannot be used.
    """
    if text is None:
        return tuple(sorted(index.retrievers_of_texts))
    names = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not names:
        listed = ", ".join(retriever_kinds.names())
        raise QueryError(
            "contains no retriever", place="--retrievers", remedy=f"the retrievers are {listed}"
        )
    for name in names:
        index.resolve(search_of(name))
    return tuple(sorted(names))


def as_markdown(bench: Bench) -> str:
    """Return a benchmark as Markdown tables."""
    return "\n".join(
        [*(markdown_table(*table) for table in tables(bench).values()), f"{method(bench)}\n"]
    )


def as_latex(bench: Bench) -> str:
    """Return the quality of the retrievers with its tests, then their speed and size, as LaTeX
    tables.
    """
    header, rows, _ = tables(bench)["Speed and size"]
    speed = latex_table(header, text_rows(rows), f"Speed and size. {method(bench)}")
    return f"{quality_as_latex(bench.quality)}\n{speed}"


def as_html(bench: Bench, png: bytes) -> str:
    """Return a benchmark as one HTML page."""
    notes = "".join(f"<p>Note: {escape(note)}.</p>\n" for note in bench.notes)
    parts = [
        f"<h2>{title}</h2>\n{html_table(*table[:2])}" for title, table in tables(bench).items()
    ]
    parts.insert(
        1,
        html_image(
            png, f"{next(iter(bench.quality.means))} against the median latency of each retriever"
        ),
    )
    body = f"<p>{escape(method(bench))}</p>\n{notes}{''.join(parts)}"
    return page(f"Sparse, dense and hybrid retrieval on {bench.name}", body)


def method(bench: Bench) -> str:
    """Return what was measured, how, and on which machine, in short sentences."""
    encoder = f", with vectors of the encoder {bench.encoder}" if bench.encoder else ""
    return (
        f"{bench.name}: the index has {format_count(bench.documents, 'document')} in "
        f"{format_count(bench.passages, 'passage')}{encoder}. "
        f"The quality is the mean over {bench.quality.queries:,} judged queries. "
        f"Each measure reads the first {bench.depth:,} hits. "
        f"The intervals are 95 % bootstrap intervals ({RESAMPLES:,} resamples, seed "
        f"{bench.quality.seed}). "
        f"The latency was measured over {bench.timed:,} searches for {bench.k} hits, "
        f"after {bench.timed:,} searches to warm up. Each retriever ran in a separate process. "
        f"The machine has {bench.machine}."
    )


def tables(bench: Bench) -> dict[str, ShownTable]:
    """Return the tables by title: quality; speed and size; and differences, if the benchmark has
    pairs.
    """
    quality: list[Sequence[str]] = []
    speed: list[Sequence[str]] = []
    for name in bench.quality.runs:
        values = [by_run[name] for by_run in bench.quality.means.values()]
        cells = [
            (figure(value.mean), f"{figure(value.low, 3)}–{figure(value.high, 3)}")
            for value in values
        ]
        quality.append([name, *chain.from_iterable(cells)])
    for name, timings, megabytes, seconds in bench.measured:
        row = [name]
        for at in timings.latencies:
            row += [
                figure(at.p50, 2),
                figure(at.p95, 2),
                figure(at.p99, 2),
                f"{at.per_second:,.0f}",
            ]
        row += [
            f"{timings.encoding:.0%}" if timings.encoding else "–",
            figure(timings.first_answer, 2),
        ]
        row += [
            f"{timings.peak_megabytes:,.0f}",
            f"{megabytes:,.1f}",
            f"{seconds:,.1f}" if seconds else "-",
        ]
        speed.append(row)
    header = (
        "retriever",
        *chain.from_iterable((measure, "95 % interval") for measure in bench.quality.means),
    )
    found: dict[str, ShownTable] = {
        "Quality": (header, quality, 1),
        "Speed and size": (_SPEED, speed, 1),
    }
    if bench.quality.pairs:
        differences: list[Sequence[str]] = []
        for pair in bench.quality.pairs:
            shown = pair_row(pair)
            differences.append([*shown[:5], figure(pair.corrected_randomisation), *shown[-3:]])
        found["Differences"] = (_PAIRS, differences, 3)
    return found


def plot(benches: Sequence[Bench]) -> bytes:
    """Draw the first measure against the median latency with one caller as PNG, one panel for each
    benchmark.
    """
    import matplotlib
    from matplotlib.figure import Figure

    drawn = io.BytesIO()
    with matplotlib.rc_context({"text.parse_math": False}):
        canvas = Figure(figsize=(4.2 * len(benches), 3.6), layout="constrained", dpi=150)
        for panel, bench in zip(
            canvas.subplots(1, len(benches), squeeze=False)[0], benches, strict=True
        ):
            measure, by_run = next(iter(bench.quality.means.items()))
            for mark, measured in zip(cycle(_MARKS), bench.measured, strict=False):
                value, latency = by_run[measured.retriever], measured.timings.latencies[0].p50
                bars = [[max(0.0, value.mean - value.low)], [max(0.0, value.high - value.mean)]]
                panel.errorbar(
                    [latency],
                    [value.mean],
                    yerr=bars,
                    fmt=mark,
                    capsize=3,
                    label=measured.retriever,
                )
            labels = {"xlabel": "median latency, ms (one caller)", "ylabel": measure}
            panel.set(title=bench.name, xscale="log", **labels)
            panel.grid(alpha=0.3)
            panel.margins(x=0.3)
            panel.legend()
        canvas.savefig(drawn, format="png", metadata={"Software": None})
    return drawn.getvalue()
