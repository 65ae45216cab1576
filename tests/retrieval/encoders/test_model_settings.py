"""What a model's folder or the configuration says holds: the first ten passages are those of
sentence-transformers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import factseek
from factseek.core.errors import ConfigError, IndexStateError, MachineError
from factseek.retrieval.config import EncoderSettings
from factseek.retrieval.encoders.opening import open_encoder
from factseek.retrieval.search.index import open_index
from factseek.retrieval.search.options import Search
from factseek.retrieval.store import manifest as manifests
from factseek.settings import Config, convert
from tests.retrieval.encoders.test_unserved import SETTINGS, copy_of
from tests.small_models import small_encoder

TEXTS = [
    "Measles vaccination has prevented an estimated 57 million deaths.",
    "The measles virus spreads through the air when somebody coughs.",
    "The sea has risen by about twenty centimetres since 1900.",
    "Ice sheets lose mass, and the level of the ocean rises.",
    "The Nile is the longest river of Africa, and perhaps of the world.",
    "Rivers carry sand and clay to the sea.",
    "Vitamin C does not prevent the common cold.",
    "Trials found that vitamin C shortens a cold by half a day.",
    "Pluto was reclassified as a dwarf planet in 2006.",
    "Water boils at a hundred degrees at sea level.",
    "On a mountain, water boils at a lower temperature.",
    "A nurse gave the vaccine to forty children at the school.",
    "The mask trial had six thousand participants.",
    "Surgical masks reduced infections in the villages of the study by a tenth.",
]
QUERIES = ["does vitamin C prevent colds", "how high has the sea risen", "measles kills children"]


def model_of(folder: Path, changes: dict[str, Any], *, normalizes: bool = True) -> Path:
    """Return the folder of a small model with other settings; without ``normalizes``, the lengths
    of its vectors differ.
    """
    model = copy_of(small_encoder(), folder, SETTINGS, changes)
    if not normalizes:
        modules = json.loads((model / "modules.json").read_text("utf-8"))
        (model / "modules.json").unlink()
        kept = [module for module in modules if not module["type"].endswith("Normalize")]
        assert len(kept) < len(modules)
        (model / "modules.json").write_text(json.dumps(kept), "utf-8")
    return model


def settings_of(folder: Path, **encoder: Any) -> Config:
    found: Config = convert(
        {"encoder": {"model": str(folder), "cache": str(folder.parent / "cache")} | encoder},
        "test",
    )
    return found


def index_of(texts: list[str], folder: Path, config: Config) -> Path:
    source = folder / "texts.jsonl"
    lines = [json.dumps({"id": f"d{at:02}", "text": text}) for at, text in enumerate(texts)]
    source.write_text("\n".join(lines) + "\n", "utf-8")
    factseek.build("jsonl", [source], folder / "index", config=config)
    return folder / "index"


def first_ten(folder: Path, config: Config) -> list[list[str]]:
    with open_index(folder, config) as index:
        found = index.search(QUERIES, Search(retriever="dense", k=10))
    return [[hit.docid for hit in hits] for hits in found]


def first_ten_of_sentence_transformers(
    folder: Path, *, truncate_dim: int | None = None, prompts: tuple[str, str] = ("", "")
) -> list[list[str]]:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(
        str(folder), device="cpu", local_files_only=True, truncate_dim=truncate_dim
    )
    queries = model.encode([prompts[0] + query for query in QUERIES], prompt="")
    documents = model.encode([prompts[1] + text for text in TEXTS], prompt="")
    scores = model.similarity(queries, documents).numpy()
    return [[f"d{row:02}" for row in np.argsort(-row_scores)[:10]] for row_scores in scores]


CASES = {
    "plain": ({}, {}, None),
    "shortened by the folder": ({"truncate_dim": 24}, {}, 24),
    "shortened by the configuration": ({}, {"truncate_dim": 24}, 24),
    "dot product by the folder": ({"similarity_fn_name": "dot"}, {}, None),
    "dot product, shortened": ({"similarity_fn_name": "dot"}, {"truncate_dim": 24}, 24),
}


@pytest.fixture(scope="module")
def index_of_model(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """Return the folders of a model and of an index of its vectors, of 24 dimensions."""
    folder = tmp_path_factory.mktemp("index")
    model = model_of(folder / "model", {})
    return model, index_of(TEXTS, folder, settings_of(model, truncate_dim=24))


@pytest.mark.parametrize("backend", ["onnx", "torch"])
@pytest.mark.parametrize("case", CASES)
def test_the_first_ten_are_those_of_sentence_transformers(
    case: str, backend: str, tmp_path: Path
) -> None:
    changes, settings, size = CASES[case]
    model = model_of(tmp_path / "model", changes, normalizes="dot" not in case)
    config = settings_of(model, backend=backend, precision="fp32", **settings)
    folder = index_of(TEXTS, tmp_path, config)
    assert first_ten(folder, config) == first_ten_of_sentence_transformers(model, truncate_dim=size)
    recorded = manifests.read(folder).encoder
    assert recorded is not None
    assert recorded.dimension == (size or 384)
    assert recorded.similarity == ("dot" if "dot" in case else "cosine")


def test_a_dot_product_of_the_configuration_holds_for_every_search(tmp_path: Path) -> None:
    model = model_of(tmp_path / "model", {}, normalizes=False)
    config = settings_of(model, similarity="dot", precision="fp32")
    folder = index_of(TEXTS, tmp_path, config)
    by_dot = first_ten(folder, config)
    assert first_ten(folder, Config()) == by_dot
    assert by_dot != first_ten_of_sentence_transformers(model)
    with open_index(folder) as index:
        (answer,) = index.search(QUERIES[:1], Search(k=3))
        evidence = index.evidence(QUERIES[0], answer)
        assert evidence[0].retrievers["dense"].score > 1
        like, search = index.like("d06")
        assert index.search([like], search)[0][0].docid == "d07"


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            {"truncate_dim": 32},
            "its vectors have 24 dimensions, and encoder.truncate_dim is 32; leave out "
            "encoder.truncate_dim, or rebuild the index with --overwrite",
        ),
        (
            {"similarity": "dot"},
            "its vectors are compared by cosine, and encoder.similarity is dot; leave out "
            "encoder.similarity, or rebuild the index with --overwrite",
        ),
    ],
)
def test_a_search_that_asks_for_other_vectors_is_refused(
    setting: dict[str, Any], message: str, tmp_path: Path
) -> None:
    model = model_of(tmp_path / "model", {})
    folder = index_of(TEXTS[:3], tmp_path, settings_of(model, truncate_dim=24))
    with pytest.raises(IndexStateError) as refused:
        first_ten(folder, settings_of(model, **setting))
    assert refused.value.line == f"{folder}: {message}"


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            {"max_tokens": 16},
            "its vectors were made with max_tokens of the model, and encoder.max_tokens is 16; "
            "leave out encoder.max_tokens",
        ),
        (
            {"document_prompt": "text: "},
            "its vectors were made with the document_prompt of the model, and "
            "encoder.document_prompt is 'text: '; leave out encoder.document_prompt",
        ),
        (
            {"precision": "fp32"},
            "its vectors were made in int8, and encoder.precision is fp32; leave out "
            "encoder.precision",
        ),
        (
            {"model": "auto", "truncate_dim": 8},
            "its vectors have 24 dimensions, and encoder.truncate_dim is 8; leave out "
            "encoder.truncate_dim",
        ),
        (
            {"model": "auto", "similarity": "dot"},
            "its vectors are compared by cosine, and encoder.similarity is dot; leave out "
            "encoder.similarity",
        ),
    ],
)
def test_a_search_is_not_silent_about_what_it_would_ignore(
    setting: dict[str, Any], message: str, index_of_model: tuple[Path, Path]
) -> None:
    model, folder = index_of_model
    with pytest.raises(IndexStateError) as refused:
        first_ten(folder, settings_of(model, **setting))
    remedy = ", or rebuild the index with --overwrite"
    assert refused.value.line == f"{folder}: {message}{remedy}"


def test_a_prompt_for_queries_needs_its_model(index_of_model: tuple[Path, Path]) -> None:
    model, folder = index_of_model
    with pytest.raises(IndexStateError) as refused:
        first_ten(folder, settings_of(model, model="auto", query_prompt="query: "))
    assert refused.value.line == (
        f"{folder}: encoder.query_prompt belongs to a model, and encoder.model names none; set "
        f"encoder.model to {model}, or leave out encoder.query_prompt"
    )
    assert first_ten(folder, settings_of(model, query_prompt="query: "))


def test_what_an_index_records_may_be_repeated(index_of_model: tuple[Path, Path]) -> None:
    model, folder = index_of_model
    plain = first_ten(folder, settings_of(model, model="auto"))
    repeated = {"truncate_dim": 24, "similarity": "cosine"}
    assert first_ten(folder, settings_of(model, model="auto", **repeated)) == plain
    assert first_ten(folder, settings_of(model, precision="int8", **repeated)) == plain


def test_the_description_of_an_index_has_the_recorded_settings(tmp_path: Path) -> None:
    model = model_of(tmp_path / "model", {"similarity_fn_name": "dot"})
    config = settings_of(model, truncate_dim=24, document_prompt="text: ", max_tokens=32)
    with open_index(index_of(TEXTS[:3], tmp_path, config)) as index:
        assert "model (24 dimensions, int8, similarity dot, truncate_dim 24, max_tokens 32, " in (
            str(index.info)
        )
        assert "document_prompt 'text: ')" in str(index.info)


def test_a_model_may_move(tmp_path: Path) -> None:
    model = model_of(tmp_path / "model", {})
    folder = index_of(TEXTS, tmp_path, settings_of(model))
    before = first_ten(folder, settings_of(model))
    moved = model.rename(tmp_path / "elsewhere")
    with pytest.raises(MachineError) as refused:
        first_ten(folder, Config())
    assert refused.value.line.endswith(
        f": encoder '{model}': there is no such folder; if the model is in another folder by now, "
        "set encoder.model to it"
    )
    assert first_ten(folder, settings_of(moved)) == before
    other = model_of(tmp_path / "other", {"prompts": {"query": "q: ", "document": ""}})
    with pytest.raises(IndexStateError, match="its vectors were made by model"):
        first_ten(folder, settings_of(other))


def test_more_dimensions_than_the_model_has_are_refused(tmp_path: Path) -> None:
    model = model_of(tmp_path / "model", {})
    for backend in ("onnx", "torch"):
        with pytest.raises(ConfigError) as refused:
            open_encoder(settings_of(model, truncate_dim=385, backend=backend).encoder)
        assert refused.value.line == (
            "encoder.truncate_dim: 385 is more than the 384 dimensions of model; set it to at most "
            "384, or to 0 for all dimensions"
        )


def test_a_number_of_dimensions_that_is_none_is_refused(tmp_path: Path) -> None:
    model = model_of(tmp_path / "model", {"truncate_dim": "few"})
    with pytest.raises(MachineError) as refused:
        open_encoder(settings_of(model).encoder)
    assert refused.value.line == (
        f"{model}/{SETTINGS}: truncate_dim is 'few', not a positive number; correct it, or set it "
        "to null in a copy of the model"
    )


def test_vectors_of_torch_are_searched_by_the_exported_model(tmp_path: Path) -> None:
    model = model_of(tmp_path / "model", {})
    written = settings_of(model, backend="torch", document_prompt="text: ")
    folder = index_of(TEXTS, tmp_path, written)
    recorded = manifests.read(folder).encoder
    assert recorded is not None
    assert recorded.precision == "fp32"
    assert first_ten(folder, settings_of(model)) == first_ten(folder, written)
    exported = open_encoder(settings_of(model, precision="fp32").encoder)
    in_torch = open_encoder(settings_of(model, backend="torch").encoder)
    cosines = (exported.encode_query(QUERIES) * in_torch.encode_query(QUERIES)).sum(axis=1)
    assert cosines.min() >= 0.9999


@pytest.mark.parametrize("precision", ["fp16", "bf16"])
def test_half_precision_is_recorded_and_searched_in_fp32(precision: str, tmp_path: Path) -> None:
    model = model_of(tmp_path / "model", {})
    folder = index_of(TEXTS, tmp_path, settings_of(model, backend="torch", precision=precision))
    recorded = manifests.read(folder).encoder
    assert recorded is not None
    assert recorded.precision == precision
    exact = first_ten_of_sentence_transformers(model)
    for found, expected in zip(first_ten(folder, settings_of(model)), exact, strict=True):
        assert found[0] == expected[0]
        assert len(set(found) & set(expected)) >= 9


def test_a_batch_in_torch_keeps_the_order_of_the_texts(tmp_path: Path) -> None:
    model = model_of(tmp_path / "model", {})
    encoder = open_encoder(settings_of(model, backend="torch").encoder)
    texts = [f"{text} {'again ' * (at % 5)}" for at, text in enumerate(TEXTS * 3)]
    chunks = list(encoder.encode_documents_stream(iter(texts), 10))
    assert [len(chunk) for chunk in chunks] == [10, 10, 10, 10, 2]
    alone = np.concatenate([encoder.encode_document([text]) for text in texts])
    assert ((np.concatenate(chunks) * alone).sum(axis=1) > 0.99999).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"device": "cuda"},
            "encoder.device: cuda needs torch: exported models run on the processor; set "
            "encoder.backend to torch",
        ),
        (
            {"precision": "fp16"},
            "encoder.precision: fp16 needs torch; set encoder.backend to torch, or the precision "
            "to int8 or fp32",
        ),
        (
            {"backend": "torch", "precision": "int8"},
            "encoder.precision: int8 needs exported models; set it to fp32, fp16 or bf16, or "
            "encoder.backend to onnx",
        ),
        (
            {"backend": "torch", "device": "mps"},
            "encoder.device: torch finds no mps device on this machine; set it to auto or cpu",
        ),
    ],
)
def test_a_setting_that_would_be_ignored_is_refused(
    settings: dict[str, Any], message: str, tmp_path: Path
) -> None:
    model = model_of(tmp_path / "model", {})
    with pytest.raises(ConfigError) as refused:
        open_encoder(settings_of(model, **settings).encoder)
    assert refused.value.line == message


@pytest.mark.parametrize("backend", ["onnx", "torch"])
def test_weights_in_a_pickle_are_refused(backend: Any, tmp_path: Path) -> None:
    model = copy_of(small_encoder(), tmp_path / "model")
    (model / "model.safetensors").rename(model / "pytorch_model.bin")
    with pytest.raises(MachineError) as refused:
        open_encoder(EncoderSettings(model=str(model), backend=backend))
    assert refused.value.line == (
        f"{model}: its weights are a pickle, which may contain a program; save the model again "
        "with sentence-transformers, as safetensors"
    )
