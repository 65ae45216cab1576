"""Send mixed load to a server for a long time: ``make soak``, 30 minutes.

Every answer must have status 200 and exactly the hits that ``factseek search --json`` finds for its
query. After the first tenth of the time, the memory of the workers must not grow by more than a
twentieth. The number of their open files must not grow by more than 20. With ``--changes``, a copy
of the index changes meanwhile.
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
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from http.client import HTTPConnection, HTTPException
from itertools import count
from pathlib import Path
from statistics import median_high
from typing import NamedTuple
from urllib.parse import urlencode

import msgspec

from benchmarks.measuring import ROOT, WRITE, program, publish
from benchmarks.servers import Server, resident, serve, workers
from factseek import Search, open_index, read_queries
from factseek.eval.scoring.machine import this_machine
from factseek.server.auth import digest

CALLERS = 6
KEY = "fs_a-key-of-the-soak"
HEADERS = {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"}
MOST_GROWTH, MOST_MORE_FILES = 0.05, 20
"""The allowed growth of the largest worker, and how many more files may be open at the end."""


class Asked(NamedTuple):
    """A request and the hits that its answer must hold, for each of its queries in their order."""

    method: str
    address: str
    body: bytes | None = None
    hits: tuple[bytes, ...] = ()


class Size(NamedTuple):
    """Megabytes of the largest worker, and the maximum number of files that a worker has open."""

    megabytes: float
    files: int


def requests(folder: Path) -> list[Asked]:
    """Return requests of every kind to an index, each with the hits that the command line finds for
    it.
    """
    topics = [query.text for query in read_queries(ROOT / "examples" / "queries-en.tsv")]
    asked = [
        Asked("GET", address)
        for address in ("/readyz", "/metrics", "/v1/indexes", "/v1/indexes/bench")
    ]
    with open_index(folder) as index:
        docid = index.search(topics[:1])[0][0].docid
        asked.append(Asked("GET", f"/v1/bench/documents/{docid}"))
        for retriever in ("bm25", "dense", "hybrid"):
            # These are the bytes of ``factseek search --json``, but not indented.
            search = Search(retriever=retriever)
            found = zip(topics, index.search(topics, search), strict=True)
            hits = [
                msgspec.json.encode(index.evidence(text, of_text, search))
                for text, of_text in found
            ]
            for text, of_text in zip(topics, hits, strict=True):
                question = {"query": text, "retriever": retriever}
                asked.append(
                    Asked("POST", "/v1/bench/search", json.dumps(question).encode(), (of_text,))
                )
                asked.append(
                    Asked("GET", f"/v1/bench/search?{urlencode(question)}", None, (of_text,))
                )
            queries = [{"qid": str(number), "text": text} for number, text in enumerate(topics)]
            body = json.dumps({"queries": queries, "retriever": retriever}).encode()
            asked.append(Asked("POST", "/v1/bench/search/batch", body, tuple(hits)))
    return asked


class Soak:
    """A load on one server, with counts of answers, changes and faults."""

    def __init__(self, port: int, asked: Sequence[Asked]) -> None:
        self.counts, self.faults = Counter[str](), Counter[str]()
        self._port = port
        self._asked = asked
        self._stop = threading.Event()

    def run(self, server: Server, seconds: float, *, changes: bool) -> list[Size]:
        """Load the server for ``seconds``; return the size of its workers in each second."""
        # No secret.
        calls = [partial(self._search, random.Random(seed)) for seed in range(CALLERS)]  # noqa: S311
        calls += [partial(self._change, count(1))] * changes
        callers = [threading.Thread(target=self._repeat, args=(call,)) for call in calls]
        for caller in callers:
            caller.start()
        sizes, began = [], time.perf_counter()
        while time.perf_counter() < began + seconds:
            time.sleep(1)
            pids = workers(server)
            files = (sum(1 for _ in Path(f"/proc/{pid}/fd").iterdir()) for pid in pids)
            sizes.append(Size(max(map(resident, pids)), max(files)))
        self._stop.set()
        for caller in callers:
            caller.join()
        return sizes

    def _repeat(self, call: Callable[[HTTPConnection], None]) -> None:
        connection = HTTPConnection("127.0.0.1", self._port, timeout=60)
        while not self._stop.is_set():
            try:
                call(connection)
            except (OSError, HTTPException) as error:
                self.faults[type(error).__name__] += 1
                connection.close()
        connection.close()

    def _search(self, choose: random.Random, connection: HTTPConnection) -> None:
        request = choose.choice(self._asked)
        connection.request(request.method, request.address, request.body, HEADERS)
        response = connection.getresponse()
        answer, at = response.read(), 0
        self.counts["answers"] += 1
        if response.status != 200:
            self.faults[f"status {response.status}"] += 1
            return
        for hits in request.hits:
            at = answer.find(b'"hits":' + hits, at) + 1
            if not at:
                self.faults["other hits than the command line's"] += 1
                return

    def _change(self, numbers: Iterator[int], connection: HTTPConnection) -> None:
        number = next(numbers)
        address = f"/v1/changing/documents/soak-{number % 50}"
        body = json.dumps({"text": f"Note {number} of a long evening."}).encode()
        for method, text, expected in (
            ("PUT", body, (200, 201)),
            ("GET", None, (200, 404)),
            ("DELETE", None, (204,)),
        ):
            if method == "DELETE" and number % 3:
                continue
            for attempt in (1, 2):
                connection.request(method, address, text, HEADERS)
                response = connection.getresponse()
                response.read()
                again_after = float(response.headers.get("Retry-After") or 0)
                if response.status != 503 or not again_after or attempt == 2:
                    break
                self.counts["told to come back"] += 1
                self._stop.wait(again_after)
            self.counts["changes"] += method != "GET"
            # If the first deletion took effect after its answer asked to retry, the retry finds no
            # document.
            retried = method == "DELETE" and response.status == 404 and attempt == 2
            if response.status not in expected and not retried:
                self.faults[f"{method} {response.status}"] += 1


@program(
    ("--minutes", {"type": float, "default": 30.0}),
    (
        "--index",
        {
            "type": Path,
            "default": ROOT / "indexes" / "example-en",
            "help": "an index of the English example",
        },
    ),
    (
        "--changes",
        {"action": "store_true", "help": "meanwhile add and delete documents of a second index"},
    ),
    WRITE,
)
def main(args: argparse.Namespace) -> bool:
    """Load a server; print the result; return whether anything went wrong."""
    asked = requests(args.index)
    with tempfile.TemporaryDirectory() as work:
        settings, more = "workers: 2", {}
        if args.changes:
            more["changing"] = Path(shutil.copytree(args.index, Path(work) / "changing"))
            settings += f", writes: true, keys: {{soak: {digest(KEY)}}}"
        with serve(args.index, Path(work), settings, **more) as server:
            soak, began = Soak(server.port, asked), time.perf_counter()
            sizes = soak.run(server, args.minutes * 60, changes=args.changes)
            seconds = time.perf_counter() - began
    settled = sizes[len(sizes) // 10 :]
    window = max(1, len(settled) // 10)
    # Use the median of files, because a worker has more files open while segments wait for
    # compaction.
    first, last = (
        Size(max(size.megabytes for size in some), median_high([size.files for size in some]))
        for some in (settled[:window], settled[-window:])
    )
    growth = last.megabytes / first.megabytes - 1
    answers, changes, retries = (
        soak.counts[name] for name in ("answers", "changes", "told to come back")
    )
    changed = f" and made {changes:,} changes" if changes else ""
    changed += f" ({retries} requests to retry, each followed by a success)" if retries else ""
    text = (
        f"In {seconds / 60:.0f} minutes, the server gave {answers:,} answers "
        f"({answers / seconds:.0f} a second)"
        f"{changed}. Faults: {dict(soak.faults) or 'none'}. The largest worker used "
        f"{first.megabytes:.0f} MB after the "
        f"warm-up and {last.megabytes:.0f} MB at the end ({growth:+.1%}). A worker had "
        f"{first.files} open files after "
        f"the warm-up and {last.files} at the end (medians), and "
        f"{max(size.files for size in sizes)} at most."
    )
    publish("soak", f"{text} The machine has {this_machine()}.", document=args.write)
    return bool(soak.faults) or growth > MOST_GROWTH or last.files - first.files > MOST_MORE_FILES


if __name__ == "__main__":
    sys.exit(main())
