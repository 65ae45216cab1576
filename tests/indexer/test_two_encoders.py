"""An index with the vectors of two encoders: each has files of its own, and each is searched by itself."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from factseek.indexer.build import BuildRequest, build
from factseek.indexer.compaction import compact
from factseek.indexer.deletion import delete
from factseek.indexer.encoders import Encoders
from factseek.indexer.snapshot import restore, snapshot
from factseek.indexer.verification import verify
from factseek.retrieval.dense.encoder import Origin
from factseek.retrieval.errors import IndexStateError, MachineError
from factseek.retrieval.retrievers import with_default_weights
from factseek.retrieval.store import manifest as manifests
from factseek.retrieval.store.index_folder import IndexFolder
from factseek.retrieval.views import OpenSegment, view
from factseek.settings import Config, convert

SETTINGS = {"auto_flat_below": 16, "exact_below": 1}
CONFIG = convert({"dense": SETTINGS, "index": {"segment_passages": 16}}, "test")
SECOND = "vectors:second"
WORDS = (
    "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon".split()
)


class Tiny:
    """An encoder that gives each text a direction of its own."""

    languages = ("en",)
    max_tokens = 100
    precision = "fp32"
    origin = Origin()

    def __init__(self, name: str, dimension: int, revision: str = "1") -> None:
        self.name, self.dimension, self.revision = name, dimension, revision
        self.encoded = 0
        self.closed = False

    def encode_query(self, texts: Sequence[str]) -> NDArray[np.float32]:
        return np.stack([self._vector(text) for text in texts])

    encode_document = encode_query

    def encode_documents_stream(self, texts: Iterable[str], size: int) -> Iterator[NDArray[np.float32]]:
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
    """Two segments of sixteen and four passages."""
    source = tmp_path / "words.jsonl"
    source.write_text("".join(json.dumps({"docid": word, "text": word}) + "\n" for word in WORDS), "utf-8")
    request = BuildRequest(kind="jsonl", sources=(source,), folder=tmp_path / "index", views=(SECOND,))
    build(request, CONFIG, Encoders(CONFIG, tiny))
    return tmp_path / "index"


def nearest(folder: Path, name: str, encoder: Tiny, config: Config = CONFIG) -> list[str]:
    """Return the docid that is nearest to each word by one of the encoders."""
    place = IndexFolder(folder)
    manifest = place.read()
    segments = [OpenSegment(place.segment(info.name), info, place.documents(info)) for info in manifest.segments]
    docids = [docid for segment in segments for docid in segment.documents.rows()[0]]
    vectors = view(name, manifest).open(segments, manifest, config)
    for segment in segments:
        segment.documents.close()
    return [docids[hits.rows[0]] for hits in vectors.search(encoder.encode_query(WORDS), 1)]


def test_each_is_described_and_has_its_files(index: Path, tiny: dict[str, Tiny]) -> None:
    manifest = manifests.read(index)
    assert list(manifest.views) == ["lucene", "signatures", "vectors", SECOND, "words"]
    assert manifest.encoder is not None and manifest.encoder.name == "first"
    second = manifest.encoder_of(SECOND)
    assert second is not None and (second.name, second.dimension) == ("other", 4)
    sizes = {name: info.bytes for name, info in manifest.segments[0].files.items() if "/" not in name}
    assert sizes["vectors.f32"] == 16 * 8 * 4 and sizes["vectors-second.f32"] == 16 * 4 * 4
    assert {"ann.faiss", "ann-second.faiss"} < sizes.keys()
    assert not any(encoder.closed for encoder in tiny.values())


def test_a_fusion_shares_the_vote_of_vectors_among_encoders(index: Path) -> None:
    manifest = manifests.read(index)
    assert with_default_weights(CONFIG, manifest).search.fusion.weights == {
        "bm25": 0.5,
        "dense": 0.25,
        "dense:second": 0.25,
    }
    chosen = convert({"search": {"fusion": {"weights": {"bm25": 1, "dense": 2}}}}, "test")
    assert with_default_weights(chosen, manifest) == chosen


def test_each_finds_by_its_own_vectors(index: Path, tiny: dict[str, Tiny]) -> None:
    for name, encoder in tiny.items():
        assert nearest(index, name, encoder) == WORDS


def test_both_are_copied_when_segments_are_merged(index: Path, tiny: dict[str, Tiny]) -> None:
    delete(index, ["beta"])
    counts = [encoder.encoded for encoder in tiny.values()]
    compact(index, convert({"dense": SETTINGS}, "test"))
    assert len(manifests.read(index).segments) == 1
    assert [encoder.encoded for encoder in tiny.values()] == counts == [20, 20]
    for name, encoder in tiny.items():
        assert [docid for docid in nearest(index, name, encoder) if docid in WORDS].count("beta") == 0
        assert set(nearest(index, name, encoder)) == set(WORDS) - {"beta"}
    assert verify(index, CONFIG).faults == {}


def test_both_are_verified_and_restored(index: Path, tmp_path: Path, tiny: dict[str, Tiny]) -> None:
    snapshot(index, tmp_path / "snap")
    damaged = index / "segments" / "000001" / "vectors-second.f32"
    damaged.unlink()  # the snapshot shares it
    damaged.write_bytes(b"\0" * 4 * 4 * 4)
    faults = verify(index, CONFIG).faults
    assert faults.keys() == {"000001"}
    assert f"{damaged}: vector 0 is not of unit length" in [str(fault) for fault in faults["000001"]]
    restore(tmp_path / "snap", index, CONFIG, overwrite=True)
    assert verify(index, CONFIG).faults == {}
    assert nearest(index, SECOND, tiny[SECOND]) == WORDS


def test_an_encoder_that_is_another_or_not_configured_is_refused(
    index: Path, tmp_path: Path, tiny: dict[str, Tiny]
) -> None:
    source = tmp_path / "more.jsonl"
    source.write_text('{"docid": "more", "text": "more"}\n', "utf-8")
    request = BuildRequest(kind="jsonl", sources=(source,), folder=index, verb="append")
    other = Encoders(CONFIG, {**tiny, SECOND: Tiny("other", 4, revision="2")})
    with pytest.raises(
        IndexStateError, match=r"its vectors were made by other .*revision 1.*, what is found of that name .*2\); "
    ):
        build(request, CONFIG, other)
    with (
        closing(Encoders(CONFIG, {"vectors": tiny["vectors"]})) as one,
        pytest.raises(MachineError, match=r"encoder 'other' is not on this machine; fetch it with"),
    ):
        build(request, CONFIG, one)
