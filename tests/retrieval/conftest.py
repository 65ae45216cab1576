"""A small index for the tests of searching: documents of every shape, in several segments, with
vectors.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from factseek.core.domain import Document
from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.search.index import Index
from factseek.settings import convert

SENTENCES = [
    "Measles vaccination prevents millions of deaths every year.",
    "The measles virus spreads through the air.",
    "Sea level rises as ice sheets melt.",
    "Ice melts faster when the ocean warms.",
    "The Nile flows north to the Mediterranean Sea.",
    "Masks filter droplets and aerosols.",
    "Clinical trials measure how well a vaccine works.",
    "Rivers and oceans store heat.",
]
DATES = ["2019", "2020-02", "2020-03-01", "2020-03-02", "", "2021-12-31"]
DOCIDS = ["plain", "comma,semi;", "with/slash", "عربي", "007", "7", "Ünïcode-😀", "a%b"]


def documents() -> list[Document]:
    made = []
    for i in range(48):
        docid = f"{DOCIDS[i % 8]}-{i // 8}"
        text = " ".join(SENTENCES[(i + step) % 8] for step in range(1 + i % 3 * 12))
        topic, source = f"T{i % 3}", ["who.int", "a b", ""][i % 3]
        made.append(
            Document(
                docid,
                text,
                f"Title {i}",
                "",
                DATES[i % 6],
                ["en", "de"][i % 2],
                source,
                topic,
                {"n": i},
            )
        )
    return made


@pytest.fixture(scope="session")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    import msgspec

    path = tmp_path_factory.mktemp("small") / "docs.jsonl"
    lines = [{**document._asdict(), **document.metadata} for document in documents()]
    for line in lines:
        del line["metadata"]
    path.write_bytes(b"\n".join(msgspec.json.encode(line) for line in lines) + b"\n")
    return path


@pytest.fixture(scope="session")
def small(written: Path) -> Iterator[Index]:
    raw = {
        "index": {"segment_passages": 30},
        "passages": {"words": 40, "split": {"jsonl": True}},
    }
    config = convert(raw, "test")
    build(BuildRequest(kind="jsonl", sources=(written,), folder=written.parent / "index"), config)
    with Index(written.parent / "index", config) as index:
        yield index
