"""Task 4b: others' files, the public figures, and bad input."""

# A message that is told exactly stands on one line.

import json
from pathlib import Path

import pytest

from factseek.core.domain import Hit
from factseek.core.errors import QueryError, SourceError
from factseek.core.records.lines import Strict
from factseek.eval.files.answers import ScoreOptions
from factseek.eval.scoring.measures import evaluate
from factseek.eval.tasks import task
from tests.eval.tasks.conftest import write_submission

DESCRIBED = Path(__file__).parents[3] / "examples" / "tasks" / "ct2025-4b.yaml"
A, B, C = "aaaaaaa1", "bbbbbbb2", "ccccccc3"
GOLD = f"post_id\ttweet_text\tcord_uid\n1\tone\t{A}\n02\ttwo\t{B}\n"


@pytest.fixture(params=["ct2025-4b", str(DESCRIBED)], ids=["built-in", "described"])
def of_task(request):
    return task(request.param)


@pytest.mark.parametrize(
    "preds",
    [
        f"['{A}', '{B}']",
        f'["{A}", "{B}"]',
        f'"[""{A}"", ""{B}""]"',
        f"\"['{A}', '{B}']\"",
        f"[ '{A}' ,'{B}', ]",
    ],
)
def test_reads_lists_of_python_and_of_json_quoted_or_not(of_task, preds, put):
    path = put("run", f"post_id\tpreds\n1\t{preds}\n")
    assert of_task.read_submission(path, Strict(path))["1"].docids == [A, B]
    assert of_task.check(path).messages == []


def test_what_counts_and_what_does_not(of_task, put):
    papers = ["xxxxxxx1", "xxxxxxx1", "xxxxxxx2", "xxxxxxx3", "xxxxxxx4", A]
    run = put("run", f"post_id\tpreds\n1\t{papers}\n")
    scores = of_task.score([put("gold", GOLD)], [run], ScoreOptions())
    assert scores.values == {"RR@5": 0.0, "RR@1": 0.0, "RR@10": pytest.approx(1 / 6 / 2)}
    assert scores.per_query["02"] == {"RR@5": 0.0, "RR@1": 0.0, "RR@10": 0.0}
    assert scores.notes == (
        "1 of 2 tweets are missing and count 0",
        "no tweet has more than 6 predictions, so RR@10 looks no deeper",
    )


def test_a_paper_named_twice_keeps_both_slots_in_the_run_that_is_compared(of_task, put):
    run = put(
        "run",
        f"post_id\tpreds\n1\t['{B}', '{B}', '{A}']\n02\t['{C}', '{C}', '{C}', '{C}', '{C}', "
        f"'{B}']\n",
    )
    gold = put("gold", GOLD)
    compared = evaluate(of_task.read_gold([gold]), of_task.read_scores(run).table, ["RR@5"])
    assert compared.per_query() == {"1": {"RR@5": pytest.approx(1 / 3)}, "02": {"RR@5": 0.0}}
    assert compared.means()["RR@5"] == of_task.score([gold], [run], ScoreOptions()).values["RR@5"]


