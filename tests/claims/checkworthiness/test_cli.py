"""``factseek rank``: submissions that pass the checks, streams, saved models, and every mistake in
one line.
"""

# A message that is told exactly stands on one line.

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from factseek import commands
from tests.conftest import ROOT

Rank = Callable[..., Any]
EXAMPLES = ROOT / "examples"
TRAIN = EXAMPLES / "checkworthy-en-train.tsv"
DEV = EXAMPLES / "checkworthy-en-dev.tsv"
DEBATES = sorted(EXAMPLES.glob("debate-*.tsv"))
HEADER = "topic_id\ttweet_id\ttweet_url\ttweet_text\tclaim\tcheck_worthiness\n"
ROW = "t\t{}\tu\t{}\t0\t{}\n"
ENGLISH = "the people of this country have been told that the vaccine is safe for children"
SPANISH = "el gobierno ha dicho que las vacunas son seguras para los niños de este país"
QUICK = "claims:\n  folds: 2\n  best: {members: [lexical, signs], strengths: [1.0], trees: 5}\n"


@pytest.fixture
def files(tmp_path: Path) -> Callable[[str, str], Path]:
    def write(name: str, content: str) -> Path:
        path = tmp_path / name
        path.write_text(content, "utf-8")
        return path

    return write


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("rank") / "ngram.model"
    assert (
        commands.main(
            ["rank", "ct2021-1a", "--model", "ngram", "--train", str(TRAIN), "--save", str(path)]
        )
        == 0
    )
    return path


def table(rows: list[tuple[str, int]]) -> str:
    return HEADER + "".join(ROW.format(n, text, label) for n, (text, label) in enumerate(rows, 1))


@pytest.mark.parametrize("model", ["best", "ngram", "random"])
def test_a_submission_passes_the_check_and_is_scored(
    rank: Rank, files, tmp_path: Path, model: str
) -> None:
    files("config.yaml", QUICK)
    done = rank(
        "ct2021-1a",
        "--model",
        model,
        "--train",
        TRAIN,
        "--input",
        DEV,
        "--output",
        "run.tsv",
        "--run-id",
        "r1",
    )
    assert (done.code, done.out) == (0, f"run.tsv: 18 statements ranked by {model}\n")
    assert commands.main(["check", "ct2021-1a", "run.tsv", "--input", str(DEV)]) == 0
    assert commands.main(["score", "ct2021-1a", "--gold", str(DEV), "--run", "run.tsv"]) == 0
    rows = [line.split("\t") for line in (tmp_path / "run.tsv").read_text().splitlines()]
    assert [row[1] for row in rows] == [
        line.split("\t")[1] for line in DEV.read_text("utf-8").splitlines()[1:]
    ]
    assert {row[3] for row in rows} == {"r1"}


@pytest.mark.parametrize("model", ["best", "ngram", "random"])
def test_debates_are_ranked_one_file_each(rank: Rank, files, tmp_path: Path, model: str) -> None:
    files("config.yaml", QUICK)
    done = rank(
        "ct2021-1b", "--model", model, "--train", *DEBATES, "--input", *DEBATES, "--output", "runs"
    )
    assert done.code == 0, done.err
    runs = [f"runs/{path.name}" for path in DEBATES]
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == [
        path.name for path in DEBATES
    ]
    assert commands.main(["check", "ct2021-1b", *runs, "--input", *map(str, DEBATES)]) == 0
    assert commands.main(["score", "ct2021-1b", "--gold", *map(str, DEBATES), "--run", *runs]) == 0


@pytest.mark.parametrize("outputs", ["runs", "run.tsv"])
def test_an_id_that_a_submission_cannot_contain_is_refused_before_the_training(
    rank: Rank, files, tmp_path: Path, outputs: str
) -> None:
    short = files("short.tsv", table([(ENGLISH, 1)]))
    inputs = [DEV, short] if outputs == "runs" else [short]
    done = rank(
        "ct2021-1a",
        "--model",
        "ngram",
        "--train",
        TRAIN,
        "--input",
        *inputs,
        "--output",
        outputs,
        "--save",
        "m.model",
    )
    what = "tweet_id '1' is refused by the official checker: give 17 to 23 digits"
    assert (done.code, done.out, done.err) == (2, "", f"factseek: {short}: {what}\n")
    assert not (tmp_path / "m.model").exists()
    assert not (tmp_path / outputs).exists()


def test_a_ranking_is_printed_with_the_words_that_weighed_most(rank: Rank, saved: Path) -> None:
    done = rank("ct2021-1a", "--load", saved, "--input", DEV, "--top", 2, "--words", 2, "--json")
    first, second = map(json.loads, done.out.splitlines())
    assert (first["rank"], second["rank"]) == (1, 2)
    assert first["score"] >= second["score"]
    assert all(word["word"] in first["text"] and word["weight"] for word in first["words"])
    rows = rank("ct2021-1a", "--load", saved, "--input", DEV, "--top", 2).out.splitlines()
    assert [row.split()[:1] for row in rows] == [["1"], ["2"]]
    assert first["id"] in rows[0]


