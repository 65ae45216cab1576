"""Impacts of an index: built if asked for, continued, merged, deleted, added and repaired."""

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from factseek.core.errors import IndexStateError
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.compaction import compact
from factseek.indexer.deletion import delete
from factseek.indexer.verification import repair, verify
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.retrieval.sparse.encoder import SparseEncoder
from factseek.retrieval.sparse.impacts import ImpactFiles, SparseVector
from factseek.retrieval.store import manifest as manifests
from factseek.retrieval.views import impacts as view_of_impacts
from factseek.settings import Config, convert
from tests.small_models import small_sparse_model

WORDS = "measles nile pluto ice river vaccine virus planet rain school".split()
TEXTS = {f"d{number}": f"{WORDS[number % 10]} {WORDS[number // 10]} water" for number in range(40)}
FILES = ImpactFiles()
Command = Callable[..., tuple[int, str, str]]


def config(**impact: object) -> Config:
    raw = {"index": {"segment_passages": 12}, "impact": {"model": str(small_sparse_model())}}
    made: Config = convert(raw, "test")
    return replace(made, impact=replace(made.impact, **impact))  # type: ignore[arg-type]


def source(folder: Path, docids: Sequence[str]) -> Path:
    path = folder / f"{docids[0]}.jsonl"
    lines = [json.dumps({"docid": docid, "text": TEXTS[docid]}) + "\n" for docid in docids]
    path.write_text("".join(lines), "utf-8")
    return path


def built(folder: Path, docids: Sequence[str], verb: Any = "", **settings: Any) -> Path:
    request = BuildRequest(
        kind="jsonl",
        sources=(source(folder, docids),),
        folder=folder / "index",
        verb=verb,
        dense=False,
        views=("impacts",),
    )
    build(request, settings.get("config") or config())
    return folder / "index"


def contents(index: Path) -> list[bytes]:
    manifest = manifests.read(index)
    return [
        (index / "segments" / segment.name / name).read_bytes()
        for segment in manifest.segments
        for name in FILES.postings
    ]


def hits(index: Path, k: int = 40) -> list[tuple[str, float]]:
    with Index(index, config()) as opened:
        (ranked,) = opened.search(["measles water river"], Search(retriever="impact", k=k))
    return [(hit.docid, hit.score) for hit in ranked]


@pytest.fixture
def index(tmp_path: Path) -> Path:
    return built(tmp_path, list(TEXTS))


def test_a_usual_index_has_none(tmp_path: Path) -> None:
    request = BuildRequest(
        kind="jsonl", sources=(source(tmp_path, ["d1"]),), folder=tmp_path / "index", dense=False
    )
    build(request, config())
    assert "impacts" not in manifests.read(tmp_path / "index").views


def test_the_manifest_describes_the_model(index: Path) -> None:
    manifest = manifests.read(index)
    info = manifest.impacts_of("impacts")
    assert info is not None
    assert (info.name, info.model) == ("small-sparse-model", str(small_sparse_model()))
    assert (info.precision, info.queries, info.max_tokens) == ("int8", "model", 0)
    assert len(manifest.segments) == 4
    assert all(set(FILES.postings) < segment.files.keys() for segment in manifest.segments)
    assert not any(FILES.pending in segment.files for segment in manifest.segments)
    assert verify(index, config()).faults == []


def test_neither_threads_nor_segments_change_a_score(index: Path, tmp_path: Path) -> None:
    (tmp_path / "three").mkdir()
    assert contents(built(tmp_path / "three", list(TEXTS), config=config(threads=3))) == (
        contents(index)
    )
    (tmp_path / "one").mkdir()
    large = replace(config(), index=replace(config().index, segment_passages=1_000))
    assert hits(built(tmp_path / "one", list(TEXTS), config=large)) == hits(index)


