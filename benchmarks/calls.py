"""Count the calls of the package's own functions in one search, and the files of these functions.

``python -m benchmarks.calls`` opens the example (``make example``). It searches the example once with ``hybrid``, and
sends the same search over HTTP, both after a warm-up. It counts the calls in the thread that answers.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
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
    """Count the calls, and print a line for each way of searching."""
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    config, outside = Config(), (str(ROOT / ".venv"), str(ROOT / "benchmarks"))
    calls: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _: object) -> None:
        path = frame.f_code.co_filename  # skip comprehensions, generator expressions and lambdas
        if event == "call" and path.startswith(str(ROOT)) and frame.f_code.co_qualname[-1] != ">":
            calls[path] += not path.startswith(outside)

    with open_index(ROOT / "indexes" / "example-en", config) as index:
        client = create_app(config, {"english": index}).test_client()
        search, asked = Search(k=K, retriever="hybrid"), {"query": QUERY, "retriever": "hybrid", "k": K}
        for name, ask in (
            ("Index.search, hybrid", lambda: index.search([QUERY], search)),
            ("POST /v1/english/search, hybrid", lambda: client.post("/v1/english/search", json=asked)),
        ):
            for _ in range(WARMING):
                ask()
            calls.clear()
            sys.setprofile(count)
            ask()
            sys.setprofile(None)
            write(f"{name}: {calls.total()} calls in {len(+calls)} files\n")


if __name__ == "__main__":
    sys.exit(main())
