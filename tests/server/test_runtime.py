"""The served indexes: a new manifest is served, an old snapshot is closed, what is wrong with an index is said."""

from __future__ import annotations

import gc
import json
import logging
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.encoders import runtime
from factseek.retrieval.encoders.runtime import open_encoder
from factseek.retrieval.errors import ConfigError, IndexStateError
from factseek.retrieval.search.index import Index
from factseek.server import runtime as keeping
from factseek.server.app import create_app
from factseek.server.runtime import IndexRegistry, IndexReloader, checked_name
from factseek.server.settings import ServerSettings
from factseek.settings import Config
from tests.indexer.as_found import name_files_as_found

WITHIN = 1.0
"""Seconds in which a new manifest is to be noticed."""
PATIENCE = 60.0


def add(folder: Path, docid: str, verb: Any = "append") -> None:
    """Publish one more document."""
    source = folder.with_suffix(".jsonl")
    source.write_text(json.dumps({"docid": docid, "text": f"The measles vaccine, as {docid} has it."}) + "\n")
    build(BuildRequest(kind="jsonl", sources=(source,), folder=folder, verb=verb, dense=False), Config())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An index of one document."""
    add(tmp_path / "live", "first", "")
    return tmp_path / "live"


@pytest.fixture
def app(folder: Path, tmp_path: Path) -> Iterator[Flask]:
    """An application whose reloader is at work; one of its indexes was never there."""
    indexes = {"live": str(folder), "missing": str(tmp_path / "missing")}
    config = Config(server=ServerSettings(indexes=indexes))
    made = create_app(config, {})
    reloader = IndexReloader(service_of(made), config)
    reloader.start()
    yield made
    reloader.stop()


def service_of(app: Flask) -> IndexRegistry:
    found: IndexRegistry = app.extensions["factseek"]
    return found


def ask(app: Flask) -> tuple[int, tuple[str, ...]]:
    answer = app.test_client().post("/v1/live/search", json={"query": "measles"})
    hits = (answer.json or {}).get("hits", [])
    return answer.status_code, tuple(sorted(hit["docid"] for hit in hits))


def docids(app: Flask) -> set[str]:
    status, found = ask(app)
    assert status == 200
    return set(found)


def state(app: Flask) -> str:
    return str(app.test_client().get("/readyz").json["indexes"]["live"])  # type: ignore[index]


def soon(true: Callable[[], object], patience: float = PATIENCE) -> None:
    """Wait until something is true."""
    deadline = time.monotonic() + patience
    while not true():
        assert time.monotonic() < deadline, "never became true"
        time.sleep(0.02)


def test_a_new_manifest_is_served(app: Flask, folder: Path) -> None:
    assert docids(app) == {"first"}
    assert state(app) == "ready"
    add(folder, "second")
    soon(lambda: docids(app) == {"first", "second"})


def test_a_request_keeps_its_snapshot_until_it_ends(app: Flask, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    closed: list[str] = []
    close = Index.close

    def noted(index: Index) -> None:
        closed.append(index.info.id)
        close(index)

    monkeypatch.setattr(Index, "close", noted)
    served = service_of(app).indexes["live"]
    began_with = served.manifest_id
    add(folder, "second")
    soon(lambda: service_of(app).indexes["live"].manifest_id != began_with)
    assert len(served.index.search(["measles"])[0]) == 1
    assert closed == []
    del served
    gc.collect()
    soon(lambda: closed == [began_with])
    assert docids(app) == {"first", "second"}


def test_an_index_that_disappears_is_named_and_may_come_back(app: Flask, folder: Path) -> None:
    away = folder.with_name("away")
    folder.rename(away)
    soon(lambda: state(app) == "gone")
    assert app.test_client().get("/livez").status_code == 200
    assert app.test_client().get("/readyz").status_code == 503
    add(folder, "other", "")
    # Until the new one is open, the old one may be beyond reach; never is one read for the other.
    seen: set[tuple[int, tuple[str, ...]]] = set()
    soon(lambda: (seen.add(ask(app)), (200, ("other",)) in seen)[1])
    assert seen <= {(200, ("first",)), (503, ()), (200, ("other",))}
    assert state(app) == "ready"


def test_a_broken_manifest_leaves_what_was_served(app: Flask, folder: Path) -> None:
    (folder / "manifest.json").write_text("{")
    soon(lambda: state(app) == "unavailable")
    assert docids(app) == {"first"}


def test_a_damaged_segment_is_named_and_the_old_snapshot_goes_on(app: Flask, folder: Path) -> None:
    copy = folder.with_name("copy")
    shutil.copytree(folder, copy)
    add(copy, "second")
    newest = max((copy / "segments").iterdir())
    for file in (newest / "lucene").iterdir():
        file.write_bytes(bytes(byte ^ 0xFF for byte in file.read_bytes()))
    shutil.copytree(newest, folder / "segments" / newest.name)
    (copy / "manifest.json").rename(folder / "manifest.json")
    soon(lambda: state(app) == "unavailable")
    assert docids(app) == {"first"}


def test_an_index_that_fails_a_request_is_not_ready(app: Flask, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(keeping, "TRY_AGAIN", 0.1)
    with monkeypatch.context() as patch:
        patch.setattr(Index, "search", _broken)
        assert ask(app) == (503, ())
        soon(lambda: state(app) == "unavailable")
    soon(lambda: state(app) == "ready")
    assert docids(app) == {"first"}


def _broken(*_: Any) -> Any:
    raise IndexStateError("a segment is damaged")


def test_an_index_that_was_never_there_is_unavailable_not_unknown(app: Flask) -> None:
    client = app.test_client()
    assert client.get("/readyz").json == {"status": "unavailable", "indexes": {"live": "ready", "missing": "gone"}}
    answer = client.post("/v1/missing/search", json={"query": "measles"})
    assert (answer.status_code, (answer.json or {})["error"]) == (503, "unavailable")
    answer = client.post("/v1/other/search", json={"query": "measles"})
    assert (answer.status_code, (answer.json or {})["error"]) == (404, "unknown-index")


class CountedEncoder:
    """The configured encoder; counts how often it is closed."""

    def __init__(self, config: Config) -> None:
        self._encoder = open_encoder(config.encoder)
        self.closed = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._encoder, name)

    def close(self) -> None:
        self.closed += 1
        self._encoder.close()


def test_the_encoder_that_indexes_share_is_closed_at_the_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "a.jsonl"
    source.write_text('{"docid": "a", "text": "The measles vaccine."}\n')
    build(BuildRequest(kind="jsonl", sources=(source,), folder=tmp_path / "ix"), Config())
    config = Config(server=ServerSettings(indexes={"one": str(tmp_path / "ix"), "two": str(tmp_path / "ix")}))
    opened: list[CountedEncoder] = []
    monkeypatch.setattr(runtime, "open_encoder", lambda _: opened.append(CountedEncoder(config)) or opened[-1])
    reloader = IndexReloader(service_of(create_app(config, {})), config)
    reloader.start()
    assert [encoder.closed for encoder in opened] == [0]
    reloader.stop()
    assert [encoder.closed for encoder in opened] == [1]


def test_an_index_whose_vectors_are_damaged_is_named_and_the_others_go_on(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    source = tmp_path / "a.jsonl"
    source.write_text('{"docid": "a", "text": "The measles vaccine."}\n')
    build(BuildRequest(kind="jsonl", sources=(source,), folder=tmp_path / "whole"), Config())
    damaged = shutil.copytree(tmp_path / "whole", tmp_path / "damaged")
    (vectors,) = damaged.rglob("vectors.f32")
    vectors.write_bytes(bytes(vectors.stat().st_size))
    name_files_as_found(damaged)
    names = {name: str(tmp_path / name) for name in ("damaged", "whole")}
    config = Config(server=ServerSettings(indexes=names))
    app = create_app(config, {})
    reloader = IndexReloader(service_of(app), config)
    reloader.start()
    try:
        client = app.test_client()
        assert client.get("/readyz").json["indexes"] == {"damaged": "unavailable", "whole": "ready"}
        answers = {name: client.get(f"/v1/{name}/search?query=measles&retriever=dense") for name in names}
        assert {name: answer.status_code for name, answer in answers.items()} == {"damaged": 503, "whole": 200}
        assert f"{vectors}: vector 0 is not of unit length: the file is damaged" in caplog.text
    finally:
        reloader.stop()


@pytest.mark.parametrize("name", ["a", "9", "example-en", "CT20.AR_1", "x" * 64, "search"])
def test_a_good_name_is_taken(name: str) -> None:
    assert checked_name(name) == name


@pytest.mark.parametrize("name", ["", ".", "..", "-a", "_a", "a/b", "a b", "x" * 65, "é", "a\n", "../etc"])
def test_a_bad_name_is_refused(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        checked_name(name)
    assert caught.value.line == (
        f"server.indexes: {name!r} cannot name an index; use up to 64 letters, digits, '.', '_' and '-', "
        "a letter or digit first"
    )


@pytest.mark.parametrize("name", ["indexes", "jobs", "claims"])
def test_a_reserved_name_is_refused(name: str) -> None:
    with pytest.raises(ConfigError) as caught:
        checked_name(name)
    assert str(caught.value) == f"server.indexes: the name {name!r} is reserved; choose another"


def test_an_application_checks_its_names(indexes: dict[str, Index]) -> None:
    with pytest.raises(ConfigError, match="reserved"):
        create_app(Config(), {"jobs": indexes["arabic"]})


def test_an_index_that_answered_is_not_asked_again(indexes: dict[str, Index], monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Sequence[str]] = []
    search = indexes["english"].search

    def counted(queries: Sequence[str], *rest: Any) -> Any:
        asked.append(queries)
        return search(queries, *rest)

    monkeypatch.setattr(indexes["english"], "search", counted)
    readiness = IndexRegistry(Config(), indexes)
    assert readiness.states() == {"english": "ready", "arabic": "ready"}
    searches = len(asked)
    assert searches
    assert readiness.states() == {"english": "ready", "arabic": "ready"}
    assert len(asked) == searches


@pytest.mark.parametrize("error", [IndexStateError("segment 0 is damaged"), RuntimeError("segment 0 is damaged")])
def test_a_broken_index_is_named_and_asked_again(
    indexes: dict[str, Index], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, error: Exception
) -> None:
    def broken(*_: Any) -> Any:
        raise error

    readiness = IndexRegistry(Config(), indexes)
    with monkeypatch.context() as patch, caplog.at_level(logging.ERROR, "factseek.server"):
        patch.setattr(indexes["english"], "search", broken)
        assert readiness.states() == {"english": "unavailable", "arabic": "ready"}
    assert "english is not ready" in caplog.text
    assert "segment 0 is damaged" in caplog.text
    assert readiness.states() == {"english": "ready", "arabic": "ready"}
