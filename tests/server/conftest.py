"""A small real index, with vectors, and one without, and a ranker of claims, made once."""

import json
import shutil
import threading
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from flask import Flask
from flask.testing import FlaskClient

from factseek.claims.checkworthiness import ranking as training
from factseek.claims.evidence.features import EntailmentExtractor, FeatureExtractors
from factseek.claims.evidence.sentences import Finder
from factseek.claims.settings import BestSettings, ClaimsSettings, VerdictSettings
from factseek.claims.verdicts import training as verdicts
from factseek.claims.verdicts.verdict import TrainedVerdicts
from factseek.core.domain import Claim
from factseek.core.progress import silent
from factseek.core.records import model_file
from factseek.eval.tasks import STATEMENTS
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.writer import Writer
from factseek.retrieval.config import CrossEncoderSettings, SearchSettings
from factseek.retrieval.encoders.cross_encoder import OnnxEntailment
from factseek.retrieval.lucene.jvm import java_thread
from factseek.retrieval.search.index import Index
from factseek.server.api.rankers import ServedRanker, open_rankers
from factseek.server.app import create_app
from factseek.server.auth import digest
from factseek.server.runtime import IndexReloader
from factseek.server.settings import ServerSettings
from factseek.settings import Config
from tests.small_models import small_entailment

ODD = "pages/2020//a+b?c#نص&d%2F"
NILE = "نيل/١"

ENGLISH: list[dict[str, Any]] = [
    {
        "docid": "measles",
        "title": "Measles vaccine",
        "text": "Two doses of the measles vaccine are about 97 percent effective against measles.",
        "url": "https://who.example.org/measles",
        "date": "2019-05-02",
        "source": "who.example.org",
        "topic": "health",
        "language": "en",
        "pages": 3,
    },
    {
        "docid": "measles-later",
        "title": "Measles returned",
        "text": "A measles outbreak followed where the vaccine was refused.",
        "url": "javascript:alert(1)",
        "date": "2024-01",
        "source": "news.example.org",
        "topic": "news",
    },
    {
        "docid": "measles-undated",
        "text": "Nobody knows when this note about the measles vaccine was written.",
    },
    {
        "docid": "moon",
        "title": "The <b>moon</b> landing",
        "text": (
            "Twelve people walked on the moon between 1969 and 1972; "
            "<script>alert('moon')</script> is none."
        ),
        "date": "1972-12-14",
        "topic": "space",
    },
    {
        "docid": ODD,
        "title": "Odd id",
        "text": "The sea level rises by a few millimetres every year.",
        "date": "2020",
    },
]
ARABIC = [
    {
        "docid": NILE,
        "text": "نهر النيل هو أطول أنهار العالم.",
        "language": "ar",
        "source": "ماء",
        "date": "2021-01-01",
    },
    {"docid": "amazon", "text": "نهر الأمازون هو أغزر أنهار العالم.", "language": "ar"},
]


def build_index(
    folder: Path, documents: list[dict[str, Any]], *, language: str, dense: bool
) -> Path:
    source = folder.with_suffix(".jsonl")
    source.write_text("".join(json.dumps(row) + "\n" for row in documents), "utf-8")
    build(
        BuildRequest(
            kind="jsonl", sources=(source,), folder=folder, language=language, dense=dense
        ),
        Config(),
    )
    return folder


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("indexes")
    return {
        "english": build_index(root / "english", ENGLISH, language="en", dense=True),
        "arabic": build_index(root / "arabic", ARABIC, language="ar", dense=False),
    }


@pytest.fixture(scope="session")
def ranker_file(tmp_path_factory: pytest.TempPathFactory, examples: Path) -> Path:
    source, path = (
        examples / "checkworthy-en-train.tsv",
        tmp_path_factory.mktemp("rankers") / "tweets.model",
    )
    statements = STATEMENTS.load("ct2021-1a").read_statements(source, labelled=True)
    tweets = [tweet._replace(language="en") for tweet in statements]
    config = Config(claims=ClaimsSettings(best=BestSettings(members=("lexical", "neighbours"))))
    learned = training.train("ct2021-1a", "best", [(source, tweets)], config, silent)
    model_file.save(path, learned.manifest, learned.ranker.state())
    return path


