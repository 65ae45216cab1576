"""Measure the growth of an index from 10,000 to 1,000,000 passages: build time, disk, opening, memory and latency.

``python -m benchmarks.growth`` writes its table in docs/figures.md. It needs ``FACTSEEK_DATA``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from benchmarks.data import REAL, Sampler, claims, data_folder, noisy, real_vectors
from benchmarks.measuring import program, replace_marked
from factseek.eval.bench.load import Load, Timings, measure
from factseek.eval.run.batch import SearchQuery
from factseek.eval.scoring.machine import this_machine
from factseek.eval.scoring.tables import markdown_table
from factseek.indexer.build import BuildRequest, build
from factseek.retrieval import config
from factseek.retrieval.search.index import open_index
from factseek.retrieval.search.options import Search
from factseek.retrieval.store import manifest as manifests
from factseek.retrieval.terminal import say, write
from factseek.settings import Config, convert


class Grown(NamedTuple):
    """The figures of a method at a size; ``recall`` is the share of the flat index's first ten hits that it finds."""

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


class Method(NamedTuple):
    """A way to search: the retriever, and the type of its dense index."""

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


def grown_to(passages: int, data: Path, folder: Path, methods: Sequence[Method]) -> Iterator[Grown]:
    """Build the indexes of a size, measure every method, and remove them."""
    sampler, queries = Sampler(data), claims(data)[:QUERIES]
    vectors = real_vectors(sampler, Config(), REAL)
    with tempfile.TemporaryDirectory(dir=folder) as name:
        work = Path(name)
        source = sampler.write(work / "documents.jsonl", 0, passages)
        segments, found = {}, {}
        for kind in dict.fromkeys(("flat", *(method.type for method in methods))):
            with noisy(vectors):
                request = BuildRequest(kind="jsonl", sources=(source,), folder=work / kind)
                segments[kind] = build(request, _config(kind)).manifest.segments
            say(f"{passages:,} {kind}: built")
            with open_index(work / kind, _config(kind)) as index:
                results = index.search(queries, Search(k=10, retriever="dense"))
            found[kind] = [{hit.docid for hit in hits} for hits in results]
        for method in methods:
            pairs = zip(found["flat"], found[method.type], strict=True)
            recall = mean(len(hits & best) / len(best) for best, hits in pairs)
            seconds = sum(
                segment.text_seconds + (method.retriever != "bm25") * segment.vector_seconds
                for segment in segments[method.type]
            )
            size = _bytes(work / method.type, method) / passages
            timings = _timed(work / method.type, method, queries)
            (alone, *_), opened, peak = timings.latencies, timings.first_answer, timings.peak_megabytes
            yield Grown(passages, method.name, seconds, size, opened, peak, alone.p50, alone.p99, recall)


def _timed(folder: Path, method: Method, queries: Sequence[str]) -> Timings:
    asked = tuple(SearchQuery(str(number), query, None) for number, query in enumerate(queries))
    request = Load(
        index=str(folder),
        config=config.to_mapping(config.view(_config(method.type), config.Config)),
        retriever=method.retriever,
        profile=None,
        asked=asked,
        k=10,
        timed=len(asked),
        callers=(1,),
    )
    return measure(request)


def _config(kind: str) -> Config:
    return convert({"dense": {"type": kind}, "java": {"heap": "1g"}}, "growth")


def _bytes(folder: Path, method: Method) -> int:
    """Count the bytes that a method needs: the documents, and the parts of the index that it searches."""
    unneeded: dict[str, tuple[str, ...]] = {"bm25": ("vectors.", "ann."), "dense": ("lucene",), "hybrid": ()}
    files = (item for segment in manifests.read(folder).segments for item in segment.files.items())
    return sum(info.bytes for name, info in files if not name.startswith(unneeded[method.retriever]))


COLUMNS = {
    "passages": ",", "": "", "build s": ",.0f", "bytes a passage": ",.0f", "first answer s": ".2f", "peak MB": ",.0f",
    "p50 ms": ".2f", "p99 ms": ".2f", "recall@10": ".3f",
}  # fmt: skip
"""The columns of the table, each with its number format, in the order of the fields of a figure."""


def report(grown: Sequence[Grown]) -> str:
    """Return the measured part of the document."""
    rows = [[format(value, form) for value, form in zip(row, COLUMNS.values(), strict=True)] for row in grown]
    return f"{this_machine()}.\n\n{markdown_table(list(COLUMNS), rows, left=0)}"


@program
def main() -> None:
    """Measure, and write the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), metavar="N")
    parser.add_argument("--work", type=Path, help="the folder for the indexes (default: a temporary folder)")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="the folder of figures.md")
    names = [method.name for method in METHODS]
    parser.add_argument("--methods", nargs="+", choices=names, default=names, help="measure only these methods")
    args = parser.parse_args()
    methods = [method for method in METHODS if method.name in args.methods]
    grown = []
    with tempfile.TemporaryDirectory(dir=args.work) as work:
        for row in (row for size in args.sizes for row in grown_to(size, data_folder(), Path(work), methods)):
            say(f"{row.passages:,} {row.method}: p50 {row.p50:.2f} ms, recall {row.recall:.3f}")
            grown.append(row)
    write(report(grown) + "\n")
    if methods == list(METHODS):  # a run of only some methods prints its figures alone
        replace_marked(args.docs / "figures.md", "growth", report(grown))


if __name__ == "__main__":
    sys.exit(main())
