"""Verification and repair: what is damaged is named, and made again where that can be done."""

import json
import shutil
import sqlite3
from pathlib import Path

import msgspec
import pytest

from factseek import commands
from factseek.indexer.verification import repair, verify
from factseek.retrieval.store import manifest as manifests
from factseek.settings import convert
from tests.indexer.test_compaction import answers, grown

SETTINGS = {
    "index": {"segment_passages": 12},
    "dense": {"auto_flat_below": 16, "exact_below": 1},
    "passages": {"words": 5, "overlap_sentences": 0, "split": {"jsonl": True}},
}
CONFIG = convert(SETTINGS, "test")
RETRIEVERS = ("bm25", "dense")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verified")
    grown(folder, CONFIG, dense=True)
    return folder / "index"


@pytest.fixture
def index(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "index"))


def flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 0x10
    path.write_bytes(content)


@pytest.mark.parametrize("part", ["vectors.f32", "ann.faiss", "lucene"])
def test_what_is_made_from_the_documents_is_mended(index: Path, part: str) -> None:
    expected = answers(index, CONFIG, RETRIEVERS)
    name = manifests.read(index).segments[1].name
    place = index / "segments" / name / part
    damaged = (
        max(place.iterdir(), key=lambda path: path.stat().st_size) if place.is_dir() else place
    )
    flip(damaged, damaged.stat().st_size // 2)
    assert repair(index, CONFIG).segments == (name,)
    assert verify(index, CONFIG).faults == []
    assert answers(index, CONFIG, RETRIEVERS)[1] == expected[1]


def after_all(manifest: manifests.Manifest) -> str:
    return f"{max(int(segment.name) for segment in manifest.segments) + 1:06d}"


def test_vectors_that_are_whole_are_kept_when_lucene_is_lost(index: Path) -> None:
    before = manifests.read(index)
    segment = next(segment for segment in before.segments if not segment.deleted)
    shutil.rmtree(index / "segments" / segment.name / "lucene")
    other = convert({**SETTINGS, "encoder": {"precision": "fp32"}}, "test")  # it is not needed
    assert repair(index, other).segments == (segment.name,)
    (again,) = (one for one in manifests.read(index).segments if one.name == after_all(before))
    assert again.files["vectors.f32"] == segment.files["vectors.f32"]
    (index / "segments" / again.name / "vectors.f32").unlink()
    repair(index, other)  # it is the encoder of the manifest that makes them anew
    anew = max(manifests.read(index).segments, key=lambda info: int(info.name))
    assert anew.files["vectors.f32"] == segment.files["vectors.f32"]


def alter(index: Path, name: str, statement: str) -> None:
    """Change the documents of a segment behind the index's back."""
    with sqlite3.connect(index / "segments" / name / "documents.sqlite") as database:
        database.execute(statement)
    database.close()


@pytest.mark.parametrize(
    ("statement", "fault"),
    [
        (
            "UPDATE documents SET text = text || '!' WHERE row = 1",
            "document 'd1' does not match its checksum",
        ),
        (
            'UPDATE passages SET "end" = 9999 WHERE row = 2',
            "document 'd2' has passages that do not fit its text",
        ),
        ("UPDATE passages SET document = 99 WHERE row = 11", "contains 12 passages, expected 13"),
        ("DELETE FROM documents WHERE row = 5", "contains 5 documents, expected 6"),
    ],
)
def test_documents_that_are_damaged_are_named_and_left(
    index: Path, statement: str, fault: str
) -> None:
    name = manifests.read(index).segments[0].name
    before = manifests.read(index)
    alter(index, name, statement)
    verified = verify(index, CONFIG)
    assert name not in verified.intact
    found = [one.what for one in verified.faults if one.segment == name]
    assert len(found) == len(set(found))
    assert found[0].startswith(("has changed: its SHA-256", "has "))
    assert repair(index, CONFIG).left == verified.faults
    assert manifests.read(index) == before


def test_a_document_that_is_there_twice_is_named(index: Path) -> None:
    before = manifests.read(index)
    segments = tuple(msgspec.structs.replace(segment, deleted=()) for segment in before.segments)
    manifests.publish(index, msgspec.structs.replace(before, segments=segments))
    assert [str(fault) for fault in verify(index, CONFIG).faults] == [
        f"{index}: document 'd0' is in the index 2 times",
        f"{index}: contains 29 documents, expected 25",
    ]


def test_counts_that_do_not_fit_are_mended(index: Path) -> None:
    before = manifests.read(index)
    manifests.publish(index, msgspec.structs.replace(before, documents=before.documents + 1))
    done = repair(index, CONFIG)
    assert [str(fault) for fault in done.verified.faults] == [
        f"{index}: contains 25 documents, expected 26"
    ]
    assert (done.segments, done.left) == ((), [])
    assert manifests.read(index).segments == before.segments
    assert manifests.read(index).documents == before.documents


def test_the_commands(index: Path, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    config.write_text(json.dumps(SETTINGS), "utf-8")
    options = ["--index", str(index), "--config", str(config)]
    assert commands.main(["verify-index", *options]) == 0
    assert capsys.readouterr().out == f"{index}: 25 whole documents, no fault found\n"
    name = manifests.read(index).segments[0].name
    damaged = index / "segments" / name / "vectors.f32"
    flip(damaged, 1)
    assert commands.main(["search", "measles", "--verify", *options]) == 2
    said = f"{damaged}: has changed: its SHA-256 is not that of the manifest"
    assert capsys.readouterr().err == (
        f"factseek: {said}; repair it with factseek verify-index --repair, or restore a snapshot\n"
    )
    assert commands.main(["verify-index", *options]) == 1
    printed = capsys.readouterr()
    assert printed.out == f"{said}\n{index}: 25 whole documents, 1 fault\n"
    assert (
        printed.err
        == f"factseek: {index}: is damaged (1 fault); repair it with --repair, or restore a "
        "snapshot\n"
    )
    assert commands.main(["verify-index", "--repair", "--json", *options]) == 0
    printed = capsys.readouterr()
    answer = json.loads(printed.out)
    assert answer["faults"] == [
        {
            "path": str(damaged),
            "what": "has changed: its SHA-256 is not that of the manifest",
            "segment": name,
        }
    ]
    assert (answer["repaired"], answer["documents"]) == ([name], 25)
    assert printed.err == f"segment {name} was rebuilt from its documents\n"
    assert commands.main(["search", "measles", "--verify", "--json", *options]) == 0
    capsys.readouterr()
    name = manifests.read(index).segments[0].name
    (index / "segments" / name / "documents.sqlite").unlink()
    assert commands.main(["verify-index", *options]) == 1
    assert "is damaged (" in (said := capsys.readouterr().err)
    assert said.endswith("); restore a snapshot\n")
    assert commands.main(["verify-index", "--repair", *options]) == 1
    assert capsys.readouterr().err.endswith(
        "cannot be repaired: documents are damaged; restore a snapshot\n"
    )
