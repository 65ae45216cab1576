"""FAISS's compressed indexes beside the flat one: time, recall after exact scoring, size and build time of a segment.

``python -m benchmarks.quantizers`` rebuilds their table in docs/growth.md. It needs the folder ``FACTSEEK_DATA``. All
times are processor time of one thread, so that another program on the machine disturbs them little.
"""

from __future__ import annotations

import argparse
import os
import statistics
from collections.abc import Iterator, Sequence
from pathlib import Path
from time import process_time, thread_time
from typing import Any, NamedTuple

import numpy as np

from benchmarks.growth import DOCS, QUERIES
from benchmarks.marked import replace_marked
from benchmarks.sampled import NoisyEncoder, Sampler, Vectors, claims, real_vectors
from factseek.eval.reports.machine import this_machine
from factseek.eval.reports.page import markdown_table
from factseek.retrieval.encoders.runtime import open_encoder
from factseek.retrieval.terminal import say, write
from factseek.settings import Config

ROWS, SMALLER = 200_000, (25_000, 50_000, 100_000)
LISTS, TRAINED_ON, PROBES, RESCORED = 1_024, 100_000, (32, 96), (128, 512)
EXACT = ("Flat",)
WHOLE = ("SQfp16", "SQ8", "SQ6", "SQ4", "RaBitQ", "RaBitQfs", "PQ192x4fs")
"""Looked through from end to end, by the names of FAISS's factory."""
CLUSTERED = ("SQ8", "SQ4", "RaBitQ", "RaBitQfs", "PQ96x4fs", "PQ192x4fs")


class IndexFigures(NamedTuple):
    """The figures of an index: ``rescored`` candidates a query are scored anew from the vectors."""

    name: str
    rows: int
    rescored: int
    milliseconds: float
    recall: float
    megabytes: float
    build_seconds: float


class Clusters(NamedTuple):
    """The centres of clusters, and the seconds that it took to find them."""

    centres: Vectors
    seconds: float


class SegmentBench:
    """The vectors of one segment with what their nearest to each query are; measures indexes over them."""

    def __init__(self, vectors: Vectors, queries: Vectors) -> None:
        import faiss

        self._vectors, self._queries = vectors, queries
        self._nearest = faiss.knn(queries, vectors, 10, metric=faiss.METRIC_INNER_PRODUCT)[1]

    def measure(self, kind: str, *, coarse: Clusters | None = None) -> Iterator[IndexFigures]:
        """Yield the figures of the index that FAISS's factory makes of ``kind``, at each number of clusters visited.

        With ``coarse`` it is one of clusters, whose time counts.
        """
        import faiss

        rows, dimension = self._vectors.shape
        began = process_time()
        index = faiss.index_factory(dimension, kind, faiss.METRIC_INNER_PRODUCT)
        if coarse is not None:
            index.quantizer.add(coarse.centres)
        index.train(spread(self._vectors, TRAINED_ON))
        index.add(self._vectors)
        seconds = process_time() - began + (coarse.seconds if coarse is not None else 0)
        size = faiss.serialize_index(index).size / 1e6
        for probes in PROBES if coarse is not None else (0,):
            if probes:
                index.nprobe = probes
            for rescored in RESCORED if kind not in EXACT else (10,):
                name = f"{kind}, {probes} visited" if probes else kind
                yield IndexFigures(name, rows, rescored, *self._asked(index, rescored, kind), size, seconds)

    def _asked(self, index: Any, rescored: int, kind: str) -> tuple[float, float]:
        """Return the median milliseconds of a query and the recall of the ten nearest."""
        taken, right = [], 0
        for query, nearest in zip(self._queries, self._nearest, strict=True):
            began = thread_time()
            rows = index.search(query[np.newaxis], rescored)[1][0]
            if kind not in EXACT:
                rows = rows[rows >= 0]
                scores = self._vectors[rows].astype(np.float64) @ query.astype(np.float64)
                rows = rows[np.argsort(-scores)[:10]]
            taken.append(thread_time() - began)
            right += len(set(rows.tolist()) & set(nearest.tolist()))
        return statistics.median(taken) * 1000, right / self._nearest.size


def spread(vectors: Vectors, count: int) -> Vectors:
    """Return so many vectors, evenly spaced."""
    return vectors[np.linspace(0, len(vectors) - 1, min(count, len(vectors))).astype(np.int64)]


def measured(vectors: Vectors, queries: Vectors) -> Iterator[IndexFigures]:
    """Yield the figures of every index over a segment, and of those that ``auto`` chooses from at smaller sizes."""
    import faiss

    faiss.omp_set_num_threads(1)
    for rows in (*SMALLER, ROWS):
        segment = SegmentBench(vectors[:rows], queries)
        lists = min(LISTS, rows // 39)
        yield from segment.measure("Flat")
        yield from segment.measure(f"IVF{lists},PQ192x4fs", coarse=clusters(vectors[:rows], lists))
    coarse = clusters(vectors, LISTS)
    for kind in WHOLE:
        yield from segment.measure(kind)
    for kind in CLUSTERED[:-1]:
        yield from segment.measure(f"IVF{LISTS},{kind}", coarse=coarse)


def clusters(vectors: Vectors, lists: int) -> Clusters:
    """Return so many clusters of some vectors."""
    import faiss

    began = process_time()
    index = faiss.index_factory(vectors.shape[1], f"IVF{lists},Flat", faiss.METRIC_INNER_PRODUCT)
    index.train(spread(vectors, TRAINED_ON))
    return Clusters(index.quantizer.reconstruct_n(0, lists), process_time() - began)


def table(rows: Sequence[IndexFigures]) -> str:
    """Return the figures as a table."""
    header = ["index", "vectors", "scored anew", "ms a query", "recall@10", "MB", "build s"]
    cells = [
        [
            row.name,
            f"{row.rows:,}",
            str(row.rescored),
            f"{row.milliseconds:.2f}",
            f"{row.recall:.3f}",
            f"{row.megabytes:.0f}",
            f"{row.build_seconds:.1f}",
        ]
        for row in rows
    ]
    return f"{this_machine()}; processor time of one thread.\n\n{markdown_table(header, cells)}".rstrip("\n")


def _vectors(data: Path) -> tuple[Vectors, Vectors]:
    """Return the vectors of a segment, and of the queries."""
    config, sampler = Config(), Sampler(data)
    encoder = NoisyEncoder(open_encoder(config.encoder), real_vectors(sampler, config))
    texts = (text for _, text in sampler.texts(0, ROWS))
    vectors = np.concatenate(list(encoder.encode_documents_stream(texts, 2_000)))
    queries = encoder.encode_query(claims(data)[:QUERIES])
    encoder.close()
    return vectors, queries


def _reported(rows: Iterator[IndexFigures]) -> Iterator[IndexFigures]:
    for row in rows:
        say(f"{row.rows:,} {row.name}, {row.rescored}: {row.milliseconds:.2f} ms, recall {row.recall:.3f}")
        yield row


def main() -> None:
    """Measure, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--docs", type=Path, default=DOCS, help="the folder of growth.md")
    args = parser.parse_args()
    data = os.environ.get("FACTSEEK_DATA")
    if not data:
        say("FACTSEEK_DATA is not set: nothing can be sampled, nothing is measured")
        return
    done = table(list(_reported(measured(*_vectors(Path(data))))))
    write(done + "\n")
    replace_marked(args.docs / "growth.md", "quantizers", done)


if __name__ == "__main__":
    main()
