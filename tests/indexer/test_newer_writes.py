"""A change made singly after a bulk was accepted wins over it, whatever becomes of the writer
meanwhile.
"""

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factseek.core.domain import Document
from factseek.indexer.queue import Job, Queue
from factseek.indexer.writer import Writer, published_documents
from factseek.retrieval.store import manifest as manifests
from factseek.retrieval.store.documents import checksum
from factseek.settings import Config
from tests.indexer.conftest import Build, Write
from tests.indexer.test_writer import LIMITS, job_of, leave, leave_bulk, result, rows


@pytest.fixture
def folder(build_jsonl: Build, write_jsonl: Write, tmp_path: Path) -> Path:
    build_jsonl(write_jsonl("a.jsonl", [{"docid": "a", "text": "A quokka."}]))
    return tmp_path / "index"


def text_of(folder: Path, docid: str) -> str | None:
    """Return a document's text by its checksum among those that a test writes, None if it is not
    there.
    """
    with published_documents(folder) as live:
        there = live(docid)
    texts = [f"Note {docid[1:]}.", "A wombat.", "A koala.", "Old."]
    return (
        None
        if there is None
        else next(text for text in texts if checksum(_document(docid, text)) == there.checksum)
    )


def _document(docid: str, text: str) -> Document:
    return Document(docid, text, language="en")


def finish(folder: Path, *, anew: bool) -> None:
    """Work until nothing waits; with ``anew`` each step by a new writer, after the one before was
    killed.
    """
    writer = Writer(folder, Config(), *LIMITS)
    while writer.work():
        if anew:
            writer = Writer(folder, Config(), *LIMITS)


def test_a_bulk_wins_over_what_was_changed_before_it_was_accepted(folder: Path) -> None:
    first = leave_bulk(folder, rows(1, 50))
    put = leave(folder, "n7", "A wombat.")
    second = leave_bulk(folder, rows(8))
    finish(folder, anew=True)
    assert result(folder, put) == "created"
    assert text_of(folder, "n7") == "Note 7."
    assert (job_of(folder, first).skipped, job_of(folder, second).skipped) == (0, 0)


STEPS = st.lists(
    st.tuples(st.sampled_from(["bulk", "put", "delete", "work", "killed"]), st.integers(0, 2)),
    min_size=1,
    max_size=8,
)


@settings(max_examples=10, suppress_health_check=list(HealthCheck))
@given(steps=STEPS)
def test_the_last_accepted_change_stands(build_once: Path, steps: list[tuple[str, int]]) -> None:
    folder = build_once
    expected: dict[str, str | None] = {}
    writer = Writer(folder, Config(), *LIMITS)
    for number in range(3):
        leave(folder, f"n{number}")
    finish(folder, anew=False)
    for verb, number in steps:
        docid = f"n{number}"
        if verb == "bulk":
            leave_bulk(folder, rows(number + 1))
            expected.update({f"n{each}": f"Note {each}." for each in range(number + 1)})
        elif verb == "put":
            leave(folder, docid, "A koala.")
            expected[docid] = "A koala."
        elif verb == "delete":
            name = leave(folder, docid)
            with Queue(folder) as queue:
                while not (answer := queue.outcome(name)):
                    writer.work()
            assert answer.result in ("deleted", "absent")
            expected[docid] = None
        elif verb == "work":
            writer.work()
        else:
            writer = Writer(folder, Config(), *LIMITS)
    finish(folder, anew=False)
    assert {docid: text_of(folder, docid) for docid in expected} == expected


@pytest.fixture(scope="module")
def build_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from factseek.indexer.build import BuildRequest, build

    place = tmp_path_factory.mktemp("overtaking")
    (place / "a.jsonl").write_text('{"docid": "a", "text": "A quokka."}\n')
    build(
        BuildRequest(
            kind="jsonl", sources=(place / "a.jsonl",), folder=place / "index", dense=False
        ),
        Config(),
    )
    assert manifests.read(place / "index").documents == 1
    return place / "index"


def ended_bulk(folder: Path, job: Job) -> tuple[int, int, int]:
    finish(folder, anew=True)
    ended = job_of(folder, job)
    assert (ended.state, ended.error) == ("done", "")
    return ended.added, ended.replaced, ended.skipped


@pytest.mark.parametrize("verb", ["append", "update"])
def test_a_command_wins_over_an_older_bulk(
    folder: Path, build_jsonl: Build, write_jsonl: Write, verb: str
) -> None:
    old = leave_bulk(folder, [*rows(2), {"docid": "a", "text": "Old."}])
    source = write_jsonl(
        "b.jsonl", [{"docid": "n1", "text": "A koala."}, {"docid": "a", "text": "A quokka."}]
    )
    build_jsonl(source, verb=verb)
    new = leave_bulk(folder, [{"docid": "a", "text": "A wombat."}])
    assert ended_bulk(folder, old) == (1, 0, 2)
    assert ended_bulk(folder, new) == (0, 1, 0)
    assert [text_of(folder, docid) for docid in ("n0", "n1", "a")] == [
        "Note 0.",
        "A koala.",
        "A wombat.",
    ]
