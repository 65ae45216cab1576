"""Tasks that a YAML file describes: 4b equal to the built-in one to the byte, others' columns, and
bad descriptions.
"""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from factseek.core.domain import ScoredDocids
from factseek.core.errors import ConfigError, QueryError, SourceError
from factseek.eval.files.answers import ScoreOptions
from factseek.eval.tasks import RANKING, task
from factseek.indexer.build import BuildRequest, build
from factseek.settings import Config

DESCRIPTION = """\
summary: sources of posts
queries: {id: id, text: post, date: day}
gold: {id: id, docid: source, relevance: grade, several: true}
submission: {id: id, docids: sources, k: 12}
measure: nDCG@20
also: [R@10]
"""


@pytest.fixture(scope="module")
def papers(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("papers") / "index"
    source = root / "examples" / "cord19" / "metadata.csv"
    build(BuildRequest(kind="cord19", sources=(source,), folder=folder, dense=False), Config())
    return folder


def test_any_columns_grades_and_cutoffs(put: Callable[[str, str], Path]) -> None:
    of_task = RANKING.load(str(put("sources.yaml", DESCRIPTION)))
    assert (of_task.OFFICIAL, of_task.DEFAULTS.k, of_task.HEADER) == (
        "nDCG@20",
        12,
        "id\tsources\n",
    )
    queries = of_task.read_queries(put("posts", "id,day,post\n1,2026-05,ein Satz\n"))
    assert [tuple(query) for query in queries] == [("1", "ein Satz", "", "2026-05")]
    gold = put("gold", "id\tsource\tgrade\n1\ta\t2\n1\tb\t1\n1\tc\t0\n")
    assert of_task.read_gold([gold]) == {"1": {"a": 2, "b": 1, "c": 0}}
    scores = of_task.score([gold], [put("run", "id\tsources\n1\t['b', 'a']\n")], ScoreOptions())
    assert list(scores.values) == ["nDCG@20", "R@10"]
    assert scores.values["R@10"] == 1.0
    assert scores.values["nDCG@20"] == pytest.approx(
        (1 + 2 / 1.584962500721156) / (2 + 1 / 1.584962500721156)
    )
    assert scores.notes == ("no query has more than 2 predictions, so nDCG@20 looks no deeper",)
    longest = put("long", f"id\tsources\n1\t{[str(n) for n in range(13)]}\n")
    assert of_task.check(longest).messages == [
        f"{longest}:2: warning: has 13 predictions; the task asks for 12"
    ]
    more = RANKING.load(str(put("more.yaml", DESCRIPTION.replace("@20", "@5"))))
    assert (
        more.check(longest)
        .messages[0]
        .endswith(": has 13 predictions; what follows prediction 12 is ignored")
    )
    with pytest.raises(SourceError, match=r"gold:2: grade 'high' is not a whole number$"):
        of_task.read_gold([put("gold", "id\tsource\tgrade\n1\ta\thigh\n")])
    with pytest.raises(SourceError, match=r"gold:3: 'a' of '1' has two grades$"):
        of_task.read_gold([put("gold", "id\tsource\tgrade\n1\ta\t1\n1\ta\t2\n")])
    with pytest.raises(
        SourceError,
        match=r"gold:2: grade '40000' is not between -1,000 and 1,000; scale the grades down$",
    ):
        of_task.read_gold([put("gold", "id\tsource\tgrade\n1\ta\t40000\n")])
    assert of_task.read_gold([put("gold", "id\tsource\tgrade\n1\ta\t2.0\n")]) == {"1": {"a": 2}}


BAD = {
    "column": ("id: id, text: post", "id: id", "queries.text: is missing"),
    "key": ("k: 12", "depth: 12", "submission.depth: there is no such setting"),
    "cutoff": ("k: 12", "k: 0", "submission.k: expected int >= 1"),
    "language": (
        "summary:",
        "languages: [english]\nsummary:",
        "languages[0]: expected str matching",
    ),
    "code": ("summary:", "languages: [xx]\nsummary:", "languages: 'xx' is not a code of ISO 639"),
    "pattern": (
        "summary:",
        "docid: {pattern: '[', name: id}\nsummary:",
        "docid.pattern: is not a regular expression:",
    ),
    "twice": ("measure:", "summary: again\nmeasure:", "the key 'summary' is already on line 1"),
    "nothing": (DESCRIPTION, "", "expected object, got null"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_bad_description_is_said_in_one_line(case: str, put: Callable[[str, str], Path]) -> None:
    old, new, message = BAD[case]
    path = put("sources.yaml", DESCRIPTION.replace(old, new, 1))
    with pytest.raises(ConfigError) as caught:
        task(str(path))
    assert message in caught.value.line
    assert caught.value.line.startswith(str(path))
    assert "\n" not in caught.value.line


HITS = DESCRIPTION.replace("id: id, docids: sources", "score: sim, id: id, docid: doc, rank: at")


def test_a_submission_may_have_a_row_for_each_hit(put: Callable[[str, str], Path]) -> None:
    of_task = RANKING.load(str(put("hits.yaml", HITS.replace("k: 12", "k: 2"))))
    assert of_task.HEADER == "sim\tid\tdoc\tat\n", "the columns are in the order of the description"
    found = ScoredDocids(["b", "a", "c"], [0.5, 0.25, 0.125])
    assert of_task.lines([("1", found)], "run") == ["0.5\t1\tb\t1\n0.25\t1\ta\t2\n"]
    path = put("run", of_task.HEADER + of_task.lines([("1", found)], "run")[0])
    assert of_task.check(path).messages == []
    assert of_task.read_scores(path).table == {"1": {"b": -1.0, "a": -2.0}}
    with pytest.raises(QueryError, match="it cannot be submitted"):
        of_task.lines([("1\t2", found)], "run")


@pytest.mark.parametrize(
    ("columns", "rows", "order"),
    [
        ("docid: doc, rank: at", "doc,id,at\nb,1,2\na,1,1\nc,1,10\n", ["a", "b", "c"]),
        ("docid: doc, score: sim", "id\tsim\tdoc\n1\t.5\tb\n1\t2\ta\n1\t.5\tc\n", ["a", "c", "b"]),
        (
            "docid: doc, score: sim, rank: at",
            "more\tat\tid\tsim\tdoc\nx\t2\t1\t.5\tb\nx\t1\t1\t.5\ta\n",
            ["a", "b"],
        ),
    ],
    ids=["rank", "score", "both"],
)
def test_hits_are_ordered_by_rank_or_else_by_score(
    put: Callable[[str, str], Path], columns: str, rows: str, order: list[str]
) -> None:
    description = DESCRIPTION.replace("docids: sources", columns)
    of_task = RANKING.load(str(put("hits.yaml", description)))
    table = of_task.read_scores(put("run", rows)).table
    assert sorted(table["1"], key=lambda docid: -table["1"][docid]) == order


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("1\ta\t0\t1\n", "2: error: at '0' is not a whole number from 1"),
        ("1\ta\tfirst\t1\n", "2: error: at 'first' is not a whole number from 1"),
        ("1\ta\t1\tnan\n", "2: error: sim 'nan' is not a finite number"),
        ("\ta\t1\t1\n", "2: error: id is empty"),
        ("1\ta\t1\t1\n1\tb\t1\t1\n", "3: error: at 1 of query '1' is already on line 2"),
        (
            "1\ta\t1\t1\n1\tb\t2\t3\n",
            "3: warning: sim rises from 1 to 3 at at 2; the ranks count",
        ),
        ("1\ta\t1\t1\n1\ta\t2\t1\n", "2: warning: contains 'a' twice, and both places count"),
    ],
)
def test_a_bad_row_of_a_hit_is_reported(
    put: Callable[[str, str], Path], rows: str, message: str
) -> None:
    of_task = RANKING.load(str(put("hits.yaml", HITS)))
    path = put("run", "id\tdoc\tat\tsim\n" + rows)
    assert f"{path}:{message}" in of_task.check(path).messages


ONE_FORM = "submission: give docids, the column of a list of docids, or docid, for one row per hit"


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            "k: 12",
            ONE_FORM,
        ),
        (
            "docids: a, docid: b, k: 12",
            ONE_FORM,
        ),
        (
            "docids: a, rank: b, k: 12",
            "submission: rank and score need docid, for one row per hit",
        ),
        ("docid: a, k: 12", "submission: docid needs the column of its rank or its score"),
    ],
)
def test_the_columns_of_a_submission_have_one_form(
    put: Callable[[str, str], Path], columns: str, message: str
) -> None:
    path = put("sources.yaml", DESCRIPTION.replace("docids: sources, k: 12", columns))
    with pytest.raises(ConfigError) as caught:
        task(str(path))
    assert caught.value.line == f"{path}: {message}"


