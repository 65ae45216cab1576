"""All adapters at once: an application that speaks them, and a server of it that real clients can
ask.
"""

from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from flask import Flask
from flask.testing import FlaskClient

from factseek.retrieval.search.index import Index
from factseek.server.adapters import ADAPTERS
from factseek.server.api.rankers import ServedRanker
from factseek.server.app import create_app
from factseek.settings import Config
from tests.server.served import Served, serve


@pytest.fixture(scope="session")
def speaking(config: Config) -> Config:
    server = msgspec.structs.replace(config.server, adapters=dict.fromkeys(ADAPTERS.names(), ""))
    return msgspec.structs.replace(config, server=server)


@pytest.fixture(scope="session")
def speaking_app(
    speaking: Config, indexes: dict[str, Index], rankers: dict[str, ServedRanker]
) -> Flask:
    return create_app(speaking, indexes, ranked_by=rankers)


@pytest.fixture
def asked(speaking_app: Flask) -> FlaskClient:
    return speaking_app.test_client()


@pytest.fixture(scope="session")
def server(folders: dict[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    adapters = ", ".join(f"{name}: ''" for name in ADAPTERS.names())
    settings = f"workers: 1, adapters: {{{adapters}}}"
    with serve(folders, tmp_path_factory.mktemp("speaking") / "server", settings) as served:
        yield served


@pytest.fixture(scope="session")
def base(server: Served) -> str:
    return f"http://127.0.0.1:{server.port}"
