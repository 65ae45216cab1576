"""The cost of a living index: appending, updating and compacting 100,000 passages, and searching many segments.

One index of ten segments is built. It is compacted while it is searched. The compacted index of one segment is then
searched in turns with the ten, updated and appended to.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import closing
from itertools import product
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

from benchmarks.peak import Peak
from benchmarks.rows import Row, below, table
from benchmarks.sampled import Sampler, Vectors, noisy
from factseek.eval.reports.machine import this_machine
from factseek.indexer.build import BuildReport, BuildRequest, Verb, build
from factseek.indexer.snapshot import snapshot
from factseek.retrieval.encoders.runtime import open_encoder
from factseek.retrieval.index.local import open_index
from factseek.retrieval.java import java_thread
from factseek.retrieval.searcher import Search, Searcher
from factseek.retrieval.terminal import say, write
from factseek.settings import Config, convert

ASKED: dict[str, tuple[int, int]] = {"bm25": (300, 16), "dense": (150, 2), "hybrid": (150, 2)}
"""How many queries are asked of each index, how often; the first half of it is to warm up."""
SEGMENTS = 10
REAL = 300
"""Texts that are encoded: for the encoder's rate, and for the vectors that the others' are made of."""
TURNS = 2
NO_COMPACTION = convert({"index": {"max_segments": 1000}}, "live")


class _Built(NamedTuple):
    report: BuildReport
    seconds: float


class LiveBench:
    """Measures one index in the folder ``work``; ``passages`` is its size, a hundredth of which changes."""

    def __init__(self, data: Path, work: Path, passages: int) -> None:
        self._work = work
        self._passages = passages
        self._some = passages // 100
        self._sampler = Sampler(data)
        self._vectors, self._rate = _encoded(self._sampler)
        with (data / "scifact" / "queries.jsonl").open(encoding="utf-8") as lines:
            self._queries = [json.loads(line)["text"] for line in lines][:300]

    def rows(self) -> Iterator[Row]:
        """Measure everything, in order."""
        index, many = self._work / "index", self._work / "many"
        source = self._sampler.write(self._work / "whole.jsonl", 0, self._passages)
        part = {"index": {"max_segments": 1000, "segment_passages": self._passages // SEGMENTS}}
        with noisy(self._vectors):
            full = _timed(index, source, "", convert(part, "live")).seconds + self._passages / self._rate
        snapshot(index, many)
        yield from self._compaction(index)
        yield from self._many_segments(many, index)
        updated = self._updated(index)
        what = f"update of {self._passages:,} passages, 1 % changed"
        yield below(f"{what}: passages encoded", "passages", updated.report.passages, self._some)
        share = updated.seconds / full
        yield below(f"{what}, against the full build ({full:.0f} s, encoding included)", "share", share, 0.1)
        yield self._append(index)

    def _compaction(self, index: Path) -> Iterator[Row]:
        """Measure searches in this process while another one compacts."""
        with java_thread(), open_index(index) as opened:
            usual = self._p99(opened, lambda: False)
            settings = self._work / "flat.yaml"
            settings.write_text("dense: {type: flat}\n", "utf-8")
            command = [sys.executable, "-m", "factseek", "compact", "--index", str(index), "--config", str(settings)]
            compacting = subprocess.Popen(command, stdout=subprocess.DEVNULL)
            peak = Peak(compacting.pid)
            meanwhile = self._p99(opened, lambda: compacting.poll() is None)
            if compacting.wait():
                raise RuntimeError("the compaction failed")
        what = f"compaction of {self._passages:,} passages in {SEGMENTS} segments"
        yield below(f"{what}, peak memory", "MB", peak.megabytes(), 1000)
        yield below(f"{what}, a reader's p99 meanwhile against {usual:.1f} ms", "times", meanwhile / usual, 2.0)

    def _p99(self, opened: Searcher, goes_on: Callable[[], bool]) -> float:
        """Return the p99 of hybrid searches in milliseconds, of at least 600 and as long as it goes on."""
        taken: list[float] = []
        while goes_on() or len(taken) < 2 * len(self._queries):
            taken += [_seconds(opened, query, "hybrid") for query in self._queries]
        return statistics.quantiles(taken[50:], n=100)[98] * 1000

    def _many_segments(self, segmented: Path, compacted: Path) -> Iterator[Row]:
        """Search ten segments against one, ten hits: each query of both in turns, in one virtual machine.

        Both are searched exactly: of so many passages ``dense.type: auto`` would make an approximate index of the one.

        Each query counts at its fastest, so that what else the machine does weighs less.
        """
        with java_thread(), open_index(segmented) as ten_segments, open_index(compacted) as one_segment:
            for retriever, (some, rounds) in ASKED.items():
                queries = self._queries[:some]
                fastest = dict.fromkeys(queries, (math.inf, math.inf))
                for turn, query in product(range(rounds), queries):
                    taken = _seconds(ten_segments, query, retriever), _seconds(one_segment, query, retriever)
                    if turn >= rounds // 2:
                        fastest[query] = min(fastest[query][0], taken[0]), min(fastest[query][1], taken[1])
                ours, theirs = map(statistics.median, zip(*fastest.values(), strict=True))
                what = f"{retriever} over {SEGMENTS} segments against one ({theirs * 1000:.2f} ms)"
                yield below(f"{what}, {self._passages:,} passages, k=10", "times the p50", ours / theirs, 2.0)

    def _updated(self, index: Path) -> _Built:
        """Update all documents, of which a hundredth has changed, with the real encoder."""
        source = self._work / "changed.jsonl"
        with source.open("w", encoding="utf-8") as file:
            for number, (docid, text) in enumerate(self._sampler.texts(0, self._passages)):
                changed = " It has changed." if number % 100 == 0 else ""
                file.write(json.dumps({"docid": docid, "text": text + changed}) + "\n")
        return _timed(index, source, "update", NO_COMPACTION)

    def _append(self, index: Path) -> Row:
        """Append a hundredth, with the real encoder, against indexing it alone, in turns."""
        alone, appended = [], []
        for turn in range(TURNS):
            source = self._sampler.write(self._work / f"new{turn}.jsonl", self._passages * (turn + 2), self._some)
            alone.append(_timed(self._work / f"alone{turn}", source, "", Config()).seconds)
            appended.append(_timed(index, source, "append", NO_COMPACTION).seconds)
        ratio = statistics.median(appended) / statistics.median(alone)
        what = f"append {self._some:,} passages to {self._passages:,}, against indexing them alone"
        return below(what, "times the seconds", ratio, 1.3)


def _encoded(sampler: Sampler) -> tuple[Vectors, float]:
    """Return vectors of real texts, and how many texts were encoded a second."""
    texts = [text for _, text in sampler.texts(0, REAL)]
    with closing(open_encoder(Config().encoder)) as encoder:
        encoder.encode_document(texts[:20])
        began = perf_counter()
        vectors = encoder.encode_document(texts)
        return vectors, len(texts) / (perf_counter() - began)


def _seconds(opened: Searcher, query: str, retriever: str) -> float:
    began = perf_counter()
    opened.search([query], Search(k=10, retriever=retriever))
    return perf_counter() - began


def _timed(index: Path, source: Path, verb: Verb, config: Config) -> _Built:
    began = perf_counter()
    report = build(BuildRequest(kind="jsonl", sources=(source,), folder=index, verb=verb), config)
    return _Built(report, perf_counter() - began)


def main() -> int:
    """Measure, print a table; return 1 if a target was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=100_000, metavar="N")
    parser.add_argument("--json", action="store_true", help="print the rows as JSON")
    args = parser.parse_args()
    data = os.environ.get("FACTSEEK_DATA")
    if not data:
        say("FACTSEEK_DATA is not set: nothing can be sampled, nothing is measured")
        return 0
    rows, began = [], perf_counter()
    with tempfile.TemporaryDirectory() as work:
        for row in LiveBench(Path(data), Path(work), args.passages).rows():
            if not args.json:  # who reads that says so
                say(f"{row.what}: {row.value:.4g} ({row.target})")
            rows.append(row)
    if args.json:
        write(json.dumps([row._asdict() for row in rows]) + "\n")
    else:
        write(f"{table(rows)}\n\n{this_machine()}; {perf_counter() - began:.0f} s in all.\n")
    say("vectors of real passages with noise stand for encoding, but where what is encoded is measured")
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
