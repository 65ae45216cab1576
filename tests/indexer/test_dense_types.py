"""Types of dense indexes, and indexes with the vectors of two encoders."""

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
from factseek.indexer.verification import repair, verify
from factseek.retrieval.dense.encoder import Origin
from factseek.retrieval.dense.vectors import read_vectors
from factseek.retrieval.errors import IndexStateError, MachineError
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.retrieval.store import manifest as manifests
from factseek.retrieval.store.index_folder import IndexFolder
from factseek.retrieval.views import OpenSegment, view
from factseek.settings import Config, convert
from tests.indexer.as_found import name_files_as_found

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


def test_answers_of_an_approximate_index_are_marked_and_those_of_a_flat_one_are_not(
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


def test_an_index_of_a_type_that_there_was_is_refused_until_it_is_repaired(
    tmp_path: Path, write_jsonl, build_jsonl
) -> None:
    import faiss

    build_jsonl(write_jsonl("docs.jsonl", DOCUMENTS), dense=True)
    index, config = tmp_path / "index", Config()
    expected = found(index, config)
    (ann,) = (path / "ann.faiss" for path in (index / "segments").iterdir())
    encoder = manifests.read(index).encoder
    assert encoder is not None
    graph = faiss.IndexHNSWFlat(encoder.dimension, 32, faiss.METRIC_INNER_PRODUCT)
    graph.add(read_vectors(ann.with_name("vectors.f32"), len(DOCUMENTS), encoder.dimension))
    faiss.write_index(graph, str(ann))
    raw = json.loads((index / "manifest.json").read_text("utf-8"))
    raw["segments"][0]["files"]["ann.faiss"] = {"bytes": 0, "sha256": ""}
    raw["shared"] = {"vectors": "quantizer-000000.faiss"}
    (index / "manifest.json").write_text(json.dumps(raw), "utf-8")
    name_files_as_found(index)
    with pytest.raises(IndexStateError) as error:
        found(index, config)
    assert error.value.line == (
        f"{ann}: is not a fast-scan index, the only supported kind; "
        "repair it with factseek verify-index --repair, or restore a snapshot"
    )
    assert found(index, convert({"dense": {"type": "flat"}}, "settings")) == expected
    assert repair(index, config).left == []
    assert found(index, config) == expected


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


def test_an_encoder_that_is_another_or_not_configured_is_refused(
    index: Path, tmp_path: Path, tiny: dict[str, Tiny]
) -> None:
    source = tmp_path / "more.jsonl"
    source.write_text('{"docid": "more", "text": "more"}\n', "utf-8")
    request = BuildRequest(kind="jsonl", sources=(source,), folder=index, verb="append")
    other = Encoders(CONFIG, {**tiny, SECOND: Tiny("other", 4, revision="2")})
    with pytest.raises(
        IndexStateError,
        match=r"its vectors were made by other .*revision 1.*, and the model of that name is now .*2\); ",
    ):
        build(request, CONFIG, other)
    with (
        closing(Encoders(CONFIG, {"vectors": tiny["vectors"]})) as one,
        pytest.raises(MachineError, match=r"encoder 'other' is not on this machine; fetch it with"),
    ):
        build(request, CONFIG, one)