BAD = {
    "header": (
        f"1\t['{A}']\n",
        "{run}:1: error: the header has no post_id and no preds: \"1 ['aaaaaaa1']\"",
    ),
    "comma": (
        f"post_id,preds\n1,['{A}']\n",
        (
            "{run}:1: error: the header has no post_id and no preds: 'post_id,preds'; this "
            "file separates them by commas, use tabs"
        ),
    ),
    "array": (
        f"post_id\tpreds\n1\t['{A}' '{B}']\n",
        "{run}:2: error: preds \"['aaaaaaa1' 'bbbbbbb2']\" is not a list like ['a', 'b']",
    ),
    "code": (
        "post_id\tpreds\n1\t[__import__('os')]\n",
        "{run}:2: error: preds \"[__import__('os')]\" is not a list like ['a', 'b']",
    ),
    "twice": (
        f"post_id\tpreds\n1\t['{A}']\n1\t['{B}']\n",
        "{run}:3: error: tweet '1' is already on line 2",
    ),
    "none": (f"post_id\tpreds\n1\t[]\n2\t['{A}']\n", "{run}:2: warning: has no prediction"),
    "duplicate": (
        f"post_id\tpreds\n1\t['{A}', '{A}']\n",
        "{run}:2: warning: contains 'aaaaaaa1' twice, and both places count",
    ),
    "carriage returns": (
        f"post_id\tpreds\r1\t['{A}']\r",
        "{run}: warning: has old Macintosh line ends: a carriage return ends each line",
    ),
    "open quote": (
        f"post_id\tpreds\n1\t['{A}']\n2\t\"['{A}']\n",
        "{run}:3: error: is not a row of a table (unexpected end of data)",
    ),
    "carriage return": (
        f"post_id\tpreds\n1\t['{A}']\r['{B}']\n",
        "{run}:2: error: is not a row of a table (a carriage return is outside quotes: end each "
        "line with a line feed)",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_line_is_said_exactly(of_task, case, put):
    content, message = BAD[case]
    path = put("run", content)
    assert of_task.check(path).messages[:1] == [message.format(run=path)]


def test_coverage_of_the_input(of_task, put):
    run, given = put("run", f"post_id\tpreds\n1\t['{A}']\n2\t['{A}']\n"), put("input", GOLD)
    assert of_task.check(run, given).messages == [
        (
            f"{run}:3: error: tweet '2' is not in {given}; '02' and '2' differ by a leading "
            "zero alone: ids are compared letter by letter"
        ),
        f"{run}: warning: tweet '02' of {given} is missing",
    ]


def test_other_measures_are_those_of_the_slots(of_task, put):
    gold = put("gold", GOLD)
    run = put("run", f"post_id\tpreds\n1\t['x', '{A}']\n")
    scores = of_task.score([gold], [run], ScoreOptions(measures=("RR@5", "P@5", "R@1")))
    assert scores.values == {"RR@5": 0.25, "P@5": 0.1, "R@1": 0.0}
    assert scores.per_query["1"] == {"RR@5": 0.5, "P@5": 0.2, "R@1": 0.0}
    assert scores.values["RR@5"] == of_task.score([gold], [run], ScoreOptions()).values["RR@5"]
    assert scores.notes == ("1 of 2 tweets are missing and count 0",)


BAD_GOLD = {
    "no paper": (
        "post_id\ttweet_text\n1\tx\n",
        "gold:1: the header has no cord_uid: 'post_id tweet_text'",
    ),
    "empty paper": ("post_id\ttweet_text\tcord_uid\n1\tx\t\n", "gold:2: column cord_uid is empty"),
    "twice": (GOLD + f"1\tx\t{C}\n", "gold:4: tweet '1' is already on line 2"),
}


@pytest.mark.parametrize("case", BAD_GOLD)
def test_bad_gold_is_said_exactly(of_task, case, put):
    content, message = BAD_GOLD[case]
    with pytest.raises(SourceError) as caught:
        of_task.read_gold([put("gold", content)])
    # Only the author of a description can follow the advice at the end.
    said, _, advice = caught.value.line.partition("; if it may have several rows")
    assert said.endswith("/" + message)
    assert bool(advice) == (case == "twice" and of_task is not task("ct2025-4b"))


def test_writes_five_in_the_total_order(of_task, tmp_path):
    hits = [Hit(f"xxxxxxx{n}", 1.0) for n in range(7)]
    write_submission(of_task, {"1": hits, "2": []}, tmp_path / "run")
    assert (tmp_path / "run").read_text() == (
        "post_id\tpreds\n1\t['xxxxxxx6', 'xxxxxxx5', 'xxxxxxx4', 'xxxxxxx3', 'xxxxxxx2']\n2\t[]\n"
    )
    with pytest.raises(QueryError, match=r"it cannot be submitted$"):
        write_submission(of_task, {"1": [Hit("a\nb", 1.0)]}, tmp_path / "run")


def test_quotes_and_escapes_in_docids_are_read_as_json_and_python_write_them(
    of_task, tmp_path, put
):
    docids = ["l'avion", 'a "b"', "a\\b", "caf\u00e9"]
    write_submission(
        of_task, {"1": [Hit(docid, -rank) for rank, docid in enumerate(docids)]}, tmp_path / "run"
    )
    json_run = put("json", f"post_id\tpreds\n1\t{json.dumps(docids)}\n")
    for path in (tmp_path / "run", json_run):
        assert of_task.read_submission(path, Strict(path))["1"].docids == docids
    unfit = put("unfit", 'post_id\tpreds\n1\t["\\ud83d", "a\\u0000b"]\n')
    assert of_task.read_submission(unfit, Strict(unfit))["1"].docids == ["\\ud83d", "a\\u0000b"]
