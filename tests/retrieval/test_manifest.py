"""A manifest that somebody else wrote: no name in it leads out of the index."""

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from factseek.core.errors import IndexStateError
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.snapshot import restore, snapshot
from factseek.indexer.verification import verify
from factseek.retrieval.search.index import Index
from factseek.retrieval.store import manifest as manifests
from factseek.settings import Config

FILE = {"bytes": 1, "sha256": ""}
SEGMENT: dict[str, Any] = {
    "name": "000000",
    "kind": "jsonl",
    "split": False,
    "documents": 1,
    "passages": 1,
    "sources": [],
    "files": {"documents.sqlite": FILE, "lucene/_0.cfs": FILE},
}
MANIFEST: dict[str, Any] = {
    "layout": 4,
    "created": "2026-01-01T00:00:00Z",
    "language": "en",
    "analyzer": "english",
    "fields": "flat",
    "bm25": {"k1": 0.9, "b": 0.4},
    "views": {
        "lucene": {},
        "vectors": {"name": "e", "revision": "1", "dimension": 4, "precision": "fp32"},
    },
    "versions": {"factseek": "0", "python": "3", "anserini": "1", "faiss": "1"},
    "documents": 1,
    "passages": 1,
    "segments": [SEGMENT],
    "shared": {},
}
OUTSIDE = [
    "..",
    ".",
    "",
    "/etc/passwd",
    "../x",
    "a/../../x",
    "a//b",
    "a/",
    "/",
    "a\0b",
    "a\nb",
    "a\\b",
    "...",
    "a/...",
]


def with_segment(raw: dict[str, Any], **values: Any) -> None:
    raw["segments"] = [{**SEGMENT, **values}]


CHANGES: dict[str, Callable[[dict[str, Any], str], None]] = {
    "segment": lambda raw, name: with_segment(raw, name=name),
    "file": lambda raw, name: with_segment(raw, files={name: FILE}),
    "view": lambda raw, name: raw["views"].update({name: {}}),
}


def read(folder: Path, raw: dict[str, Any]) -> manifests.Manifest:
    (folder / "manifest.json").write_bytes(msgspec.json.encode(raw))
    return manifests.read(folder)


@pytest.mark.parametrize("where", CHANGES)
@pytest.mark.parametrize("name", OUTSIDE)
def test_a_name_that_is_none_of_factseeks_is_refused(tmp_path: Path, where: str, name: str) -> None:
    raw = copy.deepcopy(MANIFEST)
    CHANGES[where](raw, name)
    with pytest.raises(
        IndexStateError, match=r"^[^\n]*manifest\.json: is damaged \((?s:.*); restore the index"
    ):
        read(tmp_path, raw)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda raw: raw.update(segments=[SEGMENT, SEGMENT]), "two segments have the same name"),
        (lambda raw: with_segment(raw, name="x"), "a segment is named 'x', which is not a number"),
        (lambda raw: raw["views"].update(vectors={}), "the encoder of vectors is not described"),
        (lambda raw: with_segment(raw, passages=2**40), "Expected `int` <= 2147483647"),
    ],
)
def test_what_else_cannot_be(
    tmp_path: Path, change: Callable[[dict[str, Any]], None], message: str
) -> None:
    raw = copy.deepcopy(MANIFEST)
    change(raw)
    with pytest.raises(IndexStateError) as error:
        read(tmp_path, raw)
    assert message in error.value.line


@pytest.mark.parametrize("where", ["segment", "file"])
def test_a_crafted_snapshot_writes_nothing_outside(
    tmp_path: Path, write_small: Path, where: str
) -> None:
    snap, target = tmp_path / "a" / "snap", tmp_path / "target"
    snap.parent.mkdir()
    snapshot(write_small, snap)
    (tmp_path / "a" / "loot").write_text("loot")
    before = sorted(path for path in tmp_path.rglob("*"))
    raw = msgspec.json.decode((snap / "manifest.json").read_bytes())
    segment = raw["segments"][0]
    if where == "segment":
        segment["name"] = "../../loot"
    else:
        segment["files"]["../../../loot"] = FILE
    (snap / "manifest.json").write_bytes(msgspec.json.encode(raw))
    for call in (
        lambda: restore(snap, target, Config()),
        lambda: verify(snap, Config()),
        lambda: Index(snap, Config()),
        lambda: snapshot(snap, tmp_path / "again"),
    ):
        with pytest.raises(IndexStateError, match=r"manifest\.json: is damaged"):
            call()
    assert sorted(path for path in tmp_path.rglob("*")) == before


@pytest.fixture(scope="module")
def write_small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("crafted")
    (folder / "a.jsonl").write_text('{"docid": "a", "text": "alpha"}\n')
    build(
        BuildRequest(
            kind="jsonl", sources=(folder / "a.jsonl",), folder=folder / "index", dense=False
        ),
        Config(),
    )
    return folder / "index"
