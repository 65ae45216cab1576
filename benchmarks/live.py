"""What a living index costs: appending, updating and compacting 100,000 passages, and searching many segments."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from time import perf_counter

from benchmarks.rows import Row, below, table
from benchmarks.sampled import REAL, Sampler, noisy, real_vectors
from eval.batch import Asked
from eval.load import Load, Timings, measure
from eval.machine import this_machine
from indexer.build import Request, Verb, build
from retrieval.config import Config, RetrieverName, convert
from retrieval.encoder import open_encoder
from retrieval.index import Index, Search
from retrieval.java import java_thread
from retrieval.terminal import say, write

RETRIEVERS: tuple[RetrieverName, ...] = ("bm25", "dense", "hybrid")
SEGMENTS = 10
NO_COMPACTION = convert({"index": {"max_segments": 1000}}, "live")


class LiveBench:
    """Measures one index in the folder ``work``; ``passages`` is its size, a hundredth of which changes."""

    def __init__(self, data: Path, work: Path, passages: int) -> None:
        self._work = work
        self._passages = passages
        self._some = passages // 100
        self._sampler = Sampler(data)
        self._vectors = real_vectors(self._sampler, Config(), min(REAL, passages // 50))
        with (data / "scifact" / "queries.jsonl").open(encoding="utf-8") as lines:
            self._queries = [json.loads(line)["text"] for line in lines][:300]

    def rows(self) -> Iterator[Row]:
        """Measure everything, in order."""
        index = self._work / "index"
        whole = self._sampler.write(self._work / "whole.jsonl", 0, self._passages)
        with noisy(self._vectors):
            full = self._timed(index, whole, "", Config())
        full += self._passages / self._rate()
        yield self._update(index, full)
        yield self._append(index)
        yield from self._many_segments()
        yield from self._compaction(self._work / "many")

    def _rate(self) -> float:
        """Return how many texts are encoded a second."""
        texts = [text for _, text in self._sampler.texts(0, 300)]
        with closing(open_encoder(Config().encoder)) as encoder:
            encoder.encode_document(texts[:20])
            began = perf_counter()
            encoder.encode_document(texts)
            return len(texts) / (perf_counter() - began)

    def _update(self, index: Path, full: float) -> Row:
        """Update all documents, of which a hundredth has changed, with the real encoder."""
        source = self._work / "changed.jsonl"
        with source.open("w", encoding="utf-8") as file:
            for number, (docid, text) in enumerate(self._sampler.texts(0, self._passages)):
                changed = " It has changed." if number % 100 == 0 else ""
                file.write(json.dumps({"docid": docid, "text": text + changed}) + "\n")
        seconds = self._timed(index, source, "update", NO_COMPACTION)
        what = f"update of {self._passages:,} passages, 1 % changed, against the full build ({full:.0f} s)"
        return below(what, "share", seconds / full, 0.1)

    def _append(self, index: Path) -> Row:
        """Append a hundredth, with the real encoder, against indexing it alone."""
        alone, appended = [], []
        for turn in range(3):
            source = self._sampler.write(self._work / f"new{turn}.jsonl", self._passages * (turn + 2), self._some)
            alone.append(self._timed(self._work / f"alone{turn}", source, "", Config()))
            appended.append(self._timed(index, source, "append", NO_COMPACTION))
        ratio = statistics.median(appended) / statistics.median(alone)
        what = f"append {self._some:,} passages to {self._passages:,}, against indexing them alone"
        return below(what, "times the seconds", ratio, 1.3)

    def _many_segments(self) -> Iterator[Row]:
        """Search ten segments against one, ten hits."""
        part = self._passages // SEGMENTS
        with noisy(self._vectors):
            for number in range(SEGMENTS):
                source = self._sampler.write(self._work / "part.jsonl", number * part, part)
                self._timed(self._work / "many", source, "append" if number else "", NO_COMPACTION)
            source = self._sampler.write(self._work / "part.jsonl", 0, part * SEGMENTS)
            self._timed(self._work / "one", source, "", NO_COMPACTION)
        for retriever in RETRIEVERS:
            many, one = (self._load(self._work / name, retriever).latencies[0].p50 for name in ("many", "one"))
            what = f"{retriever} over {SEGMENTS} segments against one ({one:.2f} ms), {self._passages:,} passages, k=10"
            yield below(what, "times the p50", many / one, 2.0)

    def _compaction(self, index: Path) -> Iterator[Row]:
        """Compact in a process of its own while this one searches."""
        usual = self._p99(index, lambda: False)
        compacting = subprocess.Popen(
            [sys.executable, "-m", "factseek", "compact", "--index", str(index)], stdout=subprocess.DEVNULL
        )
        peak = _Peak(compacting.pid)
        meanwhile = self._p99(index, lambda: compacting.poll() is None)
        if compacting.wait():
            raise RuntimeError("the compaction failed")
        what = f"compaction of {self._passages:,} passages in {SEGMENTS} segments"
        yield below(f"{what}, peak memory", "MB", peak.megabytes(), 1000)
        yield below(f"{what}, a reader's p99 meanwhile against {usual:.1f} ms", "times", meanwhile / usual, 2.0)

    def _p99(self, index: Path, goes_on: Callable[[], bool]) -> float:
        """Return the p99 of hybrid searches in milliseconds, of at least 600 and as long as it goes on."""
        taken: list[float] = []
        with java_thread(), Index(index) as opened:
            while goes_on() or len(taken) < 2 * len(self._queries):
                for query in self._queries:
                    began = perf_counter()
                    opened.search([query], Search(k=10, retriever="hybrid"))
                    taken.append(perf_counter() - began)
        return statistics.quantiles(taken[50:], n=100)[98] * 1000

    def _load(self, index: Path, retriever: RetrieverName) -> Timings:
        asked = tuple(Asked(str(number), query, None) for number, query in enumerate(self._queries))
        return measure(
            Load(
                index=str(index),
                config=Config(),
                retriever=retriever,
                profile=None,
                asked=asked,
                k=10,
                timed=3 * len(asked),  # enough to warm Java
                callers=(1,),
            )
        )

    def _timed(self, index: Path, source: Path, verb: Verb, config: Config) -> float:
        began = perf_counter()
        build(Request(kind="jsonl", sources=(source,), folder=index, verb=verb), config)
        return perf_counter() - began


class _Peak:
    """The most memory that a process has had resident, watched while it lives."""

    def __init__(self, process: int) -> None:
        self._status = Path(f"/proc/{process}/status")
        self._kilobytes = 0
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def _watch(self) -> None:
        done = threading.Event()
        while not done.wait(0.05):
            try:
                text = self._status.read_text("utf-8")
            except OSError:
                return
            found = next((line.split()[1] for line in text.splitlines() if line.startswith("VmHWM:")), "0")
            if found == "0":
                return
            self._kilobytes = int(found)

    def megabytes(self) -> float:
        """Return the peak, once the process has ended."""
        self._thread.join(5)
        return self._kilobytes * 1024 / 1e6


def main() -> int:
    """Measure, print a table; return 1 if a target was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--passages", type=int, default=100_000, metavar="N")
    args = parser.parse_args()
    data = os.environ.get("FACTSEEK_DATA")
    if not data:
        say("FACTSEEK_DATA is not set: nothing can be sampled, nothing is measured")
        return 0
    rows = []
    with tempfile.TemporaryDirectory() as work:
        for row in LiveBench(Path(data), Path(work), args.passages).rows():
            say(f"{row.what}: {row.value:.4g} ({row.target})")
            rows.append(row)
    write(f"{this_machine()}\n\n{table(rows)}\n")
    say("vectors of real passages with noise stand for encoding, but where what is encoded is measured")
    return 0 if all(row.met for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
