"""Task 1A against an oracle written from the description of the official scorer, and its bad
input.
"""

# A message that is told exactly stands on one line.

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factseek.core.errors import CheckFailed, SourceError
from factseek.eval.files.answers import ScoreOptions
from factseek.eval.scoring.checkworthiness import LabelledScore, Ties, digits, figures, tie_note
from factseek.eval.tasks import task

TASK = task("ct2021-1a")
IDS = [f"12216038373960208{n:02}" for n in range(60)]
HEADER = "topic_id\ttweet_id\ttweet_url\ttweet_text\tclaim\tcheck_worthiness\n"


def gold_of(labels) -> str:
    return HEADER + "".join(f"t\t{name}\tu\ttext\t0\t{label}\n" for name, label in labels)


def run_of(scores) -> str:
    return "".join(f"t\t{name}\t{value}\tr\n" for name, value in scores)


def oracle(gold: list[tuple[str, int]], run: list[tuple[str, float]]) -> dict[str, float]:
    labels = dict(gold)
    order = sorted(range(len(run)), key=lambda row: (-run[row][1], row))
    relevant = [labels[run[row][0]] for row in order]
    number = sum(labels.values())
    values = {f"P@{k}": relevant[:k].count(1) / k for k in (1, 3, 5, 10, 20, 30, 50)}
    values["RR"] = 1 / (relevant.index(1) + 1) if 1 in relevant else 0.0
    values["Rprec"] = relevant[:number].count(1) / number if number else 0.0
    total = 0.0
    for rank in range(1, len(relevant) + 1):
        if relevant[rank - 1]:
            total += relevant[:rank].count(1) / rank
    values["AP"] = total / number if number else 0.0
    return values


rows = st.lists(
    st.tuples(st.integers(0, 40), st.integers(0, 1), st.integers(-3, 3)), min_size=1, max_size=60
)


@given(rows)
def test_figures_are_the_oracles_also_with_ties_and_repeated_ids(drawn):
    gold = [(IDS[at], label) for at, label, _ in drawn]
    run = [(IDS[at], score / 2) for at, _, score in drawn]
    labels = dict(gold)
    found = figures(
        [LabelledScore(name, score, labels[name]) for name, score in run], sum(labels.values())
    )
    assert found == pytest.approx(oracle(gold, run))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_score_is_written_as_the_official_checker_takes_it(value):
    text = digits(value)
    assert float(text) == value
    assert set(text) <= set("0123456789.-")
    whole, point, part = text.lstrip("-").partition(".")
    assert whole.isdigit() and point and part.isdigit()


def test_an_input_that_repeats_an_id_is_scored_as_officially(put):
    gold = put("gold", gold_of([(IDS[0], 1), (IDS[1], 0), (IDS[0], 1)]))
    run = put("run", run_of([(IDS[0], 0.9), (IDS[1], 0.1), (IDS[0], 0.8)]))
    scores = TASK.score([gold], [run], ScoreOptions())
    assert scores.values["AP"] == 2.0
    assert scores.notes == (
        (
            "the gold repeats ids (1 on 2 rows): as in the official scorer, the last label of "
            "an id wins and every row counts"
        ),
    )


def test_ties_are_told_with_what_they_change(put):
    gold = put("gold", gold_of([(name, int(n == 0)) for n, name in enumerate(IDS)]))
    run = put("run", run_of([(name, 0.5) for name in IDS]))
    scores = TASK.score([gold], [run], ScoreOptions())
    assert scores.values["AP"] == 1.0
    assert scores.notes == (
        "ties decide: AP is 1.0000 with equal scores in the order of the file, as in the official "
        "scorer, "
        "0.0167 in trec_eval's order, between 0.0167 and 1.0000 in any order",
    )


def test_a_range_of_ties_that_the_shown_digits_do_not_show_is_not_told():
    assert tie_note(0.5, Ties(0.5, {"AP": 0.50001}, {"AP": 0.50004})) == ()


