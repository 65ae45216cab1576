"""An index without documents is an index: every command takes it, and documents can follow."""

import json
import threading
from pathlib import Path

import pytest

from factseek import commands
from factseek.indexer.build import BuildRequest, create_empty
from factseek.indexer.watching import watch
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.settings import Config

NOTE = "the index has no documents yet"


def run(*words: object) -> int:
    return commands.main([str(word) for word in words])


def make_empty(folder: Path, *, dense: bool = False) -> Path:
    create_empty(BuildRequest(kind="", sources=(), folder=folder, dense=dense), Config())
    return folder


def test_every_command_takes_an_empty_index(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index, copy = tmp_path / "new", tmp_path / "copy"
    options = ("--empty", "--language", "de", "--no-dense", "--index", index)
    assert run("index", *options) == 0
    said = capsys.readouterr()
    assert said.out == f"{index}: made an empty index, language de\n"
    assert said.err.endswith(
        f"add documents with factseek index KIND SOURCE --append --index {index}\n"
    )
    for words, expected in {
        ("info",): "documents       0 in 0 passages, 0.0 MB\n",
        ("verify-index",): f"{index}: 0 whole documents, no fault found\n",
        ("compact",): f"{index}: nothing to merge in 0 segments\n",
        ("snapshot", copy): f"{copy}: 0 documents, 0 files shared with the index\n",
        ("export",): "",
        ("delete", "nobody"): f"{index}: deleted 0 documents, 1 were not in the index\n",
    }.items():
        assert run(*words, "--index", index) == 0, words
        assert expected in capsys.readouterr().out, words
    assert run("verify-index", "--index", copy) == 0
    source = tmp_path / "one.jsonl"
    source.write_text('{"docid": "one", "text": "Die alten Rohre sind fort."}\n')
    assert run("index", "jsonl", source, "--append", "--index", index) == 0
    assert run("search", "Rohre", "--index", index, "--json") == 0
    (hit,) = json.loads(capsys.readouterr().out.partition("s\n")[2])["hits"]
    assert hit["docid"] == "one"


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        (
            (),
            "give the kind of source and a SOURCE, or --empty for an index without documents; see "
            "factseek index --help",
        ),
        (
            ("snippets",),
            "give the kind of source and a SOURCE, or --empty for an index without documents; see "
            "factseek index --help",
        ),
        (
            ("snippets", "a.tsv", "--empty"),
            "--empty reads no source; leave out a.tsv, or --empty",
        ),
        (("--empty", "--append"), "--empty and --append exclude each other; leave out one"),
        (
            ("sitemap", "--empty"),
            "--empty: sitemap is no kind of document; leave it out, or give webpages",
        ),
        (
            ("--empty", "--shards", "2"),
            "--empty makes an index without shards; leave out --shards and --ray, and divide the "
            "index later: factseek shard",
        ),
    ],
)
def test_what_an_empty_index_cannot_be(
    options: tuple[str, ...],
    reason: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert run("index", *options, "--index", tmp_path / "new") == 2
    assert capsys.readouterr().err == f"factseek: {reason}\n"


def test_an_index_is_not_emptied_by_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    index = make_empty(tmp_path / "new")
    assert run("index", "--empty", "--no-dense", "--index", index) == 2
    assert "there is an index already; use --append to add to it" in capsys.readouterr().err
    assert run("index", "--empty", "--no-dense", "--overwrite", "--index", index) == 0


def test_every_ranking_of_an_empty_index_is_empty(tmp_path: Path) -> None:
    with Index(make_empty(tmp_path / "new", dense=True)) as index:
        for retriever in index.info.retrievers:
            options = Search(retriever=retriever)
            assert index.search(["The old pipes are gone."], options) == [[]], retriever
            assert index.note("The old pipes are gone.", options) == NOTE


def test_an_empty_index_can_hold_every_kind(tmp_path: Path) -> None:
    with Index(make_empty(tmp_path / "new")) as index:
        assert {"rating", "verdict", "label"} == set(index.info.filter_fields)


def test_a_folder_is_watched_into_an_empty_index(tmp_path: Path) -> None:
    index, folder = make_empty(tmp_path / "new"), tmp_path / "inbox"
    folder.mkdir()
    (folder / "a.jsonl").write_text('{"docid": "a", "text": "The old pipes are gone."}\n')
    request = BuildRequest(kind="jsonl", sources=(folder,), folder=index, wait=60.0)
    stop = threading.Event()
    outcome = next(watch(request, Config(), stop, "*", lambda: None))
    assert outcome.report is not None, outcome.error
    assert outcome.report.documents == 1
