"""How many of the package's own functions one search calls, and in how many files they are.

``python -m benchmarks.calls`` opens the example (``make example``), searches it once hybrid and asks for the same over
HTTP, both warm, and counts in the thread that answers.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import FrameType

from benchmarks.measuring import program
from factseek.retrieval.search.index import open_index
from factseek.retrieval.search.options import Search
from factseek.retrieval.terminal import write
from factseek.server.app import create_app
from factseek.settings import Config

ROOT = Path(__file__).resolve().parent.parent
QUERY, K, WARMING = "vaccines cause autism", 10, 3


@program
def main() -> None:
    """Count, and print a line for each way of asking."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    config = Config()
    with open_index(ROOT / "indexes" / "example-en", config) as index:
        client = create_app(config, {"english": index}).test_client()
        asked = {"query": QUERY, "retriever": "hybrid", "k": K}
        ways: dict[str, Callable[[], object]] = {
            "Index.search, hybrid": lambda: index.search([QUERY], Search(k=K, retriever="hybrid")),
            "POST /v1/english/search, hybrid": lambda: client.post("/v1/english/search", json=asked),
        }
        for name, ask in ways.items():
            for _ in range(WARMING):
                ask()
            calls = counted(ask)
            files = {path for path, _ in calls}
            write(f"{name}: {calls.total()} calls in {len(files)} files\n")


def counted(ask: Callable[[], object]) -> Counter[tuple[str, str]]:
    """Return how often ``ask`` calls each function of the package in this thread, by file and name."""
    calls: Counter[tuple[str, str]] = Counter()
    outside = (str(ROOT / ".venv"), str(ROOT / "benchmarks"))

    def count(frame: FrameType, event: str, _: object) -> None:
        path = frame.f_code.co_filename
        name = frame.f_code.co_qualname
        if event == "call" and path.startswith(str(ROOT)) and not path.startswith(outside) and name[-1] != ">":
            calls[path, name] += 1  # no comprehensions, generator expressions and lambdas

    sys.setprofile(count)
    try:
        ask()
    finally:
        sys.setprofile(None)
    return calls


if __name__ == "__main__":
    sys.exit(main())
