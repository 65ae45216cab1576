"""Training an encoder and a re-ranker: for real on the bundled example, gone on with, and what cannot be learned."""

# A message that is told exactly stands on one line.
# ruff: noqa: E501

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from factseek.eval.learn import trainer
from factseek.eval.learn.cli import INTERRUPTED
from factseek.eval.learn.encoder import EncoderTraining, triples
from factseek.eval.learn.examples import Candidates, of_documents
from factseek.eval.learn.request import ModelTraining, TrainingRequest
from factseek.eval.learn.reranker import WEIGHTS, RerankerEvaluator
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.settings import Config
from factseek.retrieval.files import sha256
from factseek.retrieval.search.index import open_index
from tests.conftest import overriding
from tests.small_models import small_cross_encoder

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def papers(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("train-papers") / "index"
    build(BuildRequest(kind="cord19", sources=(root / "examples/cord19",), folder=folder, dense=False), Config())
    return folder


@pytest.mark.real
def test_a_trained_encoder_has_a_card_and_makes_an_index(
    asked: list[object], base: Path, examples: Path, tmp_path: Path, command: Command
) -> None:
    code, printed, said = command(*asked)
    assert code == 0, said
    model = tmp_path / "model"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]
    card = json.loads((model / "training.json").read_text("utf-8"))
    assert [source["sha256"] for source in card["sources"]] == [
        sha256(examples / "queries-en.tsv"),
        sha256(examples / "qrels-en.txt"),
    ]
    assert printed.splitlines()[-1].startswith(
        ("better than before: held-out nDCG@10 +", "no better than before: held-out nDCG@10 ")
    )
    readme = (model / "README.md").read_text("utf-8")
    assert printed.strip() in readme
    assert "`encoder.model` takes this folder" in readme
    assert _tokens_read(model) == _tokens_read(base) == 256, "it learned from 32 tokens of a text, and reads all"
    code, _, said = command(
        "index", "snippets", examples / "snippets-en.tsv", "--index", tmp_path / "new", "--encoder", model
    )
    assert code == 0, said
    code, printed, _ = command("search", "the Nile is longer than the Amazon", "--index", tmp_path / "new", "--json")
    assert code == 0
    assert json.loads(printed)["hits"]


@pytest.mark.deep
def test_an_encoder_is_measured_by_all_that_it_reads(base: Path) -> None:
    """It was once cut to what it learns from, also before the training, so that every training looked like a gain."""
    start = "A long river runs through many countries before it reaches the sea, and the place is"
    hits = {"d0": f"{start} Oslo", "d1": f"{start} Cairo"}
    judged = [Candidates(qid="1", query="Oslo", hits=hits, relevant={"d0": hits["d0"]})]
    settings = ModelTraining(base=str(base), max_tokens=8)
    training = EncoderTraining(
        TrainingRequest(what="encoder", settings=settings, files=(), index="", target=base / "unused")
    )
    assert training.before(training.evaluator(judged, {"1": {"d0": 1}})).tolist() == [1.0]


@pytest.mark.deep
def test_the_same_seed_trains_the_same_encoder(asked: list[object], tmp_path: Path, command: Command) -> None:
    cards = []
    for name in ("first", "second"):
        code, _, said = command(*asked[:2], *overriding(asked[2:], ["--output", tmp_path / name]))
        assert code == 0, said
        cards.append(json.loads((tmp_path / name / "training.json").read_text("utf-8")))
    assert cards[0] == cards[1]
    first, second = (tmp_path / name / "model.safetensors" for name in ("first", "second"))
    assert first.read_bytes() == second.read_bytes()


@pytest.mark.deep
def test_a_trained_reranker_teaches_an_encoder_and_reorders_a_search(
    asked: list[object], tmp_path: Path, example: Path, command: Command
) -> None:
    teacher = tmp_path / "teacher"
    base = small_cross_encoder()
    asked[1] = "reranker"
    code, printed, said = command(*asked[:2], *overriding(asked[2:], ["--output", teacher, "--base", base]))
    assert code == 0, said
    assert "hits, before as they were found" in printed
    beside = json.loads((teacher / "training.json").read_text("utf-8"))["beside"]
    assert beside["rerank.weight"] in WEIGHTS
    settings = f"rerank.model to it, and rerank.weight to {beside['rerank.weight']:g}"
    assert said.splitlines()[-1] == f"{teacher}: the model; set {settings}"
    (tmp_path / "config.yaml").write_text(
        f"rerank: {{model: teacher, weight: {beside['rerank.weight']}}}\nsearch: {{stages: [rerank]}}\n", "utf-8"
    )
    code, printed, said = command(
        "search",
        "the Nile is longer than the Amazon",
        "--index",
        example,
        "--json",
        "--config",
        tmp_path / "config.yaml",
    )
    assert code == 0, said
    assert all("rerank" in hit["stages"] for hit in json.loads(printed)["hits"])
    asked[1] = "encoder"
    code, _, said = command(*asked, "--teacher", teacher)
    assert code == 0, said
    assert json.loads((tmp_path / "model/training.json").read_text("utf-8"))["settings"]["teacher"] == str(teacher)