def test_the_error_of_a_second_judgement_names_several(put: Callable[[str, str], Path]) -> None:
    of_task = RANKING.load(str(put("one.yaml", DESCRIPTION.replace(", several: true", ""))))
    gold = put("gold", "id\tsource\tgrade\n1\ta\t2\n1\tb\t1\n")
    with pytest.raises(SourceError) as caught:
        of_task.read_gold([gold])
    assert caught.value.line == (
        f"{gold}:3: query '1' is already on line 2; if it may have several rows, set several: true "
        "under gold in the description"
    )
    twice = put("posts", "id,day,post\n1,2026-05,a\n1,2026-05,b\n")
    with pytest.raises(SourceError, match=r"query '1' is already on line 2$"):
        of_task.read_queries(twice)


def test_the_example_of_a_task_that_no_code_knows_is_run_checked_and_scored(
    root: Path, tmp_path: Path, command: Callable[..., tuple[int, str, str]]
) -> None:
    examples, index = root / "examples", tmp_path / "index"
    request = BuildRequest(
        kind="snippets", sources=(examples / "snippets-en.tsv",), folder=index, dense=False
    )
    build(request, Config())
    described, run = examples / "tasks" / "averitec-evidence.yaml", tmp_path / "run.tsv"
    claims = examples / "averitec-claims.csv"
    asked = ("run", described, "--queries", claims, "--index", index, "--output", run)
    assert command(*asked)[0] == 0
    lines = run.read_text("utf-8").splitlines()
    assert lines[0].split("\t") == ["source", "claim_id", "score", "rank"]
    assert [line.split("\t")[1::2] for line in lines[1:3]] == [["0", "1"], ["0", "2"]]
    code, printed, _ = command("check", described, run, "--input", claims)
    assert (code, printed) == (0, f"{run}: no fault found\n")
    gold = examples / "averitec-evidence.csv"
    code, printed, _ = command("score", described, "--gold", gold, "--run", run, "--json")
    assert code == 0
    found: dict[str, list[str]] = {}
    for docid, qid, _, _ in (line.split("\t") for line in lines[1:]):
        found.setdefault(qid, []).append(docid)
    qrels = RANKING.load(str(described)).read_gold([gold])
    recalls = [len(right.keys() & set(found[qid])) / len(right) for qid, right in qrels.items()]
    scores = json.loads(printed)
    assert scores["R@10"] == pytest.approx(sum(recalls) / len(recalls))
    firsts = [
        next(at for at, docid in enumerate(found[qid], 1) if docid in right)
        for qid, right in qrels.items()
    ]
    assert scores["RR@10"] == pytest.approx(sum(1 / at for at in firsts) / len(firsts))
