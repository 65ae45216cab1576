"""The multilingual encoder beside the English one: ``python -m benchmarks.multilingual``, of ``make bench-quality``.

Where ``FACTSEEK_DATA`` names the folder of the public collections: the processor time of a query beside the English
model's, in turns; the memory of a server's worker that holds it; and nDCG@10 of its int8 vectors beside those in
float32, over XQuAD-R in Arabic. Writes the table into ``docs/indexing.md``.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from time import process_time

from benchmarks.collection import Collection, beir
from benchmarks.data_folder import data_folder
from benchmarks.encoding import exact_ndcg, our_ndcg
from benchmarks.fusion_rankings import BOTH, cases
from benchmarks.load import load, post
from benchmarks.marked import replace_marked
from benchmarks.quality import ROOT, indexed
from benchmarks.rows import RatioBounds, Row, below, in_turns, table, within
from benchmarks.serving import resident, serve, workers
from factseek.retrieval.config import EncoderSettings
from factseek.retrieval.encoder import Encoder
from factseek.retrieval.encoders.runtime import open_encoder
from factseek.retrieval.errors import FactseekError
from factseek.retrieval.terminal import say

ENGLISH, MULTILINGUAL = BOTH
ARABIC = "XQuAD-R ar"
A_ROUND, ROUNDS = 20, 9
SECONDS = 10.0


def main() -> int:
    """Measure, print the table, write it into the document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, default=ROOT / "bench" / "quality", help="keeps indexes")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="where indexing.md is")
    args = parser.parse_args()
    try:
        data = data_folder()
        (case,) = (case for case in cases(data, args.work) if case.name == ARABIC)
        folder = indexed(case.collection, args.work)
        arabic = beir(ARABIC, data / "xquad-r" / "ar", "test")
        claims = list(beir("SciFact", data / "scifact", "train").queries.values())
        rows = [_query_time(claims), _worker(folder, args.work, arabic), _quality(folder, arabic)]
    except FactseekError as error:
        say(f"benchmarks.multilingual: {error.line}")
        return 2
    sys.stdout.write(table(rows))
    replace_marked(args.docs / "indexing.md", "multilingual", table(rows))
    return 0


def _query_time(claims: Sequence[str]) -> Row:
    """Measure the processor time of a claim, encoded by either model on one thread; a first round warms up."""
    rounds = [claims[first : first + A_ROUND] for first in range(0, A_ROUND * (ROUNDS + 1), A_ROUND)]
    times: dict[str, list[float]] = {ENGLISH: [], MULTILINGUAL: []}
    encoders = {name: open_encoder(EncoderSettings(model=name, threads=1)) for name in times}
    for some in rounds:
        for name, encoder in encoders.items():
            times[name].append(statistics.median(_milliseconds(encoder, claim) for claim in some))
    for encoder in encoders.values():
        encoder.close()
    ours, theirs = times[MULTILINGUAL][1:], times[ENGLISH][1:]
    return in_turns("one query encoded, beside the English model", "ms", ours, theirs, RatioBounds(most=2.5))


def _milliseconds(encoder: Encoder, claim: str) -> float:
    began = process_time()
    encoder.encode_query([claim])
    return (process_time() - began) * 1000


def _worker(folder: Path, work: Path, collection: Collection) -> Row:
    """Measure the memory of a worker after it has answered hybrid searches for some seconds."""
    asked = [
        post("/v1/bench/search", json.dumps({"query": query, "k": 10}).encode())
        for query in list(collection.queries.values())[:300]
    ]
    with serve(folder, work, "workers: 1") as server:
        load(server.port, asked, 8, SECONDS)
        megabytes = max(resident(pid) for pid in workers(server))
    return below("resident a worker that holds it", "MB", megabytes, 750)


def _quality(folder: Path, collection: Collection) -> Row:
    """Compare dense retrieval by the index's vectors with exact search by those in float32."""
    with closing(open_encoder(EncoderSettings(model=MULTILINGUAL, precision="fp32"))) as encoder:
        vectors = encoder.encode_document([text for _, text in collection.documents])
        queries = encoder.encode_query(list(collection.queries.values()))
    ours, exact = our_ndcg(collection, folder), exact_ndcg(collection, queries, vectors)
    return within(f"dense retrieval, {collection.name}, beside float32", "nDCG@10", ours, exact, 0.005)


if __name__ == "__main__":
    sys.exit(main())
