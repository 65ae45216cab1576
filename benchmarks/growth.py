"""Measure the growth of an index from 10,000 to 1,000,000 passages: build time, disk, opening,
memory and latency.

``python -m benchmarks.growth`` writes its table into docs/figures.md. It needs ``FACTSEEK_DATA``.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import mean
from timeit import timeit

from benchmarks.data import Sampler, data_folder, noisy, objects, real_vectors, write_objects
from benchmarks.measuring import program, publish
from factseek import Config, Search, open_index
from factseek.core.settings import to_mapping, view
from factseek.core.terminal import say
from factseek.eval.bench.load import Load, measure
from factseek.eval.run.batch import SearchQuery
from factseek.eval.scoring.machine import this_machine
from factseek.eval.scoring.tables import markdown_table
from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.config import Config as RetrievalConfig
from factseek.retrieval.search.index import Index
from factseek.retrieval.store import manifest as manifests
from factseek.settings import convert

QUERIES = 300
METHODS = {
    "bm25": ("bm25", "flat"),
    "dense, flat": ("dense", "flat"),
    "dense, auto": ("dense", "auto"),
    "hybrid, flat": ("hybrid", "flat"),
    "hybrid, auto": ("hybrid", "auto"),
}
"""The ways to search: the retriever, and the type of its dense index."""
UNNEEDED = {"bm25": ("vectors.", "ann."), "dense": ("lucene",), "hybrid": ()}
"""For each retriever, the prefixes of the files that it does not read."""
COLUMNS = {
    "passages": ",",
    "": "",
    "build s": ",.0f",
    "bytes a passage": ",.0f",
    "first answer s": ".2f",
    "peak MB": ",.0f",
    "p50 ms": ".2f",
    "p99 ms": ".2f",
    "recall@10": ".3f",
    "after a change ms": ".0f",
}
"""The columns of the table, each with its number format; the first ten hits of the flat index count
as relevant.
"""


def grown_to(
    passages: int, data: Path, folder: Path, methods: Sequence[str]
) -> Iterator[list[str]]:
    """Build the indexes of a size, yield the line of every method, and remove the indexes."""
    sampler = Sampler(data)
    queries = [row["text"] for row in objects(data / "scifact" / "queries.jsonl")][:QUERIES]
    asked = tuple(SearchQuery(str(number), query, None) for number, query in enumerate(queries))
    with tempfile.TemporaryDirectory(dir=folder) as there, noisy(real_vectors(sampler, Config())):
        work = Path(there)
        source = sampler.write(work / "documents.jsonl", passages)
        segments, found = {}, {}
        for kind in dict.fromkeys(("flat", *(METHODS[name][1] for name in methods))):
            request = BuildRequest(kind="jsonl", sources=(source,), folder=work / kind)
            segments[kind] = build(request, _config(kind)).manifest.segments
            say(f"{passages:,} {kind}: built")
            with open_index(work / kind, _config(kind)) as index:
                results = index.search(queries, Search(k=10, retriever="dense"))
            found[kind] = [{hit.docid for hit in hits} for hits in results]
        for name in methods:
            retriever, kind = METHODS[name]
            seconds = sum(
                segment.text_seconds + (retriever != "bm25") * segment.vector_seconds
                for segment in segments[kind]
            )
            files = (
                item
                for segment in manifests.read(work / kind).segments
                for item in segment.files.items()
            )
            size = sum(
                info.bytes for file, info in files if not file.startswith(UNNEEDED[retriever])
            )
            settings = to_mapping(view(_config(kind), RetrievalConfig))
            of_load = {
                "profile": None,
                "queries": asked,
                "k": 10,
                "timed": len(asked),
                "callers": (1,),
            }
            timings = measure(
                Load(index=str(work / kind), config=settings, retriever=retriever, **of_load)
            )
            (alone,) = timings.latencies
            recall = mean(
                len(hits & best) / len(best)
                for best, hits in zip(found["flat"], found[kind], strict=True)
            )
            row = (
                passages,
                name,
                seconds,
                size / passages,
                timings.first_answer,
                timings.peak_megabytes,
            )
            changed = _after_change(work / kind, retriever, _config(kind))
            figures = zip(
                (*row, alone.p50, alone.p99, recall, changed), COLUMNS.values(), strict=True
            )
            yield [format(value, form) for value, form in figures]


def _after_change(folder: Path, retriever: str, config: Config) -> float:
    """Return the milliseconds of the slower of the first search and the first count after an update
    of one document.

    The process has searched and counted before, as a server's has.
    """

    def time_both(index: Index) -> float:
        search, count = Search(retriever=retriever), Search(retriever="bm25")
        calls = partial(index.search, ["measles"], search), partial(index.count, "measles", count)
        return 1000 * max(timeit(call, number=1) for call in calls)

    source = write_objects(
        folder.with_suffix(".jsonl"), [{"docid": "p0", "text": f"changed {retriever}"}]
    )
    with open_index(folder, config) as before:
        time_both(before)
        build(BuildRequest(kind="jsonl", sources=(source,), folder=folder, verb="update"), config)
        with open_index(folder, config) as index:
            return time_both(index)


def _config(kind: str) -> Config:
    return convert({"dense": {"type": kind}, "java": {"heap": "1g"}}, "growth")


@program(
    (
        "--sizes",
        {"type": int, "nargs": "+", "default": [10_000, 100_000, 1_000_000], "metavar": "N"},
    ),
    ("--work", {"type": Path, "help": "the folder for the indexes (default: a temporary folder)"}),
    (
        "--methods",
        {
            "nargs": "+",
            "choices": METHODS,
            "default": list(METHODS),
            "help": "measure only these methods",
        },
    ),
)
def main(args: argparse.Namespace) -> None:
    """Measure, and write the document."""
    rows = []
    with tempfile.TemporaryDirectory(dir=args.work) as work:
        for row in (
            row
            for size in args.sizes
            for row in grown_to(size, data_folder(), Path(work), args.methods)
        ):
            say(
                ", ".join(
                    f"{name} {value}".strip() for name, value in zip(COLUMNS, row, strict=True)
                )
            )
            rows.append(row)
    report = f"{this_machine()}.\n\n{markdown_table(list(COLUMNS), rows, left=0)}"
    # A run of only some methods does not write its figures into the document.
    publish("growth", report, document=args.methods == list(METHODS))


if __name__ == "__main__":
    sys.exit(main())
