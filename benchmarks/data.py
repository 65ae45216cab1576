"""The data of the benchmarks: public collections, and a collection of any size sampled from them."""

from __future__ import annotations

import hashlib
import json
import os
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from factseek.eval.files.topics import read_topics
from factseek.indexer.passages import sentences
from factseek.retrieval.dense.encoder import Encoder
from factseek.retrieval.encoders.runtime import open_encoder
from factseek.retrieval.errors import UsageError
from factseek.retrieval.lucene.index import flat_text
from factseek.retrieval.records.trec import read_qrels
from factseek.retrieval.search.index import open_index
from factseek.settings import Config


def data_folder() -> Path:
    """Return the folder that ``FACTSEEK_DATA`` names.

    Raises UsageError if the variable is not set, or its folder does not exist.
    """
    folder = os.environ.get("FACTSEEK_DATA")
    if not folder:
        raise UsageError("FACTSEEK_DATA is not set: it names the folder of the public collections")
    if not Path(folder).is_dir():
        raise UsageError(f"FACTSEEK_DATA names {folder}, which is not a folder")
    return Path(folder)


class Collection(NamedTuple):
    """A collection; ``queries`` are the judged ones."""

    name: str
    source: Path
    documents: list[tuple[str, str]]
    queries: dict[str, str]
    qrels: dict[str, dict[str, int]]


def beir(name: str, source: Path, split: str) -> Collection:
    """Read a BEIR folder."""
    documents = [(document["_id"], _text(document)) for document in objects(source / "corpus.jsonl")]
    qrels = read_qrels(source / "qrels" / f"{split}.tsv")
    queries = {query["_id"]: query["text"] for query in objects(source / "queries.jsonl") if query["_id"] in qrels}
    return Collection(name, source, documents, queries, qrels)


def example(examples: Path, index: Path, folder: Path) -> Collection:
    """Write the bundled English example from its index into ``folder`` in BEIR's form, and read it."""
    folder.mkdir()
    with open_index(index) as opened, (folder / "corpus.jsonl").open("w", encoding="utf-8") as file:
        for document in opened.documents():
            record = {"_id": document.docid, "title": document.title, "text": document.text}
            file.write(json.dumps(record) + "\n")
    documents = [(record["_id"], _text(record)) for record in objects(folder / "corpus.jsonl")]
    queries = {query.qid: query.text for query in read_topics(examples / "queries-en.tsv")}
    return Collection("the example", folder, documents, queries, read_qrels(examples / "qrels-en.txt"))


def _text(document: dict[str, str]) -> str:
    return flat_text(document["title"], document["text"])


def objects(path: Path) -> list[dict[str, Any]]:
    """Return the JSON object of each line."""
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def ndcg10(collection: Collection, rankings: Mapping[str, Sequence[tuple[str, float]]]) -> float:
    """Return nDCG@10 over the judged queries; a query without a ranking counts 0."""
    import ir_measures

    run = {qid: dict(rankings.get(qid, ())) for qid in collection.queries}
    return float(ir_measures.calc_aggregate([ir_measures.nDCG @ 10], collection.qrels, run)[ir_measures.nDCG @ 10])


NOISE = 0.5
"""The length of the noise on a vector of unit length: the cosine to the real vector is about 0.89."""

REAL = 2_000
Vectors = NDArray[np.float32]


class Sampler:
    """Makes documents from sentences of real ones: each has two pairs of sentences, each pair from one document."""

    def __init__(self, data: Path) -> None:
        texts = (row["text"] for name in ("scifact", "nfcorpus") for row in objects(data / name / "corpus.jsonl"))
        parted = ([text[span.start : span.end] for span in sentences(text)] for text in texts)
        self._texts = [of_text for of_text in parted if len(of_text) > 1]

    def texts(self, first: int, count: int) -> Iterator[tuple[str, str]]:
        """Yield docid and text of the documents from number ``first`` on; the same number gives the same document."""
        for number in range(first, first + count):
            chance = random.Random(number)  # noqa: S311  a benchmark's chance
            parts = []
            for _ in range(2):
                texts = chance.choice(self._texts)
                start = chance.randrange(len(texts) - 1)
                parts += texts[start : start + 2]
            yield f"p{number}", " ".join(parts)

    def write(self, path: Path, first: int, count: int) -> Path:
        """Write documents as JSON lines."""
        with path.open("w", encoding="utf-8") as file:
            for docid, text in self.texts(first, count):
                file.write(json.dumps({"docid": docid, "text": text}) + "\n")
        return path


def claims(data: Path) -> list[str]:
    """Return the texts of SciFact's claims."""
    return [row["text"] for row in objects(data / "scifact" / "queries.jsonl")]


class NoisyEncoder:
    """Replaces an encoder of documents: a text always gets the same real passage's vector with noise."""

    def __init__(self, real: Encoder, vectors: Vectors) -> None:
        self._real = real
        self._vectors = vectors

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def encode_documents_stream(self, texts: Iterable[str], size: int) -> Iterator[Vectors]:
        """Encode documents as they arrive, ``size`` at a time."""
        rest = iter(texts)
        while chunk := list(islice(rest, size)):
            yield self.encode_document(chunk)

    def encode_document(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors of texts: shape (n, dimension), unit length."""
        made = np.stack([self._noisy_vector(text) for text in texts])
        return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)

    def _noisy_vector(self, text: str) -> Vectors:
        seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")
        noise = np.random.default_rng(seed).standard_normal(self._vectors.shape[1], dtype=np.float32)
        return self._vectors[seed % len(self._vectors)] + noise * np.float32(NOISE / np.sqrt(len(noise)))


def real_vectors(sampler: Sampler, config: Config, count: int = REAL) -> Vectors:
    """Return the vectors of the first ``count`` documents."""
    with closing(open_encoder(config.encoder)) as encoder:
        texts = (text for _, text in sampler.texts(0, count))
        return np.concatenate(list(encoder.encode_documents_stream(texts, 256)))


@contextmanager
def noisy(vectors: Vectors) -> Iterator[None]:
    """Make builds use noisy vectors instead of encoding; a search still encodes its query."""

    def opened(settings: Any) -> NoisyEncoder:
        return NoisyEncoder(open_encoder(settings), vectors)

    with patch("factseek.indexer.encoders.open_encoder", opened):
        yield


class RememberingEncoder:
    """An encoder that caches the vectors of another; a vector depends only on its text, so the cache never expires."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._queries: dict[str, Vectors] = {}
        self._documents: dict[str, Vectors] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._encoder, name)

    def encode_query(self, texts: Sequence[str]) -> Vectors:
        """Encode queries: unit length, shape (len(texts), dimension)."""
        return self._kept(texts, self._queries, self._encoder.encode_query)

    def encode_document(self, texts: Sequence[str]) -> Vectors:
        """Encode documents: unit length, shape (len(texts), dimension)."""
        return self._kept(texts, self._documents, self._encoder.encode_document)

    def _kept(
        self, texts: Sequence[str], kept: dict[str, Vectors], encode: Callable[[Sequence[str]], Vectors]
    ) -> Vectors:
        fresh = [text for text in dict.fromkeys(texts) if text not in kept]
        kept.update(zip(fresh, encode(fresh), strict=True))
        return np.stack([kept[text] for text in texts]) if texts else np.empty((0, self.dimension), np.float32)
