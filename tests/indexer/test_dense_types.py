"""Types of dense indexes, and indexes with the vectors of two encoders."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from factseek.core.errors import IndexStateError, MachineError
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.encoders import Encoders
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.retrieval.store.manifest import EncoderInfo
from factseek.settings import Config, convert

SUBJECTS = ["Measles", "The Nile", "Pluto", "Ice", "A vaccine", "The ozone layer"]
VERBS = ["spreads quickly", "was measured in 1998", "changes slowly", "is not what people think"]
DOCUMENTS = [
    {"docid": f"d{i}", "text": f"{subject} {verb}."}
    for i, (subject, verb) in enumerate((subject, verb) for subject in SUBJECTS for verb in VERBS)
]
QUERIES = ["the river Nile", "dwarf planets", "melting glaciers", "immunisation"]


def found(folder: Path, config: Config) -> list[list[tuple[str, float]]]:
    with Index(folder, config) as index:
        hits = index.search(QUERIES, Search(k=5, retriever="dense"))
        return [[(hit.docid, hit.score) for hit in of_query] for of_query in hits]


def test_answers_of_an_approximate_index_are_marked_and_of_a_flat_one_are_not(
    tmp_path: Path, write_jsonl
) -> None:
    small = {"type": "auto", "auto_flat_below": 16, "exact_below": 1}
    source = write_jsonl("docs.jsonl", DOCUMENTS)
    config = convert({"dense": small, "index": {"segment_passages": 20}}, "settings")
    report = build(BuildRequest(kind="jsonl", sources=(source,), folder=tmp_path / "index"), config)
    assert ["ann.faiss" in segment.files for segment in report.manifest.segments] == [True, False]

    def marked(settings: dict[str, object]) -> dict[str, bool]:
        with Index(tmp_path / "index", convert({"dense": settings}, "settings")) as index:
            names = ("bm25", "dense", "hybrid")
            return {name: index.resolve(Search(retriever=name)).approximate for name in names}

    assert marked(small) == {"bm25": False, "dense": True, "hybrid": True}
    assert marked({"type": "flat"}) == {"bm25": False, "dense": False, "hybrid": False}
    assert found(tmp_path / "index", convert({"dense": small}, "settings")) == found(
        tmp_path / "index", convert({"dense": {"type": "flat"}}, "settings")
    )


SETTINGS = {"auto_flat_below": 16, "exact_below": 1}
CONFIG = convert({"dense": SETTINGS, "index": {"segment_passages": 16}}, "test")
SECOND = "vectors:second"
WORDS = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho "
    "sigma tau upsilon"
).split()


class Tiny:
    languages = ("en",)
    max_tokens = 100

    def __init__(self, name: str, dimension: int, revision: str = "1") -> None:
        self.name, self.dimension = name, dimension
        self.info = EncoderInfo(name=name, revision=revision, dimension=dimension, precision="fp32")
        self.encoded = 0
        self.closed = False

    def encode_query(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self._vector(text) for text in texts])

    encode_document = encode_query

    def encode_documents_stream(
        self, texts: Iterable[str], size: int
    ) -> Iterator[NDArray[np.float32]]:
        left = iter(texts)
        while chunk := list(islice(left, size)):
            self.encoded += len(chunk)
            yield self.encode_document(chunk)

    def close(self) -> None:
        self.closed = True

    def _vector(self, text: str) -> NDArray[np.float32]:
        seed = int.from_bytes(hashlib.sha256(f"{self.name}{text}".encode()).digest()[:4], "big")
        vector = np.random.default_rng(seed).standard_normal(self.dimension)
        return (vector / np.linalg.norm(vector)).astype(np.float32)


@pytest.fixture
def tiny() -> dict[str, Tiny]:
    return {"vectors": Tiny("first", 8), SECOND: Tiny("other", 4)}


@pytest.fixture
def index(tmp_path: Path, tiny: dict[str, Tiny]) -> Path:
    source = tmp_path / "words.jsonl"
    source.write_text(
        "".join(json.dumps({"docid": word, "text": word}) + "\n" for word in WORDS), "utf-8"
    )
    request = BuildRequest(
        kind="jsonl", sources=(source,), folder=tmp_path / "index", views=(SECOND,)
    )
    build(request, CONFIG, lambda view, _: tiny[view])
    return tmp_path / "index"


def test_an_encoder_that_is_another_or_missing_is_refused(
    index: Path, tmp_path: Path, tiny: dict[str, Tiny]
) -> None:
    source = tmp_path / "more.jsonl"
    source.write_text('{"docid": "more", "text": "more"}\n', "utf-8")
    request = BuildRequest(kind="jsonl", sources=(source,), folder=index, verb="append")
    newer = {**tiny, SECOND: Tiny("other", 4, revision="2")}
    with pytest.raises(
        IndexStateError,
        match=r"its vectors were made by other .*revision 1.*, and the model of that name is now "
        r".*2\); ",
    ):
        build(request, CONFIG, lambda view, _: newer[view])
    del tiny[SECOND]
    own = Encoders(CONFIG)
    with pytest.raises(
        MachineError, match=r"encoder 'other' is not on this machine; fetch it with"
    ):
        build(request, CONFIG, lambda view, made_by: tiny.get(view) or own(view, made_by))