@pytest.fixture(scope="session")
def config(folders: dict[str, Path], ranker_file: Path) -> Config:
    return Config(
        search=SearchSettings(max_k=50, max_query_chars=200),
        verdict=VerdictSettings(depth=20),
        server=ServerSettings(
            max_body_bytes=20_000,
            max_batch=5,
            max_filter_values=8,
            max_claims=20,
            max_claim_chars=300,
            indexes={name: str(folder) for name, folder in folders.items()},
            rankers={"tweets": str(ranker_file)},
        ),
    )


@pytest.fixture(scope="session")
def rankers(config: Config) -> dict[str, ServedRanker]:
    return open_rankers(config)


@pytest.fixture(scope="session")
def models(indexes: dict[str, Index], config: Config) -> dict[str, TrainedVerdicts]:
    texts = [
        ("SUPPORTS", "Two doses of the measles vaccine are effective."),
        ("SUPPORTS", "Twelve people walked on the moon."),
        ("REFUTES", "Nobody walked on the moon."),
        ("REFUTES", "The sea level does not rise."),
        ("NOT ENOUGH INFO", "The Nile is longer than the Amazon."),
        ("NOT ENOUGH INFO", "Bread is baked every morning."),
    ]
    claims = [Claim(str(number), text, label=label) for number, (label, text) in enumerate(texts)]
    lesson = verdicts.Lesson(
        "fever", ("SUPPORTS", "REFUTES", "NOT ENOUGH INFO"), [(Path(__file__), claims)]
    )
    finder = Finder(indexes["english"], config.verdict, None)
    model = OnnxEntailment(CrossEncoderSettings(model=str(small_entailment())))
    extractors = FeatureExtractors(None, EntailmentExtractor(model))
    return {
        "few": verdicts.train(
            "evidence", lesson, finder, config.verdict, silent, extractors=extractors
        )
    }


@pytest.fixture(scope="session")
def indexes(folders: dict[str, Path], config: Config) -> Iterator[dict[str, Index]]:
    opened = {name: Index(folder, config) for name, folder in folders.items()}
    yield opened
    for index in opened.values():
        index.close()


@pytest.fixture(scope="session")
def app(indexes: dict[str, Index], config: Config, rankers: dict[str, ServedRanker]) -> Flask:
    """The application, without a model of verdicts, which takes torch to make."""
    return create_app(config, indexes, ranked_by=rankers, judged_by={})


@pytest.fixture
def client(app: Flask) -> FlaskClient:
    return app.test_client()


KEY = "fs_a-key-of-the-tests"
MAY = {"Authorization": f"Bearer {KEY}"}


class Writable(NamedTuple):
    """An application that may change its one index, ``live``, and what a writer of its own does in
    a thread.
    """

    app: Flask
    folder: Path
    config: Config

    def client(self) -> FlaskClient:
        client = self.app.test_client()
        client.environ_base["HTTP_AUTHORIZATION"] = MAY["Authorization"]
        return client


@contextmanager
def writable(
    folder: Path, *, beside: Mapping[str, str] | None = None, **settings: Any
) -> Iterator[Writable]:
    """Serve the index in ``folder`` to whoever has the key, and those ``beside`` it; keeper and
    writer are at work.
    """
    indexes = {"live": str(folder), **(beside or {})}
    server = ServerSettings(writes=True, keys={"tests": digest(KEY)}, indexes=indexes, **settings)
    config = Config(server=server)
    app = create_app(config, {})
    keeper = IndexReloader(app.extensions["factseek"], config)
    keeper.start()
    stop = threading.Event()

    def write() -> None:
        limits = server.write_seconds, server.keep_jobs, server.keep_job_days
        with java_thread(), closing(Writer(folder.resolve(), config, *limits)) as writer:
            writer.run(stop.wait)

    thread = threading.Thread(target=write)
    thread.start()
    try:
        yield Writable(app, folder, config)
    finally:
        stop.set()
        thread.join()
        keeper.stop()


@pytest.fixture
def live(folders: dict[str, Path], tmp_path: Path) -> Path:
    return Path(shutil.copytree(folders["arabic"], tmp_path / "live"))
