"""Aliases: pointed in one step, on the command line and over HTTP, while what they stood for is
read.
"""

import json
import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from factseek.indexer.aliases import point
from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.search.index import Index
from factseek.retrieval.store import manifest as manifests
from factseek.server.app import create_app
from factseek.server.auth import digest
from factseek.server.runtime import IndexReloader
from factseek.server.settings import ServerSettings
from factseek.settings import Config

KEY = "fs_a-key-of-the-tests"


@pytest.fixture
def folders(tmp_path: Path) -> Path:
    for name in ("monday", "tuesday"):
        source = tmp_path / f"{name}.jsonl"
        source.write_text(json.dumps({"docid": name, "text": f"the news of {name}"}), "utf-8")
        build(
            BuildRequest(kind="jsonl", sources=(source,), folder=tmp_path / name, dense=False),
            Config(),
        )
    return tmp_path


def docids_of(folder: Path) -> list[str]:
    with Index(folder) as index:
        return [hit.docid for hit in index.search(["news"])[0]]


def test_an_alias_is_an_index(folders: Path, command: Callable[..., tuple[int, str, str]]) -> None:
    current = folders / "current"
    code, printed, _ = command("alias", f"{current}={folders / 'monday'}")
    assert (code, printed) == (0, f"{current}: points to {folders / 'monday'}\n")
    assert docids_of(current) == ["monday"]
    code, printed, _ = command("alias", f"{current}={folders / 'tuesday'}", "--json")
    assert json.loads(printed) == {
        "alias": str(current),
        "index": str(folders / "tuesday"),
        "manifest_id": manifests.read(folders / "tuesday").id,
        "before": str(folders / "monday"),
    }
    assert docids_of(current) == ["tuesday"]
    assert sorted(path.name for path in folders.iterdir() if path.is_dir()) == [
        "current",
        "monday",
        "tuesday",
    ]
    moved = Path(shutil.move(folders, folders.with_name("moved")))
    assert docids_of(moved / "current") == ["tuesday"]


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        (
            "{0}/current={0}/current",
            "{0}/current: an alias cannot point to itself; give the path of an index",
        ),
        (
            "{0}/monday={0}/tuesday",
            "{0}/monday: is not an alias: it is a file or folder itself; choose another name",
        ),
        (
            "{0}/current={0}/none",
            (
                "{0}/none: there is no index; build one with: factseek index KIND SOURCE "
                "--index {0}/none"
            ),
        ),
        ("current", "'current' is not of the form NAME=DIR"),
    ],
)
def test_bad_aliases(
    folders: Path, command: Callable[..., tuple[int, str, str]], argument: str, message: str
) -> None:
    point(folders / "current", folders / "monday")
    code, _, said = command("alias", argument.format(folders))
    assert (code, said) == (2, f"factseek: {message.format(folders)}\n")
    assert docids_of(folders / "current") == ["monday"]


def test_a_served_alias_is_pointed_over_http_while_it_answers(folders: Path) -> None:
    point(folders / "current", folders / "monday")
    names = ("current", "monday", "tuesday")
    server = ServerSettings(
        writes=True,
        keys={"tests": digest(KEY)},
        indexes={name: str(folders / name) for name in names},
    )
    config = Config(server=server)
    app = create_app(config, {})
    keeper = IndexReloader(app.extensions["factseek"], config)
    keeper.start()
    try:
        client = app.test_client()
        client.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {KEY}"
        answers: list[tuple[int, str]] = []
        stop = threading.Event()

        def ask() -> None:
            asking = app.test_client()
            asking.environ_base["HTTP_AUTHORIZATION"] = f"Bearer {KEY}"
            while not stop.is_set():
                answer = asking.post("/v1/current/search", json={"query": "news"})
                answers.append(
                    (
                        answer.status_code,
                        answer.json["hits"][0]["docid"] if answer.status_code == 200 else "",
                    )
                )

        thread = threading.Thread(target=ask)
        thread.start()
        for name in ("tuesday", "monday", "tuesday"):
            done = client.put("/v1/aliases/current", json={"index": name})
            assert (done.status_code, done.json["index"]) == (200, name)
            assert done.json["manifest_id"] == manifests.read(folders / name).id
            assert client.get("/v1/current/search?query=news").json["hits"][0]["docid"] == name
        stop.set()
        thread.join()
        assert set(answers) <= {(200, "monday"), (200, "tuesday")}
        for body, path, status, detail in (
            ({"index": "current"}, "current", 400, "index: an alias cannot point to itself"),
            ({"index": "monday"}, "tuesday", 400, "name: tuesday is an index itself, not an alias"),
            (
                {"index": "nothing"},
                "current",
                404,
                "there is no index 'nothing'; the indexes are current, monday, tuesday",
            ),
            ({}, "current", 400, "index: is missing"),
        ):
            refused = client.put(f"/v1/aliases/{path}", json=body)
            assert (refused.status_code, refused.json["detail"]) == (status, detail)
        client.environ_base.pop("HTTP_AUTHORIZATION")
        assert client.put("/v1/aliases/current", json={"index": "monday"}).status_code == 401
    finally:
        keeper.stop()
