"""The served indexes: a new manifest is served, an old snapshot is closed, what is wrong with an
index is said.
"""

import gc
import json
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from flask import Flask

from factseek.core.errors import IndexStateError
from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.plan import Plan
from factseek.retrieval.store import documents_file
from factseek.server import runtime as keeping
from factseek.server.app import create_app
from factseek.server.runtime import IndexRegistry, IndexReloader, Writers
from factseek.server.settings import ServerSettings
from factseek.settings import Config

PATIENCE = 60.0


def add(folder: Path, docid: str, verb: Any = "append") -> None:
    source = folder.with_suffix(".jsonl")
    source.write_text(
        json.dumps({"docid": docid, "text": f"The measles vaccine, as {docid} has it."}) + "\n"
    )
    build(
        BuildRequest(kind="jsonl", sources=(source,), folder=folder, verb=verb, dense=False),
        Config(),
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    add(tmp_path / "live", "first", "")
    return tmp_path / "live"


@pytest.fixture
def app(folder: Path, tmp_path: Path) -> Iterator[Flask]:
    """An application with two indexes; the first is missing, but its queue is there, which must not
    stop the second.
    """
    left = tmp_path / "missing" / "jobs"
    left.mkdir(parents=True)
    (left / "queue.sqlite").write_bytes(b"no database")
    indexes = {"missing": str(left.parent), "live": str(folder)}
    config = Config(server=ServerSettings(indexes=indexes))
    made = create_app(config, {})
    service_of(made).writers = Writers(config, 0)
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
    deadline = time.monotonic() + patience
    while not true():
        assert time.monotonic() < deadline, "never became true"
        time.sleep(0.02)


def test_a_request_keeps_its_snapshot_until_it_ends(
    app: Flask, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
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


@pytest.fixture
def replace(app: Flask, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Return a function that moves a new index to the place of the old one, whose files are then
    opened in vain.
    """
    monkeypatch.setattr(documents_file, "KEPT", 0)
    for _ in range(3):  # uses up the connections that were kept before
        assert docids(app) == {"first"}
    new, old = folder.with_name("new"), folder.with_name("old")
    shutil.copytree(folder, new)
    add(new, "second")

    def move() -> None:
        folder.rename(old)
        new.rename(folder)

    return move


REQUESTS: list[tuple[str, str, Any]] = [
    ("POST", "/v1/live/search", {"query": "measles"}),
    ("GET", "/v1/live/search?query=measles", None),
    ("POST", "/v1/search", {"query": "measles", "indexes": ["live"]}),
    ("POST", "/v1/live/search/batch", {"queries": [{"qid": "1", "text": "measles"}]}),
    ("GET", "/export?index=live&query=measles&format=csv", None),
]


@pytest.mark.parametrize(("method", "address", "body"), REQUESTS)
def test_a_request_to_an_index_that_was_moved_away_is_answered_by_the_new_one(
    app: Flask, replace: Callable[[], None], method: str, address: str, body: Any
) -> None:
    replace()
    answer = app.test_client().open(address, method=method, json=body)
    assert answer.status_code == 200
    assert "second" in answer.text
    assert state(app) == "ready"


def test_a_batch_that_has_begun_when_its_index_is_moved_away_says_so(
    app: Flask, replace: Callable[[], None]
) -> None:
    body = {"queries": [{"qid": str(number), "text": "measles"} for number in range(50)]}
    headers = {"Accept": "application/x-ndjson"}
    answer = app.test_client().post(
        "/v1/live/search/batch", json=body, headers=headers, buffered=False
    )
    pieces = iter(answer.response)
    first = next(pieces)
    replace()
    *lines, last = [json.loads(line) for line in b"".join([first, *pieces]).splitlines()]
    assert [line["qid"] for line in lines] == [str(number) for number in range(len(lines))]
    assert 0 < len(lines) < 50
    detail = "this index cannot be searched at the moment; send the queries that have no line again"
    assert last == {"error": "unavailable", "detail": detail}


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


def test_an_index_that_fails_a_request_is_not_ready(
    app: Flask, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(keeping, "TRY_AGAIN", 0.1)
    with monkeypatch.context() as patch:
        patch.setattr(Plan, "hits", _broken)
        assert ask(app) == (503, ())
        soon(lambda: state(app) == "unavailable")
    soon(lambda: state(app) == "ready")
    assert docids(app) == {"first"}


def _broken(*_: Any, **__: Any) -> Any:
    raise IndexStateError("a segment is damaged")


def test_an_index_that_was_never_there_is_unavailable_not_unknown(app: Flask) -> None:
    client = app.test_client()
    assert client.get("/readyz").json == {
        "status": "unavailable",
        "indexes": {"live": "ready", "missing": "gone"},
    }
    answer = client.post("/v1/missing/search", json={"query": "measles"})
    assert (answer.status_code, (answer.json or {})["error"]) == (503, "unavailable")
