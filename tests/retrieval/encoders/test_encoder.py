"""The encoder: bit-equal however it is asked, near to the model that it was exported from, honest
when it cannot.
"""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from factseek.core.errors import ClosedError, MachineError
from factseek.retrieval.config import EncoderSettings
from factseek.retrieval.encoders import cache as encoder_cache
from factseek.retrieval.encoders.runtime import OnnxEncoder, open_onnx_encoder
from factseek.retrieval.encoders.sources import ENGLISH, find_model

TEXTS = [
    "",
    " ",
    "Vitamin C does not prevent the common cold.",
    "vitamin c does NOT prevent the common cold",
    "5G towers spread the virus 🦠",
    "الماء يغلي عند مئة درجة",
    "half a pair: \ud83d and more",
    "a\x00b\nc\td",
    "word " * 3000,
    "x" * 40_000,
    "Measles vaccination prevents deaths. " * 30,
]
WORDS = [
    "[PAD]",
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    "claim",
    "virus",
    "water",
    "boil",
    "##s",
    "the",
    "a",
    "query",
    ":",
]


def bits(vectors: NDArray[np.float32]) -> bytes:
    assert vectors.dtype == np.float32
    return vectors.tobytes()


@pytest.fixture(scope="module")
def encoder() -> Iterator[OnnxEncoder]:
    opened = open_onnx_encoder(EncoderSettings(threads=2))
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def vectors(encoder: OnnxEncoder) -> NDArray[np.float32]:
    return encoder.encode_document(TEXTS)


def test_vectors_are_of_unit_length_whatever_the_text(
    encoder: OnnxEncoder, vectors: NDArray[np.float32]
) -> None:
    assert vectors.shape == (len(TEXTS), encoder.dimension) == (len(TEXTS), 384)
    assert np.allclose(np.linalg.norm(vectors.astype(np.float64), axis=1), 1, atol=1e-6)
    assert encoder.encode_query([]).shape == (0, 384)


def test_an_encoder_that_is_closed_during_its_work_says_so() -> None:
    encoder = open_onnx_encoder(EncoderSettings(threads=2))
    texts = (f"{TEXTS[-1]} {number}" for number in range(1_000_000))
    stream = encoder.encode_documents_stream(texts, size=1)
    next(stream)
    encoder.close()
    with pytest.raises(ClosedError) as refused:
        list(stream)
    assert (
        refused.value.line == f"the encoder {ENGLISH!r} was closed during its work; open it again"
    )


def sentence_transformer(folder: Path) -> Any:
    from sentence_transformers import SentenceTransformer

    eager = {"attn_implementation": "eager"}
    return SentenceTransformer(str(folder), device="cpu", local_files_only=True, model_kwargs=eager)


def tiny_model(
    folder: Path, *, prompts: dict[str, str] | None = None, layers: int = 2, kind: str = "bert"
) -> Path:
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Dense, Pooling, Transformer
    from transformers import (
        AutoModel,
        BertConfig,
        BertTokenizerFast,
        DistilBertConfig,
        XLMRobertaConfig,
    )

    torch.manual_seed(0)
    shape = {
        "vocab_size": len(WORDS),
        "pad_token_id": 0,
        "initializer_range": 0.5,
        "max_position_embeddings": 24,
    }
    if kind == "distilbert":
        config = DistilBertConfig(dim=32, n_layers=layers, n_heads=4, hidden_dim=64, **shape)
    else:
        sizes = {
            "hidden_size": 32,
            "num_hidden_layers": layers,
            "num_attention_heads": 4,
            "intermediate_size": 64,
        }
        config = {"bert": BertConfig, "xlm-roberta": XLMRobertaConfig}[kind](**sizes, **shape)
    source = folder.parent / f"{folder.name}-plain"
    source.mkdir(parents=True)
    (source / "vocab.txt").write_text("\n".join(WORDS) + "\n", "utf-8")
    AutoModel.from_config(config).save_pretrained(source)
    BertTokenizerFast(str(source / "vocab.txt"), model_max_length=24).save_pretrained(source)
    transformer = Transformer(str(source), max_seq_length=16)
    model = SentenceTransformer(
        modules=[transformer, Pooling(32, pooling_mode="cls"), Dense(32, 12)],
        prompts=prompts,
        device="cpu",
    )
    model.save_pretrained(str(folder))
    return folder