@pytest.mark.deep
@pytest.mark.parametrize("what", ["encoder", "reranker"])
def test_documents_alone_teach(asked: list[object], papers: Path, tmp_path: Path, command: Command, what: str) -> None:
    """The base of the re-ranker is an encoder here, which gets a head."""
    asked[1], asked[3] = what, papers
    without_judgements = [*asked[:4], *asked[8:], "--from-documents", "--json"]
    code, printed, said = command(*without_judgements)
    assert code == 0, said
    card = json.loads(printed)
    assert card["sources"] == []
    assert card["beside"] == ({} if what == "encoder" else {"rerank.weight": 1})
    assert sum(card["queries"].values()) > 10
    assert "without judgements" in (tmp_path / "model/README.md").read_text("utf-8")


@pytest.mark.deep
def test_an_interrupted_training_goes_on_to_the_same_model(
    asked: list[object], tmp_path: Path, command: Command
) -> None:
    asked, look, looks = [*asked[:2], *overriding(asked[2:], ["--epochs", "2"])], trainer.look, []

    def interrupted(values: Callable[[], Any]) -> Any:
        def then_stop() -> Any:
            looks.append(1)
            if len(looks) == 3:
                raise KeyboardInterrupt
            return values()

        return look(then_stop)

    code, _, said = command(*asked)
    assert code == 0, said
    (tmp_path / "model").rename(tmp_path / "whole")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(trainer, "look", interrupted)
        code, printed, said = command(*asked)
    assert (code, printed) == (130, "")
    assert said.splitlines()[-1] == f"factseek: {INTERRUPTED}"
    assert "Traceback" not in said
    assert not (tmp_path / "model").exists()
    code, _, said = command(*asked)
    assert code == 0, said
    assert "note: the training goes on from " in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "whole"]
    model, whole = (tmp_path / name / "model.safetensors" for name in ("model", "whole"))
    assert model.read_bytes() == whole.read_bytes()


def test_neither_relevant_passages_nor_their_near_copies_are_negatives() -> None:
    text = "Vaccination against measles prevented about twenty million deaths in ten years all over the world"
    candidates = _candidates({"a": text, "b": f"{text}.", "c": "The Nile is the longest river of Africa."}, {"a": text})
    assert candidates.negatives() == ["The Nile is the longest river of Africa."]


def test_a_query_without_negatives_borrows_those_of_others() -> None:
    rich = _candidates(
        {"a": "The Nile is long.", "b": "The Amazon is wide.", "c": "Pluto is far."}, {"a": "The Nile is long."}
    )
    poor = _candidates({"b": "The Amazon is wide."}, {"b": "The Amazon is wide."})
    rows = triples([rich, poor], negatives=2, seed=0)
    assert [(query, positive) for query, positive, _ in rows] == [
        ("q", "The Nile is long."),
        ("q", "The Amazon is wide."),
    ]
    assert set(rows[0][2]) == {"The Amazon is wide.", "Pluto is far."}
    assert set(rows[1][2]) == {"Pluto is far."}
    assert triples([rich, poor], negatives=2, seed=0) == rows


def test_hits_are_measured_as_the_stage_orders_them() -> None:
    """Half of what the search gave and half of what the model gave, both stretched to 0..1 over the hits."""
    hits = {"a": "A", "b": "B", "c": "C"}
    judged = Candidates(qid="1", query="q", hits=hits, relevant={"b": "B"}, scores={"a": 3.0, "b": 2.9, "c": 1.0})
    evaluator = RerankerEvaluator([judged], {"1": {"b": 1}}, "RR")
    scores = np.array([{"A": -5, "B": 2, "C": 9}[text] for _, text in evaluator.pairs], dtype=np.float32)
    assert [evaluator.values(scores, weight).tolist() for weight in (1.0, 0.5, 0.01)] == [[0.5], [1.0], [0.5]]
    assert evaluator.before().tolist() == [0.5]


def test_a_title_asks_for_the_text_alone(papers: Path) -> None:
    with open_index(papers) as opened:
        judged = of_documents(opened, 12, seed=0)
        assert len(judged.asked) == len(judged.own_texts) == 12
        for query in judged.asked:
            assert judged.qrels[query.qid] == {query.qid: 1}
            assert query.text not in judged.own_texts[query.qid]
        assert of_documents(opened, 12, seed=0) == judged


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--epochs", "0"], "--epochs 0: give a number from 1"),
        (["--batch", "1"], "--batch 1: give a number from 2"),
        (["--negatives", "0"], "--negatives 0: give a number from 1"),
        (["--depth", "1"], "--depth 1: give a number from 2"),
        (["--max-tokens", "4"], "--max-tokens 4: give a number from 8"),
        (["--looks", "0"], "--looks 0: give a number from 1"),
        (["--sample", "9"], "--sample 9: give a number from 10"),
        (["--seed", "-1"], "--seed -1: give a number from 0"),
        (["--rate", "0"], "--rate 0.0: give a number between 0 and 1"),
        (["--measure", "AP,P@5"], "--measure AP,P@5: give one measure"),
        (["--base", "no-such-model"], "model 'no-such-model' is not on this machine; fetch it with: hf download sentence-transformers/no-such-model; if it is a folder, give its path"),
    ],
)  # fmt: skip
def test_what_cannot_be_trained_is_told_in_one_line(
    asked: list[object], tmp_path: Path, command: Command, extra: list[object], message: str
) -> None:
    code, printed, said = command(*asked[:2], *overriding(asked[2:], extra))
    assert (code, printed) == (2, "")
    assert said.splitlines()[-1] == f"factseek: {message}"
    assert list(tmp_path.iterdir()) == []


