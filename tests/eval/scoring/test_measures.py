"""Measures against trec_eval's own outputs, and their names."""

import re

import pytest

import factseek
from factseek.core.errors import QueryError
from factseek.core.records.qrels import read_qrels
from factseek.core.records.runs import rank_docs, read_run
from factseek.eval.scoring.measures import evaluate, note_on_programs, parse_measures

SIMPLE = {
    "map": "AP",
    "recip_rank": "RR",
    "Rprec": "Rprec",
    "bpref": "Bpref",
    "infAP": "infAP",
    "ndcg": "nDCG",
    "set_P": "SetP",
    "set_recall": "SetR",
    "set_F": "SetF",
    "set_map": "SetAP",
}
CUT = {"P": "P", "recall": "R", "map_cut": "AP", "ndcg_cut": "nDCG", "success": "Success"}
GRADED = (
    "AP",
    "RR",
    "Rprec",
    "SetP",
    "SetR",
    "SetF",
    "SetAP",
    "P",
    "Success",
    "R",
    "Bpref",
    "infAP",
)


def our_name(theirs: str, level: int) -> str | None:
    """Translate trec_eval's name of a measure; ``None`` for those that are not offered."""
    name, cutoff = SIMPLE.get(theirs), ""
    if name is None:
        found = re.fullmatch(r"(\w+?)_([0-9]+)", theirs)
        if not found or found[1] not in CUT:
            return None
        name = CUT[found[1]]
        cutoff = f"@{found[2]}"
    return f"{name}(rel={level}){cutoff}" if level > 1 and name in GRADED else name + cutoff


def expected(path, level):
    table: dict[str, dict[str, float]] = {}
    for line in path.read_text().splitlines():
        theirs, qid, value = line.split(None, 2)
        ours = our_name(theirs, level)
        if ours:
            table.setdefault(qid, {})[ours] = float(value)
    return table


OUTPUTS = {
    "out.test": ("qrels.test", "results.test", 1, None),
    "out.test.a": ("qrels.test", "results.test", 1, None),
    "out.test.aq": ("qrels.test", "results.test", 1, None),
    "out.test.aqc": ("qrels.test", "results.trunc", 1, None),
    "out.test.aqcM": ("qrels.test", "results.trunc", 1, 100),
    "out.test.aql": ("qrels.rel_level", "results.test", 2, None),
    "out.test.meas_params": ("qrels.test", "results.test", 1, None),
    "out.comment.test": ("qrels.comment.test", "results.comment.test", 1, None),
}


@pytest.mark.data
@pytest.mark.parametrize("name", OUTPUTS)
def test_trec_evals_own_outputs_are_reproduced(name, data_dir):
    folder = data_dir / "trec_eval/test"
    qrels_name, run_name, level, depth = OUTPUTS[name]
    table = expected(folder / name, level)
    qrels = read_qrels(folder / qrels_name)
    run = {
        qid: {hit.docid: hit.score for hit in hits[:depth]}
        for qid, hits in read_run(folder / run_name).items()
    }
    names = list(table["all"])
    assert len(names) >= 11
    figures = evaluate(qrels, run, names)
    found = {**figures.per_query(), "all": figures.means()}
    for qid, values in table.items():
        for measure, value in values.items():
            assert found[qid][measure] == pytest.approx(value, abs=5.1e-5), (qid, measure)


@pytest.mark.parametrize(
    "name",
    [
        "P",
        "P@-1",
        "AP(",
        "P_5;map",
        "nDCG(gains={1:99999999999})@5",
        "SetF(beta=1e400)",
    ],
)
def test_a_name_that_is_none_is_a_users_error(name):
    with pytest.raises(QueryError) as caught:
        parse_measures(f"AP,{name}")
    assert caught.value.line == (
        f"unknown measure '{name}'; for example AP, AP@5, P@1, P@3, P@5, P@10, nDCG@10, R@100"
    )


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("AP(rel=0)", "rel is not between 1 and 1,000"),
        ("P@99999999999999999999", "cutoff is not between 1 and 1,000,000"),
        ("RR@1000001", "cutoff is not between 1 and 1,000,000"),
    ],
)
def test_a_level_or_a_cut_without_bounds_is_a_users_error(name, reason):
    with pytest.raises(QueryError) as caught:
        parse_measures(f"AP,{name}")
    assert caught.value.line == f"measure '{name}': {reason}"


