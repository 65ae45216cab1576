"""Measure the quality and speed of sparse, dense, learned sparse and hybrid retrieval: ``python -m
benchmarks.quality``.

The collections are the bundled example and, if ``FACTSEEK_DATA`` names their folder, SciFact,
NFCorpus and CheckThat! 2020 task 2. The program prints the table, and writes it with its plot into
``docs/figures.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path
from typing import NamedTuple

from benchmarks.measuring import ROOT, program, publish
from factseek import Config, IndexStateError, open_index
from factseek.core.files import write_atomically
from factseek.core.terminal import say
from factseek.core.text import ProfileName
from factseek.eval.bench.bench import Bench, as_markdown, bench, plot
from factseek.eval.run.batch import JudgedFiles, read_judged
from factseek.eval.scoring.tables import markdown_table
from factseek.indexer.build import BuildRequest, Verb, build, describe
from factseek.indexer.compaction import compact
from factseek.retrieval.config import ImpactSettings
from factseek.retrieval.encoders.sources import SPLADE_TINY
from factseek.retrieval.store import manifest as manifests
from factseek.retrieval.store.manifest import IMPACTS

WORK = ROOT / "bench" / "quality"
"""The folder that keeps the indexes, rankings and bench.json."""
RETRIEVERS = ("bm25", "dense", "impact", "hybrid")
MEASURES = ("nDCG@10", "R@100", "AP", "RR@10")


class BenchCollection(NamedTuple):
    """A collection with its sources by kind.

    ``encoders`` make its vectors, by default the encoder of the language. ``impacts`` is the sparse
    model that weighs the terms of its passages; ``""`` for none.
    """

    name: str
    steps: tuple[tuple[str, Path], ...]
    queries: Path
    qrels: Path
    profile: ProfileName = "plain"
    measures: tuple[str, ...] = ()
    language: str = "en"
    encoders: tuple[str, ...] = ()
    impacts: str = ""


@program(
    (
        "--timed",
        {
            "type": int,
            "default": 500,
            "help": "the searches to time, with one caller and with eight",
        },
    )
)
def main(args: argparse.Namespace) -> None:
    """Build missing indexes, measure, print the table, and write the document."""
    data = os.environ.get("FACTSEEK_DATA")
    if not data:
        say("FACTSEEK_DATA is not set: measured on the example alone")
    benches = []
    for collection in (example(), *(public(Path(data)) if data else ())):
        files = JudgedFiles(
            task="trec",
            queries=collection.queries,
            qrels=collection.qrels,
            profile=collection.profile,
        )
        asked = {
            "retrievers": RETRIEVERS,
            "measures": (*MEASURES, *collection.measures),
            "timed": args.timed,
        }
        with open_index(indexed(collection)) as index:
            say(f"{collection.name}: measuring")
            benches.append(bench(index, read_judged(files, index), name=collection.name, **asked))
    content = (
        json.dumps([result.as_json() for result in benches], ensure_ascii=False, indent=2) + "\n"
    )
    write_atomically(WORK / "bench.json", content.encode())
    write_atomically(ROOT / "docs" / "benchmark.png", plot(benches))
    header = (
        "collection",
        "retriever",
        *MEASURES,
        "p50 ms",
        "p99 ms",
        "queries/s",
        "queries/s, 8 callers",
    )
    summary = markdown_table(header, [row for result in benches for row in _rows(result)], left=2)
    sections = "".join(f"\n### {result.name}\n\n{as_markdown(result)}" for result in benches)
    picture = "![quality against latency](benchmark.png)\n"
    publish("quality", f"{benches[0].machine}.\n\n{summary}\n{picture}{sections}")


def example() -> BenchCollection:
    """Return the English part of the bundled example."""
    folder = ROOT / "examples"
    steps = (
        ("snippets", folder / "snippets-en.tsv"),
        ("webpages", folder / "pages-en"),
        ("cord19", folder / "cord19"),
    )
    return BenchCollection(
        "bundled example",
        steps,
        folder / "queries-en.tsv",
        folder / "qrels-en.txt",
        impacts=SPLADE_TINY,
    )


def public(data: Path) -> list[BenchCollection]:
    """Return the public collections of a folder."""
    claims = data / "ct2020-task2"
    return [
        *(
            BenchCollection(
                f"{name}, {split}",
                (("beir", folder),),
                folder / "queries.jsonl",
                folder / "qrels" / f"{split}.tsv",
                impacts=SPLADE_TINY,
            )
            for name, folder, split in (
                ("SciFact", data / "scifact", "train"),
                ("NFCorpus", data / "nfcorpus", "dev"),
            )
        ),
        BenchCollection(
            "CheckThat! 2020 task 2, dev",
            (("claims", claims / "verified_claims.docs.tsv"),),
            claims / "dev" / "tweets.queries.tsv",
            claims / "dev" / "tweet-vclaim-pairs.qrels",
            profile="tweet",
            measures=("AP@5",),
            impacts=SPLADE_TINY,
        ),
    ]


def _rows(bench: Bench) -> list[list[str]]:
    rows = []
    for measured in bench.measured:
        alone, eight = measured.timings.latencies
        values = [bench.quality.means[measure][measured.retriever] for measure in MEASURES]
        figures = [f"{value.mean:.3f} ({value.low:.3f}–{value.high:.3f})" for value in values]
        speed = [
            f"{alone.p50:.2f}",
            f"{alone.p99:.2f}",
            f"{alone.per_second:,.0f}",
            f"{eight.per_second:,.0f}",
        ]
        rows.append([bench.name, measured.retriever, *figures, *speed])
    return rows


def indexed(collection: BenchCollection) -> Path:
    """Return the folder of the collection's index; build it if its sources have changed, and add
    impacts if it lacks those of the collection.
    """
    name = " ".join((collection.name, *(collection.encoders and ("by", *collection.encoders))))
    folder = WORK / name.replace(" ", "-").replace(",", "").replace("!", "").lower()
    try:
        built = {(segment.kind, segment.sources) for segment in manifests.read(folder).segments}
    except IndexStateError:
        built = set()
    if built != {(kind, describe([source])) for kind, source in collection.steps}:
        say(f"{collection.name}: indexing")
        folder.parent.mkdir(parents=True, exist_ok=True)
        about = {"folder": folder, "language": collection.language, "encoders": collection.encoders}
        verb: Verb = "overwrite"
        for kind, source in collection.steps:
            build(BuildRequest(kind=kind, sources=(source,), verb=verb, **about), Config())
            verb = "append"
    if collection.impacts and IMPACTS not in manifests.read(folder).views:
        say(f"{collection.name}: weighing terms by {collection.impacts}")
        compact(folder, Config(impact=ImpactSettings(model=collection.impacts)), add=[IMPACTS])
    return folder


if __name__ == "__main__":
    sys.exit(main())
