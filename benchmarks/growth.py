"""The growth of an index: build time, disk, opening, memory and latency at 10,000, 100,000 and 1,000,000 passages.

``python -m benchmarks.growth`` rebuilds docs/growth.md and its plot. It needs the folder ``FACTSEEK_DATA``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import msgspec

from benchmarks.data import REAL, Sampler, claims, data_folder, noisy, real_vectors
from benchmarks.measuring import replace_marked
from factseek.eval.bench.load import Load, measure
from factseek.eval.reports.machine import this_machine
from factseek.eval.running.batch import SearchQuery
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.encoders import Encoders
from factseek.indexer.segment import checksums
from factseek.indexer.snapshot import snapshot
from factseek.retrieval import config
from factseek.retrieval import manifest as manifests
from factseek.retrieval.errors import FactseekError
from factseek.retrieval.index.local import open_index
from factseek.retrieval.index_folder import IndexFolder
from factseek.retrieval.manifest import VECTORS
from factseek.retrieval.searcher import Search
from factseek.retrieval.terminal import say, write
from factseek.retrieval.views import SegmentPlace, Tools
from factseek.retrieval.views.vectors import view
from factseek.settings import Config, convert


class Grown(NamedTuple):
    """The figures of a method at a size; ``recall`` is of the first ten hits, against the flat index."""

    passages: int
    method: str
    build_seconds: float
    bytes_a_passage: float
    open_seconds: float
    peak_mb: float
    p50: float
    p99: float
    recall: float


ROOT = Path(__file__).resolve().parent.parent
SIZES = (10_000, 100_000, 1_000_000)
QUERIES = 300
PLOT = "![latency, build time and memory against size](growth.png)"


class Method(NamedTuple):
    """A way to search: the retriever, and the type of the dense index that it searches."""

    name: str
    retriever: str
    type: str = "flat"


METHODS = (
    Method("bm25", "bm25"),
    Method("dense, flat", "dense"),
    Method("dense, auto", "dense", "auto"),
    Method("hybrid, flat", "hybrid"),
    Method("hybrid, auto", "hybrid", "auto"),
)


class Growth:
    """Measures every method at every size, in the folder ``work``."""

    def __init__(self, data: Path, work: Path, methods: Sequence[Method] = METHODS) -> None:
        self._work = work
        self._methods = methods
        self._sampler = Sampler(data)
        self._vectors = real_vectors(self._sampler, Config(), REAL)
        self._queries = claims(data)[:QUERIES]

    def at(self, passages: int) -> Iterator[Grown]:
        """Build the indexes of a size, measure every method, and remove them."""
        with tempfile.TemporaryDirectory(dir=self._work) as folder:
            yield from self._at(passages, Path(folder))

    def _at(self, passages: int, work: Path) -> Iterator[Grown]:
        folders = {"flat": work / "flat"}
        source = self._sampler.write(work / "documents.jsonl", 0, passages)
        with noisy(self._vectors):
            request = BuildRequest(kind="jsonl", sources=(source,), folder=folders["flat"])
            manifest = build(request, _config("flat")).manifest
        source.unlink()
        text = sum(segment.text_seconds for segment in manifest.segments)
        seconds = {"bm25": text, "flat": text + sum(segment.vector_seconds for segment in manifest.segments)}
        _report_build(passages, "flat", seconds["flat"])
        for kind in sorted({method.type for method in self._methods} - {"flat"}):
            folders[kind] = work / kind
            seconds[kind] = seconds["flat"] + _approximate(folders["flat"], folders[kind], kind)
            _report_build(passages, kind, seconds[kind])
        exact = self._dense_hits(folders["flat"], "flat")
        for method in self._methods:
            folder, name = folders[method.type], method.retriever if method.retriever == "bm25" else method.type
            recall = _recall(exact, self._dense_hits(folder, method.type)) if method.type != "flat" else 1.0
            yield self._measured(passages, method, folder, seconds[name], recall)

    def _measured(self, passages: int, method: Method, folder: Path, seconds: float, recall: float) -> Grown:
        asked = tuple(SearchQuery(str(number), query, None) for number, query in enumerate(self._queries))
        timings = measure(
            Load(
                index=str(folder),
                config=config.view(_config(method.type), config.Config),
                retriever=method.retriever,
                profile=None,
                asked=asked,
                k=10,
                timed=len(asked),
                callers=(1,),
            )
        )
        alone = timings.latencies[0]
        return Grown(
            passages=passages,
            method=method.name,
            build_seconds=seconds,
            bytes_a_passage=_bytes(folder, method) / passages,
            open_seconds=timings.first_answer,
            peak_mb=timings.peak_megabytes,
            p50=alone.p50,
            p99=alone.p99,
            recall=recall,
        )

    def _dense_hits(self, folder: Path, kind: str) -> list[set[str]]:
        with open_index(folder, _config(kind)) as index:
            results = index.search(self._queries, Search(k=10, retriever="dense"))
        return [{hit.docid for hit in hits} for hits in results]


def _report_build(passages: int, kind: str, seconds: float) -> None:
    say(f"{passages:,} {kind}: built in {seconds:,.0f} s")


def _config(kind: str) -> Config:
    return convert({"dense": {"type": kind}, "java": {"heap": "1g"}}, "growth")


def _approximate(flat: Path, folder: Path, kind: str) -> float:
    """Copy the flat index and give its segments an approximate one; return the seconds that this takes."""
    manifest = snapshot(flat, folder).manifest
    vectors, config = view(VECTORS, manifest), _config(kind)
    config = msgspec.structs.replace(config, dense=msgspec.structs.replace(config.dense, flat_below=0))  # not auto's
    tools = Tools(IndexFolder(folder), manifest, config, Encoders(config))
    segments, seconds = [], 0.0
    for segment in manifest.segments:
        place = SegmentPlace(tools.folder.segment(segment.name), segment.name, segment.kind, segment.passages)
        began = perf_counter()
        vectors.index(place, tools)
        seconds += perf_counter() - began
        segments.append(msgspec.structs.replace(segment, files=checksums(place.folder)))
    manifests.publish(folder, msgspec.structs.replace(manifest, segments=tuple(segments)))
    return seconds


def _bytes(folder: Path, method: Method) -> int:
    """Count the bytes that a method needs: the documents, and of the rest what it searches."""
    unneeded = {"bm25": ("vectors.", "ann."), "dense": ("lucene",), "hybrid": ()}[method.retriever]
    files = (item for segment in manifests.read(folder).segments for item in segment.files.items())
    return sum(info.bytes for name, info in files if not name.startswith(tuple(unneeded)))


def _recall(exact: Sequence[set[str]], approximate: Sequence[set[str]]) -> float:
    return sum(
        len(expected & answered) / len(expected) for expected, answered in zip(exact, approximate, strict=True)
    ) / len(exact)


def report(grown: Sequence[Grown]) -> str:
    """Return the measured part of the document, without its plot."""
    lines = [
        f"{this_machine()}.",
        "",
        "| passages | | build s | bytes a passage | first answer s | peak MB | p50 ms | p99 ms | recall@10 |",
        "|---:|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in grown:
        times = f"{row.open_seconds:.2f} | {row.peak_mb:,.0f} | {row.p50:.2f} | {row.p99:.2f} | {row.recall:.3f}"
        lines.append(
            f"| {row.passages:,} | {row.method} | {row.build_seconds:,.0f} | {row.bytes_a_passage:,.0f} | {times} |"
        )
    return "\n".join(lines)


def main() -> int:
    """Measure, and write the document and its plot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), metavar="N")
    parser.add_argument("--work", type=Path, help="where the indexes go (default: a temporary folder)")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="the folder of growth.md")
    names = [method.name for method in METHODS]
    parser.add_argument("--methods", nargs="+", choices=names, default=names, help="measure and print these alone")
    args = parser.parse_args()
    methods = [method for method in METHODS if method.name in args.methods]
    grown = []
    try:
        with tempfile.TemporaryDirectory(dir=args.work) as work:
            growth = Growth(data_folder(), Path(work), methods)
            for row in (row for size in args.sizes for row in growth.at(size)):
                say(f"{row.passages:,} {row.method}: p50 {row.p50:.2f} ms, recall {row.recall:.3f}")
                grown.append(row)
    except FactseekError as error:
        say(f"benchmarks.growth: {error.line}")
        return 2
    write(report(grown) + "\n")
    if methods == list(METHODS):  # the figures of some are printed alone
        replace_marked(args.docs / "growth.md", "measured", f"{report(grown)}\n\n{PLOT}")
        plot(grown, args.docs / "growth.png")
    return 0


PANELS = (("p50", "p50, ms"), ("build_seconds", "build without encoding, s"), ("peak_mb", "peak memory, MB"))


def plot(grown: Sequence[Grown], path: Path) -> None:
    """Draw latency, build time and memory of each method against the number of passages."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(12, 4), layout="constrained")
    for axes, (field, label) in zip(figure.subplots(1, len(PANELS)), PANELS, strict=True):
        for method in dict.fromkeys(row.method for row in grown):
            points = [(row.passages, getattr(row, field)) for row in grown if row.method == method]
            axes.plot(*zip(*points, strict=True), marker="o", label=method)
        axes.set(xscale="log", yscale="log", xlabel="passages", title=label)
        axes.grid(visible=True, which="major", alpha=0.3)
    figure.legend(*figure.axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=5)
    figure.savefig(path, dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    sys.exit(main())
