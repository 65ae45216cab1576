"""A retriever is one file: put beside the others, it is asked for everywhere that the others are."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

import factseek
from factseek.eval.bench import bench as benchmark
from factseek.eval.bench import load
from factseek.eval.run.judged import JudgedFiles, read_judged
from factseek.retrieval import retrievers
from factseek.retrieval.domain import Part
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.server.app import create_app
from factseek.server.settings import ServerSettings
from factseek.settings import Config, convert

RETRIEVER = '''
"""Ranks by how many of the query's words a document holds, letter by letter."""

from ..search.order import top_k
from ..records.runs import best_documents

LABEL, HELP = "Toy", "words counted one by one"
FUSES, WEIGHS_WORDS, DEFAULT_WEIGHT, PRIORITY, BLOCKING, BATCHES = False, False, 0.25, -1, False, False


def names(manifest):
    """Name the retriever."""
    return ("toy",)


def lacks(name, manifest, config):
    """Return None: it needs the documents alone."""


def views(name, manifest, config):
    """Name no view."""
    return ()


def rankings(name, config):
    """Name the one ranking."""
    return (name,)


def open(name, snapshot, config, *, group):
    """Open it over a snapshot."""
    return Toy(snapshot, group)


class Toy:
    def __init__(self, snapshot, group):
        self.rows, self.group = snapshot.rows, group
        texts = {document.docid: f"{document.title} {document.text}".casefold() for document in snapshot.documents()}
        self.texts = [texts[docid] for docid in self.rows.docids]

    def search(self, queries, k, where=None, limit=None):
        """Return at most k hits a query in the total order."""
        return [top_k(lambda n: self.fetch(query, n), k, self.rows, group=self.group) for query in queries]

    def columns(self, queries, k, where=None, limit=None):
        """Return the documents of what search returns."""
        return list(map(best_documents, self.search(queries, k, where, limit)))

    def matching(self, query):
        """Return None: every passage is ranked."""

    def fetch(self, query, n):
        """Return scores and rows."""
        words = query.casefold().split()
        scored = [(float(sum(word in text for word in words)), row) for row, text in enumerate(self.texts)]
        ranked = sorted((pair for pair in scored if pair[0]), key=lambda pair: -pair[0])[:n]
        return [score for score, _ in ranked], [row for _, row in ranked]
'''
QUERY = "measles vaccine doses"


@pytest.fixture(autouse=True)
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The folder of retrievers, with one more."""
    (tmp_path / "toy.py").write_text(RETRIEVER, "utf-8")
    monkeypatch.setattr(retrievers, "__path__", [*retrievers.__path__, str(tmp_path)])
    yield
    sys.modules.pop(f"{retrievers.__name__}.toy", None)


@pytest.fixture
def fused(folders: dict[str, Path]) -> Iterator[Index]:
    """An index whose hybrid fuses three rankings."""
    weights = {"bm25": 1, "dense": 1, "toy": 2}
    with Index(
        folders["english"], convert({"search": {"fusion": {"kind": "rrf", "weights": weights}}}, "test")
    ) as index:
        yield index


def test_it_is_searched_fused_and_explained(fused: Index) -> None:
    assert "toy" in fused.info.retrievers
    alone = fused.search([QUERY], Search(retriever="toy"))[0]
    assert [(hit.docid, hit.score) for hit in alone[:1]] == [("measles", 3.0)]
    hybrid = fused.search([QUERY])[0]
    assert hybrid[0].docid == "measles"
    assert [part.retriever for part in hybrid[0].parts] == ["bm25", "dense", "toy"]
    assert hybrid[0].parts[2].vote == pytest.approx(2 / 11)
    evidence = fused.evidence(QUERY, hybrid)
    assert evidence[0].retrievers["toy"].score == 3.0


def test_it_votes_where_no_weights_are_set(folders: dict[str, Path]) -> None:
    with Index(folders["english"]) as index:
        assert index.settings.search.fusion.weights == {"bm25": 0.5, "dense": 0.5, "toy": 0.25}
        assert index.resolve().rankings == ("bm25", "dense", "toy")
        stretched = replace(index.settings.search.fusion, kind="minmax")
        best = index.search([QUERY], Search(fusion=stretched))[0][0]
    assert (best.docid, best.parts[2]) == ("measles", Part("toy", 1, 3.0, 0.25))


def test_python_takes_it(folders: dict[str, Path]) -> None:
    with factseek.open_index(folders["english"]) as index:
        run = factseek.run(index, [factseek.Query("q1", QUERY)], retriever="toy", k=2)
        assert [(hit.docid, hit.score) for hit in run["q1"]][:1] == [("measles", 3.0)]
        assert factseek.evaluate(run, {"q1": {"measles": 1}}, ["RR@5"]).means() == {"RR@5": 1.0}


def test_the_command_line_takes_it(folders: dict[str, Path], command: Callable[..., tuple[int, str, str]]) -> None:
    code, printed, _ = command("search", QUERY, "--index", folders["english"], "--retriever", "toy", "--json")
    assert (code, json.loads(printed)["retriever"]) == (0, "toy")
    with pytest.raises(SystemExit):
        command("search", "--help")


def test_it_is_served_described_and_shown(fused: Index, folders: dict[str, Path]) -> None:
    config = Config(search=fused.settings.search, server=ServerSettings())
    client = create_app(config, {"english": fused}).test_client()
    answer = client.post("/v1/english/search", json={"query": QUERY, "retriever": "toy", "explain": True}).json
    assert answer["hits"][0]["retrievers"] == {"toy": {"rank": 1, "score": 3.0}}
    assert answer["explanation"]["hits"][0]["retrievers"] == {"toy": {"rank": 1, "score": 3.0, "vote": 3.0}}
    weights = {"bm25": 0, "toy": 1}
    answer = client.post("/v1/english/search", json={"query": QUERY, "fusion": {"weights": weights}}).json
    assert set(answer["hits"][0]["retrievers"]) == {"bm25", "toy"}
    assert "toy" in client.get("/v1/indexes/english").json["index"]["retrievers"]
    assert "toy" in json.dumps(client.get("/openapi.json").json["components"]["schemas"]["SearchRequest"])
    page = client.get(f"/?index=english&view=side&query={QUERY.replace(' ', '+')}").text
    assert '<section class="column toy"' in page
    assert "words counted one by one" in page


def test_it_is_benchmarked(folders: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    queries, qrels = tmp_path / "queries.tsv", tmp_path / "qrels"
    queries.write_text(f"q1\t{QUERY}\n", "utf-8")
    qrels.write_text("q1 0 measles 1\n", "utf-8")
    monkeypatch.setattr(benchmark, "measure", load.put_load)  # a process of its own would not see the test's file
    with Index(folders["english"]) as index:
        judged = read_judged(JudgedFiles(task="trec", queries=queries, qrels=qrels), index)
        request = benchmark.BenchRequest(
            name="toy", retrievers=benchmark.chosen("toy,bm25", index), measures=("RR@5",), timed=2
        )
        found = benchmark.bench(index, judged, request)
    assert found.quality.means["RR@5"]["toy"].mean == 1.0
    assert found.measured[1].retriever == "toy"
    assert found.measured[1].megabytes < found.measured[0].megabytes