BAD = {
    "header": (
        "topic_id\ttweet_id\tscore\trun_id\n",
        "{run}:1: error: score 'score' is not a finite number; a submission has no header",
    ),
    "infinity": (run_of([(IDS[0], "-inf")]), "{run}:1: error: score '-inf' is not a finite number"),
    "exponent": (
        run_of([(IDS[0], "1e-05")]),
        "{run}:1: error: score '1e-05' is refused by the official checker: write 0.00001",
    ),
    "columns": (
        f"{IDS[0]}\t1\n",
        (
            "{run}:1: error: has 2 columns between tabs, but 4 are expected (topic_id tweet_id "
            "score run_id)"
        ),
    ),
    "spaces": (
        f"t {IDS[0]} 1 r\n",
        (
            "{run}:1: error: has 1 columns between tabs, but 4 are expected (topic_id tweet_id "
            "score run_id); this line separates them by white space"
        ),
    ),
    "padded": (
        run_of([(IDS[0], " 1")]),
        "{run}:1: error: column score has white space around it: ' 1'",
    ),
    "cut": (
        run_of([(IDS[0], 1)])[:-1],
        "{run}:1: warning: the last line has no line end: is the file complete?",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_line_is_said_exactly(case, put):
    content, message = BAD[case]
    path = put("run", content)
    assert TASK.check(path).messages == [message.format(run=path)]


AGAINST_INPUT = {
    "missing": ([(IDS[0], 1)], [f"{{run}}: error: tweet '{IDS[1]}' of {{input}} is missing"]),
    "unknown": (
        [(IDS[0], 1), (IDS[1], 1), (IDS[2], 1)],
        [f"{{run}}:3: error: tweet '{IDS[2]}' is not in {{input}}"],
    ),
    "too often": (
        [(IDS[0], 1), (IDS[1], 1), (IDS[0], 1)],
        [f"{{run}}:3: error: tweet {IDS[0]} is already on line 1, but {{input}} has it once"],
    ),
    "others": (
        [(IDS[5], 1)],
        [
            (
                f"{{run}}: error: no tweet in common with {{input}}: the file may be for other "
                f"data; {{input}} has '{IDS[0]}', the file '{IDS[5]}'"
            )
        ],
    ),
}


@pytest.mark.parametrize("case", AGAINST_INPUT)
def test_fault_against_the_input_is_said_exactly(case, put):
    scores, messages = AGAINST_INPUT[case]
    run, given_ = put("run", run_of(scores)), put("input", gold_of([(IDS[0], 0), (IDS[1], 1)]))
    assert TASK.check(run, given_).messages == [
        message.format(run=run, input=given_) for message in messages
    ]


def test_faults_are_kept_up_to_twenty_then_counted(put):
    path = put("run", "x\n" * 1_234)
    report = TASK.check(path)
    assert len(report.messages) == 21
    assert report.messages[-1] == f"{path}: and 1,214 more errors"
    assert report.verdict == f"{path}: 1,234 errors"


def test_a_missing_tweet_is_never_scored(put):
    gold = put("gold", gold_of([(IDS[0], 0), (IDS[1], 1)]))
    with pytest.raises(CheckFailed) as caught:
        TASK.score([gold], [put("run", run_of([(IDS[0], 1)]))], ScoreOptions())
    assert caught.value.line.endswith(
        f"run: tweet '{IDS[1]}' of the gold is missing; the file is not scored"
    )


def test_labels_may_be_written_as_fractions(put):
    table = (
        gold_of([(IDS[0], 1), (IDS[1], 0)]).replace("\t1\n", "\t1.0\n").replace("\t0\n", "\t0.0\n")
    )
    assert TASK.read_gold([put("gold", table)])[1] == {IDS[0]: 1, IDS[1]: 0}
    objects = "".join(
        json.dumps({"tweet_id": tweet, "tweet_text": "x", "check_worthiness": label}) + "\n"
        for tweet, label in ((IDS[0], 1.0), (IDS[1], 0.0))
    )
    assert TASK.read_gold([put("objects", objects)])[1] == {IDS[0]: 1, IDS[1]: 0}


BAD_GOLD = {
    "label": (gold_of([(IDS[0], 2)]), "gold:2: label '2' is neither 0 nor 1"),
    "no header": (
        f"t\t{IDS[0]}\tu\ttext\t0\t1\n",
        "gold:1: the header has no tweet_id: it begins with 't\\t"
        + IDS[0]
        + "\\tu\\ttext\\t0\\t1'",
    ),
    "separator": (
        "sep=;\nfoo;bar\n1;2\n",
        "gold:2: the header has no tweet_id: it begins with 'foo;bar'",
    ),
    "columns": (gold_of([(IDS[0], 1)]) + "t\t1\n", "gold:3: has 2 columns, but the header has 6"),
    "no text": (HEADER + f"t\t{IDS[0]}\tu\t\t0\t1\n", f"gold:2: tweet '{IDS[0]}' has no text"),
}


@pytest.mark.parametrize("case", BAD_GOLD)
def test_bad_gold_is_said_exactly(case, put):
    content, message = BAD_GOLD[case]
    with pytest.raises(SourceError) as caught:
        TASK.read_gold([put("gold", content)])
    assert caught.value.line.endswith("/" + message)


READABLE = {
    "1a-arabic/CT21-AR-Train-T1-Labels.tsv": (3_444, 763),
    "1a-turkish/dataset_train_v1_turkish.tsv": (1_899, None),
}


@pytest.mark.data
@pytest.mark.parametrize("name", READABLE)
def test_every_variant_of_the_input_is_read(name, data_dir):
    path = data_dir / "ct2021-task1" / name
    count, positives = READABLE[name]
    statements = TASK.read_statements(path, labelled=False)
    assert len(statements) == count
    assert all(statement.qid.isdigit() and statement.text for statement in statements)
    if positives is not None:
        assert sum(TASK.read_gold([path])[1].values()) == positives
