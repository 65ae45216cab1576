"""TREC runs: ids that do not fit the judgements, the input's queries, and real collections."""

# A message that is told exactly stands on one line.

import pytest

from factseek.core.domain import Hit
from factseek.core.errors import CheckFailed, SourceError
from factseek.eval.files.answers import ScoreOptions
from factseek.eval.files.report import near_miss
from factseek.eval.tasks import task

SAMPLE = (
    "q1\tone\nq2\ttwo\n",
    "q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 2\n",
    {"q1": [Hit("d2", 2.0), Hit("d1", 1.5)], "q2": [Hit("d3", 0.1)]},
    0.75,
)


TASK = task("trec")
GOLD = "q1 0 d1 1\nq1 0 d2 0\n02 0 D3 1\n"


def scored(put, run, gold=GOLD):
    return TASK.score([put("gold", gold)], [put("run", run)], ScoreOptions())


def test_a_run_for_other_queries_shows_an_id_of_each(put):
    with pytest.raises(CheckFailed) as caught:
        scored(put, "q7 Q0 d1 1 2 t\n")
    said = "/run: no query in common with the judgements: the judgements have 'q1', the run 'q7'"
    assert caught.value.line.endswith(said)


def test_what_does_not_fit_the_judgements_is_noted(put):
    scores = scored(put, "q1 Q0 D1 1 2 t\n2 Q0 d3 1 2 t\n")
    assert scores.values["AP"] == 0.0
    assert scores.notes == (
        (
            "left out because not judged: 1 of the run's 2, such as query '2'; '02' and '2' "
            "differ by a leading zero alone: ids are compared letter by letter"
        ),
        (
            "no docid of the run is in the judgements: the judgements have 'd1', the run 'D1'; "
            "'d1' and 'D1' differ by case alone: ids are compared letter by letter"
        ),
        "1 of 2 judged queries has no results and counts 0",
    )


def test_judgements_of_several_files_are_put_together(put):
    paths = [put("one", "q1 0 d1 1\n"), put("two", "query-id\tcorpus-id\tscore\nq2\td1\t1\n")]
    assert TASK.read_gold(paths) == {"q1": {"d1": 1}, "q2": {"d1": 1}}


@pytest.mark.parametrize(
    ("one", "other", "difference"),
    [
        ("a", "A", "case"),
        ("1", "01", "a leading zero"),
        ("t/1", "T/ 1", "white space and case"),
        ("t/1", "t/ 01", "white space and a leading zero"),
    ],
)
def test_a_near_miss_names_what_differs(one, other, difference):
    said = (
        f"; {one!r} and {other!r} differ by {difference} alone: ids are compared letter by letter"
    )
    assert near_miss([other], [one]) == said


def test_files_that_judge_a_docid_differently_are_refused(put):
    paths = [
        put("one", "q1 0 d1 1\n"),
        put("same", "q1 0 d1 1\n"),
        put("two", "q2 0 d1 0\nq1 0 d1 0\n"),
    ]
    with pytest.raises(SourceError) as caught:
        TASK.read_gold(paths)
    assert caught.value.line == (
        f"{paths[2]}: docid 'd1' of query 'q1' has relevance 0 here and 1 in a file before it; "
        "keep one judgement"
    )
