"""Measure factseek beside Pyserini and sentence-transformers, in one run: ``make bench``.

On SciFact and NFCorpus where ``FACTSEEK_DATA`` names the folder that holds them, and on the bundled example.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

from benchmarks import encoding, serving, sparse
from benchmarks.collection import beir, example
from benchmarks.marked import replace_marked
from benchmarks.parts import part
from benchmarks.rows import Row, below, table

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "indexes" / "example-en"
CLAIM = "Vaccination has nearly wiped out measles"


def main() -> int:
    """Measure, print a table, write ``peers.json``; return 1 if a target was missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "bench")
    parser.add_argument("--quick", action="store_true", help="leave out what takes minutes")
    parser.add_argument("--write", action="store_true", help="put the table into docs/figures.md")
    args = parser.parse_args()
    began = perf_counter()
    rows = list(_reported(start_up()))
    data = os.environ.get("FACTSEEK_DATA")
    if not data:
        sys.stderr.write("FACTSEEK_DATA is not set: measured on the example alone\n")
    with tempfile.TemporaryDirectory() as folder:
        peer = encoding.peer()
        if data:
            rows += _reported(_collections(Path(data), Path(folder), peer, quick=args.quick))
        rows += _reported(_example(Path(folder), peer))
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    measured = (
        f"{table(rows)}\n\n{machine()}; {perf_counter() - began:.0f} s in all, "
        f"{peak:,.0f} MB peak resident with all peers loaded."
    )
    sys.stdout.write(measured + "\n")
    if args.write:
        replace_marked(ROOT / "docs" / "figures.md", "peers", measured)
    args.output.mkdir(parents=True, exist_ok=True)
    report = {"machine": machine(), "rows": [row._asdict() for row in rows]}
    (args.output / "peers.json").write_text(json.dumps(report, indent=2) + "\n", "utf-8")
    return 0 if all(row.met for row in rows) else 1


def start_up(rounds: int = 5) -> list[Row]:
    """Measure a search in a new process, on the bundled example."""
    return [
        below("factseek search, new process, hybrid", "s", _seconds_of_search("hybrid", rounds), 1.0),
        below("factseek search, new process, bm25", "s", _seconds_of_search("bm25", rounds), 0.6),
    ]


def machine() -> str:
    """Describe this machine."""
    model = platform.processor() or platform.machine()
    with Path("/proc/cpuinfo").open(encoding="utf-8") as lines:
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), model)
    return f"{os.cpu_count()} cores of {model}, Python {platform.python_version()}, {platform.system()}"


def _reported(rows: Iterable[Row]) -> Iterator[Row]:
    """Print each figure as soon as it is measured, and yield it."""
    for row in rows:
        sys.stderr.write(f"{row.what}: {row.value:.4g} ({row.target})\n")
        yield row


def _collections(data: Path, work: Path, peer: Any, *, quick: bool) -> Iterator[Row]:
    scifact = beir("SciFact", data / "scifact", "train")
    nfcorpus = beir("NFCorpus", data / "nfcorpus", "dev")
    arabic = beir("XQuAD-R ar", data / "xquad-r" / "ar", "test")
    with part("BM25"):
        yield from sparse.searching(scifact, work)
        yield from sparse.indexing(scifact, work)
        yield from sparse.memory(scifact, work)
        for collection, language in ((scifact, "en"), (nfcorpus, "en"), (arabic, "ar")):
            yield from sparse.agreement(collection, work, language)
    yield from encoding.single_queries(scifact, peer)
    if quick:
        return
    with part("encoding SciFact"):
        yield from encoding.exported_documents(scifact, peer, work)
    with part("serving"):
        yield from serving.serving(scifact, work)
    with part("encoding NFCorpus"):
        yield from encoding.exported_documents(nfcorpus, peer, work)
    with part("a living index"):
        yield from _live(data)


def _live(data: Path) -> Iterator[Row]:
    """Measure a living index in a process of its own, where no peer has warmed or filled anything."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.live", "--json"],
        stdout=subprocess.PIPE,
        check=False,
        cwd=ROOT,
        env={**os.environ, "FACTSEEK_DATA": str(data.resolve())},
    )
    if not done.stdout:
        raise SystemExit("measuring a living index failed")
    yield from (Row(**row) for row in json.loads(done.stdout))


def _example(work: Path, peer: Any) -> list[Row]:
    """Measure the bundled example, which is so small that fixed costs show."""
    collection = example(ROOT / "examples", EXAMPLE, work / "example")
    rows = sparse.searching(collection, work, (10,)) + sparse.agreement(collection, work)
    return rows + encoding.single_queries(collection, peer) + encoding.documents(collection, peer, work)


def _seconds_of_search(retriever: str, rounds: int) -> float:
    command = [sys.executable, "-m", "factseek", "search", CLAIM, "--index", str(EXAMPLE), "--retriever", retriever]
    times = []
    for _ in range(rounds):
        began = perf_counter()
        subprocess.run([*command, "--json"], check=True, capture_output=True, cwd=ROOT)
        times.append(perf_counter() - began)
    return statistics.median(times)


if __name__ == "__main__":
    sys.exit(main())
