"""The commands: golden figures, exit codes, what goes where."""

# A message that is told exactly stands on one line.

import argparse
import json
import os
import subprocess
import sys

import pytest

from factseek.core.terminal import run
from factseek.eval.run.compare import compare
from factseek.eval.run.judge import register


@pytest.fixture
def command(capsys):
    def call(*arguments):
        parser = argparse.ArgumentParser(prog="eval")
        register(parser.add_subparsers(required=True))
        code = run(parser, [str(argument) for argument in arguments])
        said = capsys.readouterr()
        return code, said.out, said.err

    return call


@pytest.fixture
def files(tmp_path):
    contents = {
        "qrels": "q1 0 d1 1\nq2 0 d2 1\n",
        "run": "q1 Q0 d1 1 2 t\nq2 Q0 d1 1 2 t\nq2 Q0 d2 2 1 t\n",
        "run2": "q1 Q0 d2 1 2 t\nq2 Q0 d2 1 2 t\n",
        "bad": "q1 Q0 d1 1 nan t\nq1 Q0\n",
        "odd": "q1 Q0 d1 0 2 t\n",
        "other": "Q1 Q0 d1 1 2 t\n",
        "queries": "q1\tone\nq2\ttwo\n",
        "task.yaml": "",
    }
    for name, content in contents.items():
        (tmp_path / name).write_text(content)
    return tmp_path


def test_check_says_every_fault_and_exits_1(files, command):
    code, out, err = command("check", "trec", files / "bad", files / "run")
    assert (code, err) == (1, "")
    assert out == (
        f"{files}/bad:1: error: score 'nan' is not a finite number\n"
        f"{files}/bad:2: error: has 2 columns, but a run has six (qid Q0 docid rank score tag)\n"
        f"{files}/bad: error: contains no results\n"
        f"{files}/bad: 3 errors\n"
        f"{files}/run: no fault found\n"
    )


def test_check_lets_warnings_pass(files, command):
    code, out, _ = command("check", "trec", files / "odd", "--input", files / "queries", "--json")
    assert code == 0
    assert json.loads(out) == [
        {
            "file": f"{files}/odd",
            "errors": 0,
            "warnings": 2,
            "problems": [
                {
                    "line": 1,
                    "severity": "warning",
                    "reason": "queries whose ranks start at 0: 1; ranks are not used",
                },
                {
                    "line": 0,
                    "severity": "warning",
                    "reason": f"query 'q2' of {files}/queries is missing",
                },
            ],
        }
    ]


def test_score_prints_json_of_names_and_values(files, command):
    code, out, err = command(
        "score", "trec", "--gold", files / "qrels", "--run", files / "odd", "--json"
    )
    assert code == 0
    figures = json.loads(out)
    assert figures["AP"] == figures["RR@5"] == 0.5
    assert figures.pop("ties") == {}
    assert figures.pop("notes") == [line.removeprefix("note: ") for line in err.splitlines()]
    assert all(isinstance(value, float) for value in figures.values())
    assert err == (
        f"note: {files}/odd:1: warning: ranks that are not 1, 2, 3 … within a query: 1; ranks are "
        "not used\n"
        "note: 1 of 2 judged queries has no results and counts 0\n"
    )
    code, out, _ = command(
        "score", "trec", "--gold", files / "qrels", "--run", files / "odd", "--json", "--per-query"
    )
    assert json.loads(out)["per_query"]["q2"]["AP"] == 0.0


