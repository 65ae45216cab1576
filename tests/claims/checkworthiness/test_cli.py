"""``factseek rank``: submissions that pass the checks, streams, saved models, and every mistake in one line."""

# A message that is told exactly stands on one line.
# ruff: noqa: E501

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from safetensors.numpy import load_file, save_file

from factseek import commands
from factseek.claims.checkworthiness.training import RankerManifest
from factseek.retrieval.records import model_file
from factseek.retrieval.records.model_file import State
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
    """Write a file beside the command."""

    def write(name: str, content: str) -> Path:
        path = tmp_path / name
        path.write_text(content, "utf-8")
        return path

    return write


@pytest.fixture(scope="session")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An n-gram model of the bundled tweets."""
    path = tmp_path_factory.mktemp("rank") / "ngram.model"
    assert commands.main(["rank", "ct2021-1a", "--model", "ngram", "--train", str(TRAIN), "--save", str(path)]) == 0
    return path


def table(rows: list[tuple[str, int]]) -> str:
    return HEADER + "".join(ROW.format(n, text, label) for n, (text, label) in enumerate(rows, 1))


@pytest.mark.parametrize("model", ["best", "ngram", "random"])
def test_a_submission_passes_the_check_and_is_scored(rank: Rank, files, tmp_path: Path, model: str) -> None:
    files("config.yaml", QUICK)
    done = rank(
        "ct2021-1a", "--model", model, "--train", TRAIN, "--input", DEV, "--output", "run.tsv", "--run-id", "r1"
    )
    assert (done.code, done.out) == (0, f"run.tsv: 18 ranked by {model}\n")
    assert commands.main(["check", "ct2021-1a", "run.tsv", "--input", str(DEV)]) == 0
    assert commands.main(["score", "ct2021-1a", "--gold", str(DEV), "--run", "run.tsv"]) == 0
    rows = [line.split("\t") for line in (tmp_path / "run.tsv").read_text().splitlines()]
    assert [row[1] for row in rows] == [line.split("\t")[1] for line in DEV.read_text("utf-8").splitlines()[1:]]
    assert {row[3] for row in rows} == {"r1"}


@pytest.mark.parametrize("model", ["best", "ngram", "random"])
def test_debates_are_ranked_one_file_each(rank: Rank, files, tmp_path: Path, model: str) -> None:
    files("config.yaml", QUICK)
    done = rank("ct2021-1b", "--model", model, "--train", *DEBATES, "--input", *DEBATES, "--output", "runs")
    assert done.code == 0, done.err
    runs = [f"runs/{path.name}" for path in DEBATES]
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == [path.name for path in DEBATES]
    assert commands.main(["check", "ct2021-1b", *runs, "--input", *map(str, DEBATES)]) == 0
    assert commands.main(["score", "ct2021-1b", "--gold", *map(str, DEBATES), "--run", *runs]) == 0


def test_a_saved_model_ranks_as_the_trained_one(rank: Rank, saved: Path, tmp_path: Path) -> None:
    rank(
        "ct2021-1a", "--model", "ngram", "--train", TRAIN, "--input", DEV, "--output", "a.tsv", "--save", "again.model"
    )
    assert rank("ct2021-1a", "--load", saved, "--input", DEV, "--output", "b.tsv").code == 0
    assert (tmp_path / "a.tsv").read_bytes() == (tmp_path / "b.tsv").read_bytes()
    assert (tmp_path / "again.model").read_bytes() == saved.read_bytes()


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
    assert {json.loads(line)["score"] for line in same.out.splitlines()} == {first["score"], second["score"]}


def test_a_stream_goes_on_after_a_language_that_was_not_learned(rank: Rank, saved: Path) -> None:
    lines = '{"text": "اللقاح آمن للأطفال"}\n{"text": "The vaccine is safe for children."}\n'.encode()
    done = rank("ct2021-1a", "--load", saved, "--stream", stdin=lines)
    assert (done.code, len(done.out.splitlines())) == (0, 2)
    assert done.err == "note: standard input:1: is in Arabic, the model learned from en\n"
    assert rank("ct2021-1a", "--load", saved, "--stream", "--language", "en", stdin=lines).err == ""


def test_a_stream_answers_before_it_ends() -> None:
    command = [sys.executable, "-m", "factseek", "rank", "ct2021-1a", "--model", "random", "--stream"]
    pipes: Any = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "cwd": EXAMPLES.parent}
    with subprocess.Popen(command, **pipes) as running:
        for number in ("1", "2"):
            running.stdin.write(b'{"text": "one"}\n')
            running.stdin.flush()
            assert json.loads(running.stdout.readline())["id"] == number
        running.stdin.close()
        assert running.wait(60) == 0


def test_a_debate_names_the_speaker(rank: Rank) -> None:
    done = rank("ct2021-1b", "--model", "random", "--input", DEBATES[0], "--top", 1)
    assert f"  {DEBATES[0].stem}:" in done.out


def test_nothing_on_standard_input(rank: Rank, saved: Path) -> None:
    assert refusal(rank("ct2021-1a", "--load", saved, "--input", "-")) == "standard input: holds nothing to rank"
    assert rank("ct2021-1a", "--load", saved, "--stream") == (0, "", "")


def test_a_stream_of_a_table_and_of_a_debate(rank: Rank, saved: Path) -> None:
    done = rank("ct2021-1a", "--load", saved, "--stream", "--input", DEV)
    assert len(done.out.splitlines()) == 18
    spoken = b"1\tA\tGood evening.\n2\tB\tUnemployment fell by 3 percent.\n"
    done = rank("ct2021-1b", "--model", "random", "--stream", stdin=spoken)
    assert [json.loads(line)["id"] for line in done.out.splitlines()] == ["1", "2"]


def test_languages_are_seen_and_ranked_each_by_what_was_learned_of_it(rank: Rank, files, tmp_path: Path) -> None:
    files("config.yaml", QUICK)
    both = [(f"{text} {n}", n % 2) for n in range(12) for text in (ENGLISH, SPANISH)]
    files("en.tsv", table(both[::2]))
    files("es.tsv", table(both[1::2]))
    done = rank("ct2021-1a", "--train", "en.tsv", "es.tsv", "--input", "en.tsv", "--save", "m", "--json")
    assert done.code == 0, done.err
    assert "m: best, learned from 24 statements, 12 of them worth checking\n" in done.err
    files("fr.tsv", table([("le gouvernement a dit que les vaccins sont sûrs pour les enfants de ce pays", 0)]))
    assert refusal(rank("ct2021-1a", "--load", "m", "--input", "fr.tsv")) == (
        "fr.tsv: is in language 'fr', the model learned from en, es; add a --train file in it, or name the language with --language"
    )
    assert rank("ct2021-1a", "--load", "m", "--input", "fr.tsv", "--language", "es").code == 0


def refusal(done: Any) -> str:
    """Return the one line that a refused command says."""
    assert (done.code, done.out) == (2, ""), done
    assert done.err.startswith("factseek: ")
    assert done.err.count("\n") == 1, done.err
    return done.err.removeprefix("factseek: ").rstrip("\n")


TRAINING = [
    ("topic_id\ttweet_id\ttweet_text\n1\t1\ta\n", "bad.tsv:1: has no labels: its columns are topic_id, tweet_id, tweet_text; looked for check_worthiness, claim_worthiness"),
    ('{"id_str": "1", "full_text": "a"}\n', "bad.tsv:1: has no labels: its columns are id_str, full_text; looked for check_worthiness, claim_worthiness"),
    (table([("one", 1), ("two", 1)]), "bad.tsv: every label is 1; a ranker learns from both classes, 0 and 1"),
    (table([("one", 0)]), "bad.tsv: every label is 0; a ranker learns from both classes, 0 and 1"),
    (table([("one", 1), ("two", 2)]), "bad.tsv:3: label '2' is neither 0 nor 1"),
    (table([("one", 1), ("", 0)]), "bad.tsv:3: tweet '2' has no text"),
    (HEADER, "bad.tsv: holds no tweets"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "message"), TRAINING)
def test_bad_training_files(rank: Rank, files, content: str, message: str) -> None:
    files("bad.tsv", content)
    assert refusal(rank("ct2021-1a", "--model", "ngram", "--train", "bad.tsv", "--input", DEV)) == message


DEBATE = [
    ("1\tA\tone\n2\tB\ttwo\n", "bad.tsv:1: has no labels: its columns are line_number, speaker, text; looked for label"),
    ("1\tA\tone\t0\n3\tB\ttwo\t1\n", "bad.tsv:2: line number '3' where 2 is due"),
    ("1\tA\tone\t0\n2\tB\t \t1\n", "bad.tsv:2: the sentence is empty; a debate has a text on every line"),
    ("1\tA\tone\tyes\n", "bad.tsv:1: label 'yes' is neither 0 nor 1"),
    ("1 A one 0\n", "bad.tsv:1: has 1 of the 4 columns between tabs (line_number speaker text label)"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "message"), DEBATE)
def test_bad_debates(rank: Rank, files, content: str, message: str) -> None:
    files("bad.tsv", content)
    assert refusal(rank("ct2021-1b", "--model", "ngram", "--train", "bad.tsv", "--save", "m")) == message


STREAMS = [
    ("ct2021-1a", b'{"text": "fine"}\n{"text": ""}\n', "standard input:2: tweet '2' has no text"),
    ("ct2021-1a", b"{broken\n", "standard input:1: is not JSON: '{broken'"),
    ("ct2021-1a", b"just a text\n", "standard input:1: the header has no tweet_id: it begins 'just a text'"),
    ("ct2021-1a", b"tweet_id\ttweet_text\n1\ta\tb\n", "standard input:2: has 3 columns, the header 2"),
    ("ct2021-1a", b"\xff\n", "standard input:1: is not UTF-8 (byte 0xff)"),
    ("ct2021-1b", b"1\tA\tone\n3\tA\ttwo\n", "standard input:2: line number '3' where 2 is due"),
    ("ct2021-1b", b"1\tA\t\n", "standard input:1: the sentence is empty; a debate has a text on every line"),
]


@pytest.mark.parametrize(("task", "content", "message"), STREAMS)
def test_bad_streams(rank: Rank, task: str, content: bytes, message: str) -> None:
    done = rank(task, "--model", "random", "--stream", stdin=content)
    assert done.code == 2
    assert done.err == f"factseek: {message}\n"


ARGUMENTS = [
    (["--input", DEV], "give --train with labelled files to learn from, or --load with a saved model"),
    (["--train", TRAIN, "--load", "m", "--input", DEV], "--train and --load exclude each other: learn a ranker or load one"),
    (["--load", "m", "--save", "n"], "--load and --save exclude each other: copy the file instead"),
    (["--load", "m", "--input", DEV], "m: there is no such model file; write one with --save"),
    (["--train", TRAIN], "there is nothing to do: give --input to rank, --stream for standard input, or --save"),
    (["--train", TRAIN, "--output", "o"], "--output: there is nothing to rank; name it with --input"),
    (["--train", TRAIN, "--stream", "--json"], "--stream writes JSON lines to standard output; leave out --output and --json"),
    (["--train", TRAIN, "--input", DEV, DEV, "--output", "o"], "--input: checkworthy-en-dev is the name of two files; their submissions would be one file"),
    (["--train", TRAIN, "--input", DEV, "--output", "no/o"], "no/o: there is no folder no; make it first"),
    (["--train", TRAIN, "--input", DEV, "--output", DEV], f"{DEV}: is an input of this command and would be overwritten; name another file"),
    (["--train", TRAIN, "--save", TRAIN], f"{TRAIN}: is an input of this command and would be overwritten; name another file"),
    (["--train", TRAIN, "--input", DEV, "--words", "-1"], "--words and --top take a number that is not negative"),
    (["--train", "none.tsv", "--save", "m"], "none.tsv: there is no such file"),
    (["--train", TRAIN, "--input", DEV, "--output", "o", "--run-id", "a b"], "--run-id 'a b' is empty or holds white space: it cannot be written to a column of a file"),
    (["--train", TRAIN, "--input", "none.tsv"], "none.tsv: there is no such file"),
    (["--train", TRAIN, "--model", "upv", "--save", "m"], "unknown model 'upv'; there are best, multilingual, ngram, random"),
]  # fmt: skip


@pytest.mark.parametrize(("arguments", "message"), ARGUMENTS)
def test_arguments_that_make_no_sense(rank: Rank, arguments: list[object], message: str) -> None:
    assert refusal(rank("ct2021-1a", *arguments)) == message


def test_a_language_with_one_statement_worth_checking(rank: Rank, files) -> None:
    files("en.tsv", table([(ENGLISH, 1), (ENGLISH, 0), (ENGLISH, 0)]))
    assert refusal(rank("ct2021-1a", "--train", "en.tsv", "--save", "m")) == (
        "language 'en': 1 of 3 training statements are worth checking; at least 2 of either kind are needed"
    )


def test_a_multilingual_model_that_is_not_here(rank: Rank, files) -> None:
    files("config.yaml", "claims: {multilingual: {encoder: some/multilingual-model}}\n")
    assert refusal(rank("ct2021-1a", "--model", "multilingual", "--train", TRAIN, "--save", "m")) == (
        "encoder 'some/multilingual-model' is not on this machine; fetch it with: hf download some/multilingual-model"
    )


def test_a_model_for_another_task(rank: Rank, saved: Path) -> None:
    assert refusal(rank("ct2021-1b", "--load", saved, "--input", DEBATES[0])) == (
        f"{saved}: was trained for ct2021-1a, not for ct2021-1b; load another or train one"
    )
    assert refusal(rank("ct2021-1a", "--load", saved, "--model", "best", "--input", DEV)) == (
        f"--model best: {saved} is a ngram model; leave --model out"
    )


def test_a_model_of_another_version(rank: Rank, saved: Path, tmp_path: Path) -> None:
    manifest, state = model_file.load(saved, RankerManifest)
    lost = State(state.settings, {name: one for name, one in state.tensors.items() if name != "idf"})
    model_file.save(tmp_path / "m", manifest, lost)
    assert refusal(rank("ct2021-1a", "--load", "m", "--input", DEV)) == (
        "m: is a model of another version of factseek; train it again"
    )
    model_file.save(tmp_path / "m", msgspec.structs.replace(manifest, model="upv"), state)
    assert refusal(rank("ct2021-1a", "--load", "m", "--input", DEV)) == (
        "m: is a model named upv, which this factseek does not have; train it again"
    )


def test_a_model_that_was_tampered_with(rank: Rank, saved: Path, tmp_path: Path) -> None:
    raw = saved.read_bytes()
    path = tmp_path / "m"

    def said(content: bytes) -> str:
        path.write_bytes(content)
        return refusal(rank("ct2021-1a", "--load", "m", "--input", DEV))

    assert (
        said(raw[:-8] + bytes(8)) == "m: was changed after it was written: its checksum does not agree; train it again"
    )
    words = raw.replace(b'\\"ngram\\"', b'\\"ngrim\\"', 1)
    assert words != raw
    assert said(words) == "m: was changed after it was written: its checksum does not agree; train it again"
    assert said(raw[:-100]) == "m: is not a complete model of factseek; train it again"
    assert said(b"{}") == "m: is not a complete model of factseek; train it again"
    layout = raw.replace(b'\\"layout\\":1', b'\\"layout\\":9', 1)
    assert layout != raw
    assert said(layout) == "m: is a model of layout 9, this factseek reads layout 1; train it again"
    save_file(load_file(saved), path)
    assert (
        refusal(rank("ct2021-1a", "--load", "m", "--input", DEV))
        == "m: is not a model of factseek; write one with --save"
    )


def test_a_folder_stands_for_its_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "debates"
    folder.mkdir()
    for debate in DEBATES:
        (folder / debate.name).write_bytes(debate.read_bytes())
    output = tmp_path / "out"
    arguments = ["rank", "ct2021-1b", "--model", "random", "--train", str(folder), "--input", str(folder)]
    assert commands.main([*arguments, "--output", str(output)]) == 0
    assert sorted(path.name for path in output.iterdir()) == [debate.name for debate in DEBATES]
    (tmp_path / "empty").mkdir()
    capsys.readouterr()
    assert commands.main(["rank", "ct2021-1b", "--model", "random", "--input", str(tmp_path / "empty")]) == 2
    assert capsys.readouterr().err == f"factseek: {tmp_path / 'empty'}: is a folder without files\n"
