"""Tasks that a YAML file describes: 4b equal to the built-in one to the byte, others' columns, and
bad descriptions.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from factseek.core.errors import ConfigError, SourceError
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
