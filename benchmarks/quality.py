"""Measure the quality and speed of sparse, dense and hybrid retrieval: ``python -m benchmarks.quality``.

The collections are the bundled example and, if ``FACTSEEK_DATA`` names their folder, SciFact, NFCorpus and CheckThat!
2020 task 2. The program prints the table, and writes it with its plot into ``docs/figures.md``.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.measuring import program, replace_marked
from factseek.eval.bench.bench import Bench, BenchRequest, as_markdown, bench, plot
from factseek.eval.run.judged import JudgedFiles, read_judged
from factseek.eval.scoring.tables import markdown_table
from factseek.indexer.build import BuildRequest, Verb, build
from factseek.indexer.sources import describe
from factseek.retrieval.errors import IndexStateError
from factseek.retrieval.files import write_atomically
from factseek.retrieval.search.index import open_index
from factseek.retrieval.store import manifest as manifests
from factseek.retrieval.terminal import say
from factseek.retrieval.text import ProfileName
from factseek.settings import Config

ROOT = Path(__file__).resolve().parent.parent
RETRIEVERS = ("bm25", "dense", "hybrid")
MEASURES = ("nDCG@10", "R@100", "AP", "RR@10")


class BenchCollection(NamedTuple):
    """A collection to measure: its sources by kind, its queries and judgements, and its own measures.

    ``encoders`` make its vectors; if it has none, the default encoder of its language does.
    """

    name: str
    steps: tuple[tuple[str, Path], ...]
    queries: Path
    qrels: Path
    profile: ProfileName = "plain"
    measures: tuple[str, ...] = ()
    language: str = "en"
    encoders: tuple[str, ...] = ()


@program
def main() -> None:
    """Build missing indexes, measure, print the table, and write the document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--work", type=Path, default=ROOT / "bench" / "quality", help="the folder that keeps the indexes and bench.json"
    )
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="the folder of figures.md and its plot")
    parser.add_argument(
        "--timed", type=int, default=500, help="the number of searches to time, with one caller and with eight"
    )
    args = parser.parse_args()
    data = os.environ.get("FACTSEEK_DATA")
    if not data:
        say("FACTSEEK_DATA is not set: measured on the example alone")
    benches = [
        _measured(collection, args.work, args.timed)
        for collection in (example(), *(public(Path(data)) if data else ()))
    ]
    sys.stdout.write(summary(benches))
    content = json.dumps([result.as_json() for result in benches], ensure_ascii=False, indent=2) + "\n"
    write_atomically(args.work / "bench.json", content.encode())
    write_atomically(args.docs / "benchmark.png", plot(benches))
    sections = "".join(f"\n### {result.name}\n\n{as_markdown(result)}" for result in benches)
    picture = "![quality against latency](benchmark.png)\n"
    text = f"{benches[0].machine}.\n\n{summary(benches)}\n{picture}{sections}"
    replace_marked(args.docs / "figures.md", "quality", text)


def example() -> BenchCollection:
    """Return the English part of the bundled example."""
    folder = ROOT / "examples"
    steps = (("snippets", folder / "snippets-en.tsv"), ("webpages", folder / "pages-en"), ("cord19", folder / "cord19"))
    return BenchCollection("bundled example", steps, folder / "queries-en.tsv", folder / "qrels-en.txt")


def public(data: Path) -> list[BenchCollection]:
    """Return the public collections of a folder."""
    scifact, nfcorpus, claims = data / "scifact", data / "nfcorpus", data / "ct2020-task2"
    return [
        BenchCollection(
            "SciFact, train", (("beir", scifact),), scifact / "queries.jsonl", scifact / "qrels" / "train.tsv"
        ),
        BenchCollection(
            "NFCorpus, dev", (("beir", nfcorpus),), nfcorpus / "queries.jsonl", nfcorpus / "qrels" / "dev.tsv"
        ),
        BenchCollection(
            "CheckThat! 2020 task 2, dev",
            (("claims", claims / "verified_claims.docs.tsv"),),
            claims / "dev" / "tweets.queries.tsv",
            claims / "dev" / "tweet-vclaim-pairs.qrels",
            profile="tweet",
            measures=("AP@5",),
        ),
    ]


def summary(benches: Sequence[Bench]) -> str:
    """Return one table with the figures of all collections."""
    header = ("collection", "retriever", *MEASURES, "p50 ms", "p99 ms", "queries/s", "queries/s, 8 callers")
    return markdown_table(header, _rows(benches), left=2)


def _rows(benches: Sequence[Bench]) -> list[list[str]]:
    rows = []
    for of, measured in ((one, measured) for one in benches for measured in one.measured):
        alone, eight = measured.timings.latencies
        values = [of.quality.means[measure][measured.retriever] for measure in MEASURES]
        figures = [f"{value.mean:.3f} ({value.low:.3f}–{value.high:.3f})" for value in values]
        speed = [f"{alone.p50:.2f}", f"{alone.p99:.2f}", f"{alone.per_second:,.0f}", f"{eight.per_second:,.0f}"]
        rows.append([of.name, measured.retriever, *figures, *speed])
    return rows


def _measured(collection: BenchCollection, work: Path, timed: int) -> Bench:
    folder = indexed(collection, work)
    say(f"{collection.name}: measuring")
    with open_index(folder) as index:
        files = JudgedFiles(task="trec", queries=collection.queries, qrels=collection.qrels, profile=collection.profile)
        request = BenchRequest(
            name=collection.name, retrievers=RETRIEVERS, measures=(*MEASURES, *collection.measures), timed=timed
        )
        return bench(index, read_judged(files, index), request)


def indexed(collection: BenchCollection, work: Path) -> Path:
    """Return the folder of the collection's index in ``work``; build it if its sources have changed."""
    name = " ".join((collection.name, *(collection.encoders and ("by", *collection.encoders))))
    folder = work / name.replace(" ", "-").replace(",", "").replace("!", "").lower()
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
    return folder


if __name__ == "__main__":
    sys.exit(main())
