"""The data of the benchmarks: public collections, and a collection of any size sampled from
them.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from factseek import Config, open_index, read_qrels, read_queries
from factseek.core.errors import UsageError
from factseek.indexer.passages import sentences
from factseek.retrieval.encoders.runtime import OnnxEncoder, open_onnx_encoder
from factseek.retrieval.lucene.index import flat_text


def data_folder() -> Path:
    """Return the folder that ``FACTSEEK_DATA`` names; raise UsageError if it names none."""
    folder = os.environ.get("FACTSEEK_DATA", "")
    if not Path(folder or "-").is_dir():
        raise UsageError(
            f"FACTSEEK_DATA names no folder: {folder!r}; set it to the folder of the public "
            "collections"
        )
    return Path(folder)


class Collection(NamedTuple):
    """A collection; ``queries`` has only the judged queries."""

    name: str
    source: Path
    documents: list[tuple[str, str]]
    queries: dict[str, str]
    qrels: dict[str, dict[str, int]]


def beir(name: str, source: Path, split: str) -> Collection:
    """Read a BEIR folder."""
    qrels = read_qrels(source / "qrels" / f"{split}.tsv")
    queries = {
        query["_id"]: query["text"]
        for query in objects(source / "queries.jsonl")
        if query["_id"] in qrels
    }
    return Collection(name, source, _documents(source), queries, qrels)


def example(examples: Path, index: Path, folder: Path) -> Collection:
    """Write the bundled English example from its index into ``folder`` in BEIR's form, and read
    it.
    """
    with open_index(index) as opened:
        write_objects(
            folder / "corpus.jsonl",
            (
                {"_id": document.docid, "title": document.title, "text": document.text}
                for document in opened.documents()
            ),
        )
    queries = {query.qid: query.text for query in read_queries(examples / "queries-en.tsv")}
    return Collection(
        "the example", folder, _documents(folder), queries, read_qrels(examples / "qrels-en.txt")
    )


def _documents(folder: Path) -> list[tuple[str, str]]:
    rows = objects(folder / "corpus.jsonl")
    return [(document["_id"], flat_text(document["title"], document["text"])) for document in rows]


def objects(path: Path) -> list[dict[str, Any]]:
    """Return the JSON object of each line."""
    return [json.loads(line) for line in path.read_text("utf-8").split("\n") if line]


def write_objects(path: Path, rows: Iterable[Mapping[str, Any]]) -> Path:
    """Write a JSON object a line, in the folder of ``path``, which may be new; return ``path``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    return path


NOISE = 0.5
"""The length of the noise on a vector of unit length: the cosine to the real vector is about
0.89.
"""
REAL = 2_000
"""The number of real vectors."""
Vectors = NDArray[np.float32]


class Sampler:
    """Makes documents of two pairs of sentences; each pair comes from one real document."""

    def __init__(self, data: Path) -> None:
        texts = (
            row["text"]
            for name in ("scifact", "nfcorpus")
            for row in objects(data / name / "corpus.jsonl")
        )
        parted = ([text[span.start : span.end] for span in sentences(text)] for text in texts)
        self._texts = [of_text for of_text in parted if len(of_text) > 1]

    def text(self, number: int) -> str:
        """Return the text of the document with this number; the same number gives the same text."""
        chance = random.Random(number)  # noqa: S311  a benchmark's chance
        parts = []
        for _ in range(2):
            texts = chance.choice(self._texts)
            start = chance.randrange(len(texts) - 1)
            parts += texts[start : start + 2]
        return " ".join(parts)

    def write(self, path: Path, count: int) -> Path:
        """Write the first ``count`` documents as JSON lines; return ``path``."""
        return write_objects(
            path, ({"docid": f"p{number}", "text": self.text(number)} for number in range(count))
        )


def real_vectors(sampler: Sampler, config: Config) -> Vectors:
    """Return the vectors of the first ``REAL`` documents, shape (REAL, dimension)."""
    with closing(open_onnx_encoder(config.encoder)) as encoder:
        return np.concatenate(
            list(encoder.encode_documents_stream(map(sampler.text, range(REAL)), 256))
        )


class NoisyEncoder:
    """Replaces the encoding of documents: a text gets a real vector plus noise, both determined by
    the text.
    """

    def __init__(self, encoder: OnnxEncoder, vectors: Vectors) -> None:
        self._encoder = encoder
        self._vectors = vectors

    def __getattr__(self, name: str) -> Any:
        return getattr(self._encoder, name)

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
        noise = np.random.default_rng(seed).standard_normal(
            self._vectors.shape[1], dtype=np.float32
        )
        return self._vectors[seed % len(self._vectors)] + noise * np.float32(
            NOISE / np.sqrt(len(noise))
        )


def noisy(vectors: Vectors) -> AbstractContextManager[object]:
    """Make builds use noisy vectors instead of encoding; a search still encodes its query."""
    return patch(
        "factseek.indexer.encoders.open_encoder",
        lambda settings: NoisyEncoder(open_onnx_encoder(settings), vectors),
    )


class RememberingEncoder:
    """An encoder that caches the vectors of another; a vector depends only on its text, so the
    cache never expires.
    """

    def __init__(self, encoder: OnnxEncoder) -> None:
        self._encoder = encoder
        self._query = cache(lambda text: encoder.encode_query([text])[0])
        self._document: dict[str, Vectors] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._encoder, name)

    def encode_query(self, texts: Sequence[str]) -> Vectors:
        """Encode queries: unit length, shape (len(texts), dimension)."""
        return np.array([self._query(text) for text in texts], np.float32).reshape(
            -1, self.dimension
        )

    def encode_document(self, texts: Sequence[str]) -> Vectors:
        """Encode documents: unit length, shape (len(texts), dimension)."""
        fresh = [text for text in dict.fromkeys(texts) if text not in self._document]
        self._document.update(zip(fresh, self._encoder.encode_document(fresh), strict=True))
        return np.array([self._document[text] for text in texts], np.float32).reshape(
            -1, self.dimension
        )
