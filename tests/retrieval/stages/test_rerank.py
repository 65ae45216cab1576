"""Re-ranking by cross-encoders."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import msgspec
import pytest
from msgspec.structs import replace

from factseek.core.deadline import Deadline
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.settings import Config
from factseek.retrieval.encoders.cross_encoder import OnnxCrossEncoder
from factseek.retrieval.search.index import Index
from factseek.retrieval.search.options import Search
from factseek.retrieval.stages import StageContext, read_texts, rerank
from factseek.retrieval.stages.rerank import RerankSettings
from tests.small_models import PAIRS, small_cross_encoder

QUERY = "Measles vaccination prevented deaths"


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return small_cross_encoder()


@pytest.fixture(scope="module")
def config(model: Path, tmp_path_factory: pytest.TempPathFactory) -> Config:
    cache = tmp_path_factory.mktemp("cache")
    return Config(plugins=(RerankSettings(model=str(model), cache=str(cache), depth=10),))


@pytest.fixture(scope="module")
def index(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rerank") / "index"
    request = BuildRequest(
        kind="snippets", sources=(root / "examples/snippets-en.tsv",), folder=folder, dense=False
    )
    build(request, Config())
    return folder


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as pool:
        yield pool


@pytest.mark.real
def test_scores_are_those_of_sentence_transformers(model: Path, config: Config) -> None:
    import torch
    from sentence_transformers import CrossEncoder

    theirs = CrossEncoder(str(model), device="cpu", local_files_only=True)
    expected = theirs.predict([pair[:2] for pair in PAIRS], activation_fn=torch.nn.Identity())
    ours = OnnxCrossEncoder(config.of(RerankSettings))
    scores = [ours.score(query, passage) for query, passage, _ in PAIRS]
    assert scores == pytest.approx(
        expected.tolist(), abs=0.25 * float(expected.max() - expected.min())
    )
    relevant, other = scores[::2], scores[1::2]
    assert min(relevant) > max(other), "what it learned is still there in int8"
    assert scores == [ours.score(query, passage) for query, passage, _ in PAIRS[::-1]][::-1]
    assert ours.score("", "x" * 100_000) == ours.score("", "x" * 100_000)
    assert ours.score("half a pair: \ud83d", "and more") == ours.score("half a pair: ?", "and more")


@pytest.mark.real
def test_hits_are_ordered_by_the_model(index: Path, config: Config) -> None:
    asked = Search(k=5, retriever="bm25", stages=("rerank",))
    with Index(index, config) as opened:
        (plain,) = opened.search([QUERY], replace(asked, k=30, stages=()))
        (ranked,) = opened.search([QUERY], asked)
        (longer,) = opened.search([QUERY], replace(asked, k=20))
        (first, *_), (second, *_) = opened.search(
            [QUERY, QUERY], replace(asked, stages=("rerank=3",))
        )
        evidence = opened.evidence(QUERY, ranked, asked)
    model = OnnxCrossEncoder(config.of(RerankSettings))
    scores = {hit.docid: hit.parts[-1].vote for hit in longer[:10]}
    assert set(scores) == {hit.docid for hit in plain[:10]}
    assert longer[:5] == ranked
    assert [hit.docid for hit in ranked] == sorted(scores, key=lambda docid: -scores[docid])[:5]
    assert [hit.docid for hit in longer[10:]] == [hit.docid for hit in plain[10:20]]
    assert first == second
    assert first.docid in {hit.docid for hit in plain[:3]}
    for shown, hit in zip(evidence, ranked, strict=True):
        assert shown.stages["rerank"].gave == pytest.approx(
            model.score(QUERY, shown.passage.text), rel=1e-6
        )
        assert plain[shown.stages["rerank"].rank - 1].docid == hit.docid


@pytest.mark.real
def test_what_no_time_was_left_for_keeps_its_order(
    index: Path, config: Config, executor: ThreadPoolExecutor
) -> None:
    asked = Search(k=10, retriever="bm25", stages=("rerank",))
    with Index(index, config) as opened:
        (plain,) = opened.search([QUERY], replace(asked, stages=()))
        opened.search([QUERY], asked)
        limit = Deadline(60, executor)
        stages = rerank.open("", StageContext(config, opened._state))
        over = Deadline(-1, executor)
        texts = partial(read_texts, opened._state, spend=lambda _: None)
        (left,) = stages.apply([QUERY], [plain], texts, over)
        stages.apply([QUERY], [plain], texts, limit)
    assert [hit.docid for hit in left] == [hit.docid for hit in plain]
    assert (over.missing, limit.missing) == (["rerank"], [])


@pytest.mark.real
def test_a_weight_leaves_a_share_to_the_search(index: Path, config: Config) -> None:
    asked = Search(k=10, retriever="bm25", stages=("rerank",))
    shared = Config(plugins=(msgspec.structs.replace(config.of(RerankSettings), weight=0.4),))
    with Index(index, config) as opened:
        (plain,) = opened.search([QUERY], replace(asked, stages=()))
        (alone,) = opened.search([QUERY], asked)
    with Index(index, shared) as opened:
        (ranked,) = opened.search([QUERY], asked)
    before, after = ({hit.docid: hit.score for hit in hits} for hits in (plain, alone))
    expected = {
        docid: 0.6 * _stretched(before, docid) + 0.4 * _stretched(after, docid) for docid in before
    }
    assert {hit.docid: hit.score for hit in ranked} == pytest.approx(expected, abs=1e-6)
    assert [hit.docid for hit in ranked] == sorted(expected, key=lambda docid: -expected[docid])


def _stretched(scores: dict[str, float], docid: str) -> float:
    low, high = min(scores.values()), max(scores.values())
    return (scores[docid] - low) / (high - low)


def test_the_command_line_refuses(
    index: Path, tmp_path: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    asked = ["search", QUERY, "--index", index, "--retriever", "bm25", "--stage", "rerank"]
    (tmp_path / "empty").mkdir()
    remedy = "set rerank.model to a CrossEncoder of sentence-transformers on this machine"
    for name, setting, said in [
        ("a", "", f"rerank needs a model; {remedy}"),
        ("b", "./gone", "re-ranker './gone': there is no such folder"),
        (
            "c",
            "empty",
            f"{tmp_path}/empty: is not the folder of a sentence-transformers model "
            "(it has neither modules.json nor config.json)",
        ),
    ]:
        (tmp_path / name).write_text(f"rerank: {{model: '{setting}'}}\n", "utf-8")
        assert command(*asked, "--config", tmp_path / name)[::2] == (2, f"factseek: {said}\n")
