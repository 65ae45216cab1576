"""Sparse models of other forms than BERT with the largest weights: sentence-transformers weighs
documents and queries alike.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import factseek
from factseek.core.errors import MachineError
from factseek.retrieval.config import ImpactSettings
from factseek.retrieval.encoders.cache import model_digest
from factseek.retrieval.encoders.sources import find_model
from factseek.retrieval.search.index import open_index
from factseek.retrieval.search.options import Search
from factseek.retrieval.sparse.encoder import SparseEncoder, open_sparse_encoder
from factseek.retrieval.sparse.impacts import SparseVector
from factseek.retrieval.store import manifest as manifests
from factseek.settings import convert
from tests.small_models import small_sparse_model

pytest.importorskip("torch", reason="the small sparse models are made by torch")

TEXTS = [
    "Measles vaccination prevents a million deaths every year.",
    "The Nile is the longest river of Africa.",
    "sea ice melts " * 60,
    "Ünïcode 日本 and [MASK]",
    "a",
]
TABLE = "query_0_SparseStaticEmbedding"


def read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8"))


def rewritten(file: Path, **changes: object) -> None:
    file.write_text(json.dumps({**read(file), **changes}), "utf-8")


def copied(folder: Path) -> Path:
    return Path(shutil.copytree(small_sparse_model(), folder))


def with_pooling(folder: Path, **settings: str) -> Path:
    rewritten(copied(folder) / "1_SpladePooling" / "config.json", **settings)
    return folder


def of_architecture(folder: Path, kind: str, **pooling: str) -> Path:
    """Save a masked language model of another architecture with the tokenizer of the small one."""
    import torch
    import transformers
    from sentence_transformers import SparseEncoder as Reference

    tokenizer = transformers.AutoTokenizer.from_pretrained(small_sparse_model())
    config, model = {
        "distilbert": (
            transformers.DistilBertConfig(dim=32, n_layers=1, n_heads=2, hidden_dim=64),
            transformers.DistilBertForMaskedLM,
        ),
        "roberta": (
            transformers.RobertaConfig(
                hidden_size=32, num_hidden_layers=1, num_attention_heads=2, intermediate_size=64
            ),
            transformers.RobertaForMaskedLM,
        ),
    }[kind]
    config.vocab_size, config.pad_token_id = len(tokenizer), 0
    config.max_position_embeddings = 80
    config.initializer_range = 0.4
    torch.manual_seed(1)
    plain = folder.parent / "plain"
    model(config).save_pretrained(plain)
    tokenizer.save_pretrained(plain)
    Reference(str(plain), device="cpu", local_files_only=True).save(
        str(folder), create_model_card=False
    )
    shutil.rmtree(plain)
    rewritten(folder / "1_SpladePooling" / "config.json", **pooling)
    return folder


def with_router(folder: Path, documents: Path) -> Path:
    """Save a model whose queries have a weight for each term, beside a model for documents."""
    import torch
    from sentence_transformers import SparseEncoder as Reference
    from sentence_transformers.base.modules import Router
    from sentence_transformers.sparse_encoder.modules import SparseStaticEmbedding

    model = Reference(str(documents), device="cpu", local_files_only=True)
    torch.manual_seed(2)
    weights = torch.rand(len(model.tokenizer)) * 6
    weights[:40:3] = 0.0
    table = SparseStaticEmbedding(tokenizer=model.tokenizer, weight=weights, frozen=True)
    router = Router.for_query_document(query_modules=[table], document_modules=list(model))
    whole = Reference(modules=[router], similarity_fn_name="dot", device="cpu")
    whole.prompts = {"document": "the ", "query": "claim "}
    whole.save(str(folder), create_model_card=False)
    return folder


MODELS: dict[str, Callable[[Path], Path]] = {
    "sum": lambda folder: with_pooling(folder, pooling_strategy="sum"),
    "log1p": lambda folder: with_pooling(folder, activation_function="log1p_relu"),
    "distilbert": lambda folder: of_architecture(folder, "distilbert", pooling_strategy="sum"),
    "roberta": lambda folder: of_architecture(folder, "roberta"),
    "router": lambda folder: with_router(folder, small_sparse_model()),
    "router, distilbert, log1p": lambda folder: with_router(
        folder,
        of_architecture(
            folder.parent / "documents", "distilbert", activation_function="log1p_relu"
        ),
    ),
}
# torch exports a model in some ten seconds.
MARKS = dict.fromkeys(MODELS, pytest.mark.deep) | {
    "router": (),
    "distilbert": pytest.mark.real,
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("sparse-models")

    @cache
    def make(name: str) -> Path:
        place = folder / name.replace(", ", "-")
        place.mkdir()
        return MODELS[name](place / "model")

    return make


def opened(folder: Path, **settings: Any) -> SparseEncoder:
    return open_sparse_encoder(
        ImpactSettings(
            model=str(folder), cache=str(folder.parent / "cache"), precision="fp32", **settings
        )
    )


def dense(vector: SparseVector, size: int) -> NDArray[np.float32]:
    row = np.zeros(size, dtype=np.float32)
    row[vector.terms] = vector.weights
    return row


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=MARKS[name]) for name in MODELS],
)
def test_weights_are_those_of_sentence_transformers(name: str, made: Callable[[str], Path]) -> None:
    from sentence_transformers import SparseEncoder as Reference

    folder = made(name)
    reference = Reference(str(folder), device="cpu", local_files_only=True)
    encoder = opened(folder)
    (documents,) = encoder.weigh_documents_stream(TEXTS)
    for text, document in zip(TEXTS, documents, strict=True):
        expected = reference.encode_document([text]).to_dense().numpy()[0]
        assert expected.any()
        np.testing.assert_allclose(dense(document, len(expected)), expected, atol=1e-4)
        expected = reference.encode_query([text]).to_dense().numpy()[0]
        query = encoder.weigh_query(text)
        np.testing.assert_allclose(dense(query, len(expected)), expected, atol=1e-4)
    encoder.close()


def test_a_table_of_queries_is_used_by_default(made: Callable[[str], Path], tmp_path: Path) -> None:
    from sentence_transformers import SparseEncoder as Reference

    folder = made("router")
    impact = {"model": str(folder), "cache": str(tmp_path / "cache"), "precision": "fp32"}
    config = convert({"impact": impact}, "test")
    source = tmp_path / "texts.jsonl"
    lines = [json.dumps({"id": f"d{at}", "text": text}) for at, text in enumerate(TEXTS)]
    source.write_text("\n".join(lines) + "\n", "utf-8")
    factseek.build(
        "jsonl",
        [source],
        tmp_path / "index",
        config=config,
        views=("impacts",),
        dense=False,
    )
    info = manifests.read(tmp_path / "index").impacts_of("impacts")
    assert info is not None
    assert info.queries == "model"

    reference = Reference(str(folder), device="cpu", local_files_only=True)
    query = "melting sea ice, and a million deaths"
    documents = reference.encode_document(TEXTS).to_dense()
    scores = (documents @ reference.encode_query([query]).to_dense()[0]).numpy()
    with open_index(tmp_path / "index", config) as index:
        (hits,) = index.search([query], Search(retriever="impact"))
    expected = [f"d{row}" for row in np.argsort(-scores) if scores[row] > 0]
    assert [hit.docid for hit in hits] == expected
    # A score counts in fortieths of a weight.
    assert hits[0].score == pytest.approx(40 * scores.max(), rel=0.01)


def test_a_table_reads_no_model(made: Callable[[str], Path]) -> None:
    encoder = opened(made("router"))
    assert len(encoder.weigh_query("the nile").terms) > 0
    assert encoder._running._model is None


def test_an_export_depends_on_the_table_of_queries(
    made: Callable[[str], Path], tmp_path: Path
) -> None:
    folder = Path(shutil.copytree(made("router"), tmp_path / "model"))
    before = model_digest(find_model(str(folder), "sparse model"), tmp_path)
    with (folder / TABLE / "model.safetensors").open("ab") as file:
        file.write(b"\0")
    assert model_digest(find_model(str(folder), "sparse model"), tmp_path) != before


@pytest.mark.deep
def test_int8_is_near_the_model(made: Callable[[str], Path]) -> None:
    folder = made("sum")
    exact = opened(folder)
    rounded = open_sparse_encoder(
        ImpactSettings(model=str(folder), cache=str(folder.parent / "cache"))
    )
    for text in TEXTS:
        one, other = (dense(each.weigh_query(text), 300) for each in (exact, rounded))
        assert one @ other >= 0.95 * np.linalg.norm(one) * np.linalg.norm(other)


def router_with(folder: Path, **changes: object) -> None:
    rewritten(folder / "router_config.json", **changes)


def save_weights(folder: Path, size: int, value: float) -> None:
    from safetensors.numpy import save_file

    weights = np.full(size, value, dtype=np.float32)
    save_file({"weight": weights}, folder / TABLE / "model.safetensors")


OTHER = "choose another sparse model"
EXPORTED = "sparse model 'model' cannot be exported: "
DAMAGES: dict[str, tuple[Callable[[Path], object], str]] = {
    "no routes": (
        lambda folder: (folder / "router_config.json").unlink(),
        "{folder}: has no routes (router_config.json); fetch the model again",
    ),
    "a list for routes": (
        lambda folder: router_with(folder, structure=[]),
        "{folder}/router_config.json: is damaged; fetch the model again",
    ),
    "a route to a part that is not there": (
        lambda folder: router_with(folder, types={}),
        "{folder}/router_config.json: is damaged; fetch the model again",
    ),
    "a part outside": (
        lambda folder: router_with(
            folder,
            types={
                **read(folder / "router_config.json")["types"],
                "../other": "SparseStaticEmbedding",
            },
        ),
        "{folder}/router_config.json: names '../other', which is outside the folder of the model",
    ),
    "queries by a model of their own": (
        lambda folder: router_with(
            folder,
            structure={
                "query": ["document_0_Transformer", "document_1_SpladePooling"],
                "document": ["document_0_Transformer", "document_1_SpladePooling"],
            },
        ),
        "{folder}: its Router has Transformer, SpladePooling for queries, but factseek runs only "
        f"SparseStaticEmbedding there; {OTHER}",
    ),
    "documents by a table": (
        lambda folder: router_with(folder, structure={"query": [TABLE], "document": [TABLE]}),
        "{folder}: has the module SparseStaticEmbedding for documents, which factseek runs only "
        f"for queries; {OTHER}",
    ),
    "weights elsewhere": (
        lambda folder: rewritten(folder / TABLE / "config.json", path="/etc/idf.json"),
        f"{EXPORTED}{{folder}}/{TABLE}/config.json: the weights of queries are in /etc/idf.json, "
        "and only those in model.safetensors are read; load the model with sentence-transformers "
        "and save it again",
    ),
    "too few weights": (
        lambda folder: save_weights(folder, 4, 1.0),
        f"{EXPORTED}{{folder}}/{TABLE}/model.safetensors: has no weight for each of the 130 terms "
        "of the documents",
    ),
    "negative weights": (
        lambda folder: save_weights(folder, 130, -1.0),
        f"{EXPORTED}{{folder}}/{TABLE}/model.safetensors: has a weight that is negative or not "
        "finite",
    ),
    "no tokenizer of queries": (
        lambda folder: (folder / TABLE / "tokenizer.json").unlink(),
        f"{EXPORTED}{{folder}}/{TABLE}/tokenizer.json: is missing",
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_router_is_told(name: str, made: Callable[[str], Path], tmp_path: Path) -> None:
    damage, message = DAMAGES[name]
    folder = Path(shutil.copytree(made("router"), tmp_path / "model"))
    damage(folder)
    with pytest.raises(MachineError) as raised:
        opened(folder)
    assert raised.value.line == message.format(folder=folder)


def test_weights_in_a_pickle_are_refused(tmp_path: Path) -> None:
    folder = copied(tmp_path / "model")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(MachineError) as raised:
        opened(folder)
    assert raised.value.line == (
        f"{folder}/pytorch_model.bin: is a pickle, which may contain a program; save the model "
        "again with sentence-transformers, as safetensors"
    )


def test_the_dimensions_of_an_auto_encoder_are_no_terms(tmp_path: Path) -> None:
    folder = copied(tmp_path / "model")
    modules = read(folder / "modules.json")
    modules.append({"idx": 2, "name": "2", "path": "2", "type": "x.SparseAutoEncoder"})
    (folder / "modules.json").write_text(json.dumps(modules), "utf-8")
    with pytest.raises(MachineError) as raised:
        opened(folder)
    assert raised.value.line == (
        f"{folder}: has the module SparseAutoEncoder, whose dimensions are no terms; {OTHER}"
    )
