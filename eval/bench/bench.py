"""Bench: sparse against dense against hybrid on one collection, quality beside speed, memory and size.

What is measured is named as a retriever, ``hybrid``, or as one with the stages after it, ``hybrid+rerank``.
"""

from __future__ import annotations

import io
from collections.abc import Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from html import escape
from itertools import islice
from typing import TYPE_CHECKING, Any

import msgspec

from ...retrieval import retrievers
from ...retrieval.config import Config, view
from ...retrieval.errors import QueryError
from ...retrieval.progress import Progress, silent
from ...retrieval.records.runs import ScoreTable
from ...retrieval.store import manifest as manifests
from ..run.batch import chunks, columns
from ..run.compare import Comparison, compare
from ..run.judged import DEPTH, Judged, depth_of
from ..scoring.machine import Machine, this_machine
from ..scoring.ranking import identical_notes, own_first
from ..scoring.statistics import RESAMPLES
from ..scoring.tables import figure, html_image, html_table, markdown_table, page
from .load import AND, Load, Timings, measure, search_of

if TYPE_CHECKING:
    from ...retrieval.search.index import Index

CALLERS = (1, 8)
_SPEED = (
    "retriever", "p50 ms", "p95", "p99", "queries/s", "8 callers: p50 ms", "p95", "p99", "queries/s", "encoding",
    "first answer s", "peak MB", "index MB", "build s",
)  # fmt: skip
_PAIRS = ("measure", "first", "second", "difference", "95 % interval", "p (Holm)", "wins", "ties", "losses")
_MARKS = ("o", "s", "^", "D", "v", "P")


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """The part of an index that a retriever needs: megabytes on disk, and seconds to build them, 0 if not known."""

    megabytes: float
    build_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One retriever: its timings, and the part of the index that it needs."""

    retriever: str
    timings: Timings
    sizes: Sizes


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """The result of a benchmark; ``quality`` compares the retrievers' runs of ``depth`` hits, ``k`` hits were timed."""

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

    def as_json(self) -> dict[str, Any]:
        """Return the benchmark as ``bench.json`` holds it."""
        return {
            "name": self.name,
            "index": {"manifest": self.manifest, "documents": self.documents, "passages": self.passages},
            "encoder": self.encoder,
            "machine": self.machine.as_json(),
            "versions": msgspec.to_builtins(manifests.versions()),
            "measured_at": manifests.now(),
            "hits": {"quality": self.depth, "latency": self.k},
            "timed_queries": self.timed,
            "quality": self.quality.as_json(),
            "retrievers": {
                measured.retriever: {**msgspec.to_builtins(measured.timings), **asdict(measured.sizes)}
                for measured in self.measured
            },
            "notes": list(self.notes),
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchRequest:
    """The request for a benchmark: its name, the retrievers, the measures, how many searches are timed."""

    name: str
    retrievers: tuple[str, ...]
    measures: tuple[str, ...]
    timed: int = 500
    seed: int = 0


def bench(index: Index, judged: Judged, request: BenchRequest, progress: Progress = silent) -> Bench:
    """Measure each retriever of the request.

    Quality is of all judged queries; latency of ``timed`` searches for them, at one caller and at eight, each
    retriever in a process of its own. Raises QueryError if the index lacks what a retriever needs.
    """
    for retriever in request.retrievers:
        _check(index, retriever)
    depth = max(depth_of(request.measures), min(DEPTH, judged.search.k or DEPTH))
    runs: dict[str, ScoreTable] = {name: _run(index, judged, name, depth, progress) for name in request.retrievers}
    own = dict.fromkeys(qid for table in runs.values() for qid in own_first(table, judged.qrels))
    quality = compare(judged.qrels, runs, request.measures, seed=request.seed)
    measured = []
    with closing(progress("timing", "retrievers", len(request.retrievers))) as bar:
        for name in request.retrievers:
            timings = measure(_load(index, judged, name, request))
            measured.append(Measured(retriever=name, timings=timings, sizes=sizes(index, name)))
            bar.update()
    encoder = index.info.encoder
    return Bench(
        name=request.name,
        manifest=index.info.id,
        documents=index.info.documents,
        passages=index.info.passages,
        encoder=f"{encoder.name}, {encoder.precision}" if encoder else "",
        depth=depth,
        k=index.settings.search.k,
        timed=request.timed,
        machine=this_machine(),
        quality=quality,
        measured=tuple(measured),
        notes=(*judged.notes, *identical_notes("query", list(own))),
    )


def sizes(index: Index, retriever: str) -> Sizes:
    """Return the size of what a retriever needs of an index; the documents count for every retriever."""
    footprint = index.footprint(retriever.partition(AND)[0])
    return Sizes(megabytes=footprint.bytes / 1e6, build_seconds=footprint.seconds)


def chosen(text: str | None, index: Index) -> tuple[str, ...]:
    """Split a list of retrievers, ``bm25,hybrid+rerank``; without one, return all that the index answers.

    Raises QueryError if a retriever or a stage is unknown, or lacks what it needs.
    """
    if text is None:
        return tuple(sorted(index.info.retrievers))
    names = list(dict.fromkeys(part.strip() for part in text.split(",") if part.strip()))
    if not names:
        listed = ", ".join(retrievers.names())
        raise QueryError("names no retriever", place="--retrievers", remedy=f"there are {listed}")
    for name in names:
        _check(index, name)
    return tuple(sorted(names))


def _check(index: Index, name: str) -> None:
    search = search_of(name)
    index.resolve(search)
    if search.stages:
        index.search(["claim"], search._replace(k=1))


def _run(index: Index, judged: Judged, retriever: str, k: int, progress: Progress) -> ScoreTable:
    asked = search_of(retriever)
    search = judged.search._replace(retriever=asked.retriever, stages=asked.stages, k=k, group=True)
    run: ScoreTable = {}
    with closing(progress(retriever, "queries", len(judged.asked))) as bar:
        for chunk in chunks(judged.asked):
            run.update({done.qid: dict(zip(*done.ranking, strict=True)) for done in columns(index, chunk, search)})
            bar.update(len(chunk))
    return run


def _load(index: Index, judged: Judged, retriever: str, request: BenchRequest) -> Load:
    search = judged.search
    resolved = index.resolve(search)
    wordy = (query for query in judged.asked if resolved.has_words(query.text))
    asked = tuple(islice(wordy, request.timed))
    if not asked:
        raise QueryError("no judged query holds words to search for")
    return Load(
        index=str(index.info.place),
        config=view(index.settings, Config),
        retriever=retriever,
        profile=search.profile,
        asked=asked,
        k=index.settings.search.k,
        timed=request.timed,
        callers=CALLERS,
    )


def as_markdown(bench: Bench) -> str:
    """Return a benchmark as Markdown tables."""
    parts = [
        markdown_table(quality_header(bench), quality_rows(bench)),
        markdown_table(_SPEED, speed_rows(bench)),
    ]
    if bench.quality.pairs:
        parts.append(markdown_table(_PAIRS, _pair_rows(bench), left=3))
    return "\n".join([*parts, f"{method(bench)}\n"])


def as_html(bench: Bench, png: bytes) -> str:
    """Return a benchmark as one HTML page."""
    first = next(iter(bench.quality.means))
    notes = "".join(f"<p>Note: {escape(note)}.</p>\n" for note in bench.notes)
    pairs = f"<h2>Differences</h2>\n{html_table(_PAIRS, _pair_rows(bench))}" if bench.quality.pairs else ""
    body = (
        f"<p>{escape(method(bench))}</p>\n{notes}"
        f"<h2>Quality</h2>\n{html_table(quality_header(bench), quality_rows(bench))}"
        f"{html_image(png, f'{first} against the median latency of each retriever')}"
        f"<h2>Speed and size</h2>\n{html_table(_SPEED, speed_rows(bench))}{pairs}"
    )
    return page(f"Sparse, dense and hybrid retrieval on {bench.name}", body)


def method(bench: Bench) -> str:
    """Return a sentence on what was measured, and on which machine."""
    encoder = f", encoder {bench.encoder}" if bench.encoder else ""
    return (
        f"{bench.name}: {bench.documents:,} documents in {bench.passages:,} passages{encoder}; "
        f"{bench.quality.queries:,} judged queries, "
        f"measures over the first {bench.depth:,} hits with 95 % bootstrap intervals ({RESAMPLES:,} resamples, seed "
        f"{bench.quality.seed}); latency of {bench.timed:,} searches for {bench.k} hits after as many to warm up, in a "
        f"process of its own; {bench.machine}."
    )


def quality_header(bench: Bench) -> Sequence[str]:
    """Return the names of the columns of quality."""
    return ("retriever", *(name for measure in bench.quality.means for name in (measure, "95 % interval")))


def quality_rows(bench: Bench) -> list[Sequence[str]]:
    """Return a row with the quality of each retriever."""
    rows: list[Sequence[str]] = []
    for name in bench.quality.runs:
        values = [by_run[name] for by_run in bench.quality.means.values()]
        cells = [(figure(value.mean), f"{figure(value.low, 3)}–{figure(value.high, 3)}") for value in values]
        rows.append([name, *(cell for pair in cells for cell in pair)])
    return rows


def speed_rows(bench: Bench) -> list[Sequence[str]]:
    """Return a row with the latency, memory, size and build time of each retriever."""
    rows: list[Sequence[str]] = []
    for measured in bench.measured:
        timings, sizes = measured.timings, measured.sizes
        row = [measured.retriever]
        for at in timings.latencies:
            row += [figure(at.p50, 2), figure(at.p95, 2), figure(at.p99, 2), f"{at.per_second:,.0f}"]
        row += [f"{timings.encoding:.0%}" if timings.encoding else "–", figure(timings.first_answer, 2)]
        row += [f"{timings.peak_megabytes:,.0f}", f"{sizes.megabytes:,.1f}"]
        rows.append([*row, f"{sizes.build_seconds:,.1f}" if sizes.build_seconds else "-"])
    return rows


def plot(benches: Sequence[Bench]) -> bytes:
    """Draw the first measure against the median latency at one caller, a panel a benchmark, as PNG."""
    from matplotlib.figure import Figure

    drawn = io.BytesIO()
    canvas = Figure(figsize=(4.2 * len(benches), 3.6), layout="constrained", dpi=150)
    panels = canvas.subplots(1, len(benches), squeeze=False)[0]
    for panel, bench in zip(panels, benches, strict=True):
        measure, by_run = next(iter(bench.quality.means.items()))
        for mark, measured in zip(_MARKS, bench.measured, strict=False):
            value, latency = by_run[measured.retriever], measured.timings.latencies[0].p50
            bars = [[max(0.0, value.mean - value.low)], [max(0.0, value.high - value.mean)]]
            panel.errorbar([latency], [value.mean], yerr=bars, fmt=mark, capsize=3, label=measured.retriever)
        panel.set_title(bench.name)
        panel.set_xscale("log")
        panel.set_xlabel("median latency, ms (one caller)")
        panel.set_ylabel(measure)
        panel.grid(alpha=0.3)
        panel.margins(x=0.3)
        panel.legend()
    canvas.savefig(drawn, format="png", metadata={"Software": None})
    return drawn.getvalue()


def _pair_rows(bench: Bench) -> list[Sequence[str]]:
    return [
        (
            pair.measure,
            pair.first,
            pair.second,
            f"{pair.test.difference.mean:+.4f}",
            f"{pair.test.difference.low:+.4f} to {pair.test.difference.high:+.4f}",
            figure(pair.holm_randomisation),
            str(pair.test.wins),
            str(pair.test.ties),
            str(pair.test.losses),
        )
        for pair in bench.quality.pairs
    ]
