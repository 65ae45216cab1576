"""Near-duplicates folded: in the engine, over HTTP, on the command line, and in an index of an
earlier version.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from factseek.core.errors import QueryError, UsageError
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.compaction import compact
from factseek.indexer.deletion import delete
from factseek.indexer.verification import verify
from factseek.retrieval.config import IndexSettings
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.retrieval.stages.collapse import NEAR
from factseek.retrieval.store import manifest as manifests
from factseek.retrieval.store.signatures import disagreements, most_disagreements, signatures_of
from factseek.settings import Config
from tests.examples_tried import EXAMPLES

ARTICLE = (
    "The ministry said on Monday that the measles vaccine had reached nine of ten children in the "
    "north, where clinics "
    "had been closed for most of the year and nurses went from village to village on foot"
)
DOCUMENTS = [
    {"docid": "a-original", "text": f"{ARTICLE}.", "source": "agency.example"},
    {"docid": "b-copy", "text": f"{ARTICLE}, officials said.", "source": "paper.example"},
    {"docid": "c-copy", "text": ARTICLE.replace("Monday", "Tuesday"), "source": "blog.example"},
    {
        "docid": "d-other",
        "text": "Measles vaccine coverage fell in the south, a study of school records found.",
        "source": "x",
    },
    {"docid": "e-tweet", "text": "RT @who: measles vaccine saves lives http://t.co/a1"},
    {"docid": "f-tweet", "text": "measles vaccine saves lives http://t.co/b2"},
]
QUERY = "measles vaccine"


def built(
    folder: Path, documents: list[dict[str, str]], config: Config | None = None, *, verb: str = ""
) -> Path:
    source = folder.with_name(f"{folder.name}{verb}.jsonl")
    source.write_text("".join(json.dumps(row) + "\n" for row in documents), "utf-8")
    request = BuildRequest(kind="jsonl", sources=(source,), folder=folder, verb=verb, dense=False)  # type: ignore[arg-type]
    build(request, config or Config())
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = built(tmp_path_factory.mktemp("copies") / "index", DOCUMENTS[::2])
    return built(folder, DOCUMENTS[1::2], verb="append")


@pytest.fixture(scope="module")
def index(folder: Path) -> Iterator[Index]:
    with Index(folder) as opened:
        yield opened


@pytest.fixture
def without(tmp_path: Path) -> Path:
    return built(
        tmp_path / "old", DOCUMENTS, Config(index=IndexSettings(signatures=False, words=False))
    )


def groups(index: Index, search: Search) -> dict[str, list[str]]:
    asked = replace(search, collapse="near")
    hits = index.search([QUERY], asked)[0]
    return {
        hit.docid: hit.copies.docids for hit in index.evidence(QUERY, hits, asked) if hit.copies
    }


WORDS = st.sampled_from(
    "measles vaccine doses children north clinics nurses village school study records "
    "coverage".split()
)


@settings(max_examples=EXAMPLES // 10)
@given(
    texts=st.lists(st.lists(WORDS, min_size=1, max_size=9).map(" ".join), min_size=1, max_size=14),
    cut=st.integers(0, 14),
)
def test_folding_is_a_property(
    texts: list[str], cut: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Any length is the beginning of any longer; no two that stay are near; each that went is near
    a better one.
    """
    folder = tmp_path_factory.mktemp("property") / "index"
    rows = [{"docid": f"d{number:02}", "text": text} for number, text in enumerate(texts)]
    built(folder, rows[:cut] or rows)
    if rows[:cut] and rows[cut:]:
        built(folder, rows[cut:], verb="append")
    query = (
        "measles vaccine doses children north clinics nurses village school study records coverage"
    )
    signed = dict(zip((row["docid"] for row in rows), signatures_of(texts), strict=True))

    def near(one: str, two: str) -> bool:
        return bool(disagreements(signed[one][None], signed[two])[0] <= most_disagreements(NEAR))

    with Index(folder) as index:
        whole = [hit.docid for hit in index.search([query], Search(k=20))[0]]
        asked = Search(k=20, collapse="near")
        hits = index.search([query], asked)[0]
        left = [hit.docid for hit in hits]
        expected: list[str] = []
        for docid in whole:
            if not any(near(docid, other) for other in expected):
                expected.append(docid)
        assert left == expected
        for k in range(1, len(left) + 1):
            assert index.search([query], replace(asked, k=k))[0] == hits[:k]
        for hit in index.evidence(query, hits, asked):
            assert hit.copies
            copies = [
                docid for docid in sorted(signed) if docid != hit.docid and near(docid, hit.docid)
            ]
            assert (hit.copies.count, hit.copies.docids) == (len(copies), copies)


def test_on_the_command_line(
    folder: Path, without: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    code, printed, said = command("search", *QUERY.split(), "--index", folder, "--collapse", "near")
    assert (code, said.startswith("3 hits")) == (0, True)
    assert "    2 near-duplicates: " in printed
    assert "    1 near-duplicate: " in printed
    code, _, said = command("search", QUERY, "--index", without, "--stage", "collapse")
    assert code == 2
    assert said == (
        "factseek: this index does not support the stage collapse: it has no signatures; add them "
        "with factseek "
        "compact --add signatures\n"
    )
    code, _, said = command("search", QUERY, "--index", folder, "--stage", "collapse=far")
    assert (code, said) == (
        2,
        "factseek: collapse=far: near is the only value; use collapse=near\n",
    )


def test_a_stage_that_the_configuration_has_too_is_named_as_it_was_typed(
    folder: Path, tmp_path: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    (tmp_path / "settings.yaml").write_text("search: {stages: [collapse=near]}\n", "utf-8")
    asked = ["search", QUERY, "--index", folder, "--config", tmp_path / "settings.yaml"]
    code, _, said = command(*asked, "--collapse", "near")
    what = "search.stages of the configuration has the stage collapse too"
    remedy = "leave out collapse, or give the stages of this search"
    assert (code, said) == (2, f"factseek: collapse near: {what}; {remedy}\n")
    assert command(*asked, "--collapse", "near", "--stage", "per_source")[0] == 0
    assert command(*asked)[0] == 0


def test_signatures_are_added_to_an_index_without(
    without: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    delete(without, ["b-copy"])
    with Index(without) as index:
        before = index.search([QUERY])[0]
        with pytest.raises(QueryError, match="it has no signatures"):
            index.search([QUERY], Search(collapse="near"))
    assert list(manifests.read(without).views) == ["columns", "lucene"]
    code, printed, _ = command("compact", "--index", without, "--add", "signatures", "--json")
    assert (code, json.loads(printed)["added"]) == (0, ["signatures"])
    assert verify(without, Config()).faults == []
    with Index(without) as index:
        assert [hit.docid for hit in index.search([QUERY])[0]] == [hit.docid for hit in before]
        assert len(groups(index, Search())) == 3
    code, printed, _ = command("compact", "--index", without, "--add", "signatures")
    assert (code, "nothing to merge" in printed) == (0, True)
    code, _, said = command("compact", "--index", without, "--add", "poems")
    assert (code, said) == (
        2,
        (
            "factseek: --add poems: there is no such view; the views are columns, impacts, lucene, "
            "signatures, vectors, words\n"
        ),
    )
    off = msgspec.structs.replace(Config(), index=IndexSettings(signatures=False, words=False))
    other = built(without.with_name("other"), DOCUMENTS, off)
    with pytest.raises(
        UsageError, match=r"^--add signatures: the configuration disables this view"
    ):
        compact(other, off, add=["signatures"])
