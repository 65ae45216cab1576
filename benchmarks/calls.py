"""Count the calls of the package's own functions in one warm search: ``python -m
benchmarks.calls``.

The program counts in one thread, over the example (``make example``): a hybrid search in Python,
then one over HTTP. Comprehensions, generators and lambdas count as functions. A search for one hit
shows what a request costs in any case, and a search for eleven what each further hit adds.
"""

import sys
from collections import Counter
from collections.abc import Callable
from types import FrameType

from benchmarks.measuring import ROOT
from factseek.core.terminal import write
from factseek.retrieval.search.index import open_index
from factseek.retrieval.search.options import Search
from factseek.server.app import create_app
from factseek.settings import Config

FURTHER = 10
QUERY = "vaccines cause autism"


def calls_by_file(search: Callable[[], object]) -> Counter[str]:
    """Return how often ``search`` calls functions of each file of the package, once it is warm."""
    for _ in range(3):
        search()
    calls: Counter[str] = Counter()

    def count(frame: FrameType, event: str, _: object) -> None:
        path = frame.f_code.co_filename.removeprefix(f"{ROOT}/")
        is_own = path[0] not in "/.<" and not path.startswith("benchmarks/")
        if event == "call" and is_own:
            calls[path] += 1

    sys.setprofile(count)
    search()
    sys.setprofile(None)
    return calls


def report(name: str, search: Callable[[int], object]) -> None:
    """Write the calls and files of ``search`` for one hit, and the calls for each further hit."""
    one, more = (calls_by_file(lambda k=k: search(k)) for k in (1, 1 + FURTHER))
    further = (more.total() - one.total()) / FURTHER
    write(
        f"{name}: {one.total()} calls in {len(one)} files for one hit, "
        f"{further:.1f} calls for each further hit\n"
    )


if __name__ == "__main__":
    with open_index(ROOT / "indexes" / "example-en", Config()) as index:
        client = create_app(Config(), {"english": index}).test_client()
        report("Python", lambda k: index.search([QUERY], Search(k=k, retriever="hybrid")))
        report("HTTP", lambda k: client.post("/v1/english/search", json={"query": QUERY, "k": k}))
