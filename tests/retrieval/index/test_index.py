"""The open index: the same hits in any company, filters before ranking, and words for what cannot
be.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from factseek.core.deadline import Deadline, Memory
from factseek.core.domain import Filter
from factseek.core.errors import ClosedError, IndexStateError, MachineError
from factseek.retrieval.filters import matches
from factseek.retrieval.lucene.analysis import highlights
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from tests.retrieval.conftest import SENTENCES, documents

RETRIEVERS = ["bm25", "dense", "hybrid"]
BY_ID = {document.docid: document for document in documents()}


@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_a_query_has_the_same_hits_in_any_company_and_on_any_thread(
    small: Index, retriever: str
) -> None:
    asked = Search(k=20, retriever=retriever)
    together = small.search(SENTENCES * 5, asked)
    assert together == [small.search([query], asked)[0] for query in SENTENCES] * 5
    with ThreadPoolExecutor(4) as pool:
        apart = list(pool.map(lambda query: small.search([query], asked)[0], SENTENCES * 5))
    assert apart == together


FILTERS = st.builds(
    Filter,
    topic=st.lists(st.sampled_from(["T0", "T1", "T2", "nowhere"]), max_size=2, unique=True).map(
        tuple
    ),
    source=st.lists(st.sampled_from(["who.int", "a b", "a"]), max_size=2, unique=True).map(tuple),
    language=st.lists(st.sampled_from(["en", "de"]), max_size=1).map(tuple),
    kind=st.lists(st.sampled_from(["jsonl", "cord19"]), max_size=2, unique=True).map(tuple),
    as_of=st.sampled_from(
        ["", "2018-12-31", "2019-12-31", "2020-02-29", "2020-03-01", "2022-01-01"]
    ),
    since=st.sampled_from(["", "2019-01-01", "2020-03-01", "2020-03-02"]),
    undated=st.booleans(),
    # Words and declared fields have properties of their own.
    phrases=st.just(()),
    without=st.just(()),
    title=st.just(()),
    metadata=st.just(()),
)


@pytest.mark.parametrize("retriever", RETRIEVERS)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(where=FILTERS, query=st.sampled_from(SENTENCES))
def test_filters_are_applied_before_ranking(
    small: Index, retriever: str, where: Filter, query: str
) -> None:
    asked = Search(k=48, retriever=retriever, where=where)
    (hits,) = small.search([query], asked)
    everything = small.search([query], replace(asked, where=None))[0]
    passing = {docid for docid, document in BY_ID.items() if matches(where, document, "jsonl")}
    assert {document.docid for document in small.documents(where)} == passing
    assert {hit.docid for hit in hits} == {hit.docid for hit in everything} & passing
    if retriever != "hybrid":  # fused scores depend on the ranks among what passes
        assert hits == [hit for hit in everything if hit.docid in passing]
    few = small.search([query], replace(asked, k=5))[0]
    assert len(few) == min(5, len(hits))


def test_evidence_shows_passage_highlights_and_each_retrievers_rank(small: Index) -> None:
    query = "measles vaccine"
    (hits,) = small.search([query], Search(k=5))
    evidence = small.evidence(query, hits)
    assert [entry.rank for entry in evidence] == [1, 2, 3, 4, 5]
    for entry in evidence:
        document = BY_ID[entry.docid]
        passage = entry.passage
        assert document.text[passage.start : passage.end] == passage.text
        marked = {passage.text[start:end].lower() for start, end in passage.highlights}
        assert marked <= {"measles", "vaccine", "vaccination"}
        assert set(entry.retrievers) <= {"bm25", "dense"}
        assert (entry.kind, entry.topic, entry.metadata) == (
            "jsonl",
            document.topic,
            document.metadata,
        )
    bm25 = small.search([query], Search(k=100, retriever="bm25"))[0]
    ranks = {hit.docid: (rank, hit.score) for rank, hit in enumerate(bm25, 1)}
    for entry in evidence:
        part = entry.retrievers.get("bm25")
        assert (part and (part.rank, part.score)) == ranks.get(entry.docid)


@pytest.mark.parametrize("group", [True, False])
def test_each_of_many_hits_has_the_passages_of_its_own_document(small: Index, group: bool) -> None:
    query, asked = "measles vaccine", Search(k=45, group=group)
    (hits,) = small.search([query], asked)
    evidence = small.evidence(query, hits, asked)
    together = small.with_passages(query, evidence, asked)
    assert together == [small.with_passages(query, [hit], asked)[0] for hit in evidence]
    for hit in together:
        shown = {passage.number: passage.text for passage in hit.passages}
        there = {passage.number: passage.text for passage in small.passages(hit.docid)}
        assert shown.items() <= there.items()
        assert hit.passage in hit.passages
        for number, text in there.items():
            assert (number in shown) == (
                number == hit.passage.number or bool(highlights(query, text, small.terms))
            )


class CountedMemory(Memory):
    spent = 0

    def spend(self, size: int) -> None:
        self.spent += size


@pytest.mark.parametrize(
    "asked", [Search(k=5, sort="date"), Search(k=5, stages=("per_source=1",))], ids=["sort", "most"]
)
def test_a_stage_that_needs_a_field_reads_no_texts(small: Index, asked: Search) -> None:
    memory = CountedMemory()
    with ThreadPoolExecutor(2) as pool:
        (hits,) = small.search(["measles vaccine"], asked, Deadline(60, pool, memory))
    assert hits == small.search(["measles vaccine"], asked)[0]
    assert not memory.spent


def test_an_encoder_that_is_not_found_as_it_was_is_refused(small: Index, tmp_path: Path) -> None:
    folder = tmp_path / "index"
    shutil.copytree(small.info.place, folder)
    manifest = json.loads((folder / "manifest.json").read_bytes())
    for encoder, error, message in [
        (
            {"revision": "0123456789abcdef"},
            IndexStateError,
            "and the model of that name is now all-MiniLM-L6-v2 (int8, ",
        ),
        ({"name": "gone", "model": "/no/such/folder"}, MachineError, "there is no such folder"),
        (
            {"name": "gone", "model": "a/gone"},
            MachineError,
            "is not on this machine; fetch it with: hf download a/gone",
        ),
    ]:
        manifest["views"]["vectors"] |= encoder
        (folder / "manifest.json").write_text(json.dumps(manifest))
        with Index(folder) as index:
            assert index.search(["measles"], Search(retriever="bm25"))[0]
            with pytest.raises(error, match=re.escape(message)) as caught:
                index.search(["measles"], Search(retriever="dense"))
        assert caught.value.line.startswith(f"{folder}: its vectors were made by ")


@pytest.mark.real
def test_the_same_bytes_for_any_hash_seed_and_thread_count(small: Index, tmp_path: Path) -> None:
    outputs = set()
    for seed, threads in [("0", 1), ("1", 2), ("4711", 3)]:
        config = tmp_path / f"{seed}.yaml"
        config.write_text(f"encoder: {{threads: {threads}}}\n", "utf-8")
        environment = {**os.environ, "PYTHONHASHSEED": seed, "OMP_NUM_THREADS": str(threads)}
        command = [
            "search",
            "measles vaccine trials",
            "--index",
            str(small.info.place),
            "--json",
            "-k",
            "40",
        ]
        ran = subprocess.run(
            [sys.executable, "-m", "factseek", *command, "--config", str(config)],
            env=environment,
            capture_output=True,
            check=True,
        )
        outputs.add(ran.stdout)
    assert len(outputs) == 1
    assert len(json.loads(outputs.pop())["hits"]) == 40


KEEP_AN_INDEX = """
import sys
import numpy
import factseek
class Keeper:
    index = factseek.open_index(sys.argv[1])
    def __init__(self):
        self.own = factseek.open_index(sys.argv[1])
