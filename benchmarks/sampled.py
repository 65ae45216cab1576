"""A collection of any size: text sampled from real collections, vectors of real passages with a little noise."""

from __future__ import annotations

import hashlib
import json
import random
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import islice
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from numpy.typing import NDArray

from factseek.indexer.passages import sentences
from factseek.retrieval.encoder import Encoder
from factseek.retrieval.encoders.runtime import open_encoder
from factseek.settings import Config

NOISE = 0.5
"""The length of what is added to a vector of unit length: the cosine to the real one is about 0.89."""
REAL = 2_000
Vectors = NDArray[np.float32]


class Sampler:
    """Makes documents of sentences of real ones: two stretches of two sentences, each of one document."""

    def __init__(self, data: Path) -> None:
        self._texts: list[list[str]] = []
        for name in ("scifact", "nfcorpus"):
            with (data / name / "corpus.jsonl").open(encoding="utf-8") as lines:
                for line in lines:
                    text = json.loads(line)["text"]
                    texts = [text[span.start : span.end] for span in sentences(text)]
                    if len(texts) > 1:
                        self._texts.append(texts)

    def texts(self, first: int, count: int) -> Iterator[tuple[str, str]]:
        """Yield docid and text of the documents from number ``first`` on: the same for the same number."""
        for number in range(first, first + count):
            chance = random.Random(number)  # noqa: S311  a benchmark's chance
            parts = []
            for _ in range(2):
                texts = chance.choice(self._texts)
                start = chance.randrange(len(texts) - 1)
                parts += texts[start : start + 2]
            yield f"p{number}", " ".join(parts)

    def write(self, path: Path, first: int, count: int, *, mark: str = "") -> Path:
        """Write documents as JSON lines; ``mark`` is put after each text, to change it."""
        with path.open("w", encoding="utf-8") as file:
            for docid, text in self.texts(first, count):
                file.write(json.dumps({"docid": docid, "text": text + mark}) + "\n")
        return path


def claims(data: Path) -> list[str]:
    """Return the texts of SciFact's claims."""
    with (data / "scifact" / "queries.jsonl").open(encoding="utf-8") as lines:
        return [json.loads(line)["text"] for line in lines]


class NoisyEncoder:
    """Stands for an encoder of documents: a text gets a real passage's vector with noise, always the same."""

    def __init__(self, real: Encoder, vectors: Vectors) -> None:
        self._real = real
        self._vectors = vectors

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def encode_documents_stream(self, texts: Iterable[str], size: int) -> Iterator[Vectors]:
        """Encode documents as they come, ``size`` at a time."""
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
