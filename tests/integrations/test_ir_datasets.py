"""ir_datasets both ways: its documents, queries and judgements read by us, and an index of ours as
its dataset.
"""

import copy
import itertools
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import factseek
from factseek import Searcher

pytest.importorskip("ir_datasets", reason="factseek[ir-datasets] is not installed")

import ir_datasets
from ir_datasets.formats import BaseDocs, BaseQrels, BaseQueries, GenericQrel, GenericQuery

from factseek.integrations import ir_datasets as integration

Command = Callable[..., tuple[int, str, str]]
NAME = "factseek-test"


class Paper(NamedTuple):
    doc_id: str
    title: str
    abstract: str
    date: str
    pages: int
    authors: tuple[str, ...]

    def default_text(self) -> str:
        return f"{self.title} {self.abstract}"


PAPERS = [
    Paper("p1", "Measles vaccine", "Two doses protect well.", "2019-05-02", 3, ("A", "B")),
    Paper("p2", "", "The moon is far.", "", 0, ()),
    Paper("p3", "Smallpox", "Smallpox was eradicated.", "1980", 9, ()),
]


class Docs(BaseDocs):
    def __init__(self, documents: list[Any], language: str | None = "en") -> None:
        self.documents = documents
        self.language = language

    def docs_iter(self) -> Iterator[Any]:
        return iter(self.documents)

    def docs_cls(self) -> type:
        return type(self.documents[0])

    def docs_lang(self) -> str | None:
        return self.language


class Queries(BaseQueries):
    def queries_iter(self) -> Iterator[GenericQuery]:
        yield GenericQuery("q1", "  is the measles\nvaccine good ")
        yield GenericQuery("q2", "who eradicated smallpox")


class Qrels(BaseQrels):
    def qrels_iter(self) -> Iterator[GenericQrel]:
        yield GenericQrel("q1", "p1", 2)
        yield GenericQrel("q2", "p3", 1)
        yield GenericQrel("q2", "p2", 0)


class Failing(BaseDocs):
    def docs_iter(self) -> Iterator[Paper]:
        yield PAPERS[0]
        raise OSError("the download broke off")


numbers = itertools.count()


def registered(*parts: Any) -> str:
    name = f"{NAME}/{next(numbers)}"
    ir_datasets.registry.register(name, ir_datasets.Dataset(*parts))
    return name


@pytest.fixture(scope="module")
def name() -> str:
    return registered(Docs(PAPERS), Queries(), Qrels())


def test_a_collection_is_indexed_run_and_scored(
    command: Command, name: str, tmp_path: Path
) -> None:
    index, run = tmp_path / "index", tmp_path / "a.run"
    code, out, err = command("index", f"irds:{name}", "--index", index, "--no-dense")
    assert (code, err) == (0, "")
    assert out.startswith(f"{index}: added 3 documents in 3 passages")
    code, out, err = command(
        "run", "trec", "--queries", f"irds:{name}", "--index", index, "--output", run, "-k", 1
    )
    assert (code, err) == (0, "")
    assert [line.split()[:3] for line in run.read_text().splitlines()] == [
        ["q1", "Q0", "p1"],
        ["q2", "Q0", "p3"],
    ]
    code, out, err = command(
        "score", "trec", "--gold", f"irds:{name}", "--run", run, "--measures", "AP"
    )
    assert (code, err) == (0, "")
    assert out.split() == ["measure", "value", "AP", "(official)", "1.0000"]


