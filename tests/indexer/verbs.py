"""The verbs that change an index, each with the state before and after it, to be stopped anywhere.

Run as a module it is a server of processes: it forks one for each line that it reads, which does a
verb and may be killed, or fail at a given call to the file system.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from factseek.core.errors import UserError
from factseek.indexer.build import BuildRequest
from factseek.indexer.snapshot import restore, snapshot
from factseek.settings import convert
from tests.cluster.verbs import build, compact, delete, divide

CONFIG = convert({"index": {"segment_passages": 80}}, "test")
WORDS = "measles nile pluto ozone ice river vaccine virus planet glacier".split()
State = dict[str, str]


def state(first: int, last: int, mark: str = "") -> State:
    return {
        f"d{i}": f"{WORDS[i % 10]} {WORDS[i // 10 % 10]} number {i} {mark}"
        for i in range(first, last)
    }


BEFORE = {docid: text for docid, text in state(0, 160).items() if not docid.endswith("3")}
CHANGED = state(100, 200, "again")
DELETED = [f"d{i}" for i in range(20, 60)]


class Verb(NamedTuple):
    """A verb: what it does in a folder with an ``index``, and the documents that there are
    afterwards.
    """

    run: Callable[[Path], object]
    after: State


def _built(folder: Path, name: str, verb: Any, shards: int = 0) -> object:
    request = BuildRequest(
        kind="jsonl", sources=(folder / name,), folder=folder / "index", verb=verb, dense=False
    )
    return build(request, CONFIG, shards)


VERBS = {
    "append": Verb(lambda folder: _built(folder, "new.jsonl", "append"), BEFORE | state(160, 300)),
    "update": Verb(lambda folder: _built(folder, "changed.jsonl", "update"), BEFORE | CHANGED),
    "overwrite": Verb(lambda folder: _built(folder, "new.jsonl", "overwrite"), state(160, 300)),
    "delete": Verb(
        lambda folder: delete(folder / "index", DELETED),
        {docid: text for docid, text in BEFORE.items() if docid not in DELETED},
    ),
    "compact": Verb(lambda folder: compact(folder / "index", CONFIG), BEFORE),
    "snapshot": Verb(lambda folder: snapshot(folder / "index", folder / "snap"), BEFORE),
    "restore": Verb(
        lambda folder: restore(folder / "old", folder / "index", CONFIG, overwrite=True),
        state(0, 60),
    ),
    "shard": Verb(lambda folder: divide(folder / "index", 3, CONFIG), BEFORE),
    "reshard": Verb(lambda folder: divide(folder / "index", 5, CONFIG), BEFORE),
    "unshard": Verb(lambda folder: divide(folder / "index", 0, CONFIG), BEFORE),
}
WITHOUT_JAVA = ("delete", "snapshot", "restore")


def prepare(folder: Path, shards: int = 0) -> None:
    """Make the index that the verbs begin with, in so many shards, what they read, and an earlier
    snapshot.
    """
    for name, documents in (
        ("first.jsonl", state(0, 60)),
        ("second.jsonl", state(60, 160)),
        ("new.jsonl", state(160, 300)),
        ("changed.jsonl", CHANGED),
    ):
        rows = (
            json.dumps({"docid": docid, "text": text}) + "\n" for docid, text in documents.items()
        )
        (folder / name).write_text("".join(rows), "utf-8")
    _built(folder, "first.jsonl", "", shards)
    if not shards:
        snapshot(folder / "index", folder / "old", copy=True)
    _built(folder, "second.jsonl", "append")
    delete(folder / "index", [f"d{i}" for i in range(160) if i % 10 == 3])


def serve() -> None:
    """Fork a process for each line of standard input: verb, folder, the call to fail at (0: none),
    and how.
    """
    for line in sys.stdin:
        verb, folder, at, how = json.loads(line)
        child = os.fork()
        if not child:
            os._exit(_child(verb, Path(folder), at, how))
        _, status = os.waitpid(child, 0)
        _say(f"{os.waitstatus_to_exitcode(status)}")


def _child(verb: str, folder: Path, at: int, how: str) -> int:
    if verb not in WITHOUT_JAVA:
        from factseek.retrieval.lucene.jvm import start

        start()
    calls = Calls(folder, at, how)
    _say(f"ready {os.getpid()}")
    code = 0
    try:
        with calls:
            VERBS[verb].run(folder)
    except UserError as error:
        code = 2
        (folder / "said").write_text(error.line, "utf-8")
    except BaseException as error:  # noqa: BLE001  the test reads it
        code = 3
        (folder / "said").write_text(repr(error), "utf-8")
    (folder / "calls").write_text(str(calls.count), "utf-8")
    return code


def _say(line: str) -> None:
    os.write(1, f"{line}\n".encode())


class Calls:
    """Counts the calls to the file system in a folder; at one of them the process is killed, or the
    call fails.
    """

    EVENTS = frozenset(
        "open os.rename os.mkdir os.remove os.rmdir os.link os.truncate os.listdir "
        "os.scandir".split()
    )

    def __init__(self, folder: Path, at: int, how: str) -> None:
        self._folder = str(folder / "index"), str(folder / "snap"), str(folder / ".snap")
        self._at, self._how = at, how
        self._on = False
        self.count = 0
        self._fsync = os.fsync

    def __enter__(self) -> Calls:
        sys.addaudithook(self._heard)
        os.fsync = self._synced
        self._on = True
        return self

    def __exit__(self, *_: object) -> None:
        self._on = False

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._on and event in self.EVENTS and str(arguments[0]).startswith(self._folder):
            self._one()

    def _synced(self, handle: int) -> None:
        if self._on:
            self._one()
        self._fsync(handle)

    def _one(self) -> None:
        self.count += 1
        if self.count == self._at:
            if self._how == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            number = getattr(errno, self._how)
            raise OSError(number, os.strerror(number))


if __name__ == "__main__":
    serve()
