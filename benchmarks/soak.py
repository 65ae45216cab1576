"""Mixed load for a long time: ``make soak``, 30 minutes.

Every answer has to be 200 and to hold, byte for byte, the hits that ``factseek search --json`` finds for its query; the
memory of the workers may not grow by more than a twentieth from the end of the first tenth on.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlencode

import msgspec

from benchmarks.marked import replace_marked
from benchmarks.serving import Server, resident, serve, workers
from factseek.eval.formats.topics import read_topics
from factseek.eval.reports.machine import this_machine
from factseek.retrieval.index.local import Index
from factseek.retrieval.searcher import Search

ROOT = Path(__file__).resolve().parent.parent
INDEX = ROOT / "indexes" / "example-en"
CALLERS = 6
_LOOK_EVERY = 1.0


class Asked(NamedTuple):
    """A request and the hits that its answer has to hold, those of each of its queries in their order."""

    method: str
    address: str
    body: bytes | None = None
    hits: tuple[bytes, ...] = ()

    def answered(self, answer: bytes) -> bool:
        """Say whether an answer holds these hits."""
        at = 0
        for hits in self.hits:
            at = answer.find(b'"hits":' + hits, at) + 1
            if not at:
                return False
        return True


class Soaked(NamedTuple):
    """What came of it."""

    seconds: float
    answers: int
    faults: Counter[str]
    first_megabytes: float
    last_megabytes: float

    @property
    def growth(self) -> float:
        """How much larger the largest worker is at the end, as a share."""
        return self.last_megabytes / self.first_megabytes - 1


def main() -> int:
    """Load a server; say what came of it; return 1 if anything went wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--most-growth", type=float, default=0.05, help="of the largest worker, as a share")
    parser.add_argument("--work", type=Path, default=ROOT / "bench")
    parser.add_argument("--index", type=Path, default=INDEX, help="an index of the bundled English example")
    parser.add_argument("--write", action="store_true", help="put the figures into docs/serving.md")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    found = soak(args.minutes * 60, args.work, args.index)
    told = (
        f"{found.seconds / 60:.0f} minutes, {found.answers:,} answers, {found.answers / found.seconds:.0f} a second; "
        f"faults: {dict(found.faults) or 'none'}; largest worker {found.first_megabytes:.0f} MB, "
        f"{found.last_megabytes:.0f} MB at the end ({found.growth:+.1%})"
    )
    sys.stdout.write(f"{told}\n")
    if args.write:
        replace_marked(ROOT / "docs" / "serving.md", "soak", f"{told}, on {this_machine()}.")
    return 0 if not found.faults and found.growth <= args.most_growth else 1


def soak(seconds: float, work: Path, folder: Path) -> Soaked:
    """Load a server of the bundled example's index for so long."""
    asked = requests(folder)
    with serve(folder, work) as server:
        seen = _Seen(threading.Event(), Counter(), Counter())
        callers = [threading.Thread(target=_call, args=(server.port, asked, seed, seen)) for seed in range(CALLERS)]
        began = time.perf_counter()
        for caller in callers:
            caller.start()
        sizes = _sizes(server, began + seconds)
        seen.stop.set()
        for caller in callers:
            caller.join()
    settled = sizes[len(sizes) // 10 :]
    window = max(1, len(settled) // 10)
    first, last = max(settled[:window]), max(settled[-window:])
    return Soaked(time.perf_counter() - began, seen.answers["answers"], seen.faults, first, last)


def requests(folder: Path) -> list[Asked]:
    """Return requests of every kind to an index, each with what the command line finds for it."""
    topics = [query.text for query in read_topics(ROOT / "examples" / "queries-en.tsv")]
    asked = [Asked("GET", address) for address in ("/readyz", "/metrics", "/v1/indexes", "/v1/indexes/bench")]
    with Index(folder) as index:
        docid = index.search(topics[:1])[0][0].docid
        asked.append(Asked("GET", f"/v1/bench/documents/{docid}"))
        for retriever in ("bm25", "dense", "hybrid"):
            hits = [command_line(index, text, retriever) for text in topics]
            asked += [_search(text, retriever, one) for text, one in zip(topics, hits, strict=True)]
            asked += [_search_simply(text, retriever, one) for text, one in zip(topics, hits, strict=True)]
            asked.append(_batch(topics, retriever, hits))
    return asked


def _search(text: str, retriever: str, hits: bytes) -> Asked:
    return Asked("POST", "/v1/bench/search", json.dumps({"query": text, "retriever": retriever}).encode(), (hits,))


def _search_simply(text: str, retriever: str, hits: bytes) -> Asked:
    asked = urlencode({"query": text, "retriever": retriever})
    return Asked("GET", f"/v1/bench/search?{asked}", None, (hits,))


def _batch(topics: Sequence[str], retriever: str, hits: Sequence[bytes]) -> Asked:
    queries = [{"qid": str(number), "text": text} for number, text in enumerate(topics)]
    body = json.dumps({"queries": queries, "retriever": retriever}).encode()
    return Asked("POST", "/v1/bench/search/batch", body, tuple(hits))


def command_line(index: Index, text: str, retriever: str) -> bytes:
    """Return the hits as ``factseek search --json`` writes them, before it indents them."""
    search = Search(retriever=retriever)  # type: ignore[arg-type]
    return msgspec.json.encode(index.evidence(text, index.search([text], search)[0], search))


class _Seen(NamedTuple):
    stop: threading.Event
    answers: Counter[str]
    faults: Counter[str]


def _call(port: int, asked: Sequence[Asked], seed: int, seen: _Seen) -> None:
    stop, answers, faults = seen
    choose = random.Random(seed)  # noqa: S311  no secret
    connection = HTTPConnection("127.0.0.1", port, timeout=60)
    while not stop.is_set():
        one = choose.choice(asked)
        try:
            connection.request(one.method, one.address, one.body, {"Content-Type": "application/json"})
            response = connection.getresponse()
            answer = response.read()
        except (OSError, HTTPException) as error:
            faults[type(error).__name__] += 1
            connection.close()
            continue
        answers["answers"] += 1
        if response.status != 200:
            faults[f"status {response.status}"] += 1
        elif not one.answered(answer):
            faults["other hits than the command line's"] += 1
    connection.close()


def _sizes(server: Server, until: float) -> list[float]:
    """Return the megabytes of the largest worker, a figure every second."""
    sizes = []
    while time.perf_counter() < until:
        time.sleep(_LOOK_EVERY)
        sizes.append(max(resident(pid) for pid in workers(server)))
    return sizes


if __name__ == "__main__":
    sys.exit(main())
