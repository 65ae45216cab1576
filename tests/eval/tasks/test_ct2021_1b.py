"""Task 1B against an oracle written from the description of the official scorer, and its bad
input.
"""

# A message that is told exactly stands on one line.

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from factseek.core.errors import CheckFailed, QueryError, SourceError
from factseek.eval.files.answers import ScoreOptions
from factseek.eval.run.judge import score_files as score
from factseek.eval.tasks import task

TASK = task("ct2021-1b")


def debate(labels) -> str:
    return "".join(f'{n}\tSPEAKER\ta "text\t{label}\n' for n, label in enumerate(labels, 1))


def oracle(debates: list[tuple[list[int], list[float]]]) -> dict[str, float]:
    totals: dict[str, float] = {}
    for labels, scores in debates:
        order = sorted(range(len(labels)), key=lambda at: -scores[at])
        ranked = [labels[at] for at in order]
        hits = [rank for rank, label in enumerate(ranked, 1) if label]
        found = {
            "AP": sum(ranked[:rank].count(1) / rank for rank in hits) / max(len(hits), 1),
            "RR": 1 / hits[0] if hits else 0.0,
            "Rprec": ranked[: len(hits)].count(1) / max(len(hits), 1),
        }
        found |= {f"P@{k}": ranked[:k].count(1) / k for k in (1, 3, 5, 10, 20, 30, 50)}
        for name, value in found.items():
            totals[name] = totals.get(name, 0.0) + value / len(debates)
    return totals


sentence = st.tuples(st.integers(0, 1), st.integers(-4, 4))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(st.lists(st.lists(sentence, min_size=1, max_size=60), min_size=1, max_size=4))
def test_figures_are_the_oracles(put, drawn):
    gold, runs, debates = [], [], []
    for number, rows in enumerate(drawn):
        labels, scores = [label for label, _ in rows], [value / 4 for _, value in rows]
        gold.append(put(f"gold{number}", debate(labels)))
        runs.append(gold[-1].with_name(f"run{number}"))
        TASK.write([("", str(line), value) for line, value in enumerate(scores, 1)], runs[-1], "r")
        debates.append((labels, scores))
    assert TASK.score(gold, runs, ScoreOptions()).values == pytest.approx(oracle(debates))


