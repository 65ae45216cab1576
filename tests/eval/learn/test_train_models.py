"""Training an encoder and a re-ranker: for real on the bundled example, gone on with, and what
cannot be learned.
"""

# A message that is told exactly stands on one line.

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from factseek.core.files import sha256
from factseek.eval.learn import trainer
from factseek.eval.learn.cli import INTERRUPTED
from factseek.eval.learn.examples import Candidates, triples
from factseek.eval.learn.models import WEIGHTS
from factseek.indexer.build import BuildRequest, build
from factseek.indexer.settings import Config
from tests.conftest import overriding
from tests.small_models import small_cross_encoder

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def papers(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("train-papers") / "index"
    build(
        BuildRequest(
            kind="cord19", sources=(root / "examples/cord19",), folder=folder, dense=False
        ),
        Config(),
    )
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
    assert "Set `encoder.model` to this folder" in readme
    assert _tokens_read(model) == _tokens_read(base) == 256, (
        "it learned from 32 tokens of a text, and reads all"
    )
    code, _, said = command(
        "index",
        "snippets",
        examples / "snippets-en.tsv",
        "--index",
        tmp_path / "new",
        "--encoder",
        model,
    )
    assert code == 0, said
    code, printed, _ = command(
        "search", "the Nile is longer than the Amazon", "--index", tmp_path / "new", "--json"
    )
    assert code == 0
    assert json.loads(printed)["hits"]


@pytest.mark.deep
def test_a_trained_reranker_teaches_an_encoder_and_reorders_a_search(
    asked: list[object], tmp_path: Path, example: Path, command: Command
) -> None:
    teacher = tmp_path / "teacher"
    base = small_cross_encoder()
    asked[1] = "reranker"
    code, printed, said = command(
        *asked[:2], *overriding(asked[2:], ["--output", teacher, "--base", base])
    )
    assert code == 0, said
    assert "hits; before: the order of the search" in printed
    beside = json.loads((teacher / "training.json").read_text("utf-8"))["beside"]
    assert beside["rerank.weight"] in WEIGHTS
    settings = f"rerank.model to it, and rerank.weight to {beside['rerank.weight']:g}"
    assert said.splitlines()[-1] == f"{teacher}: the model; set {settings}"
    (tmp_path / "config.yaml").write_text(
        f"rerank: {{model: teacher, weight: {beside['rerank.weight']}}}\nsearch: {{stages: "
        f"[rerank]}}\n",
        "utf-8",
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
    assert json.loads((tmp_path / "model/training.json").read_text("utf-8"))["settings"][
        "teacher"
    ] == str(teacher)


@pytest.mark.deep
@pytest.mark.parametrize("what", ["encoder", "reranker"])
def test_documents_alone_teach(
    asked: list[object], papers: Path, tmp_path: Path, command: Command, what: str
) -> None:
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
def test_an_interrupted_training_ends_at_the_same_model(
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
    assert "note: the training continues from " in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "whole"]
    model, whole = (tmp_path / name / "model.safetensors" for name in ("model", "whole"))
    assert model.read_bytes() == whole.read_bytes()


@pytest.mark.deep
def test_everything_is_trained_in_steps_that_are_not_taken_twice(
    asked: list[object], base: Path, examples: Path, tmp_path: Path, command: Command
) -> None:
    done, index = tmp_path / "all", tmp_path / "index"
    code, _, said = command(
        "index", "snippets", examples / "snippets-en.tsv", "--index", index, "--encoder", base
    )
    assert code == 0, said
    asked = [
        "train",
        "all",
        *overriding(asked[2:], ["--index", index, "--output", done, "--folds", "2"]),
    ]
    code, printed, said = command(*asked)
    assert code == 0, said
    assert [row.split("  ")[0] for row in printed.splitlines()[1:4]] == [
        "before",
        "with the trained encoder",
        "and combined, cross-validated",
    ]
    assert "queries; rankings: bm25, dense, dense:encoder\n" in printed
    told = ("search", "the Nile is longer than the Amazon", "--index", done / "index", "--json")
    code, found, said = command(*told, "--stage", "combine", "--config", done / "config.yaml")
    assert code == 0, said
    assert all("combine" in hit["stages"] for hit in json.loads(found)["hits"])
    (done / "combiner.model").unlink()
    files = {
        path: path.stat().st_mtime_ns
        for name in ("encoder", "index")
        for path in (done / name).rglob("*")
    }
    code, again, said = command(*asked)
    assert (code, again) == (0, printed)
    assert [line for line in said.splitlines() if "already" in line] == [
        f"note: {done / name} already exists, made from the same inputs"
        for name in ("encoder", "index")
    ]
    assert {path: path.stat().st_mtime_ns for path in files} == files
    code, _, said = command(*asked, "--seed", "1")
    assert (code, said.splitlines()[-1]) == (
        2,
        (
            f"factseek: {done / 'encoder'}: was made from other inputs; give another folder "
            "with --output"
        ),
    )


def test_neither_relevant_passages_nor_their_near_copies_are_negatives() -> None:
    text = (
        "Vaccination against measles prevented about twenty million deaths in ten years all "
        "over the world"
    )
    candidates = _candidates(
        {"a": text, "b": f"{text}.", "c": "The Nile is the longest river of Africa."}, {"a": text}
    )
    assert candidates.negatives() == ["The Nile is the longest river of Africa."]


def test_the_relevant_passages_of_a_query_take_turns() -> None:
    relevant = {"a": "Rivers flow.", "b": "Lakes do not."}
    rows = triples(
        [_candidates({**relevant, "c": "Deserts are dry."}, relevant)],
        negatives=1,
        seed=0,
        epochs=4,
    )
    assert sorted(positive for _, positive, _ in rows) == sorted([*relevant.values()] * 2)


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        (["--epochs", "0"], "--epochs 0: give 1 or more"),
        (["--max-tokens", "4"], "--max-tokens 4: give 8 or more"),
        (["--sample", "9"], "--sample 9: give 10 or more"),
        (["--rate", "0"], "--rate 0.0: give a number between 0 and 1"),
        (
            ["--base", "no-such-model"],
            (
                "model 'no-such-model' is not on this machine; fetch it with: hf download "
                "sentence-transformers/no-such-model; if it is a folder, give its path"
            ),
        ),
    ],
)
def test_what_cannot_be_trained_is_told_in_one_line(
    asked: list[object], tmp_path: Path, command: Command, extra: list[object], message: str
) -> None:
    code, printed, said = command(*asked[:2], *overriding(asked[2:], extra))
    assert (code, printed) == (2, "")
    assert said.splitlines()[-1] == f"factseek: {message}"
    assert list(tmp_path.iterdir()) == []


def _candidates(hits: Mapping[str, str], relevant: Mapping[str, str]) -> Candidates:
    return Candidates(qid="1", query="q", hits=hits, relevant=relevant)


def _tokens_read(folder: Path) -> int:
    from sentence_transformers import SentenceTransformer

    return int(SentenceTransformer(str(folder), device="cpu", local_files_only=True).max_seq_length)
