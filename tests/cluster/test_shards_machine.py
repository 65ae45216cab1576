"""Any verbs in any order: an index in shards holds what one index holds after the same verbs, live
and dead.
"""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from factseek.indexer.build import BuildRequest
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.settings import Config, convert

from .verbs import build, compact, delete, divide, exported, passages, verify, written

pytestmark = pytest.mark.deep
CONFIG: Config = convert({"index": {"segment_passages": 12, "max_segments": 1_000}}, "test")
DOCIDS = [f"d{number}" for number in range(24)]
TEXTS = st.sampled_from(
    ["Measles spreads.", "The Nile flows.", "Ice melts.", "A vaccine against measles."]
)
DOCUMENTS = st.dictionaries(st.sampled_from(DOCIDS), TEXTS, min_size=1, max_size=12)


class Shards(RuleBasedStateMachine):
    @initialize(documents=DOCUMENTS)
    def begin(self, documents: dict[str, str]) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.many, self.one = self.folder / "many", self.folder / "one"
        self.model = dict(documents)
        self._build(documents, "", 3)

    @rule(documents=DOCUMENTS)
    def append(self, documents: dict[str, str]) -> None:
        new = {
            docid: text for docid, text in documents.items() if self.model.get(docid, text) == text
        }
        if new:
            self._build(new, "append")
            self.model |= new

    @rule(documents=DOCUMENTS)
    def update(self, documents: dict[str, str]) -> None:
        self._build(documents, "update")
        self.model |= documents

    @rule(documents=DOCUMENTS)
    def overwrite(self, documents: dict[str, str]) -> None:
        self._build(documents, "overwrite")
        self.model = dict(documents)

    @rule(docids=st.lists(st.sampled_from(DOCIDS), min_size=1, max_size=6))
    def delete(self, docids: list[str]) -> None:
        assert delete(self.many, docids) == delete(self.one, docids)
        self.model = {docid: text for docid, text in self.model.items() if docid not in docids}

    @rule()
    def compact(self) -> None:
        assert compact(self.many, CONFIG).dropped == compact(self.one, CONFIG).dropped

    @rule(shards=st.integers(0, 5))
    def divide(self, shards: int) -> None:
        divide(self.many, shards, CONFIG)
        compact(self.many, CONFIG)
        compact(self.one, CONFIG)

    @invariant()
    def both_hold_the_same(self) -> None:
        if not hasattr(self, "model"):
            return
        assert exported(self.many) == exported(self.one) == self.model
        assert passages(self.many) == passages(self.one)

    def teardown(self) -> None:
        if not hasattr(self, "model"):
            return
        try:
            assert verify(self.many, CONFIG).faults == []
            self._check_search()
        finally:
            shutil.rmtree(self.folder)

    def _check_search(self) -> None:
        asked = Search(k=50, retriever="bm25")
        with Index(self.many, CONFIG) as many, Index(self.one, CONFIG) as one:
            assert many.search(["measles", "ice"], asked) == one.search(["measles", "ice"], asked)

    def _build(self, documents: dict[str, str], verb: str, shards: int = 0) -> None:
        source = written(self.folder, "source.jsonl", documents)
        for index, into in ((self.many, shards), (self.one, 0)):
            request = BuildRequest(
                kind="jsonl",
                sources=(source,),
                folder=index,
                verb=verb,  # type: ignore[arg-type]
                dense=False,
            )
            build(request, CONFIG, into)


TestShards = Shards.TestCase
TestShards.settings = settings(
    max_examples=6,
    stateful_step_count=8,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    # A failing case is eight verbs long: it can be read as it is.
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
)