numpy.keeper = Keeper()
"""


def test_an_index_that_nobody_closes_says_nothing_at_exit(small: Index) -> None:
    # An object that another module keeps lives longer than the modules that close files.
    done = subprocess.run(
        [sys.executable, "-c", KEEP_AN_INDEX, str(small.info.place)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def search_until_closed(index: Index, retriever: str, began: threading.Barrier) -> str:
    """Search until the index is closed, each time with a new filter and so with a new mask; return
    the error.
    """
    began.wait()
    for number in range(100_000):
        where = Filter(kind=("jsonl",), topic=("T0", "T1", "T2", f"other {number}"))
        try:
            assert index.search(["measles"], Search(retriever=retriever, where=where))[0]
        except ClosedError as error:
            return error.line
    raise AssertionError("the index is never closed")


@pytest.mark.parametrize("seconds", [0.02, 0.1])
@pytest.mark.parametrize("retriever", RETRIEVERS)
def test_a_search_during_which_the_index_is_closed_says_so(
    small: Index, retriever: str, seconds: float
) -> None:
    index, began = Index(small.info.place), threading.Barrier(4, timeout=30)
    with ThreadPoolExecutor(3) as pool:
        running = [pool.submit(search_until_closed, index, retriever, began) for _ in range(3)]
        began.wait()
        time.sleep(seconds)
        index.close()
        lines = [each.result(timeout=60) for each in running]
    assert all(line.endswith(": the index is closed; open it again") for line in lines)


def test_a_closed_index_opens_nothing_again(small: Index) -> None:
    index = Index(small.info.place)
    index.close()
    before = len(list(Path("/proc/self/fd").iterdir()))
    where = Filter(kind=("jsonl",))
    calls: list[Callable[[], object]] = [
        lambda: index.search(["measles"], Search(retriever="dense", where=where)),
        lambda: index.search(["measles"], Search(retriever="bm25")),
        lambda: index.count("measles", Search(where=where)),
        lambda: index.encoder,
        lambda: index.terms,
    ]
    for call in calls:
        with pytest.raises(ClosedError, match=r": the index is closed; open it again$"):
            call()
    assert len(list(Path("/proc/self/fd").iterdir())) == before
