"""Sequences of verbs on an index and on a model of it, the same ones each time in continuous
integration.
"""

import json
import re
import shutil
import tempfile
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    precondition,
    rule,
    run_state_machine_as_test,
)

from factseek.core.domain import Filter, Hit
from factseek.core.errors import SourceError
from factseek.indexer.build import BuildReport, BuildRequest, Verb, build
from factseek.indexer.compaction import compact
from factseek.indexer.deletion import delete
from factseek.indexer.snapshot import restore, snapshot
from factseek.indexer.verification import verify
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.retrieval.store import manifest as manifests
from factseek.settings import convert

DOCIDS = ["a", "b", "007", "7", "c/d", "عربي", "e%20f", "😀"]
WORDS = ["measles", "nile", "pluto", "ozone", "1998"]
TOPICS = ["T0", "T1"]

Content = tuple[str, str]
Answers = list[list[list[Hit]]]

contents = st.tuples(
    st.lists(st.sampled_from(WORDS), max_size=4).map(" ".join), st.sampled_from(TOPICS)
)
batches = st.lists(st.tuples(st.sampled_from(DOCIDS), contents), min_size=1, max_size=4)


class LiveIndex(RuleBasedStateMachine):
    """Runs verbs on an index and on a model, a mapping of docid to content, and holds the two
    equal.
    """

    DENSE = False

    def __init__(self) -> None:
        super().__init__()
        memory = Path("/dev/shm")
        self.place = Path(tempfile.mkdtemp(dir=memory if memory.is_dir() else None))
        self.index = self.place / "index"
        self.config = convert({"index": {"segment_passages": 3, "max_segments": 3}}, "test")
        self.model: dict[str, Content] = {}
        self.saved: dict[str, Content] | None = None
        self.readers: list[tuple[Index, Answers]] = []

    @initialize(batch=batches)
    def begin(self, batch: list[tuple[str, Content]]) -> None:
        self._build(dict(batch), "")
        self.model = dict(batch)

    @rule(batch=batches)
    def append(self, batch: list[tuple[str, Content]]) -> None:
        """Add documents; one that is there with other content refuses the whole."""
        clashes = any(self.model.get(docid, content) != content for docid, content in batch)
        if (
            clashes
            or len(dict(batch)) != len(dict(set(batch)))
            or len(set(batch)) != len(dict(batch))
        ):
            self._refused(batch, "append")
        else:
            report = self._build(dict(batch), "append")
            assert report.documents == len(dict(batch).keys() - self.model.keys())
            self.model |= dict(batch)

    @rule(batch=batches)
    def update(self, batch: list[tuple[str, Content]]) -> None:
        if len(set(batch)) != len(dict(batch)):
            self._refused(batch, "update")
        else:
            report = self._build(dict(batch), "update")
            changed = {docid for docid, content in batch if self.model.get(docid) != content}
            assert (report.documents, report.replaced) == (
                len(changed),
                len(changed & self.model.keys()),
            )
            self.model |= dict(batch)

    @rule(docids=st.lists(st.sampled_from(DOCIDS), max_size=3))
    def delete(self, docids: list[str]) -> None:
        there = self.model.keys() & set(docids)
        assert delete(self.index, docids).documents == len(there)
        for docid in there:
            del self.model[docid]

    @rule(topic=st.sampled_from(TOPICS))
    def delete_topic(self, topic: str) -> None:
        gone = {docid for docid, (_, own) in self.model.items() if own == topic}
        assert delete(self.index, [], where=Filter(topic=(topic,))).documents == len(gone)
        self.model = {docid: content for docid, content in self.model.items() if docid not in gone}

    @rule()
    def compact(self) -> None:
        """Compact, and compare with an index of the surviving documents that was never changed."""
        compact(self.index, self.config)
        assert not any(segment.deleted for segment in manifests.read(self.index).segments)
        assert self._answers(self.index) == self._fresh()

    @precondition(lambda self: len(self.readers) < 2)
    @rule()
    def open(self) -> None:
        """Open a reader, and ask it for nothing yet: what it opens late must still be what it
        is.
        """
        self.readers.append((Index(self.index, self.config), self._answers(self.index)))

    @precondition(lambda self: self.readers)
    @rule()
    def read(self) -> None:
        """Ask the oldest reader: it answers what it would have answered at first."""
        reader, expected = self.readers.pop(0)
        with reader:
            assert self._asked(reader) == expected

    @rule()
    def snapshot(self) -> None:
        shutil.rmtree(self.place / "snapshot", ignore_errors=True)
        snapshot(self.index, self.place / "snapshot")
        self.saved = dict(self.model)

    @precondition(lambda self: self.saved is not None)
    @rule()
    def restore(self) -> None:
        restore(self.place / "snapshot", self.index, self.config, overwrite=True)
        self.model = dict(self.saved or {})

    def teardown(self) -> None:
        try:
            while self.readers:
                self.read()
            if self.model or self.index.exists():
                self._check()
        finally:
            shutil.rmtree(self.place)

    def _check(self) -> None:
        verified = verify(self.index, self.config)
        assert verified.faults == []
        assert verified.documents == len(self.model)
        with Index(self.index, self.config) as index:
            segments = index.info.published.segments
            assert len(segments) <= self.config.index.max_segments or all(
                segment.passages >= 3 for segment in segments
            )
            found = {d.docid: (d.text, d.topic) for d in index.documents()}
            assert found == self.model
            for word, hits in zip(WORDS, self._asked(index)[0], strict=True):
                matching = {
                    docid for docid, (text, _) in self.model.items() if word in text.split()
                }
                assert {hit.docid for hit in hits} == matching
                assert len(hits) == len(matching)
                for topic in TOPICS:
                    of_topic = {docid for docid in matching if self.model[docid][1] == topic}
                    asked = Search(
                        k=max(len(of_topic), 1), retriever="bm25", where=Filter(topic=(topic,))
                    )
                    assert {hit.docid for hit in index.search([word], asked)[0]} == of_topic

    def _build(
        self, batch: dict[str, Content] | list[tuple[str, Content]], verb: Verb
    ) -> BuildReport:
        return self._written(
            list(batch.items()) if isinstance(batch, dict) else batch, verb, self.index
        )

    def _written(self, batch: list[tuple[str, Content]], verb: Verb, folder: Path) -> BuildReport:
        source = self.place / "batch.jsonl"
        rows = [
            {"docid": docid, "title": "t", "text": text, "topic": topic}
            for docid, (text, topic) in batch
        ]
        source.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
        return build(
            BuildRequest(
                kind="jsonl", sources=(source,), folder=folder, verb=verb, dense=self.DENSE
            ),
            self.config,
        )

    def _refused(self, batch: list[tuple[str, Content]], verb: Verb) -> None:
        before = manifests.read(self.index)
        try:
            self._build(batch, verb)
        except SourceError as error:
            assert re.search("already .*different content", str(error))
        else:
            raise AssertionError(f"{verb} of {batch} was not refused")
        assert manifests.read(self.index) == before

    def _fresh(self) -> Answers:
        if not self.model:
            return [[[]] * len(WORDS)] * (2 if self.DENSE else 1)
        self._written(list(self.model.items()), "overwrite", self.place / "fresh")
        return self._answers(self.place / "fresh")

    def _answers(self, folder: Path) -> Answers:
        with Index(folder, self.config) as index:
            return self._asked(index)

    def _asked(self, index: Index) -> Answers:
        names = ("bm25", "dense") if self.DENSE else ("bm25",)
        return [index.search(WORDS, Search(k=len(DOCIDS), retriever=name)) for name in names]


class LiveDenseIndex(LiveIndex):
    DENSE = True


@pytest.mark.deep
@pytest.mark.parametrize(("machine", "runs"), [(LiveIndex, 190), (LiveDenseIndex, 10)])
def test_an_index_stays_equal_to_its_model(machine: type[LiveIndex], runs: int) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=runs,
            stateful_step_count=5,
            suppress_health_check=list(HealthCheck),
            deadline=None,
            derandomize=True,
        ),
    )
