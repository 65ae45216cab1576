"""Measure the speed of learned sparse retrieval on SciFact: ``python -m benchmarks.impacts``.

splade-tiny weighs passages and queries beside sentence-transformers' ``SparseEncoder`` in torch, in
turns and with the same number of threads. Searches for ten hits alternate with those of BM25, one
query a call. ``--write`` puts the table into ``docs/figures.md``.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from benchmarks.data import Collection, beir, data_folder
from benchmarks.measuring import (
    ROOT,
    WRITE,
    Bounds,
    Row,
    alone,
    in_turns,
    program,
    publish,
    rate_in_turns,
    table,
)
from factseek import Config, Search, open_index
from factseek.core.terminal import say
from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.config import ImpactSettings
from factseek.retrieval.encoders.runtime import available_cores
from factseek.retrieval.encoders.sources import SPARSE_NOUN, SPLADE_TINY, find_model
from factseek.retrieval.sparse.encoder import SparseEncoder, open_sparse_encoder
from factseek.retrieval.store.manifest import IMPACTS

INDEX = ROOT / "bench" / "impacts" / "scifact"
PASSAGES, QUERIES = 96, 200
"""The number of passages and of queries of a round."""
BATCH = 32  # sentence-transformers' default
TARGETS = {
    "passages": Bounds(least=120),
    "queries": Bounds(least=1_000),
    "share": Bounds(least=0.5),
}
"""Passages and queries a second that the model weighs, and the share of the rate of BM25."""


@program(WRITE)
def main(args: argparse.Namespace) -> None:
    """Build the index if it is missing, measure, and print the table."""
    collection = beir("SciFact", data_folder() / "scifact", "train")
    config = Config(impact=ImpactSettings(model=SPLADE_TINY))
    if not INDEX.exists():
        say("SciFact: indexing")
        build(
            BuildRequest(
                kind="beir",
                sources=(collection.source,),
                folder=INDEX,
                views=(IMPACTS,),
                dense=False,
            ),
            config,
        )
    with closing(open_sparse_encoder(config.impact)) as encoder:
        rows = weighing(encoder, collection)
    rows += searching(INDEX, list(collection.queries.values()), config)
    cores = available_cores()
    publish("impacts", f"{cores} threads.\n\n{table(rows)}", document=args.write)


def weighing(encoder: SparseEncoder, collection: Collection) -> list[Row]:
    """Return the rates at which the model weighs passages and queries, beside those of
    sentence-transformers.
    """
    import torch
    from sentence_transformers import SparseEncoder as Peer

    torch.set_num_threads(available_cores())
    folder = find_model(SPLADE_TINY, SPARSE_NOUN).path
    peer: Any = Peer(str(folder), device="cpu", local_files_only=True)
    # From the whole collection: its first passages need not be as long as the others.
    step = len(collection.documents) // PASSAGES
    passages = [text for _, text in collection.documents[::step]][:PASSAGES]
    queries = list(collection.queries.values())[:QUERIES]
    rows = []
    for what, texts, theirs in (
        ("passages", passages, peer.encode_document),
        ("queries", queries, peer.encode_query),
    ):
        in_torch = partial(theirs, texts, batch_size=BATCH, show_progress_bar=False)
        ours, others = rate_in_turns(len(texts), (partial(weigh, encoder, texts), in_torch))
        rows += [
            alone(f"{what} weighed", "a second", statistics.median(ours), TARGETS[what]),
            in_turns(f"{what} weighed, beside torch", "a second", ours, others),
        ]
    return rows


def weigh(encoder: SparseEncoder, texts: Sequence[str]) -> None:
    """Weigh the terms of texts on all threads."""
    for _ in encoder.weigh_documents_stream(texts):
        pass


def searching(folder: Path, queries: Sequence[str], config: Config) -> list[Row]:
    """Return the rates of searches for ten hits, beside those of BM25."""
    rows = []
    for way in ("idf", "model"):
        with open_index(
            folder, replace(config, impact=replace(config.impact, queries=way))
        ) as index:
            runs: list[Callable[[], None]] = [
                partial(search_each, index, queries[:QUERIES], retriever)
                for retriever in ("impact", "bm25")
            ]
            ours, words = rate_in_turns(len(queries[:QUERIES]), runs)
        target = TARGETS["share"] if way == "idf" else Bounds()
        rows.append(
            in_turns(f"searches, queries by {way}, beside BM25", "a second", ours, words, target)
        )
    return rows


def search_each(index: Any, queries: Sequence[str], retriever: str) -> None:
    """Search for each query alone."""
    search = Search(retriever=retriever, k=10)
    for query in queries:
        index.search([query], search)


if __name__ == "__main__":
    sys.exit(main())
