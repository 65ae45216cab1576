"""Count the calls of the package's own functions in one warm search: ``python -m
benchmarks.calls``.

The program counts calls in one thread: in a hybrid search of the example (``make example``), then
in one over HTTP.
"""

import sys
from collections import Counter
from types import FrameType

from benchmarks.measuring import ROOT
from factseek.core.terminal import write
from factseek.retrieval.search.index import open_index
from factseek.retrieval.search.options import Search
from factseek.server.app import create_app
from factseek.settings import Config

calls: Counter[str] = Counter()


def count(frame: FrameType, event: str, _: object) -> None:
    """Count a call of a function of the package by its file, without comprehensions and lambdas."""
    path = frame.f_code.co_filename.removeprefix(f"{ROOT}/")
    if event == "call" and path[0] not in "/.<" and frame.f_code.co_qualname[-1] != ">":
        calls[path] += 1


if __name__ == "__main__":
    with open_index(ROOT / "indexes" / "example-en", Config()) as index:
        client = create_app(Config(), {"english": index}).test_client()
        search, body = Search(k=10, retriever="hybrid"), {"query": "vaccines cause autism", "k": 10}
        post = "/v1/english/search"
        for ask in (
            lambda: index.search(["vaccines cause autism"], search),
            lambda: client.post(post, json=body),
        ):
            for _ in range(4):  # the last search is warm
                calls.clear()
                sys.setprofile(count)
                ask()
                sys.setprofile(None)
            write(
                f"{calls.total() - calls['benchmarks/calls.py']} calls in {len(calls) - 1} files\n"
            )
