"""A kind of view that is one file: written, verified, merged, repaired and opened by what knows
nothing of it.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from factseek.indexer.build import BuildRequest, build
from factseek.indexer.compaction import compact
from factseek.indexer.deletion import delete
from factseek.indexer.verification import repair, verify
from factseek.retrieval import views
from factseek.retrieval.store import manifest as manifests
from factseek.retrieval.store.index_folder import open_documents
from factseek.retrieval.views import OpenSegment
from factseek.settings import convert

CONFIG = convert({}, "test")
TOY = '''
"""The view `initials`: for each passage its first letter, and in another file its length."""

import json
from contextlib import closing

from factseek.core.errors import IndexStateError
from factseek.retrieval.views import Check, PassageSink, View

COPIED = []


class Sink(PassageSink):
    def __init__(self, path, letters):
        self._path, self._letters, self._lines = path, letters, []

    def add(self, document, spans):
        self._lines += [document.text[span.start : span.end][: self._letters] for span in spans]

    def finish(self):
        self._path.write_text(json.dumps(self._lines))

    def abandon(self):
        self._lines.clear()


class Initials(View):
    def __init__(self, name, manifest):
        self.name, self._letters = name, manifest.views[name]["letters"]

    @classmethod
    def describe(cls, name, config, encoders):
        return {"letters": 1}

    carried = ("lengths.json",)

    def owns(self, file):
        return file in ("letters.json", "lengths.json")

    def sink(self, segment, tools):
        return Sink(segment.folder / "letters.json", self._letters)

    def complete(self, segment, tools):
        with closing(segment.documents()) as documents:
            lengths = [len(passage.text) for _, passage in documents.each_passage()]
        (segment.folder / "lengths.json").write_text(json.dumps(lengths))

    def copy(self, parts, segment, tools):
        lengths = []
        for part, rows in parts:
            there = json.loads((part.folder / "lengths.json").read_text())
            lengths += [there[row] for row in rows]
            COPIED.append(part.name)
        (segment.folder / "lengths.json").write_text(json.dumps(lengths))

    def checks(self, segment, tools):
        return [Check("lengths.json", lambda: self._wrong(segment))]

    def _wrong(self, segment):
        try:
            lengths = json.loads((segment.folder / "lengths.json").read_text())
        except (OSError, ValueError):
            raise IndexStateError("is no list", place=segment.folder / "lengths.json") from None
        if len(lengths) != segment.passages:
            yield f"contains {len(lengths)} lengths, expected {segment.passages}"

    def open(self, segments, manifest, config):
        return [
            pair
            for segment in segments
            for pair in zip(
                json.loads((segment.folder / "letters.json").read_text()),
                json.loads((segment.folder / "lengths.json").read_text()),
            )
        ]


view = Initials
'''


@pytest.fixture
def toy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    import sys

    (tmp_path / "kinds").mkdir()
    (tmp_path / "kinds" / "initials.py").write_text(TOY, "utf-8")
    monkeypatch.setattr(views, "__path__", [*views.__path__, str(tmp_path / "kinds")])
    yield
    sys.modules.pop("factseek.retrieval.views.initials", None)


@pytest.fixture
def index(tmp_path: Path, toy: None) -> Path:
    for name, words, verb in (
        ("a", ("alpha", "beta", "gamma ray"), ""),
        ("b", ("delta", "epsilon"), "append"),
    ):
        source = tmp_path / f"{name}.jsonl"
        source.write_text(
            "".join(json.dumps({"docid": word[0], "text": word}) + "\n" for word in words), "utf-8"
        )
        request = BuildRequest(
            kind="jsonl", sources=(source,), folder=tmp_path / "index", verb=verb, dense=False
        )  # type: ignore[arg-type]
        build(request, CONFIG)
    delete(tmp_path / "index", ["b"])
    return tmp_path / "index"


def opened(folder: Path) -> list[tuple[str, int]]:
    manifest = manifests.read(folder)
    places = [(folder / "segments" / info.name, info) for info in manifest.segments]
    segments = [OpenSegment(place, info, open_documents(folder, info)) for place, info in places]
    pairs: list[tuple[str, int]] = views.view("initials", manifest).open(segments, manifest, CONFIG)
    return pairs


def test_it_is_written_and_opened(index: Path) -> None:
    manifest = manifests.read(index)
    own = {"columns": {}, "lucene": {"analysis": 2, "phrases": True}, "signatures": {}, "words": {}}
    assert manifest.views == {"initials": {"letters": 1}, **own}
    assert {"letters.json", "lengths.json"} < manifest.segments[0].files.keys()
    assert opened(index) == [("a", 5), ("b", 4), ("g", 9), ("d", 5), ("e", 7)]
    assert verify(index, CONFIG).faults == []


def test_it_is_copied_when_segments_are_merged(index: Path) -> None:
    compact(index, CONFIG)
    from factseek.retrieval.views import initials  # type: ignore[attr-defined]

    assert initials.COPIED == ["000000", "000001"]
    assert opened(index) == [("a", 5), ("g", 9), ("d", 5), ("e", 7)]
    assert verify(index, CONFIG).faults == []


@pytest.mark.parametrize(
    ("content", "what"), [("[5]", "contains 1 lengths, expected 2"), ("?", "is no list")]
)
def test_it_is_verified_and_repaired(index: Path, content: str, what: str) -> None:
    damaged = index / "segments" / "000001" / "lengths.json"
    damaged.write_text(content)
    assert str(verify(index, CONFIG).faults[1]) == f"{damaged}: {what}"
    done = repair(index, CONFIG)
    assert (done.segments, done.left) == (("000001",), [])
    assert opened(index) == [("a", 5), ("b", 4), ("g", 9), ("d", 5), ("e", 7)]
