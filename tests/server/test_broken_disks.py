"""A served index whose disk is full or read-only, or holds another index: nothing acknowledged is
lost.
"""

import resource
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

import pytest
from flask.testing import FlaskClient

from tests.server.conftest import build_index, writable

FULL = "the index cannot be written: the disk is full; the server tries again"


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4000k", "tmpfs", str(folder)],
        capture_output=True,
        check=False,
    )
    if mounted.returncode:
        pytest.skip("a file system of a given size can only be mounted by root")
    yield folder
    until(lambda: subprocess.run(["umount", str(folder)], check=False).returncode == 0)


def put(client: FlaskClient, docid: str, text: str = "The quokka smiles.") -> int:
    address = f"/v1/live/documents/{quote(docid, safe='')}"
    return client.put(address, json={"text": text}).status_code


def fill(disk: Path, free: int = 0) -> Path:
    """Write a file that leaves so many bytes of a disk free."""
    ballast = disk / f"ballast-{free}"
    with suppress(OSError), ballast.open("wb", buffering=0) as file:
        while shutil.disk_usage(disk).free > free:
            file.write(bytes(4096))
    return ballast


def text_of(client: FlaskClient, docid: str) -> str | None:
    answer = client.get(f"/v1/live/documents/{quote(docid, safe='')}").json or {}
    return answer["document"]["text"] if "document" in answer else None


def until(holds: Callable[[], bool]) -> None:
    for _ in range(200):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError("it never holds")


def test_a_full_disk_refuses_changes_and_keeps_what_was_acknowledged(
    live: Path, disk: Path
) -> None:
    folder = Path(shutil.copytree(live, disk / "live"))
    with writable(folder, write_seconds=5) as served:
        client = served.client()
        assert put(client, "before") == 201
        ballast = fill(disk)
        refused = client.put("/v1/live/documents/full", json={"text": "The wombat digs."})
        assert (refused.status_code, refused.json["error"]) == (503, "not-written")
        assert (
            client.post(
                "/v1/live/documents", json=[{"docid": "bulk", "text": "x" * 9000}]
            ).status_code
            == 503
        )
        assert (text_of(client, "before"), text_of(client, "full")) == ("The quokka smiles.", None)
        assert client.get("/v1/live/search?query=quokka").status_code == 200
        ballast.unlink()
        until(lambda: put(client, "after") in (200, 201))
        assert [text_of(client, docid) for docid in ("before", "full", "bulk")] == [
            "The quokka smiles.",
            None,
            None,
        ]


@pytest.mark.deep
@pytest.mark.parametrize("fills_up", [False, True])
def test_an_accepted_bulk_waits_for_room(live: Path, disk: Path, fills_up: bool) -> None:
    """It says why, a restart goes on with it, and a change waits as long as it may."""
    folder = Path(shutil.copytree(live, disk / "live"))
    with writable(folder, write_seconds=2) as served:
        client = served.client()
        assert put(client, "before") == 201
        ballast = [fill(disk, 300_000)]
        rows = [{"docid": f"b{number}", "text": "The wombat digs. " * 20} for number in range(450)]
        accepted = client.post("/v1/live/documents", json=rows)
        assert accepted.status_code == 202
        where = accepted.headers["Location"]
        if fills_up:  # even the queue cannot be written
            ballast.append(fill(disk))
        until(lambda: client.get(where).json["error"])
        waiting = client.get(where).json
        assert (waiting["state"], waiting["error"]) == ("queued", FULL)
        began = time.monotonic()
        assert put(client, "full", "x" * 100_000) == 503
        assert time.monotonic() - began > 1.9
    with writable(folder, write_seconds=2) as served:
        client = served.client()
        time.sleep(1)
        assert (client.get(where).json["state"], client.get(where).json["error"]) == (
            "queued",
            FULL,
        )
        for file in ballast:
            file.unlink()
        until(lambda: client.get(where).json["state"] == "done")
        job = client.get(where).json
        assert (job["handled"], job["error"]) == (450, "")
        until(lambda: text_of(client, "b449") is not None)


def test_a_change_and_a_bulk_wait_for_a_quota(live: Path) -> None:
    with writable(live, write_seconds=1.5) as served:
        client = served.client()
        assert put(client, "before") == 201
        where = client.post(
            "/v1/live/documents", json=[{"docid": "b", "text": "wombat " * 9_000}]
        ).headers["Location"]
        until(lambda: client.get(where).json["state"] == "done")
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, before[1]))
        try:
            began = time.monotonic()
            refused = client.put("/v1/live/documents/a", json={"text": "The quokka."})
            assert (refused.status_code, refused.json["error"]) == (503, "not-written")
            assert time.monotonic() - began > 1.4
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
        until(lambda: put(client, "a") in (200, 201))


def test_a_disk_that_is_read_only_refuses_changes_and_answers(live: Path, disk: Path) -> None:
    folder = Path(shutil.copytree(live, disk / "live"))
    with writable(folder, write_seconds=5) as served:
        assert put(served.client(), "before") == 201
    until(
        lambda: (
            subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=False).returncode == 0
        )
    )
    with writable(folder, write_seconds=1) as served:
        client = served.client()
        assert put(client, "refused") == 503
        assert client.delete("/v1/live/documents/before").status_code == 503
        assert (
            client.post("/v1/live/documents", json=[{"docid": "bulk", "text": "x"}]).status_code
            == 503
        )
        assert (text_of(client, "before"), text_of(client, "refused")) == (
            "The quokka smiles.",
            None,
        )
        assert client.get("/v1/jobs/none").status_code == 404
        assert client.get("/metrics").status_code == 200
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        until(lambda: put(client, "after") in (200, 201))


def test_directories_that_are_swapped_under_a_server(live: Path, tmp_path: Path) -> None:
    other = build_index(
        tmp_path / "other",
        [{"docid": "only", "text": "The quokka elsewhere."}],
        language="en",
        dense=False,
    )
    with writable(live, write_seconds=5) as served:
        client = served.client()
        assert put(client, "mine") == 201
        live.rename(tmp_path / "aside")
        other.rename(live)
        until(lambda: text_of(client, "only") == "The quokka elsewhere.")
        assert text_of(client, "mine") is None
        live.rename(other)
        (tmp_path / "aside").rename(live)
        until(lambda: text_of(client, "mine") == "The quokka smiles.")
        assert text_of(client, "only") is None
