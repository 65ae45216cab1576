"""A server whose indexes have encoders of their own: each is asked with the one that made its vectors."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import pytest

from factseek.retrieval.encoders.runtime import SharedEncoders
from factseek.retrieval.encoders.sources import ENGLISH as ENGLISH_MODEL
from factseek.retrieval.encoders.sources import MULTILINGUAL, find_model
from factseek.retrieval.errors import MachineError
from factseek.retrieval.search.index import open_index
from factseek.server.app import create_app
from factseek.server.settings import ServerSettings
from factseek.settings import Config
from tests.server.conftest import ARABIC, ENGLISH, NILE, build_index

pytestmark = pytest.mark.real


def test_indexes_of_different_encoders_are_served_together(tmp_path: Path) -> None:
    try:
        find_model(MULTILINGUAL)
    except MachineError as error:
        pytest.skip(error.line)
    folders = {
        "english": build_index(tmp_path / "english", ENGLISH, language="en", dense=True),
        "arabic": build_index(tmp_path / "arabic", ARABIC, language="ar", dense=True),
    }
    config = Config(server=ServerSettings(indexes={name: str(folder) for name, folder in folders.items()}))
    with (
        closing(SharedEncoders(config.encoder)) as encoders,
        open_index(folders["english"], config, encoders=encoders) as english,
        open_index(folders["arabic"], config, encoders=encoders) as arabic,
    ):
        client = create_app(config, {"english": english, "arabic": arabic}).test_client()
        views = {name: client.get(f"/v1/indexes/{name}").json["manifest"]["views"] for name in folders}
        made_by = {name: held["vectors"]["name"] for name, held in views.items()}
        assert made_by == {"english": ENGLISH_MODEL, "arabic": MULTILINGUAL}
        for name, first in (("english", "moon"), ("arabic", NILE)):
            asked = {"query": {"english": "people on the moon", "arabic": "The longest river is the Nile."}[name]}
            answer = client.post(f"/v1/{name}/search", json=asked | {"retriever": "dense", "k": 1}).json
            assert [hit["docid"] for hit in answer["hits"]] == [first]
            assert "hybrid" in client.post(f"/v1/{name}/search", json=asked).json["retriever"]
        both = client.post("/v1/search", json={"query": "The longest river is the Nile.", "k": 2}).json
        assert {hit["index"] for hit in both["hits"]} == {"english", "arabic"}