BAD = {
    "header": (
        "line_number\tscore\n1\t0.5\n",
        [
            "{run}:1: error: score 'score' is not a finite number; a submission has no header",
            (
                "{run}:1: error: line number 'line_number', expected 1: lines run 1, 2, 3 … in "
                "order; a submission has no header"
            ),
            "{run}:2: error: line number '1', expected 2: lines run 1, 2, 3 … in order",
        ],
    ),
    "gap": (
        "1\t0.5\n3\t0.5\n4\t0.1\n",
        ["{run}:2: error: line number '3', expected 2: lines run 1, 2, 3 … in order"],
    ),
    "by score": (
        "2\t0.9\n1\t0.5\n",
        [
            "{run}:1: error: line number '2', expected 1: lines run 1, 2, 3 … in order",
            "{run}:2: error: line number '1', expected 3: lines run 1, 2, 3 … in order",
        ],
    ),
    "padded": (
        "01\t0.9\n",
        ["{run}:1: error: line number '01', expected 1: lines run 1, 2, 3 … in order"],
    ),
    "minus": (
        "1\t-2\n",
        ["{run}:1: error: score '-2' is refused by the official checker: write -2.0"],
    ),
    "columns": (
        "1\tx\t0.5\n",
        ["{run}:1: error: has 3 columns between tabs, but 2 are expected (line_number score)"],
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_line_is_said_exactly(case, put):
    content, messages = BAD[case]
    path = put("run", content)
    assert TASK.check(path).messages == [message.format(run=path) for message in messages]


def test_more_lines_than_the_official_checker_takes(put):
    path = put("run", "".join(f"{n}\t0.5\n" for n in range(1, 10_001)))
    assert TASK.check(path).messages == [
        f"{path}:10000: error: line number 10000 is refused by the official checker: at most 9999"
    ]


def test_a_line_of_the_input_without_a_score(put):
    run, given_ = put("run", "1\t0.5\n"), put("input", debate([0, 1]))
    message = f"{run}: error: has 1 line, but {given_} has 2: every line needs a score"
    assert TASK.check(run, given_).messages == [message]
    with pytest.raises(
        CheckFailed,
        match=r"has 1 line, .*gold has 2: every line needs a score; the file is not scored$",
    ):
        TASK.score([put("gold", debate([0, 1]))], [run], ScoreOptions())


def test_pairs_by_position(put):
    gold, run = put("gold", debate([0, 1])), put("run", "1\t0.5\n2\t0.1\n")
    with pytest.raises(
        QueryError,
        match=r"^--gold has 2 files, --run 1: give the same number to both, because files are "
        r"paired by position$",
    ):
        TASK.score([gold, gold], [run], ScoreOptions())
    with pytest.raises(SourceError, match=r"; --gold and --run seem to be swapped$"):
        score("ct2021-1b", [run], [gold], ScoreOptions())


def test_a_debate_without_a_positive_counts_0_and_is_named(put):
    gold = [put("a", debate([0, 0])), put("b", debate([0, 1]))]
    runs = [put("ra", "1\t0.5\n2\t0.1\n"), put("rb", "1\t0.5\n2\t0.1\n")]
    scores = TASK.score(gold, runs, ScoreOptions())
    assert scores.values["AP"] == 0.25
    assert scores.notes == ("a: has no sentence worth checking and counts 0",)


def folders(tmp_path):
    for name, labels in (("b", "01"), ("a", "10")):
        for folder in ("gold", "runs"):
            (tmp_path / folder).mkdir(exist_ok=True)
        rows = [f"{line}\tA\tx\t{label}\n" for line, label in enumerate(labels, 1)]
        (tmp_path / "gold" / f"{name}.tsv").write_text("".join(rows))
        (tmp_path / "runs" / f"{name}.txt").write_text("1\t0.5\n2\t0.4\n")
    (tmp_path / "gold" / ".hidden").write_text("")
    return tmp_path / "gold", tmp_path / "runs"


def test_two_folders_are_paired_by_name(tmp_path):
    gold, runs = folders(tmp_path)
    scores = TASK.score([gold], [runs], ScoreOptions())
    assert {name: figures["AP"] for name, figures in scores.per_query.items()} == {
        "a": 1.0,
        "b": 0.5,
    }
    files = TASK.score([gold / "a.tsv", gold / "b.tsv"], [runs], ScoreOptions())
    assert files.values == scores.values
    (runs / "b.txt").write_text("1\t0.5\n2\t0.4")
    (note,) = score("ct2021-1b", [gold], [runs], ScoreOptions()).notes
    assert note.startswith(f"{runs / 'b.txt'}: the last line has no line end")


def test_folders_that_do_not_pair_are_refused(tmp_path):
    gold, runs = folders(tmp_path)
    (runs / "c.txt").write_text("1\t1\n")
    with pytest.raises(QueryError) as refused:
        TASK.score([gold], [runs], ScoreOptions())
    assert (
        str(refused.value)
        == f"{gold}: has no file for {runs / 'c.txt'}; add a file of the same name"
    )
    (runs / "c.txt").rename(runs / "a.tsv")
    with pytest.raises(
        QueryError,
        match=r"has a.tsv and a.txt: files are paired by name without ending; rename one",
    ):
        TASK.score([gold], [runs], ScoreOptions())
    (tmp_path / "none").mkdir()
    with pytest.raises(QueryError, match=r"none: is a folder without files$"):
        TASK.score([tmp_path / "none"], [runs / "a.txt"], ScoreOptions())


BAD_GOLD = {
    "gap": ("1\tA\tx\t0\n3\tA\tx\t0\n", "gold:2: line number '3', expected 2"),
    "columns": (
        "1\tA\n",
        "gold:1: has 2 columns between tabs, but 4 are expected (line_number speaker text label)",
    ),
    "label": ("1\tA\tx\t2\n", "gold:1: label '2' is neither 0 nor 1"),
}


@pytest.mark.parametrize("case", BAD_GOLD)
def test_bad_gold_is_said_exactly(case, put):
    content, message = BAD_GOLD[case]
    with pytest.raises(SourceError) as caught:
        TASK.read_gold([put("gold", content)])
    assert caught.value.line.endswith("/" + message)