def test_an_interrupted_encoding_goes_on(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = contents(index)
    read: list[str] = []
    stream = SparseEncoder.weigh_documents_stream

    def stopping(self: SparseEncoder, texts: Any, size: int) -> Iterator[Sequence[SparseVector]]:
        def until(texts: Any) -> Iterator[str]:
            for text in texts:
                if len(read) == 20:
                    raise KeyboardInterrupt
                read.append(text)
                yield text

        return stream(self, until(texts), 1)

    (tmp_path / "again").mkdir()
    one_thread = config(threads=1)
    with monkeypatch.context() as patch:
        patch.setattr("factseek.retrieval.encoders.runtime.TEXTS_PER_THREAD", 1)
        patch.setattr(SparseEncoder, "weigh_documents_stream", stopping)
        with pytest.raises(KeyboardInterrupt):
            built(tmp_path / "again", list(TEXTS), config=one_thread)

    def counting(self: SparseEncoder, texts: Any, size: int) -> Iterator[Sequence[SparseVector]]:
        def counted(texts: Any) -> Iterator[str]:
            for text in texts:
                read.append(text)
                yield text

        return stream(self, counted(texts), size)

    monkeypatch.setattr(SparseEncoder, "weigh_documents_stream", counting)
    assert contents(built(tmp_path / "again", list(TEXTS), config=one_thread)) == expected
    assert len(read) == len(TEXTS)


def test_a_compaction_copies_what_a_new_build_would_encode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    docids = list(TEXTS)
    index = built(tmp_path, docids[:6])
    built(tmp_path, docids[6:11], "append")
    delete(index, [docids[2], docids[8]])
    before = hits(index)
    left = [docid for docid in docids[:11] if docid not in (docids[2], docids[8])]
    monkeypatch.setattr(view_of_impacts, "PendingImpacts", None)  # nothing is encoded again
    compact(index, config())
    monkeypatch.undo()
    assert len(manifests.read(index).segments) == 1
    assert hits(index) == before
    (tmp_path / "new").mkdir()
    assert contents(index) == contents(built(tmp_path / "new", left))
    assert verify(index, config()).faults == []


def test_a_damaged_segment_is_encoded_again(index: Path) -> None:
    expected, before = sorted(contents(index)), hits(index)
    path = index / "segments" / "000001" / FILES.impacts
    content = path.read_bytes()
    path.write_bytes(b"\0" + content[1:])
    faults = [str(fault) for fault in verify(index, config()).faults]
    assert faults[0] == f"{path}: has changed: its SHA-256 is not that of the manifest"
    assert faults[1].startswith(f"{path.with_name(FILES.starts)}: term ")
    assert faults[1].endswith(" has an impact of 0")
    done = repair(index, config())
    assert (done.segments, done.left) == (("000001",), [])
    assert (sorted(contents(index)), hits(index)) == (expected, before)


def test_a_further_model_has_files_of_its_own(index: Path) -> None:
    compact(index, config(precision="fp32"), add=["impacts:exact"])
    manifest = manifests.read(index)
    assert manifest.impact_views == ("impacts", "impacts:exact")
    assert "impacts-exact.starts" in manifest.segments[0].files
    with Index(index, config()) as opened:
        assert opened.info.retrievers == ("bm25", "impact", "impact:exact")
        first, exact = (
            opened.search(["measles river"], Search(retriever=name))[0]
            for name in ("impact", "impact:exact")
        )
    assert [hit.docid for hit in first][:2] == [hit.docid for hit in exact][:2]
    assert first != exact


def test_the_command_builds_adds_and_searches(command: Command, tmp_path: Path) -> None:
    files, index, model = source(tmp_path, list(TEXTS)), tmp_path / "index", small_sparse_model()
    code, _, said = command(
        "index", "jsonl", files, "--index", index, "--no-dense", "--impacts", model
    )
    assert (code, said) == (0, "")
    code, out, _ = command(
        "search", "measles", "--index", index, "--retriever", "impact", "-k", 2, "--json"
    )
    docids = [hit["docid"] for hit in json.loads(out)["hits"]]
    assert (code, len(docids)) == (0, 2)
    assert all("measles" in TEXTS[docid] for docid in docids)


def test_an_index_says_which_model_made_them(command: Command, index: Path) -> None:
    _, out, _ = command("info", "--index", index)
    (line,) = [line for line in out.splitlines() if line.startswith("impacts")]
    revision = manifests.read(index).views["impacts"]["revision"]
    assert line == (
        f"impacts         small-sparse-model (int8, revision {revision}), queries by model"
    )


def test_a_divided_index_ranks_as_before(command: Command, index: Path) -> None:
    before = hits(index)
    assert command("shard", index, "--into", 3)[0] == 0
    with Index(index, config()) as sharded:
        (ranked,) = sharded.search(["measles water river"], Search(retriever="impact", k=40))
    assert [(hit.docid, hit.score) for hit in ranked] == before
    assert command("unshard", index)[0] == 0
    assert hits(index) == before


def test_the_command_adds_them_to_an_index(command: Command, tmp_path: Path) -> None:
    files, index = source(tmp_path, list(TEXTS)), tmp_path / "index"
    command("index", "jsonl", files, "--index", index, "--no-dense")
    assert command("compact", "--index", index, "--add", "impacts")[::2] == (
        2,
        "factseek: impact.model: no sparse model is named; name one, such as splade-tiny, or the "
        "path of its folder (--impacts)\n",
    )
    settings = tmp_path / "settings.yaml"
    settings.write_text(f"impact:\n  model: {small_sparse_model()}\n")
    code, out, _ = command("compact", "--index", index, "--add", "impacts", "--config", settings)
    assert code == 0
    assert out.startswith(f"{index}: added impacts in ")
    assert len(hits(index)) == 40


def test_what_does_not_fit_an_index_is_refused(command: Command, tmp_path: Path) -> None:
    files, index = source(tmp_path, list(TEXTS)), tmp_path / "index"
    start = ("index", "jsonl", files, "--index", index)
    assert command(*start, "--no-dense", "--impacts", "no/such")[::2] == (
        2,
        "factseek: sparse model 'no/such' is not on this machine; fetch it with: hf download "
        "no/such\n",
    )
    command(*start, "--no-dense")
    assert command(*start, "--append", "--impacts", small_sparse_model())[::2] == (
        2,
        f"factseek: {index}: the index has no impacts, and its segments have the same parts; "
        "leave it out, and add it with factseek compact --add impacts\n",
    )
    command(*start, "--no-dense", "--overwrite", "--impacts", small_sparse_model())
    code, _, said = command(*start, "--append", "--impacts", "other/model")
    assert code == 2
    assert said.startswith(f"factseek: {index}: its impacts were made by small-sparse-model (int8,")
    assert said.endswith(
        "), not by other/model; leave out --impacts and impact.model, or rebuild the index with "
        "--overwrite\n"
    )


def test_a_manifest_with_another_description_is_damaged(index: Path) -> None:
    path = index / manifests.NAME
    raw = json.loads(path.read_text())
    raw["views"]["impacts"]["vocabulary"] = 0
    path.write_text(json.dumps(raw))
    with pytest.raises(IndexStateError) as raised:
        manifests.read(index)
    assert raised.value.what.startswith("is damaged (the model of impacts is not described: ")
