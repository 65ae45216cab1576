"""Damage to any file of an index is one line that names a file, whatever is done with the index."""

import json
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import NoReturn

import pytest

from factseek.core.domain import Filter
from factseek.core.errors import IndexStateError
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.deletion import delete
from factseek.indexer.export import export
from factseek.indexer.verification import repair, verify
from factseek.retrieval.search.index import Index, Search
from factseek.retrieval.search.snapshot import Snapshot
from factseek.settings import convert
from tests.indexer.as_found import name_files_as_found

CONFIG = convert(
    {"dense": {"auto_flat_below": 16, "exact_below": 1}, "index": {"segment_passages": 20}}, "t"
)
COARSE = 4_096
"""Bytes from one damage to the next here; the documents alone are damaged at every kilobyte
elsewhere.
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("damage")
    rows = (
        {"docid": f"d{n}", "text": f"Measles case {n} near the river.", "topic": f"t{n % 3}"}
        for n in range(36)
    )
    (folder / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    build(
        BuildRequest(kind="jsonl", sources=(folder / "docs.jsonl",), folder=folder / "index"),
        CONFIG,
    )
    delete(folder / "index", ["d3", "d25"])
    name_files_as_found(folder / "index")
    return folder / "index"


def uses(folder: Path) -> Iterator[Callable[[], object]]:
    def search(retriever: str, where: Filter | None = None) -> None:
        with Index(folder, CONFIG) as index:
            asked = Search(retriever=retriever, where=where)  # type: ignore[arg-type]
            for hits in index.search(["measles river 7"], asked):
                index.evidence("measles river", hits, asked)

    yield lambda: search("bm25")
    yield lambda: search("dense", Filter(topic=("t1",)))
    yield lambda: list(export(folder))
    yield lambda: verify(folder, CONFIG)


def use(folder: Path) -> int:
    refused = 0
    for call in uses(folder):
        try:
            call()
        except IndexStateError as error:
            assert str(folder) in error.place
            assert "\n" not in str(error)
            refused += 1
    return refused


def files(folder: Path) -> list[str]:
    return sorted(
        path.relative_to(folder).as_posix()
        for path in (folder / "segments" / "000000").rglob("*")
        if path.is_file()
    )


@pytest.mark.real
@pytest.mark.parametrize(
    "how",
    [
        "flipped",
        "missing",
        *(pytest.param(how, marks=pytest.mark.deep) for how in ("zeroed", "cut")),
    ],
)
def test_damage_is_named_and_found(whole: Path, tmp_path: Path, how: str) -> None:
    for file in files(whole):
        content = (whole / file).read_bytes()
        for at in range(0, len(content), COARSE):
            folder = Path(shutil.copytree(whole, tmp_path / "index"))
            damaged = bytearray(content)
            if how == "zeroed":
                damaged[at : at + 1024] = bytes(len(damaged[at : at + 1024]))
            elif how == "flipped":
                damaged[at + (len(damaged) - at) // 3 % 1024] ^= 0x10
            else:
                del damaged[at:]
            (folder / file).write_bytes(damaged) if how != "missing" else (folder / file).unlink()
            if how == "cut":
                name_files_as_found(folder)
            refused = use(folder)
            if how == "zeroed" and file.endswith("vectors.f32") and damaged != content:
                assert refused > 0, (file, at)  # a search says so too, not only verify
            if damaged != content or how == "missing":
                assert any(fault.segment == "000000" for fault in verify(folder, CONFIG).faults), (
                    file,
                    at,
                )
            shutil.rmtree(folder)
            if how == "missing":
                break


def swapped(folder: Path, file: str, aside: Path) -> None:
    first, second = (folder / "segments" / name / file for name in ("000000", "000001"))
    first.rename(aside)
    second.rename(first)
    aside.rename(second)


@pytest.mark.parametrize("file", ["documents.sqlite", "vectors.f32", "ann.faiss", "lucene"])
def test_files_of_two_segments_swapped_are_named(whole: Path, tmp_path: Path, file: str) -> None:
    folder = Path(shutil.copytree(whole, tmp_path / "index"))
    swapped(folder, file, tmp_path / "aside")
    assert use(folder) > 0
    assert {fault.segment for fault in verify(folder, CONFIG).faults} == {"000000", "000001"}


@pytest.fixture(scope="module")
def alike(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two segments of as many documents and passages, whose files are of the same sizes."""
    folder = tmp_path_factory.mktemp("alike")
    rows = ({"docid": f"d{n}", "text": f"Measles case {n} near the river."} for n in range(10, 50))
    (folder / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    build(
        BuildRequest(kind="jsonl", sources=(folder / "docs.jsonl",), folder=folder / "index"),
        CONFIG,
    )
    return folder / "index"


def open_view(folder: Path, view: str) -> None:
    def encoder(*_: object) -> NoReturn:
        raise AssertionError("nothing is to be encoded")

    with closing(Snapshot(folder, CONFIG, encoder)) as snapshot:
        snapshot.view(view)


@pytest.mark.parametrize(
    "file",
    ["documents.sqlite", "lucene", "vectors.f32", "ann.faiss", "signatures.u64", "docids.bin"],
)
def test_a_search_refuses_files_of_a_segment_that_is_alike(
    alike: Path, tmp_path: Path, file: str
) -> None:
    folder = Path(shutil.copytree(alike, tmp_path / "index"))
    swapped(folder, file, tmp_path / "aside")
    view = {
        "vectors.f32": "vectors",
        "ann.faiss": "vectors",
        "signatures.u64": "signatures",
        "docids.bin": "columns",
    }.get(file, "lucene")
    with pytest.raises(IndexStateError) as refused:
        open_view(folder, view)
    assert refused.value.what == "is not the file that the manifest names"
    assert refused.value.place.startswith(f"{folder}/segments/000000/{file}")
    assert not repair(folder, CONFIG).left
    assert {json.loads(line)["docid"] for line in export(folder)} == {
        f"d{n}" for n in range(10, 50)
    }


def test_a_sample_that_is_not_of_its_file_is_a_fault_that_can_be_mended(
    alike: Path, tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(alike, tmp_path / "index"))
    forged = (folder / "manifest.json").read_text("utf-8").replace('"sample": "', '"sample": "z', 1)
    (folder / "manifest.json").write_text(forged, "utf-8")
    (fault,) = verify(folder, CONFIG).faults
    assert fault.what == "is intact, but the sample in the manifest does not match it"
    assert not repair(folder, CONFIG).left
    assert use(folder) == 0


@pytest.mark.parametrize(
    ("file", "fault"),
    [
        ("words.u64", "the words are not those of the documents"),
        ("signatures.u64", "signature 2 is not that of its passage"),
    ],
)
def test_words_and_signatures_of_other_documents_are_a_fault_that_can_be_mended(
    alike: Path, tmp_path: Path, file: str, fault: str
) -> None:
    folder = Path(shutil.copytree(alike, tmp_path / "index"))
    path = folder / "segments" / "000000" / file
    content = bytearray(path.read_bytes())
    content[2 * 32] ^= 1  # a letter of a word, or a bit of the third signature
    path.write_bytes(content)
    name_files_as_found(folder)
    assert fault in [each.what for each in verify(folder, CONFIG).faults]
    assert not repair(folder, CONFIG).left
    assert verify(folder, CONFIG).faults == []