@pytest.fixture(scope="module")
def tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny_model(
        tmp_path_factory.mktemp("models") / "tiny",
        prompts={"query": "query : ", "document": "the claim : "},
    )


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def cosines(left: NDArray[np.float32], right: NDArray[np.float32]) -> NDArray[np.float64]:
    unit = right.astype(np.float64) / np.linalg.norm(
        right.astype(np.float64), axis=1, keepdims=True
    )
    product: NDArray[np.float64] = (left.astype(np.float64) * unit).sum(axis=1)
    return product


CLAIMS = [
    "",
    "the virus boils",
    "a claim : water",
    "water " * 40,
    "virus claims the water boils a virus",
    "unknown word",
]


@pytest.mark.real
@pytest.mark.parametrize(("precision", "least"), [("fp32", 0.99999), ("int8", 0.98)])
def test_the_bundled_model_agrees_with_sentence_transformers(precision: Any, least: float) -> None:
    encoder = open_onnx_encoder(EncoderSettings(precision=precision))
    plain = [text for text in TEXTS if text.isprintable() and len(text.split()) > 2]
    expected = sentence_transformer(find_model("all-MiniLM-L6-v2").path).encode(
        plain, show_progress_bar=False
    )
    assert cosines(encoder.encode_document(plain), expected).min() >= least
    encoder.close()


@pytest.mark.real
@pytest.mark.parametrize(
    "kind", ["bert", "xlm-roberta", pytest.param("distilbert", marks=pytest.mark.deep)]
)
def test_any_pipeline_is_exported_whole(kind: str, tmp_path: Path) -> None:
    tiny = tiny_model(
        tmp_path / "tiny", prompts={"query": "query : ", "document": "the claim : "}, kind=kind
    )
    settings = EncoderSettings(model=str(tiny), precision="fp32", cache=str(tmp_path / "cache"))
    encoder = open_onnx_encoder(settings)
    assert (encoder.name, encoder.dimension, encoder.max_tokens, encoder.info.precision) == (
        "tiny",
        12,
        16,
        "fp32",
    )
    model = sentence_transformer(tiny)
    assert cosines(encoder.encode_query(CLAIMS), model.encode_query(CLAIMS)).min() > 0.99999
    assert cosines(encoder.encode_document(CLAIMS), model.encode_document(CLAIMS)).min() > 0.99999
    assert np.abs(encoder.encode_query(CLAIMS) - encoder.encode_document(CLAIMS)).max() > 0.01
    other = open_onnx_encoder(msgspec.structs.replace(settings, query_prompt="water "))
    assert (
        cosines(other.encode_query(CLAIMS), model.encode(CLAIMS, prompt="water ")).min() > 0.99999
    )
    coarse = open_onnx_encoder(msgspec.structs.replace(settings, precision="int8"))
    assert cosines(coarse.encode_document(CLAIMS), model.encode_document(CLAIMS)).min() > 0.98


@pytest.mark.deep
@pytest.mark.parametrize(("layers", "read"), [(7, 3), (2, 1)])
def test_a_layered_encoder_reads_the_mean_of_its_last_layers(
    tmp_path: Path, layers: int, read: int
) -> None:
    import torch

    model = sentence_transformer(folder := tiny_model(tmp_path / "deep", layers=layers))
    settings = EncoderSettings(model=str(folder), precision="fp32", cache=str(tmp_path / "cache"))
    plain, layered = open_onnx_encoder(settings), open_onnx_encoder(settings, layered=True)
    tokens = [
        model.tokenizer(text, truncation=True, max_length=16, return_tensors="pt")
        for text in CLAIMS
    ]
    with torch.inference_mode():
        shown = [
            model[0].auto_model(**each, output_hidden_states=True).hidden_states for each in tokens
        ]
        first = torch.stack([torch.stack(each[-read:]).mean(0)[0, 0] for each in shown])
        expected = model[2]({"sentence_embedding": first})["sentence_embedding"].numpy()
    assert cosines(layered.encode_document(CLAIMS), expected).min() > 0.99999
    assert cosines(plain.encode_document(CLAIMS), model.encode(CLAIMS)).min() > 0.99999, (
        "the other is what it was"
    )
    assert layered.name == plain.name
    assert layered.revision == f"{plain.revision}-layered"


