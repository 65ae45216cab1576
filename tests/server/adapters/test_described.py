"""Every answer of every adapter is as the OpenAPI document says: what it allows and forbids is asked of all routes."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from flask import Flask

from factseek.retrieval.config import RerankSettings
from factseek.retrieval.search.index import Index
from factseek.server.adapters import ADAPTERS
from factseek.server.app import create_app
from factseek.settings import Config
from tests.server.api.test_openapi import check
from tests.server.conftest import ENGLISH, MAY, Writable, build_index, writable
from tests.small_models import small_cross_encoder

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from schemathesis.specs.openapi.checks import unsupported_method

CHANGING = {f"alegre.alegre_{name}" for name in ("store", "delete", "similarity_sync")}
ENDPOINTS = [
    f"{adapter.blueprint.name}.{view}"
    for adapter in (ADAPTERS.load(name).adapter for name in ADAPTERS.names())
    for view in adapter.operations
]


@pytest.fixture(scope="module")
def speaking_app(speaking: Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flask]:
    """An application that speaks every adapter, re-ranks, and reads bodies of any size that is asked here.

    It serves the document that the examples ask for.
    """
    work = tmp_path_factory.mktemp("described")
    rerank = RerankSettings(model=str(small_cross_encoder()), cache=str(work / "cache"))
    server = msgspec.structs.replace(speaking.server, max_body_bytes=1_000_000)
    config = msgspec.structs.replace(speaking, rerank=rerank, server=server)
    documents = [*ENGLISH, {"docid": "en-vaccines-measles", "text": "Measles comes back when vaccination slips."}]
    with Index(build_index(work / "english", documents, language="en", dense=True), config) as index:
        yield create_app(config, {"english": index, "example-en": index})


@pytest.fixture(scope="module")
def changing(folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Writable]:
    """An application whose index its adapters may change."""
    folder = Path(shutil.copytree(folders["arabic"], tmp_path_factory.mktemp("changing") / "live"))
    with writable(folder, max_queued=100_000, adapters={"alegre": ""}) as made:
        yield made


@pytest.mark.real
@pytest.mark.parametrize("endpoint", [name for name in ENDPOINTS if name not in CHANGING])
def test_every_answer_is_as_described(speaking_app: Flask, endpoint: str) -> None:
    """What another method is answered is the original's own affair: Google knows no 405."""
    check(speaking_app, endpoint, {"index": "english", "docid": "measles"}, {}, 15, excluded=[unsupported_method])


@pytest.mark.real
@pytest.mark.parametrize("endpoint", sorted(CHANGING))
def test_every_answer_to_a_change_is_as_described(changing: Writable, endpoint: str) -> None:
    check(changing.app, endpoint, {}, MAY, 5, excluded=[unsupported_method])
