"""Files are uploaded to the tab Add of a real server: large, too large, without a length, slowly,
to a full disk, and two at once.
"""

import contextlib
import http.client
import io
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from factseek.server import uploads, worker
from factseek.server.auth import digest
from factseek.server.memory import MEMORY, Budget, Charge
from factseek.server.uploads import NoRoomError, Upload

from .conftest import KEY, writable
from .gateway_bench import serving
from .served import PATIENCE, Served, serve

pytestmark = pytest.mark.real
SETTINGS = (
    f"workers: 1, writes: true, keys: {{desk: {digest(KEY)}}}, max_body_bytes: 100000, "
    "max_upload_bytes: 3000000, memory_bytes: 8000000"
)
HEADERS = {
    "Authorization": f"Bearer {KEY}",
    "Accept": "text/html",
    "Sec-Fetch-Site": "same-origin",
    "Content-Type": "multipart/form-data; boundary=b",
}
TOO_LARGE = (
    "The file is larger than 3 MB, the most that this page accepts (server.max_upload_bytes); the "
    "command line has no such limit: factseek index KIND FILE --append --index DIR."
)
ROW = "The old pipes of the harbour are gone and nobody knows where they went. " * 10


def table(size: int) -> bytes:
    rows = (f"row-{number},{ROW}\n" for number in range(size // len(ROW)))
    return b"docid,text\n" + "".join(rows).encode()


def form(content: bytes, name: str = "table.csv") -> bytes:
    parts = (
        '--b\r\nContent-Disposition: form-data; name="lang"\r\n\r\nen\r\n'
        f'--b\r\nContent-Disposition: form-data; name="file"; filename="{name}"\r\n\r\n'
    )
    return parts.encode() + content + b"\r\n--b--\r\n"


def post(server: Served, body: bytes, **more: str) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    try:
        connection.request("POST", "/add", body, {**HEADERS, **more})
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def post_in_chunks(server: Served, body: bytes) -> tuple[int, str]:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=PATIENCE)
    pieces = (body[start : start + 100_000] for start in range(0, len(body), 100_000))
    try:
        connection.request("POST", "/add", pieces, HEADERS, encode_chunked=True)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


@pytest.fixture(scope="module")
def server(folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    root = tmp_path_factory.mktemp("uploads")
    live = Path(shutil.copytree(folders["arabic"], root / "live"))
    with serve({}, root / "work", SETTINGS, live=live) as served:
        yield served


def test_a_large_file_is_read_with_its_length_and_without(server: Served) -> None:
    body = form(table(2_000_000))
    for send in (post, post_in_chunks):
        status, page = send(server, body)
        assert status == 200
        assert f"Documents: {2_000_000 // len(ROW)}" in page


def test_a_file_that_is_too_large_names_the_limit_and_the_command(server: Served) -> None:
    just_above = form(table(3_050_000))
    far_above = form(table(5_000_000))
    for send, body in ((post, just_above), (post, far_above), (post_in_chunks, far_above)):
        status, page = send(server, body)
        assert status == 413
        assert TOO_LARGE in page


def test_only_a_key_makes_room_for_a_large_file(server: Served) -> None:
    body = form(table(2_000_000))
    for key in ("", "Bearer fs_wrong", "Basic !"):
        assert post(server, body, Authorization=key)[0] == 401, key


def test_two_files_share_the_memory(server: Served) -> None:
    """Reading either takes half of the budget, and its page the rest."""
    body = form(table(2_000_000))
    with ThreadPoolExecutor(4) as pool:
        answers = list(pool.map(lambda _: post(server, body), range(4)))
    statuses = [status for status, _ in answers]
    assert 200 in statuses
    assert set(statuses) <= {200, 503}
    for status, page in answers:
        if status == 503:
            assert "Requests and answers fill the memory that this server has for them" in page
    assert post(server, body)[0] == 200


def test_a_file_waits_for_the_memory_of_others(live: Path) -> None:
    content = table(50_000)
    budget = Budget(120_000)
    other = Charge(budget)
    other.spend(60_000)
    with writable(live) as serving_:
        client = serving_.client()

        def send() -> tuple[int, str]:
            own = Charge(budget)
            file = io.BytesIO(content), "table.csv"
            answer = client.post(
                "/add",
                data={"file": file, "lang": "en"},
                headers={"Sec-Fetch-Site": "same-origin"},
                environ_overrides={MEMORY: own},
            )
            own.close()
            return answer.status_code, answer.text

        status, page = send()
        assert status == 503
        assert "Requests and answers fill the memory that this server has for them" in page
        other.close()
        assert send()[0] == 200


def test_an_upload_may_be_slow_but_not_stand_still(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker, "READING", 0.5)
    body = form(b"a" * 200_000)
    lines = [f"{name}: {value}\r\n" for name, value in HEADERS.items()]
    head = f"POST /add HTTP/1.1\r\nHost: x\r\nContent-Length: {len(body)}\r\n{''.join(lines)}\r\n"

    def application(environ, start):  # type: ignore[no-untyped-def]
        content = environ["wsgi.input"].read()
        answer = b"%d bytes" % len(content)
        start("200 OK", [("Connection", "close"), ("Content-Length", str(len(answer)))])
        return [answer]

    keys = {"desk": digest(KEY)}
    with serving(application, writes=True, keys=keys, memory_bytes=1_000) as bench:
        with bench.connect() as client:
            client.sendall(head.encode())
            for start in range(0, len(body), 20_000):
                client.sendall(body[start : start + 20_000])
                time.sleep(0.1)
                # Only what is not yet on the disk is in memory.
                assert bench.gateway.budget.held == 0
            assert read_all(client).endswith(b"\r\n\r\n%d bytes" % len(body))
        with bench.connect() as client:
            client.sendall(head.encode() + body[:1_000])
            assert read_all(client).startswith(b"HTTP/1.1 408 ")


def read_all(client: socket.socket) -> bytes:
    with contextlib.suppress(ConnectionResetError):
        return b"".join(iter(lambda: client.recv(65_536), b""))
    return b""


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if subprocess.run(command, check=False, capture_output=True).returncode:
        pytest.skip("a file system of a given size can only be mounted by root")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


def test_a_disk_without_room_is_said_before_and_while_the_file_arrives(
    folders: dict[str, Path],
    tmp_path: Path,
    small_disk: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reason = (
        "The server&#39;s disk has no room for this file; nothing was added; free disk space on "
        "the server, or send a smaller file."
    )
    with monkeypatch.context() as patched:
        patched.setenv("TMPDIR", str(small_disk))
        live = Path(shutil.copytree(folders["arabic"], tmp_path / "live"))
        with serve({}, tmp_path / "work", SETTINGS, live=live) as server:
            for send in (post, post_in_chunks):
                status, page = send(server, form(table(2_000_000)))
                assert (status, reason in page) == (507, True)
    monkeypatch.setattr(tempfile, "tempdir", str(small_disk))
    monkeypatch.setattr(uploads, "_SPARE", -(1 << 40))  # as if the room went after the look
    upload = Upload()
    with pytest.raises(NoRoomError), contextlib.closing(upload):
        upload.write(bytes(2_000_000))
        upload.rewind()
