"""Odd documents: the same docid in two sources, any Unicode, a million characters, no words, only numbers."""

from __future__ import annotations

from pathlib import Path

import pytest

from factseek.indexer.build import BuildReport, BuildRequest, Verb, build
from factseek.indexer.compaction import compact
from factseek.indexer.deletion import delete
from factseek.indexer.export import export_to
from factseek.indexer.verification import verify
from factseek.retrieval.domain import Filter
from factseek.retrieval.errors import SourceError
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.settings import Config, convert
from tests.indexer.test_compaction import write

LONG = "Measles " + "vaccines protect children from measles, and rivers flow to the sea. " * 14_800
ODD = {
    "long": LONG,
    "one-word": "x" * 1_000_000,
    "no-words": "… — !!! ؟",
    "numbers": "2019 07 3.14159 1,000,000",
    "عربي/وثيقة": "النيل أطول أنهار أفريقيا",
    "😀😀": "Emoji 😀 measles",
    "é": "composed",
    "e\u0301": "decomposed",
    'quo"te\\back': "A quotation.",
    "a=b:c%20d|e": "Separators of every kind.",
    "000001:long": "Looks like a name with its segment.",
    "\U0010ffff": "The last character.",
}
ROWS = [{"docid": docid, "text": text} for docid, text in ODD.items()]


DEFAULTS = Config()


def built(
    folder: Path, sources: list[Path], verb: Verb = "", config: Config = DEFAULTS, *, dense: bool = False
) -> BuildReport:
    return build(BuildRequest(kind="jsonl", sources=tuple(sources), folder=folder, verb=verb, dense=dense), config)


def texts(folder: Path) -> dict[str, str]:
    with Index(folder) as index:
        return {d.docid: d.text for d in index.documents()}


def found(folder: Path, query: str, retriever: str = "bm25") -> list[str]:
    with Index(folder) as index:
        return [hit.docid for hit in index.search([query], Search(k=20, retriever=retriever))[0]]


@pytest.mark.parametrize("split", [False, True])
def test_odd_documents_live_like_any_other(tmp_path: Path, split: bool) -> None:
    assert len(LONG) > 1_000_000
    config = convert({"passages": {"split": {"jsonl": split}}}, "test")
    folder = tmp_path / "index"
    built(folder, [write(tmp_path, "odd.jsonl", ROWS)], config=config)
    assert texts(folder) == ODD
    assert verify(folder, config).faults == {}
    assert found(folder, "measles")[0] in {"long", "😀😀"}
    assert found(folder, "2019") == found(folder, "3.14159") == ["numbers"]
    assert found(folder, "composed") == ["é"]
    with Index(folder, config) as index:
        assert sum(len(index.passages(docid)) for docid in ODD) == index.info.passages
        assert (len(index.passages("long")) > 100) == split
    assert built(folder, [tmp_path / "odd.jsonl"], "update", config).duplicates == len(ODD)
    export_to(folder, tmp_path / "out.jsonl")
    built(tmp_path / "again", [tmp_path / "out.jsonl"], config=config)
    assert texts(tmp_path / "again") == ODD
    gone = ["é", "000001:long", "عربي/وثيقة", "no-words", "a=b:c%20d|e"]
    assert delete(folder, gone).documents == 5
    left = {docid: text for docid, text in ODD.items() if docid not in gone}
    assert texts(folder) == left
    assert (found(folder, "composed"), found(folder, "decomposed")) == ([], ["e\u0301"])
    assert found(folder, "النيل") == []
    compact(folder, config)
    assert texts(folder) == left
    assert verify(folder, config).faults == {}


def test_odd_documents_have_vectors(tmp_path: Path) -> None:
    folder = tmp_path / "index"
    built(folder, [write(tmp_path, "odd.jsonl", ROWS)], dense=True)
    assert verify(folder, DEFAULTS).faults == {}
    for retriever in ("dense", "hybrid"):
        assert sorted(found(folder, "measles", retriever)) == sorted(ODD)


def test_a_topic_may_be_as_long_as_it_likes(tmp_path: Path) -> None:
    topics = {"a": "t" * 40_000, "b": "t" * 40_001, "c": "t"}
    rows = [{"docid": docid, "text": "Measles.", "topic": topic} for docid, topic in topics.items()]
    built(tmp_path / "index", [write(tmp_path, "topics.jsonl", rows)])
    with Index(tmp_path / "index") as index:
        for docid, topic in topics.items():
            asked = Search(retriever="bm25", where=Filter(topic=(topic,)))
            assert [hit.docid for hit in index.search(["measles"], asked)[0]] == [docid]


def test_one_docid_in_two_sources_is_refused_unless_it_is_an_update(tmp_path: Path) -> None:
    first = write(tmp_path, "first.jsonl", [{"docid": "a", "text": "One."}, {"docid": "b", "text": "Same."}])
    second = write(tmp_path, "second.jsonl", [{"docid": "b", "text": "Same."}, {"docid": "a", "text": "Two."}])
    said = (
        f"{second}:2: docid 'a' stands at {first}:1 already, with other content; "
        "fix it, or skip bad lines with --skip-bad-lines N"
    )
    with pytest.raises(SourceError) as error:
        built(tmp_path / "index", [first, second])
    assert str(error.value) == said
    built(tmp_path / "index", [first])
    with pytest.raises(SourceError) as error:
        built(tmp_path / "index", [second], "append")
    assert str(error.value) == said
    assert texts(tmp_path / "index") == {"a": "One.", "b": "Same."}
    report = built(tmp_path / "index", [second], "update")
    assert (report.documents, report.replaced, report.duplicates) == (1, 1, 1)
    assert texts(tmp_path / "index") == {"a": "Two.", "b": "Same."}


def test_one_docid_in_two_indexes_is_two_documents(tmp_path: Path) -> None:
    for name in ("one", "two"):
        built(tmp_path / name, [write(tmp_path, f"{name}.jsonl", [{"docid": "a", "text": name}])])
    delete(tmp_path / "one", ["a"])
    assert (texts(tmp_path / "one"), texts(tmp_path / "two")) == ({}, {"a": "two"})