def test_score_says_by_how_much_ties_change_each_figure(files, command):
    (files / "tied").write_text("q1 Q0 d1 1 2 t\nq2 Q0 d2 1 2 t\nq2 Q0 d3 2 2 t\n")
    code, out, err = command("score", "trec", "--gold", files / "qrels", "--run", files / "tied")
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    assert lines[:3] == [
        ["measure", "value", "with", "ties", "in", "other", "orders"],
        ["AP", "(official)", "0.7500", "0.7500", "to", "1.0000"],
        ["AP@5", "0.7500", "0.7500", "to", "1.0000"],
    ]
    assert ["R@5", "1.0000"] in lines
    assert err == (
        "note: ties decide: AP is 0.7500 with equal scores in trec_eval's order (docid "
        "descending), "
        "between 0.7500 and 1.0000 in other orders (1 query with such ties)\n"
    )
    figures = json.loads(
        command("score", "trec", "--gold", files / "qrels", "--run", files / "tied", "--json")[1]
    )
    assert figures["ties"]["P@1"] == [0.5, 1.0]
    assert figures["notes"] == [err.removeprefix("note: ").rstrip("\n")]


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (
            ["score", "trec", "--gold", "qrels", "--run", "bad"],
            1,
            (
                "{f}/bad:1: score 'nan' is not a finite number; and 2 more errors; the file is "
                "not scored"
            ),
        ),
        (
            ["score", "trec", "--gold", "run", "--run", "qrels"],
            2,
            (
                "{f}/run:1: has 6 columns, but judgements have four (qid 0 docid relevance) or "
                "three; six columns are a run, not judgements; --gold and --run seem to be "
                "swapped"
            ),
        ),
        (
            ["compare", "--qrels", "qrels", "run", "run2", "--task", "fever"],
            2,
            "fever: is not a ranking task: compare cannot compare its submissions",
        ),
        (
            ["score", "trec", "--gold", "qrels", "--run", "run", "--max-evidence", "3"],
            2,
            "--max-evidence 3: trec has no evidence sentences; use the option only with fever",
        ),
        (
            ["score", "tracks", "--gold", "qrels", "--run", "run"],
            2,
            (
                "unknown task 'tracks'; the tasks are ct2020-claims, ct2020-evidence, "
                "ct2020-verification, ct2021-1a, ct2021-1b, ct2025-4b, fever, "
                "source-retrieval, trec, or the path of a .yaml file that describes a task"
            ),
        ),
        (
            ["score", "fever", "--gold", "qrels", "--run", "run", "--measures", "AP"],
            2,
            (
                "--measures AP: fever has only its own measures; use the option only with "
                "ct2020-claims, ct2020-evidence, ct2025-4b, source-retrieval, trec"
            ),
        ),
        (["compare", "--qrels", "qrels", "run", "run"], 2, "compare: a run is given twice"),
        (
            ["compare", "--qrels", "qrels", "run", "other"],
            1,
            (
                "{f}/other: no query in common with the judgements: the judgements have 'q1', "
                "the run 'Q1'; 'q1' and 'Q1' differ by case alone: ids are compared letter by "
                "letter"
            ),
        ),
        (
            ["compare", "--qrels", "qrels", "run", "run2", "--html", "run2"],
            2,
            "{f}/run2: is an input of this command and would be overwritten; give another file",
        ),
        (
            [
                "compare",
                "--qrels",
                "qrels",
                "run",
                "run2",
                "--task",
                "task.yaml",
                "--html",
                "task.yaml",
            ],
            2,
            (
                "{f}/task.yaml: is an input of this command and would be overwritten; give "
                "another file"
            ),
        ),
    ],
)
def test_an_error_is_one_line_and_an_exit_code(arguments, code, message, files, command):
    placed = [
        str(files / one) if (files / one).is_file() or one == "nowhere" else one
        for one in arguments
    ]
    found, out, err = command(*placed)
    assert (found, out) == (code, "")
    assert err == f"factseek: {message.format(f=files)}\n"


def test_compare_prints_tables_json_and_a_page(files, command):
    code, out, err = command(
        "compare",
        "--qrels",
        files / "qrels",
        files / "run",
        files / "run2",
        "--html",
        files / "page.html",
    )
    assert code == 0
    assert err == f"{files}/page.html: the report\n"
    assert out.splitlines()[1].split() == ["AP", "run", "0.7500", "0.5000", "to", "1.0000"]
    assert (files / "page.html").read_text("utf-8").startswith("<!DOCTYPE html>")
    code, out, _ = command(
        "compare", "--qrels", files / "qrels", files / "run", files / "run2", "--json"
    )
    assert code == 0
    found = json.loads(out)
    assert found["means"]["AP"]["run"]["mean"] == 0.75
    assert [pair["measure"] for pair in found["pairs"]] == ["AP", "P@10", "nDCG@10", "RR"]


@pytest.mark.deep
def test_a_run_of_a_million_lines_is_scored_in_little_memory(root, tmp_path):
    with (tmp_path / "run").open("w") as run, (tmp_path / "qrels").open("w") as qrels:
        for query in range(1_000):
            run.writelines(
                f"q{query} Q0 doc{rank:06d} {rank} {30 - rank / 50:.4f} t\n"
                for rank in range(1, 1_001)
            )
            qrels.writelines(
                f"q{query} 0 doc{rank:06d} {rank % 3}\n" for rank in range(1, 1_500, 50)
            )
    script = (
        "from factseek import commands\n"
        "assert commands.main(['score', 'trec', '--gold', 'qrels', '--run', 'run']) == 0\n"
        # Of this process alone: ru_maxrss begins with what the process held that started it.
        "print(next(line for line in open('/proc/self/status') if line.startswith('VmHWM')))\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith("measure")
    assert int(done.stdout.split()[-2]) < 500_000  # kilobytes


def test_the_queries_that_moved_most_come_with_their_documents():
    qrels = {"q1": {"a": 1, "b": 0}, "q2": {"a": 1}, "q3": {"a": 2, "c": 1}}
    first = {"q1": {"b": 2.0, "a": 1.0}, "q2": {"a": 1.0}, "q3": {"x": 3.0, "y": 2.0, "a": 1.0}}
    second = {"q1": {"a": 2.0, "b": 1.0}, "q2": {"a": 1.0}, "q3": {"a": 2.0, "c": 1.0}}
    moved = compare(qrels, {"one": first, "two": second}, ["AP"], seed=0).moved
    assert [(one.qid, one.ranks) for one in moved] == [
        ("q3", {"a": (3, 1), "c": (None, 2)}),
        ("q1", {"a": (2, 1)}),
    ]
    assert moved[0].values == pytest.approx((1 / 6, 1.0))
