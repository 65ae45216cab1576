"""Send mixed load to a server for a long time: ``make soak``, 30 minutes.

Every answer must have status 200 and exactly the hits that ``factseek search --json`` finds for its query. After the
first tenth of the time, the memory of the workers must not grow by more than a twentieth. Their open files must not
grow by more than a few. With ``--changes``, a copy of the index changes meanwhile.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from http.client import HTTPConnection, HTTPException
from itertools import count
from pathlib import Path
from statistics import median_high
from typing import NamedTuple
from urllib.parse import urlencode

import msgspec

from benchmarks.measuring import replace_marked
from benchmarks.servers import Server, resident, serve, workers
from factseek.eval.files.topics import read_topics
from factseek.eval.scoring.machine import this_machine
from factseek.retrieval.search.index import open_index
from factseek.retrieval.search.options import Search
from factseek.server.auth import digest

ROOT = Path(__file__).resolve().parent.parent
INDEX = ROOT / "indexes" / "example-en"
CALLERS = 6
_LOOK_EVERY = 1.0
KEY = "fs_a-key-of-the-soak"
HEADERS = {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"}


class Asked(NamedTuple):
    """A request and the hits that its answer must hold, for each of its queries in their order."""

    method: str
    address: str
    body: bytes | None = None
    hits: tuple[bytes, ...] = ()

    def answered(self, answer: bytes) -> bool:
        """Return whether an answer holds these hits."""
        at = 0
        for hits in self.hits:
            at = answer.find(b'"hits":' + hits, at) + 1
            if not at:
                return False
        return True


class Size(NamedTuple):
    """Megabytes of the largest worker, and the most files that a worker has open.

    For a period, it holds the largest size and the median number of files. The median is used because a worker has more
    files open while segments wait for compaction.
    """

    megabytes: float
    files: int


class Soaked(NamedTuple):
    """The result of a soak: counts of answers, changes and requests to retry, and the sizes at start and end."""

    seconds: float
    answers: Counter[str]
    faults: Counter[str]
    first: Size
    last: Size
    most_files: int

    @property
    def growth(self) -> float:
        """The growth of the largest worker until the end, as a share."""
        return self.last.megabytes / self.first.megabytes - 1

    def __str__(self) -> str:
        answers, changes, told = (self.answers[name] for name in ("answers", "changes", "told to come back"))
        changed = f", {changes:,} changes" if changes else ""
        changed += f" ({told} requests to retry, each followed by a success)" if told else ""
        return (
            f"{self.seconds / 60:.0f} minutes, {answers:,} answers ({answers / self.seconds:.0f} a second){changed}; "
            f"faults: {dict(self.faults) or 'none'}; memory of the largest worker: {self.first.megabytes:.0f} MB "
            f"after the warm-up, {self.last.megabytes:.0f} MB at the end ({self.growth:+.1%}); open files of a worker "
            f"(median): {self.first.files} after the warm-up, {self.last.files} at the end; {self.most_files} at most"
        )


def main() -> int:
    """Load a server; print the result; return 1 if anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--most-growth", type=float, default=0.05, help="the allowed growth of the largest worker")
    parser.add_argument("--most-more-files", type=int, default=20, help="how many more files may be open at the end")
    parser.add_argument("--work", type=Path, default=ROOT / "bench")
    parser.add_argument("--index", type=Path, default=INDEX, help="an index of the bundled English example")
    parser.add_argument("--changes", action="store_true", help="meanwhile add and delete documents of a second index")
    parser.add_argument("--write", action="store_true", help="put the figures into docs/figures.md")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    soaked = soak(args.minutes * 60, args.work, args.index, changes=args.changes)
    sys.stdout.write(f"{soaked}\n")
    if args.write:
        replace_marked(ROOT / "docs" / "figures.md", "soak", f"{soaked}, on {this_machine()}.")
    more_files = soaked.last.files - soaked.first.files
    return 0 if not soaked.faults and soaked.growth <= args.most_growth and more_files <= args.most_more_files else 1