def test_a_stream_is_answered_line_by_line(rank: Rank, saved: Path) -> None:
    tweets = [
        {"id_str": "7", "full_text": "Two studies with a million children found no link."},
        {"text": "Good morning!", "topic": "x"},
    ]
    lines = "".join(json.dumps(tweet) + "\n" for tweet in tweets).encode()
    done = rank("ct2021-1a", "--load", saved, "--stream", "--words", 1, stdin=lines)
    assert (done.code, done.err) == (0, "")
    first, second = map(json.loads, done.out.splitlines())
    assert (first["id"], first["rank"]) == ("7", 1)
    assert (second["id"], second["topic"]) == ("2", "x")
    assert second["rank"] == 1 + (second["score"] <= first["score"])
    same = rank("ct2021-1a", "--load", saved, "--input", "-", "--json", stdin=lines)
    assert {json.loads(line)["score"] for line in same.out.splitlines()} == {
        first["score"],
        second["score"],
    }


def test_languages_are_seen_and_ranked_each_by_what_was_learned_of_it(
    rank: Rank, files, tmp_path: Path
) -> None:
    files("config.yaml", QUICK)
    both = [(f"{text} {n}", n % 2) for n in range(12) for text in (ENGLISH, SPANISH)]
    files("en.tsv", table(both[::2]))
    files("es.tsv", table(both[1::2]))
    done = rank(
        "ct2021-1a", "--train", "en.tsv", "es.tsv", "--input", "en.tsv", "--save", "m", "--json"
    )
    assert done.code == 0, done.err
    assert "m: best, learned from 24 statements, 12 of them worth checking\n" in done.err
    files(
        "fr.tsv",
        table([("le gouvernement a dit que les vaccins sont sûrs pour les enfants de ce pays", 0)]),
    )
    assert refusal(rank("ct2021-1a", "--load", "m", "--input", "fr.tsv")) == (
        "fr.tsv: is in language 'fr', but the model learned from en, es; add a --train file in "
        "this language, "
        "or give the right language with --language"
    )
    assert rank("ct2021-1a", "--load", "m", "--input", "fr.tsv", "--language", "es").code == 0


def refusal(done: Any) -> str:
    assert (done.code, done.out) == (2, ""), done
    assert done.err.startswith("factseek: ")
    assert done.err.count("\n") == 1, done.err
    return done.err.removeprefix("factseek: ").rstrip("\n")


TRAINING = [
    (
        "topic_id\ttweet_id\ttweet_text\n1\t1\ta\n",
        (
            "bad.tsv:1: has no labels: its columns are topic_id, tweet_id, tweet_text; "
            "expected check_worthiness, claim_worthiness"
        ),
    ),
    (
        table([("one", 1), ("two", 1)]),
        "bad.tsv: every label is 1; add statements with the other label: a ranker learns from both",
    ),
]


@pytest.mark.parametrize(("content", "message"), TRAINING)
def test_bad_training_files(rank: Rank, files, content: str, message: str) -> None:
    files("bad.tsv", content)
    assert (
        refusal(rank("ct2021-1a", "--model", "ngram", "--train", "bad.tsv", "--input", DEV))
        == message
    )


STREAMS = [
    ("ct2021-1a", b'{"text": "fine"}\n{"text": ""}\n', "standard input:2: tweet '2' has no text"),
    (
        "ct2021-1a",
        b"just a text\n",
        "standard input:1: the header has no tweet_id: it begins with 'just a text'",
    ),
    ("ct2021-1a", b"\xff\n", "standard input:1: is not UTF-8 (byte 0xff)"),
]


@pytest.mark.parametrize(("task", "content", "message"), STREAMS)
def test_bad_streams(rank: Rank, task: str, content: bytes, message: str) -> None:
    done = rank(task, "--model", "random", "--stream", stdin=content)
    assert done.code == 2
    assert done.err == f"factseek: {message}\n"


ARGUMENTS = [
    (
        ["--input", DEV],
        "give --train with labelled files to learn from, or --load with a saved model",
    ),
    (
        ["--train", TRAIN, "--load", "m", "--input", DEV],
        "--train and --load exclude each other: learn a ranker or load one",
    ),
    (
        ["--train", TRAIN],
        "there is nothing to do: give --input to rank, --stream for standard input, or --save",
    ),
    (
        ["--train", TRAIN, "--input", DEV, "--output", DEV],
        f"{DEV}: is an input of this command and would be overwritten; give another file",
    ),
    (
        ["--train", TRAIN, "--input", DEV, "--output", "m", "--save", "m"],
        "m: is also another result of this command; give another file",
    ),
    (
        ["--train", TRAIN, "--save", "m", "--language", "klingon"],
        "--language: 'klingon' is not a code of ISO 639; use a code such as en or ar",
    ),
    (["--train", TRAIN, "--input", "none.tsv"], "none.tsv: there is no such file"),
    (
        ["--train", TRAIN, "--model", "upv", "--save", "m"],
        "unknown model 'upv'; the models are best, multilingual, ngram, random",
    ),
]


@pytest.mark.parametrize(("arguments", "message"), ARGUMENTS)
def test_arguments_that_make_no_sense(rank: Rank, arguments: list[object], message: str) -> None:
    assert refusal(rank("ct2021-1a", *arguments)) == message
