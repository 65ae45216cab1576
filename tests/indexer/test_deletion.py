"""Updating and deleting: what is gone is found by no retriever, what is new by all, the rest stays
as it is.
"""

from pathlib import Path

import pytest

from factseek import commands
from factseek.indexer.deletion import delete
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search

TEXTS = {
    "a": "Measles vaccines protect children.",
    "b": "The measles virus spreads in the air.",
    "c": "The Nile floods in summer.",
    "d": "Measles outbreaks follow low vaccination.",
}
DOCUMENTS = [{"docid": docid, "text": text, "topic": "T"} for docid, text in TEXTS.items()]
RETRIEVERS = ["bm25", "dense", "hybrid"]


def found(
    folder: Path, retriever: str, query: str = "measles vaccination", **asked: object
) -> set[str]:
    with Index(folder) as index:
        return {hit.docid for hit in index.search([query], Search(retriever=retriever, **asked))[0]}


def texts(folder: Path) -> dict[str, str]:
    with Index(folder) as index:
        return {document.docid: document.text for document in index.documents()}


def test_an_update_replaces_what_changed_and_leaves_the_rest(
    tmp_path: Path, write_jsonl, build_jsonl
) -> None:
    build_jsonl(write_jsonl("docs.jsonl", DOCUMENTS), dense=True)
    changed = [
        {**DOCUMENTS[0], "text": "Bananas are yellow."},
        *DOCUMENTS[1:],
        {"docid": "e", "text": "Measles again."},
    ]
    report = build_jsonl(write_jsonl("new.jsonl", changed), verb="update", dense=True)
    assert (report.documents, report.replaced, report.duplicates) == (2, 1, 3)
    assert (report.manifest.documents, report.manifest.passages) == (5, 5)
    folder = tmp_path / "index"
    assert texts(folder) == {**TEXTS, "a": "Bananas are yellow.", "e": "Measles again."}
    assert found(folder, "bm25", "bananas") == {"a"}
    assert "a" not in found(folder, "bm25")
    with Index(folder) as index:
        assert index.document("a").text == "Bananas are yellow."
        assert index.search(["bananas"], Search(retriever="dense", k=1))[0][0].docid == "a"
        hits = index.search(["protect children vaccines"], Search(retriever="hybrid", k=5))[0]
        assert sorted(hit.docid for hit in hits) == sorted({hit.docid for hit in hits})


def test_a_deleted_document_can_come_back(tmp_path: Path, write_jsonl, build_jsonl) -> None:
    source = write_jsonl("docs.jsonl", DOCUMENTS)
    build_jsonl(source, dense=True)
    folder = tmp_path / "index"
    delete(folder, ["b"])
    report = build_jsonl(source, verb="append", dense=True)
    assert (report.documents, report.duplicates) == (1, 3)
    assert texts(folder) == TEXTS
    for retriever in RETRIEVERS:
        assert "b" in found(folder, retriever)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_the_commands(
    encoding: str, tmp_path: Path, write_jsonl, capsys: pytest.CaptureFixture[str]
) -> None:
    source, folder = str(write_jsonl("docs.jsonl", DOCUMENTS)), str(tmp_path / "index")
    (tmp_path / "gone.txt").write_bytes("a\r\nb\r\n".encode(encoding))
    assert commands.main(["index", "jsonl", source, "--index", folder, "--no-dense"]) == 0
    assert (
        commands.main(
            ["delete", "--index", folder, "zz", "--from-file", str(tmp_path / "gone.txt")]
        )
        == 0
    )
    printed = capsys.readouterr()
    assert printed.out.splitlines()[-1] == f"{folder}: deleted 2 documents, 1 were not in the index"
    assert printed.err.splitlines()[-1] == "not in the index: zz"
    assert commands.main(["index", "jsonl", source, "--index", folder, "--update"]) == 0
    assert "added 2 documents in 2 passages, 2 were already in the index" in capsys.readouterr().out
    (tmp_path / "gone.txt").write_bytes(b"")
    assert (
        commands.main(["delete", "--index", folder, "--from-file", str(tmp_path / "gone.txt")]) == 0
    )
    assert capsys.readouterr().out == f"{folder}: deleted 0 documents\n"
    assert commands.main(["delete", "--index", folder]) == 2
    assert capsys.readouterr().err == (
        "factseek: give the docids to delete, a file of docids with --from-file, or a --filter\n"
    )
