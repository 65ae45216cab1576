"""The command ``verdict``: from labelled claims to a submission that check and score accept, and
what it refuses.
"""

# A message that is told exactly stands on one line.
# ruff: noqa: PLR0917

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from factseek.indexer.build import BuildRequest, build
from factseek.settings import Config

Ran = tuple[int, str, str]
Command = Callable[..., Ran]


@pytest.fixture(scope="module")
def pages(examples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("verdict") / "pages"
    build(
        BuildRequest(
            kind="fever", sources=(examples / "fever-pages.jsonl",), folder=folder, dense=False
        ),
        Config(),
    )
    return folder


@pytest.mark.real
def test_fever(command: Command, examples: Path, pages: Path, tmp_path: Path) -> None:
    train, dev = examples / "fever-train.jsonl", examples / "fever-dev.jsonl"
    output, model = tmp_path / "dev.jsonl", tmp_path / "verdict.model"
    code, out, err = command(
        "verdict",
        "fever",
        "--train",
        train,
        "--save",
        model,
        "--input",
        dev,
        "--index",
        pages,
        "--output",
        output,
    )
    assert code == 0, err
    assert out.startswith(f"{output}: 18 claims: ") and out.endswith(
        f"{output}.evidence.jsonl: the evidence\n"
    )
    assert "macro-F1 on 36 training claims, cross-validated over 5 folds: evidence 0." in err
    assert f"{model}: evidence, learned from 36 claims" in err
    assert command("check", "fever", output, "--input", dev)[0] == 0
    code, out, err = command("score", "fever", "--gold", dev, "--run", output, "--json")
    assert code == 0 and json.loads(out)["label_accuracy"] > 0.5
    shown = [
        json.loads(line)
        for line in Path(f"{output}.evidence.jsonl").read_text("utf-8").splitlines()
    ]
    handed_in = [json.loads(line) for line in output.read_text("utf-8").splitlines()]
    for one, other in zip(shown, handed_in, strict=True):
        assert one["id"] == str(other["id"]) and one["label"] == other["predicted_label"]
        assert [[s["docid"], s["passage"]] for s in one["evidence"]] == other["predicted_evidence"]
        assert len(one["evidence"]) <= 5

    again = tmp_path / "again.jsonl"
    code, _, err = command(
        "verdict", "fever", "--load", model, "--input", dev, "--index", pages, "--output", again
    )
    assert code == 0, err
    assert again.read_bytes() == output.read_bytes()


def test_what_it_abstains_from_is_said(
    command: Command, examples: Path, pages: Path, tmp_path: Path
) -> None:
    asked, output = tmp_path / "asked.jsonl", tmp_path / "out.jsonl"
    asked.write_text('{"id": 1, "claim": "Quokkas outlive wombats."}\n{"id": 2, "claim": "?!"}\n')
    train = examples / "fever-train.jsonl"
    code, out, err = command(
        "verdict", "fever", "--train", train, "--input", asked, "--index", pages, "--output", output
    )
    assert (code, out.splitlines()[0]) == (0, f"{output}: 2 claims: 2 NOT ENOUGH INFO")
    assert (
        "note: the evidence allows no verdict on 2 of 2 claims. Their label is NOT ENOUGH INFO; "
        "see "
        f"{output}.evidence.jsonl for the reasons"
    ) in err
    reasons = [
        json.loads(line)["abstained"]
        for line in Path(f"{output}.evidence.jsonl").read_text().splitlines()
    ]
    assert reasons[0].startswith("the evidence contains ") or reasons[0] == "no evidence was found"
    assert reasons[1] == "no evidence was found"


GOOD = '{"id": 1, "claim": "Aspirin helps.", "label": "SUPPORTS", "evidence": [[[0, 0, "a", 0]]]}\n'
TRAINING = {
    "no labels": (
        '{"id": 1, "claim": "Aspirin helps."}\n',
        "{path}:1: has no labels: its columns are id, claim; expected label",
    ),
    "one class": (
        GOOD,
        (
            "{path}: every label is SUPPORTS; a model learns from at least two of SUPPORTS, "
            "REFUTES, NOT ENOUGH INFO"
        ),
    ),
    "odd label": (
        GOOD + GOOD.replace("SUPPORTS", "MAYBE"),
        "{path}:2: label 'MAYBE' is not one of SUPPORTS, REFUTES, NOT ENOUGH INFO",
    ),
    "nothing": ("", "{path}: is empty"),
}
"""Training files for fever, and what is said of them."""

HEADER = "topic_id\ttweet_id\ttweet_text"
ARABIC = {
    "no labels": (
        f"{HEADER}\nT\t1\tx\n",
        (
            "{path}:1: has no labels: its columns are topic_id, tweet_id, tweet_text; expected "
            "label, verdict"
        ),
    ),
    "odd label": (
        f"{HEADER}\tlabel\nT\t1\tx\tTRUE\nT\t2\tx\tHALF-TRUE\n",
        "{path}:3: label 'HALF-TRUE' is neither TRUE nor FALSE",
    ),
}
"""Training files for ct2020-verification, and what is said of them."""


@pytest.mark.parametrize(
    ("task", "content", "reason"),
    [("fever", *one) for one in TRAINING.values()]
    + [("ct2020-verification", *one) for one in ARABIC.values()],
    ids=[f"fever, {name}" for name in TRAINING] + [f"arabic, {name}" for name in ARABIC],
)
def test_bad_training_data(
    task: str, content: str, reason: str, command: Command, pages: Path, tmp_path: Path
) -> None:
    path = tmp_path / "train"
    path.write_text(content, "utf-8")
    model = tmp_path / "model"
    code, _, err = command("verdict", task, "--train", path, "--save", model, "--index", pages)
    assert (code, err.splitlines()[-1]) == (2, f"factseek: {reason.format(path=path)}")
    assert not model.exists()


def test_a_run_id_that_a_submission_cannot_contain_is_refused_before_the_training(
    command: Command, pages: Path, tmp_path: Path
) -> None:
    path, model = tmp_path / "train", tmp_path / "model"
    path.write_text(f"{HEADER}\tlabel\nT\t1\tx\tTRUE\nT\t2\ty\tFALSE\n", "utf-8")
    learn = ("verdict", "ct2020-verification", "--train", path, "--save", model, "--index", pages)
    code, _, err = command(*learn, "--input", path, "--output", tmp_path / "run", "--run-id", "a b")
    what = "'a b' is empty or contains white space: it cannot be written to a column of a file"
    assert (code, err) == (2, f"factseek: --run-id: {what}\n")
    assert not model.exists()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("", "give either --train with labelled files to learn from, or --load with a saved model"),
        ("--load {m} --save {n}", "--load and --save exclude each other: copy the file instead"),
        (
            "--train {t}",
            "there is nothing to do: give --input and --output to judge claims, or --save",
        ),
        (
            "--train {t} --save {t}",
            "{t}: is an input of this command and would be overwritten; give another file",
        ),
        (
            "--train {t} --input {t} --output {n} --save {n}",
            "{n}: is also another result of this command; give another file",
        ),
        (
            "--train {t} --save {n} --model x",
            "unknown model 'x'; the models are evidence, hypothesis, majority",
        ),
    ],
)
def test_arguments_that_make_no_sense(
    arguments: str, reason: str, command: Command, examples: Path, pages: Path, tmp_path: Path
) -> None:
    places = {"t": examples / "fever-train.jsonl", "m": tmp_path / "m", "n": tmp_path / "n"}
    given = arguments.format(**places).split()
    code, out, err = command("verdict", "fever", "--index", pages, *given)
    assert (code, out, err.splitlines()[-1]) == (2, "", f"factseek: {reason.format(**places)}")