def _without(base: Path, folder: Path, name: str, content: bytes | None = None) -> Path:
    """Copy a model without a file of it, or with other content in that."""
    shutil.copytree(base, folder)
    (folder / name).unlink()
    if content is not None:
        (folder / name).write_bytes(content)
    return folder


BROKEN = {
    "has no config.json; fetch the model again": ("config.json", None),
    "has no weights (model.safetensors); fetch the model again": ("model.safetensors", None),
    "has no tokenizer (tokenizer.json); fetch the model again": ("tokenizer.json", None),
    "cannot be loaded: It looks like the config file": ("config.json", b'{"a": '),
    "cannot be loaded: Error while deserializing header": ("model.safetensors", b"cut"),
}


@pytest.mark.parametrize("what", ["encoder", "reranker"])
@pytest.mark.parametrize("message", BROKEN)
def test_a_base_that_lacks_something_is_refused(
    asked: list[object], base: Path, command: Command, what: str, message: str
) -> None:
    """Without a vocabulary the libraries make one up that knows no word, and train with it."""
    folder = Path(str(asked[9])).parent
    broken = _without(base, folder / "broken", *BROKEN[message])
    asked[1] = what
    code, printed, said = command(*asked[:2], *overriding(asked[2:], ["--base", broken]))
    assert (code, printed) == (2, "")
    assert said.splitlines()[-1].startswith(f"factseek: {broken}: {message}")
    assert list(folder.iterdir()) == [broken]


def test_too_few_judged_queries_are_refused(asked: list[object], tmp_path: Path, command: Command) -> None:
    (tmp_path / "qrels").write_text("1000000000000000101 0 EX-EN-01-0001-001 1\n", "utf-8")
    code, printed, said = command(*asked[:2], *overriding(asked[2:], ["--qrels", tmp_path / "qrels"]))
    assert (code, printed) == (2, "")
    assert said.splitlines()[-1] == (
        "factseek: queries with a relevant document in the index: 1; 10 are needed: "
        "to learn from, to stop by and to judge by"
    )


@pytest.mark.parametrize("what", ["encoder", "reranker"])
def test_without_any_negative_nothing_is_trained(
    asked: list[object], example: Path, tmp_path: Path, command: Command, what: str
) -> None:
    queries = ["1000000000000000101", *(f"{number}" for number in range(20))]
    with open_index(example) as opened:
        docids = [document.docid for document in opened.documents()]
    (tmp_path / "queries").write_text("".join(f"{qid}\tthe Nile\n" for qid in queries), "utf-8")
    (tmp_path / "qrels").write_text("".join(f"{qid} 0 {docid} 1\n" for qid in queries for docid in docids), "utf-8")
    asked[1] = what
    files = ["--queries", tmp_path / "queries", "--qrels", tmp_path / "qrels"]
    code, printed, said = command(*asked[:2], *overriding(asked[2:], files))
    assert (code, printed) == (2, "")
    assert said.splitlines()[-1] == (
        "factseek: all of the first 8 hits are relevant: there are no negatives to learn from"
    )
    assert not (tmp_path / "model").exists()


def test_judgements_are_given_or_left_out(asked: list[object], example: Path, tmp_path: Path, command: Command) -> None:
    code, _, said = command(*asked, "--from-documents")
    assert code == 2
    assert said == "factseek: --from-documents learns without judgements; leave out --queries and --qrels\n"
    code, _, said = command("train", "encoder", "--index", example, "--output", tmp_path / "model")
    assert code == 2
    assert said == "factseek: give --queries and --qrels, or --from-documents\n"


def test_a_folder_that_is_there_is_left_alone(asked: list[object], tmp_path: Path, command: Command) -> None:
    (tmp_path / "model").mkdir()
    code, _, said = command(*asked)
    assert code == 2
    assert said == f"factseek: {tmp_path / 'model'}: is there already; name a new folder\n"


def _candidates(hits: Mapping[str, str], relevant: Mapping[str, str]) -> Candidates:
    return Candidates(qid="1", query="q", hits=hits, relevant=relevant)


def _tokens_read(folder: Path) -> int:
    from sentence_transformers import SentenceTransformer

    return int(SentenceTransformer(str(folder), device="cpu", local_files_only=True).max_seq_length)
