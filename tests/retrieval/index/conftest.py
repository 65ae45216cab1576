"""An index for properties of whole rankings: many segments, passages, deleted documents, declared
fields.
"""

import random
import sys
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from msgspec.structs import replace

from factseek.core.domain import Document
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.deletion import delete
from factseek.retrieval import retrievers, stages
from factseek.retrieval.config import EncoderSettings
from factseek.retrieval.encoders.opening import open_encoder
from factseek.retrieval.search.index import Index
from factseek.retrieval.store import columns
from factseek.settings import Config, convert
from tests.small_models import small_sparse_model

WORDS = (
    "measles vaccine virus ice ocean sea level heat river mask trial claim nurse school rain"
).split()
AUTHORS = [[], ["Ada"], ["Ada", "Bo"], "Bo", 7, [True, "Çelik Ö"], None, {"name": "Ada"}]
DATES = ["2019", "2020-02", "2020-03-01", "", "2021-12-31", "2021"]
DECLARED = ("author", "part")
STAGE = '''
"""Turns the first four hits round."""

import msgspec

from ...core.order import scores_below
from . import with_part

LABEL, HELP = "Turned", "the first four, last first"


def open(value, context):
    """Return the stage."""
    return Turned()


class Turned:
    window = 4

    def depth(self, k):
        """Return how many hits it wants."""
        return k

    def apply(self, queries, hits, texts, limit):
        """Return the hits in the opposite order, with scores that fit."""
        return [list(map(scored, scores_below(9.0, len(of)), reversed(of))) for of in hits]


def scored(score, hit):
    """Return a hit with another score."""
    return with_part(msgspec.structs.replace(hit, score=score), "turned", 1, hit.score)
'''


def documents() -> list[Document]:
    drawn = random.Random(7)
    made = []
    for number in range(72):
        text = " ".join(
            " ".join(drawn.choices(WORDS, k=6)).capitalize() + "."
            for _ in range(1 if number % 3 else drawn.randint(4, 9))
        )
        metadata: dict[str, Any] = {"part": number % 5, "author": AUTHORS[number % 8], "x": "y"}
        source = ["who.int", "a b", "", "c.example"][number % 4]
        date, language = DATES[number % 6], ["en", "de", ""][number % 3]
        made.append(
            Document(f"d{number}", text, "", "", date, language, source, f"T{number % 7}", metadata)
        )
    return made


GONE = frozenset(f"d{number}" for number in range(0, 72, 9))


class Remembering:
    """An encoder that encodes each query once: the same few are searched for ten thousand times."""

    def __init__(self, encoder: Any) -> None:
        self._encoder = encoder
        self._once = lru_cache(maxsize=64)(lambda text: encoder.encode_query([text])[0])

    def __getattr__(self, name: str) -> Any:
        return getattr(self._encoder, name)

    def encode_query(self, texts: Sequence[str]) -> Any:
        return np.stack([self._once(text) for text in texts])


CONFIG = convert(
    {
        "index": {"segment_passages": 20, "max_segments": 50, "filter_fields": list(DECLARED)},
        "passages": {"words": 12, "overlap_sentences": 0, "split": {"jsonl": True}},
    },
    "test",
)


# The small sparse model is made by torch, which is not there with every Python.
FURTHER_VIEWS = ("impacts",) if find_spec("torch") else ()

# Each retriever that the index has.
RETRIEVERS = [name for name in retrievers.names() if name != "impact" or FURTHER_VIEWS]


def with_small_sparse_model(config: Config) -> Config:
    if not FURTHER_VIEWS:
        return config
    return replace(config, impact=replace(config.impact, model=str(small_sparse_model())))


def built(folder: Path, some: Sequence[Document]) -> None:
    lines = [{**document._asdict(), **document.metadata} for document in some]
    for line in lines:
        del line["metadata"]
    source = folder.with_suffix(".jsonl")
    source.write_bytes(b"\n".join(map(msgspec.json.encode, lines)) + b"\n")
    request = BuildRequest(kind="jsonl", sources=(source,), folder=folder, views=FURTHER_VIEWS)
    build(request, with_small_sparse_model(CONFIG))
    delete(folder, sorted(GONE.intersection(document.docid for document in some)))


@pytest.fixture(scope="module")
def encoder() -> Iterator[Remembering]:
    encoder = Remembering(open_encoder(EncoderSettings()))
    yield encoder
    encoder.close()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, encoder: Remembering) -> Iterator[Index]:
    """The index, opened, beside a further stage that reorders."""
    folder = tmp_path_factory.mktemp("whole")
    (folder / "turned.py").write_text(STAGE, "utf-8")
    built(folder / "index", documents())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stages, "__path__", [*stages.__path__, str(folder)])
        patch.setattr(columns, "LISTED", 0)
        with Index(folder / "index", CONFIG, encoders=lambda *_: encoder) as index:
            yield index
    sys.modules.pop(f"{stages.__name__}.turned", None)