def test_documents_are_read_with_their_fields(name: str, tmp_path: Path) -> None:
    factseek.build(f"irds:{name}", [], tmp_path / "index", dense=False)
    with factseek.open_index(tmp_path / "index") as index:
        first, second = index.document("p1"), index.document("p2")
    assert first._replace(metadata=dict(first.metadata)) == factseek.Document(
        "p1",
        "Two doses protect well.",
        "Measles vaccine",
        date="2019-05-02",
        language="en",
        metadata={"pages": 3},
    )
    assert second.text == " The moon is far."


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ("index", "irds:nobody"),
            (
                "irds:nobody: ir_datasets has no dataset of this name; list the names: "
                "ir_datasets list"
            ),
        ),
        (("index", "irds:{queries}"), "irds:{queries}: has no documents; it has only queries"),
        (("index", "irds:{failing}"), "irds:{failing}: cannot be read: the download broke off"),
        (
            ("run", "trec", "--queries", "irds:{docs}", "--output", "x"),
            "irds:{docs}: has no queries; it has only documents",
        ),
        (
            ("score", "trec", "--gold", "irds:{docs}", "--run", "x"),
            "irds:{docs}: has no judgements; it has only documents",
        ),
    ],
)
def test_what_is_missing(
    command: Command, name: str, arguments: tuple[str, ...], line: str, tmp_path: Path
) -> None:
    names = {
        "name": name,
        "queries": registered(Queries()),
        "docs": registered(Docs(PAPERS)),
        "failing": registered(Failing()),
    }
    index = () if arguments[0] == "score" else ("--index", tmp_path / "index")
    code, out, err = command(*(argument.format(**names) for argument in arguments), *index)
    assert (code, out, err) == (2, "", f"factseek: {line.format(**names)}\n")
    assert not (tmp_path / "index").exists()


@pytest.fixture(scope="module")
def ours(folder: Path, examples: Path) -> ir_datasets.Dataset:
    queries, name = (
        factseek.read_queries(examples / "queries-en.tsv"),
        f"{NAME}-ours-{next(numbers)}",
    )
    made = integration.register(name, folder, queries=queries, qrels=examples / "qrels-en.txt")
    assert ir_datasets.load(name) is made
    return made


def test_an_index_is_a_dataset(ours: ir_datasets.Dataset, searcher: Searcher) -> None:
    expected = list(searcher.documents())
    documents = list(ours.docs_iter())
    assert [document.doc_id for document in documents] == [document.docid for document in expected]
    assert ours.docs_count() == len(ours.docs) == len(expected) == 77
    assert (ours.docs_lang(), ours.docs_namespace()) == ("en", f"factseek/{searcher.info.name}")
    titled = next(document for document in documents if document.title)
    assert titled.default_text() == f"{titled.title}\n{titled.text}"


def test_documents_are_looked_up_and_sliced(ours: ir_datasets.Dataset) -> None:
    documents = list(ours.docs_iter())
    store = ours.docs_store()
    assert store.get(documents[5].doc_id) == documents[5]
    assert store.get_many([documents[2].doc_id, "none"]) == {documents[2].doc_id: documents[2]}
    assert store.get(documents[5].doc_id, "url") == documents[5].url
    with pytest.raises(KeyError):
        store.get("none")
    with pytest.raises(TypeError, match="doc_ids is one text"):
        store.get_many(documents[2].doc_id)
    assert list(ours.docs_iter()[3:20:4]) == documents[3:20:4]
    assert list(ours.docs_iter()[10:30][5:8]) == documents[15:18]
    assert (ours.docs_iter()[0], ours.docs_iter()[-1]) == (documents[0], documents[-1])
    for place in (len(documents), -len(documents) - 1):
        with pytest.raises(IndexError):
            ours.docs_iter()[place]


def test_without_ir_datasets_it_is_said_how_to_get_it(
    monkeypatch: pytest.MonkeyPatch, command: Command
) -> None:
    monkeypatch.setitem(__import__("sys").modules, "ir_datasets", None)
    code, _, err = command("index", "irds:x", "--index", "nowhere")
    assert (code, err) == (
        2,
        (
            "factseek: irds:x: the package ir_datasets is missing; install it with: pip "
            "install 'factseek[ir-datasets]'\n"
        ),
    )


def test_a_copy_of_a_dataset_opens_the_index_again(folder: Path, searcher: Searcher) -> None:
    dataset = integration.dataset(folder, queries=[("1", "measles")])
    docids = [document.docid for document in searcher.documents()]
    for again in (copy.deepcopy(dataset), pickle.loads(pickle.dumps(dataset))):
        assert [document.doc_id for document in again.docs_iter()] == docids
        assert again.docs_store().get(docids[0]).doc_id == docids[0]
        assert [query.text for query in again.queries_iter()] == ["measles"]
