"""Comparing runs for a paper: a baseline, corrections of p-values, and tables in LaTeX."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from scipy import stats

from factseek import commands
from factseek.eval.run.compare import Comparison, as_latex, compare, measures_as_latex
from factseek.eval.scoring.latex import escape_latex, latex_table
from factseek.eval.scoring.statistics import CORRECTIONS, correct
from tests.conftest import compile_latex

MEASURES = ["nDCG@10", "AP"]
QIDS = [f"q{number}" for number in range(40)]
QRELS = {qid: {f"{qid}-{at}": int(at < 3) for at in range(10)} for qid in QIDS}


def run_of(noise: float, seed: int) -> dict[str, dict[str, float]]:
    drawn = random.Random(seed)
    return {
        qid: {docid: grade + drawn.gauss(0, noise) for docid, grade in judged.items()}
        for qid, judged in QRELS.items()
    }


RUNS = {"bm25_plain": run_of(2.0, 1), "dense": run_of(1.6, 2), "hybrid&co": run_of(0.4, 3)}


def compared(**options: Any) -> Comparison:
    return compare(QRELS, RUNS, MEASURES, seed=0, **options)


@pytest.mark.parametrize("correction", ["bonferroni", "bh"])
def test_corrections_are_those_of_scipy_and_of_the_definition(correction: Any) -> None:
    values = [0.04, 0.001, 0.03, 0.6, 0.03]
    expected = {
        "bh": stats.false_discovery_control(values).tolist(),
        "bonferroni": [min(1.0, 5 * value) for value in values],
    }
    assert correct(values, correction) == pytest.approx(expected[correction])
    assert correct([None, 0.01, None, 0.02], correction)[::2] == [None, None]


def test_no_correction_leaves_the_values() -> None:
    assert correct([0.2, None, 0.1], "none") == [0.2, None, 0.1]


def test_the_tests_of_a_measure_are_one_family_unless_all_are_asked_for() -> None:
    by_measure, over_all = compared(), compared(correct_over="all")
    plain = [pair.test.p_randomisation for pair in by_measure.pairs]
    assert [pair.test.p_randomisation for pair in over_all.pairs] == plain
    assert [pair.corrected_randomisation for pair in by_measure.pairs] == pytest.approx(
        [*correct(plain[:3], "holm"), *correct(plain[3:], "holm")]
    )
    assert [pair.corrected_randomisation for pair in over_all.pairs] == pytest.approx(
        correct(plain, "holm")
    )


def test_a_baseline_is_tested_against_every_other_run_alone() -> None:
    comparison = compared(baseline="dense")
    pairs = [(pair.measure, pair.first, pair.second) for pair in comparison.pairs]
    others = [("dense", "bm25_plain"), ("dense", "hybrid&co")]
    assert pairs == [(measure, *pair) for measure in MEASURES for pair in others]
    assert comparison.as_json()["baseline"] == "dense"


def test_json_names_the_correction() -> None:
    assert "holm_t" in compared().as_json()["pairs"][0]
    adjusted = compared(correction="bh").as_json()
    assert adjusted["correction"] == "bh"
    assert "corrected_t" in adjusted["pairs"][0]
    assert "holm_t" not in adjusted["pairs"][0]


def test_a_table_for_a_paper_has_the_best_in_bold_and_marks_what_is_significant() -> None:
    table = as_latex(compared())
    lines = table.splitlines()
    assert lines[0] == r"% Needs \usepackage{booktabs}."
    assert r"    run & nDCG@10 & AP \\" in lines
    (best,) = (line for line in lines if "hybrid" in line)
    assert best.startswith(r"    c\enspace hybrid\&co & \textbf{")
    assert best.count("$^{ab}$") == 2
    assert r"bm25\_plain" in table
    assert (
        r"\caption{Means over 40 queries; the best in bold; letters name the runs that a run is "
        r"significantly better than (paired randomisation test, 10,000 resamples, p \textless{} "
        r"0.05, Holm's correction over the 3 tests of a measure).}" in table
    )


def test_a_table_with_a_baseline_marks_what_differs_from_it() -> None:
    table = as_latex(compared(baseline="bm25_plain", correction="bonferroni"))
    (best,) = (line for line in table.splitlines() if line.strip().startswith("hybrid"))
    assert best.count(r"$^{\dagger}$") == 2
    assert r"† differs significantly from bm25\_plain" in table
    assert "Bonferroni's correction over the 2 tests of a measure" in table


def test_marks_of_many_runs_are_told_apart() -> None:
    qrels = {f"q{at}": {"d": 1} for at in range(12)}
    bad = {qid: {"x": 2.0, "d": 1.0} for qid in qrels}
    good = {qid: {"d": 1.0} for qid in qrels}
    runs = {**{f"r{at}": bad for at in range(27)}, "best": good}
    table = as_latex(compare(qrels, runs, ["AP"], seed=0, correction="none"))
    (row,) = (line for line in table.splitlines() if "enspace best" in line)
    marks = row.partition("$^{")[2].partition("}$")[0].split(",")
    assert [*marks[:2], *marks[-2:]] == ["a", "b", "z", "aa"]
    assert len(marks) == 27


def test_a_table_of_one_run_speaks_of_no_test() -> None:
    table = as_latex(compare({"q": {"d": 1}}, {"only": {"q": {"d": 1.0}}}, ["AP"], seed=0))
    assert r"\caption{Means over 1 query.}" in table


def test_every_character_that_latex_reads_is_escaped() -> None:
    assert escape_latex("a--b|c – d---e") == r"a-{}-b\textbar{}c -- d-{}-{}-e"
    assert escape_latex("a_b & 50% {x} \\ ~ ^ # $ <2>") == (
        r"a\_b \& 50\% \{x\} \textbackslash{} \textasciitilde{} \textasciicircum{} \# \$ "
        r"\textless{}2\textgreater{}"
    )


@pytest.mark.deep
def test_tables_compile(tmp_path: Path) -> None:
    odd = latex_table(["a_b", "50 %"], [["x", r"\textbf{0.5}"]], "odd: \\ {} ~ ^ # $ & < > | -- –")
    side_by_side = measures_as_latex(compared(), "AP", "trec, by the organisers' measures.")
    tables = [as_latex(compared()), as_latex(compared(baseline="dense")), side_by_side, odd]
    compile_latex("\n".join(tables), tmp_path)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    qrels = tmp_path / "qrels.txt"
    lines = [
        f"{qid} 0 {docid} {grade}"
        for qid, judged in QRELS.items()
        for docid, grade in judged.items()
    ]
    qrels.write_text("\n".join(lines) + "\n", "utf-8")
    paths = []
    for name, run in (("first", RUNS["dense"]), ("second", RUNS["hybrid&co"])):
        path = tmp_path / f"{name}.run"
        ranked = [
            f"{qid} Q0 {docid} {rank} {score} {name}"
            for qid, scores in run.items()
            for rank, (docid, score) in enumerate(
                sorted(scores.items(), key=lambda pair: -pair[1]), 1
            )
        ]
        path.write_text("\n".join(ranked) + "\n", "utf-8")
        paths.append(str(path))
    return [*paths, "--qrels", str(qrels)]


def test_the_command_takes_baseline_and_correction(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--baseline", "second", "--correction", "bh", "--correct-over", "all", "--json"]
    assert commands.main(["compare", *files, *options]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert (answer["baseline"], answer["correction"], answer["correct_over"]) == (
        "second",
        "bh",
        "all",
    )
    assert commands.main(["compare", *files, "--baseline", "third"]) == 2
    assert capsys.readouterr().err == (
        "factseek: there is no run 'third'; the runs are first, second\n"
    )
    assert commands.main(["compare", *files, "--latex"]) == 0
    assert capsys.readouterr().out.startswith("% Needs")


def test_a_score_is_a_table_for_a_paper(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["score", "trec", "--run", files[0], "--gold", files[-1], "--measures", "AP,nDCG@10"]
    assert commands.main([*command, "--latex"]) == 0
    table = capsys.readouterr().out
    assert r"    measure & value \\" in table
    # The organisers of no task chose the measures of the command.
    assert r"\caption{trec: first.run; 40 queries.}" in table
    assert commands.main([*command[:-2], "--latex"]) == 0
    table = capsys.readouterr().out
    assert r"\caption{trec, by the organisers' measures: first.run; 40 queries.}" in table


def test_several_scores_have_the_best_in_bold_and_marks(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["score", "trec", "--run", *files[:2], "--gold", files[-1]]
    command += ["--measures", "AP,nDCG@10"]
    assert commands.main([*command, "--latex"]) == 0
    table = capsys.readouterr().out
    assert r"    measure & a first & b second \\" in table
    (ap,) = (line.strip() for line in table.splitlines() if line.strip().startswith("AP "))
    assert ap.startswith(r"AP (official) & 0.")
    assert ap.endswith(r"}$^{a}$ \\")
    assert r"\textbf{" in ap
    assert (
        r"\caption{trec. Means over 40 queries; the best in bold; "
        r"letters name the runs that a run is significantly better than (paired randomisation "
        r"test, 10,000 resamples, p \textless{} 0.05, Holm's correction over the 1 test of a "
        r"measure).}" in table
    )


def test_several_scores_are_those_of_each_run(
    files: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["score", "trec", "--gold", files[-1], "--measures", "AP,nDCG@10", "--run"]
    assert commands.main([*command, *files[:2], "--json"]) == 0
    several = json.loads(capsys.readouterr().out)
    for name, file in zip(("first", "second"), files, strict=False):
        assert commands.main([*command, file, "--json"]) == 0
        assert several[name] == json.loads(capsys.readouterr().out)
    assert commands.main([*command, *files[:2], "--per-query"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["measure", "first", "second"]
    shown = [f"{several[name]['AP']:.4f}" for name in ("first", "second")]
    assert lines[1].split() == ["AP", "(official)", *shown]
    assert lines[4].split() == ["query", "measure", "first", "second"]
    assert commands.main([*command, files[0], files[0]]) == 2
    assert capsys.readouterr().err == "factseek: --run: a run is given twice\n"


def test_the_names_of_corrections_are_those_of_the_field() -> None:
    assert list(CORRECTIONS) == ["holm", "bonferroni", "bh", "none"]
