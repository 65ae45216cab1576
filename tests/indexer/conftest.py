"""Small collections and builds for the tests of the indexer."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from factseek.indexer.build import BuildReport, BuildRequest, Verb, build
from factseek.settings import Config, convert

Build = Callable[..., BuildReport]
Write = Callable[[str, Sequence[dict[str, object]]], Path]


@pytest.fixture
def write_jsonl(tmp_path: Path) -> Write:
    def write(name: str, documents: Sequence[dict[str, object]]) -> Path:
        path = tmp_path / name
        path.write_text(
            "".join(json.dumps(document, ensure_ascii=False) + "\n" for document in documents),
            "utf-8",
        )
        return path

    return write


@pytest.fixture
def build_jsonl(tmp_path: Path) -> Build:
    def run(
        *sources: Path,
        verb: Verb = "",
        dense: bool = False,
        kind: str = "jsonl",
        **settings: object,
    ) -> BuildReport:
        config: Config = convert(settings, "settings")
        return build(
            BuildRequest(
                kind=kind, sources=sources, folder=tmp_path / "index", verb=verb, dense=dense
            ),
            config,
        )

    return run
