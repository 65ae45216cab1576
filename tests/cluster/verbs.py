"""The verbs of an index, in shards or not, and what it holds: for tests that compare the two."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

from factseek.cluster import build as of_shards
from factseek.cluster import layout
from factseek.indexer import build as of_index
from factseek.indexer import compaction, deletion, verification
from factseek.indexer.build import BuildReport, BuildRequest
from factseek.indexer.export import export
from factseek.retrieval.search.opening import leased
from factseek.retrieval.store.documents import SegmentDocuments
from factseek.retrieval.store.manifest import DOCUMENTS
from factseek.settings import Config, convert

CONFIG: Config = convert({"index": {"segment_passages": 10}}, "test")
State = dict[str, str]


def build(request: BuildRequest, config: Config, shards: int = 0) -> BuildReport:
    if shards or layout.is_sharded(request.folder):
        return of_shards.build_shards(request, shards, config)
    return of_index.build(request, config)


def delete(folder: Path, docids: list[str]) -> deletion.Deleted:
    return (of_shards if layout.is_sharded(folder) else deletion).delete(folder, docids)


def compact(folder: Path, config: Config, **options: Any) -> compaction.Compacted:
    return (of_shards if layout.is_sharded(folder) else compaction).compact(
        folder, config, **options
    )


def verify(folder: Path, config: Config) -> verification.Verified:
    return (of_shards if layout.is_sharded(folder) else verification).verify(folder, config)


def divide(folder: Path, shards: int, config: Config) -> object:
    return of_shards.divide(folder, shards, config, sharded=layout.is_sharded(folder))


def written(folder: Path, name: str, documents: State) -> Path:
    rows = (json.dumps({"docid": docid, "text": text}) + "\n" for docid, text in documents.items())
    (folder / name).write_text("".join(rows), "utf-8")
    return folder / name


def exported(index: Path) -> State:
    documents = map(json.loads, export(index))
    return {document["docid"]: document["text"] for document in documents}


def passages(index: Path) -> Counter[tuple[str, bool]]:
    there: Counter[tuple[str, bool]] = Counter()
    with leased(index) as parts:
        for folder, segment in (
            (folder, segment) for folder, manifest in parts for segment in manifest.segments
        ):
            documents = SegmentDocuments(folder / "segments" / segment.name / DOCUMENTS)
            docids = [passage.docid for _, passage in documents.each_passage()]
            documents.close()
            there.update((docid, row not in segment.deleted) for row, docid in enumerate(docids))
    return there
