"""Statements to learn from: the bundled tweets, and a way to make others up."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from factseek import commands
from factseek.claims.settings import BestSettings, ClaimsSettings, Config, MultilingualSettings
from factseek.core.domain import Statement
from factseek.eval.tasks import STATEMENTS
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.settings import Config as IndexerConfig

EXAMPLES = Path(__file__).resolve().parent.parent.parent / "examples"


class Done(NamedTuple):
    code: int
    out: str
    err: str


Rank = Callable[..., Done]


@pytest.fixture
def rank(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Rank:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FACTSEEK_CONFIG", raising=False)

    def command(*arguments: object, stdin: bytes = b"") -> Done:
        capsys.readouterr()
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = commands.main(["rank", *map(str, arguments)])
        return Done(code, *capsys.readouterr())

    return command


def _bundled(name: str) -> list[Statement]:
    found = STATEMENTS.load("ct2021-1a").read_statements(EXAMPLES / name, labelled=True)
    return [one._replace(language="en") for one in found]


@pytest.fixture(scope="session")
def train() -> list[Statement]:
    return _bundled("checkworthy-en-train.tsv")


@pytest.fixture(scope="session")
def dev() -> list[Statement]:
    return _bundled("checkworthy-en-dev.tsv")


@pytest.fixture(scope="session")
def config() -> Config:
    best = BestSettings(
        members=("lexical", "neighbours", "signs"), strengths=(1.0,), sharpnesses=(1.0,), trees=10
    )
    network = MultilingualSettings(
        encoder="characters", epochs=2, buckets=512, dimension=8, shared=4, hidden=4
    )
    return Config(claims=ClaimsSettings(folds=3, best=best, multilingual=network))


@pytest.fixture(scope="session")
def pages(examples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verify") / "pages"
    build(
        BuildRequest(kind="fever", sources=(examples / "fever-pages.jsonl",), folder=folder),
        IndexerConfig(),
    )
    return folder


@pytest.fixture(scope="session")
def arabic(examples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verify") / "arabic"
    request = BuildRequest(
        kind="snippets",
        sources=(examples / "snippets-ar.tsv",),
        folder=folder,
        language="ar",
        dense=False,
    )
    build(request, IndexerConfig())
    return folder