def test_reciprocal_rank_is_cut_at_every_rank():
    names = [f"RR@{k}" for k in range(1, 60)]
    for rank in range(1, 60):
        docs = {f"d{n}": float(-n) for n in range(1, 60)}
        values = evaluate({"q": {f"d{rank}": 1}}, {"q": docs}, names).values[0]
        assert values.tolist() == [1 / rank if rank <= k else 0.0 for k in range(1, 60)]


@pytest.mark.parametrize(
    "docs",
    [{"a": 1.0 + 1e-12, "b": 1.0, "ب": 1.0}, {"a": 9e4 + 1e-9, "c": 0.5, "ب": 0.1, "b": 0.1}],
)
def test_scores_are_compared_as_doubles_and_ties_go_by_docid_descending(docs):
    order = [hit.docid for hit in rank_docs(docs)]
    assert [docid for docid in order if docid != "c"] == ["a", "ب", "b"]
    for rank, docid in enumerate(order, 1):
        assert evaluate({"q": {docid: 1}}, {"q": docs}, ["RR"]).values[0, 0] == 1 / rank


def test_measures_have_the_names_of_trec_eval_too():
    theirs = "map,P_10,ndcg_cut_10,recip_rank,recall_100,Rprec,success_5"
    assert parse_measures(theirs) == ["AP", "P@10", "nDCG@10", "RR", "R@100", "Rprec", "Success@5"]
    with pytest.raises(QueryError, match=r"^unknown measure 'ndcg_cut'"):  # nine of them
        parse_measures("ndcg_cut")


OTHERS = [
    "Judged@2",
    "ERR@10",
    "IPrec@0.1",
    "NumRet",
    "NumQ",
    "nDCG(dcg='exp-log2')@10",
    "Compat(p=0.95)",
    "Accuracy@10",
    "alpha_nDCG@10",
    "RBP(rel=1,p=0.8)",
    "AP_IA",
]
JUDGED = {"1": {"a": 2, "b": 0, "c": 1}, "2": {"b": 1, "d": 0}, "3": {"a": 1}}
SCORED = {"1": {"b": 2.0, "a": 1.5, "x": 1.0, "c": 0.5}, "2": {"d": 3.0, "b": 1.0}}


@pytest.mark.parametrize("name", OTHERS)
def test_a_measure_of_another_program_is_what_ir_measures_computes(name):
    import ir_measures

    measure = ir_measures.parse_measure(name)
    try:
        by_query = ir_measures.iter_calc([measure], JUDGED, SCORED)
        expected = {metric.query_id: metric.value for metric in by_query}
    except ValueError:
        pytest.skip("needs factseek[measures]")
    figures = evaluate(JUDGED, SCORED, parse_measures(name))
    values = figures.per_query()
    for qid, value in expected.items():
        assert values[qid][str(measure)] == pytest.approx(value)
    # A judged query that a program leaves out counts 0.
    counts = name.startswith("Num")
    mean = sum(expected.values()) / (1 if counts else len(JUDGED))
    assert figures.means()[str(measure)] == pytest.approx(mean)


def test_equal_scores_are_in_the_total_order_in_every_program():
    ties = {"1": {"a": 1.0, "b": 1.0, "c": 1.0}}
    in_order = {"1": {"c": 3.0, "b": 2.0, "a": 1.0}}
    for name in ("ERR@10", "Compat(p=0.95)", "nDCG@3"):
        tied, sorted_ = (evaluate(JUDGED, run, [name]).values[0, 0] for run in (ties, in_order))
        assert tied == sorted_


def test_the_program_of_each_measure_is_named():
    assert note_on_programs(["AP", "nDCG@10"]) == []
    assert note_on_programs(["AP", "ERR@10", "Judged@10", "P@5"]) == [
        "trec_eval computed AP, P@5; gdeval computed ERR@10; ir-measures computed Judged@10"
    ]