@pytest.mark.real
def test_an_export_is_made_once_and_again_when_damaged(tiny: Path, cache: Path) -> None:
    settings = EncoderSettings(model=str(tiny), precision="fp32", cache=str(cache))
    folder = encoder_cache.ensure_export(settings).folder
    graph = folder / "model.onnx"
    before = bits(open_onnx_encoder(settings).encode_query(CLAIMS))
    made = graph.stat().st_ino
    assert encoder_cache.ensure_export(settings).folder == folder
    assert graph.stat().st_ino == made
    content = bytearray(graph.read_bytes())
    content[len(content) // 2] ^= 1
    graph.write_bytes(content)
    assert bits(open_onnx_encoder(settings).encode_query(CLAIMS)) == before
    assert graph.stat().st_ino != made
    (folder / "encoder.json").write_bytes(b"{")
    assert bits(open_onnx_encoder(settings).encode_query(CLAIMS)) == before
    assert [path.name for path in cache.iterdir() if path.name.startswith(".")] == []


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    (tmp_path / "file").touch()
    (tmp_path / "tmp").mkdir()
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file" / "cache"))
    monkeypatch.setattr(encoder_cache.tempfile, "tempdir", str(tmp_path / "tmp"))
    return tmp_path


def test_a_home_that_cannot_be_written_is_replaced_with_a_note(
    nowhere: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoder_cache, "SECONDS_BETWEEN_LINES", 0.3)
    kept = nowhere / "tmp" / f"factseek-{os.getuid()}" / "encoders"
    assert encoder_cache.ensure_export(EncoderSettings(model=ENGLISH)).folder.parent == kept
    first, *others = [
        record.getMessage() for record in caplog.records if record.levelname == "WARNING"
    ]
    assert first == (
        f"{nowhere / 'file/cache/factseek/encoders'} cannot be written: the encoder is kept in "
        f"{kept}; "
        "set encoder.cache"
    )
    assert others[0] == f"exporting the encoder {ENGLISH} to ONNX, which is done once: 0 s so far"


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (
            "all-mpnet-base-v2",
            "encoder 'all-mpnet-base-v2' is not on this machine; "
            "fetch it with: hf download sentence-transformers/all-mpnet-base-v2; if it is a "
            "folder, give its path",
        ),
        ("./models/mine", "encoder './models/mine': there is no such folder"),
        (
            "two words/and more",
            "encoder 'two words/and more' is neither a folder nor the name of a model",
        ),
        (
            "~nobody-of-this-name/mine",
            "encoder '~nobody-of-this-name/mine': there is no such folder",
        ),
        ("/" + "a" * 5000, f"encoder '/{'a' * 5000}': there is no such folder"),
        ("", "encoder.model is empty; give the name of a model or the path of its folder"),
    ],
)
def test_a_missing_model_is_named(
    model: str, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(MachineError) as caught:
        open_onnx_encoder(EncoderSettings(model=model))
    assert caught.value.line == message


@pytest.mark.data
@pytest.mark.deep
def test_int8_retrieves_like_the_model_itself(data_dir: Path) -> None:
    folder = data_dir / "scifact"
    judged = [
        line.split("\t")[:2]
        for line in (folder / "qrels" / "train.tsv").read_text("utf-8").splitlines()[1:300]
    ]
    corpus = {
        doc["_id"]: doc
        for doc in map(json.loads, (folder / "corpus.jsonl").read_text("utf-8").splitlines())
    }
    queries = {
        query["_id"]: query["text"]
        for query in map(json.loads, (folder / "queries.jsonl").read_text("utf-8").splitlines())
    }
    docids = sorted({docid for _, docid in judged})
    texts = [f"{corpus[docid]['title']}\n{corpus[docid]['text']}" for docid in docids]
    found = {}
    for precision in ("int8", "fp32"):
        encoder = open_onnx_encoder(EncoderSettings(precision=precision))  # type: ignore[arg-type]
        scores = (
            encoder.encode_query([queries[qid] for qid, _ in judged])
            @ encoder.encode_document(texts).T
        )
        rank = [
            (row > row[docids.index(docid)]).sum() + 1
            for row, (_, docid) in zip(scores, judged, strict=True)
        ]
        found[precision] = float(np.mean(1 / np.array(rank)))
    assert found["fp32"] > 0.8
    assert abs(found["int8"] - found["fp32"]) < 0.01