def soak(seconds: float, work: Path, folder: Path, *, changes: bool = False) -> Soaked:
    """Load a server of the bundled example for ``seconds``; with ``changes``, change a copy of its index meanwhile."""
    asked = requests(folder)
    with ExitStack() as stack:
        settings, more = "workers: 2", {}
        if changes:
            copy = Path(stack.enter_context(tempfile.TemporaryDirectory(dir=work))) / "changing"
            more["changing"] = Path(shutil.copytree(folder, copy))
            settings += f", writes: true, keys: {{soak: {digest(KEY)}}}"
        server = stack.enter_context(serve(folder, work, settings, **more))
        stop, answers, faults = threading.Event(), Counter[str](), Counter[str]()

        def beside(call: Callable[[HTTPConnection], None]) -> None:
            """Repeat a call, on a connection of its own, until the end; a failure is a fault."""
            connection = HTTPConnection("127.0.0.1", server.port, timeout=60)
            while not stop.is_set():
                try:
                    call(connection)
                except (OSError, HTTPException) as error:
                    faults[type(error).__name__] += 1
                    connection.close()
            connection.close()

        calls = [_caller(asked, seed, answers, faults) for seed in range(CALLERS)]
        calls += [_changer(stop, answers, faults)] * changes
        callers = [threading.Thread(target=beside, args=(call,)) for call in calls]
        began = time.perf_counter()
        for caller in callers:
            caller.start()
        sizes = _sizes(server, began + seconds)
        stop.set()
        for caller in callers:
            caller.join()
    settled = sizes[len(sizes) // 10 :]
    window = max(1, len(settled) // 10)
    ended = time.perf_counter() - began
    first, last = _typical(settled[:window]), _typical(settled[-window:])
    return Soaked(ended, answers, faults, first, last, max(size.files for size in sizes))


def requests(folder: Path) -> list[Asked]:
    """Return requests of every kind to an index, each with the hits that the command line finds for it."""
    topics = [query.text for query in read_topics(ROOT / "examples" / "queries-en.tsv")]
    asked = [Asked("GET", address) for address in ("/readyz", "/metrics", "/v1/indexes", "/v1/indexes/bench")]
    with open_index(folder) as index:
        docid = index.search(topics[:1])[0][0].docid
        asked.append(Asked("GET", f"/v1/bench/documents/{docid}"))
        for retriever in ("bm25", "dense", "hybrid"):
            # These are the bytes of ``factseek search --json``, but not indented.
            search = Search(retriever=retriever)
            found = zip(topics, index.search(topics, search), strict=True)
            hits = [msgspec.json.encode(index.evidence(text, of_text, search)) for text, of_text in found]
            for text, of_text in zip(topics, hits, strict=True):
                question = {"query": text, "retriever": retriever}
                asked.append(Asked("POST", "/v1/bench/search", json.dumps(question).encode(), (of_text,)))
                asked.append(Asked("GET", f"/v1/bench/search?{urlencode(question)}", None, (of_text,)))
            queries = [{"qid": str(number), "text": text} for number, text in enumerate(topics)]
            body = json.dumps({"queries": queries, "retriever": retriever}).encode()
            asked.append(Asked("POST", "/v1/bench/search/batch", body, tuple(hits)))
    return asked


def _caller(
    asked: Sequence[Asked], seed: int, answers: Counter[str], faults: Counter[str]
) -> Callable[[HTTPConnection], None]:
    """Return a call that sends one of the requests and checks its answer."""
    choose = random.Random(seed)  # noqa: S311  no secret

    def call(connection: HTTPConnection) -> None:
        request = choose.choice(asked)
        connection.request(request.method, request.address, request.body, HEADERS)
        response = connection.getresponse()
        answer = response.read()
        answers["answers"] += 1
        if response.status != 200:
            faults[f"status {response.status}"] += 1
        elif not request.answered(answer):
            faults["other hits than the command line's"] += 1

    return call


def _changer(stop: threading.Event, answers: Counter[str], faults: Counter[str]) -> Callable[[HTTPConnection], None]:
    """Return a call that puts, looks up and deletes a document of the second index; it retries once if asked to."""
    numbers = count(1)

    def call(connection: HTTPConnection) -> None:
        number = next(numbers)
        address = f"/v1/changing/documents/soak-{number % 50}"
        body = json.dumps({"text": f"Note {number} of a long evening."}).encode()
        for method, text, expected in (("PUT", body, (200, 201)), ("GET", None, (200, 404)), ("DELETE", None, (204,))):
            if method == "DELETE" and number % 3:
                continue
            status, again_after = _asked(connection, method, address, text)
            if status == 503 and again_after:
                answers["told to come back"] += 1
                stop.wait(again_after)
                status, _ = _asked(connection, method, address, text)
            answers["changes"] += method != "GET"
            # If the first deletion took effect after its answer asked to retry, the retry finds no document.
            if status not in expected and not (method == "DELETE" and status == 404 and again_after):
                faults[f"{method} {status}"] += 1

    return call


def _asked(connection: HTTPConnection, method: str, address: str, body: bytes | None) -> tuple[int, float]:
    """Return the status of an answer, and the seconds after which it asks to retry, or 0."""
    connection.request(method, address, body, HEADERS)
    response = connection.getresponse()
    response.read()
    return response.status, float(response.headers.get("Retry-After") or 0)


def _typical(sizes: Sequence[Size]) -> Size:
    return Size(max(size.megabytes for size in sizes), median_high([size.files for size in sizes]))


def _sizes(server: Server, until: float) -> list[Size]:
    """Return the size of the largest worker, measured every second."""
    sizes = []
    while time.perf_counter() < until:
        time.sleep(_LOOK_EVERY)
        pids = workers(server)
        files = (sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir()) for pid in pids)
        sizes.append(Size(max(map(resident, pids)), max(files)))
    return sizes


if __name__ == "__main__":
    sys.exit(main())
