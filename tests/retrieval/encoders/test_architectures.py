"""Six architectures with each setting of a model: the first ten passages are those of
sentence-transformers' own ranking.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.retrieval.encoders.test_model_settings import (
    QUERIES,
    TEXTS,
    first_ten,
    index_of,
    settings_of,
)
from tests.small_models import small_sparse_model

pytest.importorskip("torch", reason="the small models are made by torch")

DIMENSION = 32
WRITTEN = ("bert", "roberta", "xlm-roberta", "camembert")
"""The architectures whose graph is written from their weights; torch exports the others."""
ARCHITECTURES = (*WRITTEN, "mpnet", "distilbert")
# Their first tokens differ as well, so that no two passages are equal when a model reads few.
MORE_TEXTS = [" ".join(reversed(text.split())) for text in TEXTS]


def config_of(kind: str, vocabulary: int) -> Any:
    import transformers

    shape = {
        "vocab_size": vocabulary,
        "pad_token_id": 0,
        "initializer_range": 0.4,
        "max_position_embeddings": 80,
    }
    if kind == "distilbert":
        return transformers.DistilBertConfig(
            dim=DIMENSION, n_layers=2, n_heads=4, hidden_dim=64, **shape
        )
    configs = {
        "bert": transformers.BertConfig,
        "roberta": transformers.RobertaConfig,
        "xlm-roberta": transformers.XLMRobertaConfig,
        "camembert": transformers.CamembertConfig,
        "mpnet": transformers.MPNetConfig,
    }
    return configs[kind](
        hidden_size=DIMENSION,
        num_hidden_layers=2,
        num_attention_heads=4,
        intermediate_size=64,
        **shape,
    )


def save_model(kind: str, folder: Path) -> Path:
    """Save a random model of an architecture, with the mean of its states and their unit length."""
    import torch
    import transformers
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Normalize, Pooling, Transformer

    torch.manual_seed(0)
    tokenizer = transformers.AutoTokenizer.from_pretrained(small_sparse_model())
    plain = folder.parent / f"{kind}-plain"
    transformers.AutoModel.from_config(config_of(kind, len(tokenizer))).save_pretrained(plain)
    tokenizer.save_pretrained(plain)
    modules = [Transformer(str(plain), max_seq_length=48), Pooling(DIMENSION), Normalize()]
    SentenceTransformer(modules=modules, device="cpu").save(str(folder), create_model_card=False)
    return folder


class Case(NamedTuple):
    """What the folder of a model says, by file, and what the configuration says; ``normalizes`` is
    whether the model brings vectors to unit length.
    """

    files: Mapping[str, dict[str, Any]] = MappingProxyType({})
    settings: Mapping[str, Any] = MappingProxyType({})
    normalizes: bool = True


OF_MODEL, POOLING = "config_sentence_transformers.json", "1_Pooling/config.json"
LENGTH = "sentence_bert_config.json"
PROMPTS = {"prompts": {"query": "claim: ", "document": "evidence: the "}}
CASES = {
    "plain": Case(),
    "prompts of the folder": Case({OF_MODEL: PROMPTS}),
    "prompts of the configuration": Case(
        settings={"query_prompt": "claim: ", "document_prompt": "evidence: the "}
    ),
    "shortened by the folder": Case({OF_MODEL: {"truncate_dim": 20}}),
    "shortened by the configuration": Case(settings={"truncate_dim": 20}),
    "dot product": Case({OF_MODEL: {"similarity_fn_name": "dot"}}, normalizes=False),
    "cosine of vectors of any length": Case(normalizes=False),
    "first token": Case({POOLING: {"pooling_mode": "cls"}}),
    "largest value": Case({POOLING: {"pooling_mode": "max"}}),
    "few tokens by the folder": Case({LENGTH: {"max_seq_length": 9}}),
    "few tokens by the configuration": Case(settings={"max_tokens": 9}),
    "all together": Case(
        {
            OF_MODEL: {"similarity_fn_name": "dot", **PROMPTS},
            POOLING: {"pooling_mode": "cls"},
            LENGTH: {"max_seq_length": 14},
        },
        {"truncate_dim": 20},
        normalizes=False,
    ),
}
USUAL = [(kind, "all together") for kind in WRITTEN]
"""The cases that run with every change of the project; the others export or build for minutes."""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    folder = tmp_path_factory.mktemp("architectures")
    return cache(lambda kind: save_model(kind, folder / kind))


def changed(model: Path, case: Case, folder: Path) -> Path:
    """Return a copy of the model with the settings of a case in its files."""
    shutil.copytree(model, folder)
    for name, changes in case.files.items():
        content = json.loads((folder / name).read_text("utf-8"))
        assert {**content, **changes} != content
        (folder / name).write_text(json.dumps({**content, **changes}), "utf-8")
    if not case.normalizes:
        modules = json.loads((folder / "modules.json").read_text("utf-8"))
        kept = [module for module in modules if not module["type"].endswith("Normalize")]
        assert len(kept) < len(modules)
        (folder / "modules.json").write_text(json.dumps(kept), "utf-8")
    return folder


def ranked_by_sentence_transformers(folder: Path, case: Case) -> list[list[str]]:
    from sentence_transformers import SentenceTransformer

    settings = case.settings
    model = SentenceTransformer(
        str(folder),
        device="cpu",
        local_files_only=True,
        truncate_dim=settings.get("truncate_dim"),
    )
    if "max_tokens" in settings:
        model.max_seq_length = settings["max_tokens"]
    # One text a call: padding may change the last bits of a vector.
    queries = np.stack(
        [model.encode_query(text, prompt=settings.get("query_prompt")) for text in QUERIES]
    )
    documents = np.stack(
        [
            model.encode_document(text, prompt=settings.get("document_prompt"))
            for text in (*TEXTS, *MORE_TEXTS)
        ]
    )
    scores = model.similarity(queries, documents).numpy()
    return [[f"d{row:02}" for row in np.argsort(-of_query)[:10]] for of_query in scores]


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param(kind, name, marks=() if (kind, name) in USUAL else pytest.mark.deep)
        for kind in ARCHITECTURES
        for name in CASES
    ],
)
def test_the_first_ten_are_those_of_sentence_transformers(
    kind: str, name: str, saved: Callable[[str], Path], tmp_path: Path
) -> None:
    case = CASES[name]
    model = changed(saved(kind), case, tmp_path / "model")
    config = settings_of(model, precision="fp32", **case.settings)
    folder = index_of([*TEXTS, *MORE_TEXTS], tmp_path, config)
    found = first_ten(folder, config)
    assert found == ranked_by_sentence_transformers(model, case)
    assert len(found[0]) == 10


@pytest.mark.deep
def test_each_setting_changes_the_ranking(saved: Callable[[str], Path], tmp_path: Path) -> None:
    plain = ranked_by_sentence_transformers(saved("bert"), CASES["plain"])
    same = set()
    for number, (name, case) in enumerate(CASES.items()):
        model = changed(saved("bert"), case, tmp_path / str(number))
        if ranked_by_sentence_transformers(model, case) == plain:
            same.add(name)
    # A cosine does not depend on the length of vectors.
    assert same == {"plain", "cosine of vectors of any length"}