def test_a_measure_without_its_program_names_it(monkeypatch):
    from ir_measures import pyndeval

    monkeypatch.setattr(pyndeval, "is_available", lambda: False)
    with pytest.raises(QueryError) as refused:
        parse_measures("alpha_nDCG@10")
    assert refused.value.line == (
        "measure 'alpha_nDCG@10' needs pyndeval, which is not installed; install it with: python "
        "-m pip install pyndeval"
    )


def test_a_measure_that_no_program_computes_says_so():
    with pytest.raises(QueryError) as refused:
        parse_measures("ERR")
    assert refused.value.line == "measure 'ERR': no program computes it in this form"


def test_a_measure_that_needs_a_grade_counts_documents_from_1_and_says_so():
    try:
        assert parse_measures("RBP(p=0.5)") == ["RBP(p=0.5,rel=1)"]
    except QueryError:
        pytest.skip("needs factseek[measures]")
    assert parse_measures("RBP(p=0.8)") == ["RBP(rel=1)"]  # 0.8 is the default of p
    figures = evaluate(JUDGED, SCORED, ["RBP(p=0.8)"])
    assert figures.values.tolist() == evaluate(JUDGED, SCORED, ["RBP(rel=1,p=0.8)"]).values.tolist()


def test_ids_may_be_any_texts_for_every_program():
    qrels = {"claim one/2": {"doc 1": 1, "d\u00fc": 0}}
    run = {"claim one/2": {"doc 1": 2.0, "d\u00fc": 1.0}}
    for name in ("ERR@10", "Judged@10", "Compat(p=0.95)", "AP"):
        assert evaluate(qrels, run, [name]).values[0, 0] > 0


def test_names_of_several_measures_are_refused_without_a_word_on_standard_output(capsys):
    with pytest.raises(QueryError, match=r"^unknown measure 'official'"):
        parse_measures("official")
    assert capsys.readouterr().out == ""


def test_a_program_that_divides_by_zero_is_a_users_error():
    with pytest.raises(QueryError) as refused:
        evaluate({"1": {"a": 1}}, {"1": {"a": 1.0}}, ["Accuracy"])
    assert refused.value.line == (
        "measure 'Accuracy': accuracy could not compute it (float division by zero)"
    )


SUBTOPICS = """1 1 a 1
1 2 a 0
1 1 b 1
1 2 c 2
2 1 d 1
2 2 d 1
2 2 b 0
"""


def test_measures_of_diversity_read_the_subtopics_of_judgements(tmp_path):
    import ir_measures
    import pandas as pd

    if not ir_measures.providers.registry["pyndeval"].is_available():
        pytest.skip("needs factseek[measures]")
    (tmp_path / "qrels").write_text(SUBTOPICS, "utf-8")
    rows = [line.split() for line in SUBTOPICS.splitlines()]
    (tmp_path / "qrels.csv").write_text(
        "query,subtopic,doc_id,grade\n" + "".join(",".join(row) + "\n" for row in rows), "utf-8"
    )
    named = [(qid, docid, int(grade), subtopic) for qid, subtopic, docid, grade in rows]
    frame = pd.DataFrame(named, columns=["query_id", "doc_id", "relevance", "iteration"])
    run = {
        "1": [factseek.Hit("b", 3.0), factseek.Hit("a", 2.0), factseek.Hit("c", 1.0)],
        "2": [factseek.Hit("b", 2.0), factseek.Hit("d", 1.0)],
    }
    scores = {qid: {hit.docid: hit.score for hit in hits} for qid, hits in run.items()}
    names = ["alpha_nDCG@10", "ERR_IA@10", "StRecall@2", "AP_IA"]
    measures = [ir_measures.parse_measure(name) for name in names]
    expected = ir_measures.calc_aggregate(measures, frame, scores)
    read = factseek.read_qrels(tmp_path / "qrels")
    for qrels in (read, factseek.read_qrels(tmp_path / "qrels.csv"), frame):
        means = factseek.evaluate(run, qrels, names).means()
        assert means == pytest.approx({str(name): value for name, value in expected.items()})
    # Other measures take the highest grade of a document.
    assert dict(read) == {"1": {"a": 1, "b": 1, "c": 2}, "2": {"d": 1, "b": 0}}
    plain = {qid: dict(judged) for qid, judged in read.items()}
    assert factseek.evaluate(run, plain, names).means() != means
