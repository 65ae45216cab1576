"""Models that sentence-transformers loads in another way than factseek would run them: refused in
one line.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from factseek import EncoderSettings, commands
from factseek.core.errors import MachineError
from factseek.retrieval.config import CrossEncoderSettings
from factseek.retrieval.encoders.cross_encoder import OnnxCrossEncoder
from factseek.retrieval.encoders.opening import open_encoder
from tests.small_models import small_cross_encoder, small_encoder

SETTINGS = "config_sentence_transformers.json"
NULL = "choose another encoder, or set it to null in a copy of the model"
COSINE = "choose another encoder, or set it to cosine in a copy of the model"
SPARSE = (
    "is a sparse encoder (SPLADE), but factseek searches dense vectors; give it as --impacts, or "
    "choose a dense encoder"
)
ROUTER = "encodes queries and documents with different modules (Router), which factseek cannot run"
NO_MODULES = (
    "choose an encoder; for the mean of its states, save the model with sentence-transformers first"
)


def copy_of(
    model: Path, folder: Path, file: str = "", changes: dict[str, Any] | None = None
) -> Path:
    """Write a model to a new folder with links to the files of another, and change settings in one
    JSON file.
    """
    for path in model.rglob("*"):
        if path.is_file():
            target = folder / path.relative_to(model)
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(path)
    if file:
        settings = json.loads((folder / file).read_text("utf-8"))
        (folder / file).unlink()
        (folder / file).write_text(json.dumps(settings | (changes or {})), "utf-8")
    return folder


def with_modules(folder: Path, *kinds: str) -> Path:
    modules = [
        {"idx": at, "name": str(at), "path": "", "type": kind} for at, kind in enumerate(kinds)
    ]
    (folder / "modules.json").unlink(missing_ok=True)
    (folder / "modules.json").write_text(json.dumps(modules), "utf-8")
    return folder


def refusal(folder: Path) -> str:
    with pytest.raises(MachineError) as refused:
        open_encoder(EncoderSettings(model=str(folder)))
    return refused.value.line.removeprefix(f"{folder}")


@pytest.mark.parametrize("similarity", ["euclidean", "manhattan", "maxsim"])
def test_another_similarity_than_the_cosine_is_refused(similarity: str, tmp_path: Path) -> None:
    folder = copy_of(
        small_encoder(), tmp_path / "model", SETTINGS, {"similarity_fn_name": similarity}
    )
    assert refusal(folder) == (
        f"/{SETTINGS}: similarity_fn_name is {similarity}, but factseek compares vectors only by "
        f"their cosine or their dot product; {COSINE}"
    )


@pytest.mark.parametrize(
    ("kinds", "message"),
    [
        (
            [
                "sentence_transformers.models.Transformer",
                "sentence_transformers.sparse_encoder.SpladePooling",
            ],
            SPARSE,
        ),
        (["sentence_transformers.sparse_encoder.models.MLMTransformer", "x.SpladePooling"], SPARSE),
        (["x.Transformer", "x.Pooling", "x.SparseAutoEncoder"], SPARSE),
        (["sentence_transformers.models.Router"], f"{ROUTER}; choose another encoder"),
        (["sentence_transformers.models.Asym"], f"{ROUTER}; choose another encoder"),
    ],
)
def test_modules_that_make_no_dense_vector_are_refused(
    kinds: list[str], message: str, tmp_path: Path
) -> None:
    folder = with_modules(copy_of(small_encoder(), tmp_path / "model"), *kinds)
    assert refusal(folder) == f": {message}"


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("SparseEncoder", SPARSE),
        (
            "CrossEncoder",
            (
                "is a CrossEncoder of sentence-transformers, not a dense encoder; choose "
                "another encoder"
            ),
        ),
        (
            "MultiVectorEncoder",
            (
                "is a MultiVectorEncoder of sentence-transformers, not a dense encoder; choose "
                "another encoder"
            ),
        ),
    ],
)
def test_a_model_of_another_kind_is_refused(kind: str, message: str, tmp_path: Path) -> None:
    folder = copy_of(small_encoder(), tmp_path / "model", SETTINGS, {"model_type": kind})
    assert refusal(folder) == f": {message}"


@pytest.mark.parametrize(
    ("architecture", "message"),
    [
        (
            "BertForMaskedLM",
            (
                "is a masked language model or a SPLADE model (BertForMaskedLM): it has no "
                "modules.json"
            ),
        ),
        (
            "BertForSequenceClassification",
            (
                "is no encoder of texts: it has the head BertForSequenceClassification and no "
                "modules.json"
            ),
        ),
        ("HF_ColBERT", "is no encoder of texts: it has the head HF_ColBERT and no modules.json"),
    ],
)
def test_a_head_without_modules_is_refused(architecture: str, message: str, tmp_path: Path) -> None:
    folder = copy_of(
        small_encoder(), tmp_path / "model", "config.json", {"architectures": [architecture]}
    )
    (folder / "modules.json").unlink()
    assert refusal(folder) == f": {message}; {NO_MODULES}"


def test_the_same_weights_with_modules_or_without_a_head_are_an_encoder(tmp_path: Path) -> None:
    cache = str(tmp_path / "cache")
    changes = {"architectures": ["BertForMaskedLM"]}
    modules = copy_of(small_encoder(), tmp_path / "modules", "config.json", changes)
    plain = copy_of(small_encoder(), tmp_path / "plain")
    (plain / "modules.json").unlink()
    for folder in (modules, plain):
        encoder = open_encoder(EncoderSettings(model=str(folder), cache=cache))
        assert encoder.encode_query(["water boils"]).shape == (1, 384)
        encoder.close()


def test_an_index_of_a_refused_model_is_not_begun(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = copy_of(
        small_encoder(), tmp_path / "model", SETTINGS, {"similarity_fn_name": "euclidean"}
    )
    (tmp_path / "texts.jsonl").write_text('{"id": "a", "text": "Water boils."}\n', "utf-8")
    index = tmp_path / "index"
    command = [
        "index",
        "jsonl",
        str(tmp_path / "texts.jsonl"),
        "--index",
        str(index),
        "--encoder",
        str(folder),
    ]
    assert commands.main(command) == 2
    where = f"factseek: {folder}/{SETTINGS}"
    assert (
        capsys.readouterr().err
        == f"{where}: similarity_fn_name is euclidean, but factseek compares vectors only by "
        f"their cosine or their dot product; {COSINE}\n"
    )
    assert not (index / "manifest.json").exists()


@pytest.mark.parametrize(
    ("prompts", "default", "query", "document"),
    [
        ({"query": "q: ", "document": "d: "}, None, "q: ", "d: "),
        ({"query": "q: ", "passage": "p: "}, None, "q: ", "p: "),
        ({"query": "q: "}, "query", "q: ", ""),
        ({"query": "", "document": "d: ", "topic": "t: "}, "topic", "", "d: "),
        ({"topic": "t: "}, "topic", "", ""),
    ],
)
def test_prompts_of_the_model_are_those_of_its_queries_and_documents(
    prompts: dict[str, str], default: str | None, query: str, document: str, tmp_path: Path
) -> None:
    changes = {"prompts": prompts, "default_prompt_name": default}
    folder = copy_of(small_encoder(), tmp_path / "model", SETTINGS, changes)
    encoder = open_encoder(EncoderSettings(model=str(folder), cache=str(tmp_path / "cache")))
    assert (encoder.query_prompt, encoder.document_prompt) == (query, document)


def test_a_re_ranker_with_a_default_prompt_is_refused(tmp_path: Path) -> None:
    folder = copy_of(small_cross_encoder(), tmp_path / "model")
    (folder / SETTINGS).unlink(missing_ok=True)
    (folder / SETTINGS).write_text(
        '{"prompts": {"rank": "rank: "}, "default_prompt_name": "rank"}', "utf-8"
    )
    with pytest.raises(MachineError) as refused:
        OnnxCrossEncoder(CrossEncoderSettings(model=str(folder)))
    what = "default_prompt_name is rank, but factseek puts no prompt before a pair of texts"
    remedy = "choose another model, or set it to null in a copy"
    assert refused.value.line == f"{folder}/{SETTINGS}: {what}; {remedy}"
