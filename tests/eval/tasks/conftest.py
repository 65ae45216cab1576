"""A small sample of every task: what the contract is tested on."""

import importlib
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from factseek.core.domain import Claim, Hit
from factseek.core.records.runs import best_documents, write_text
from factseek.eval.tasks import Task, names


class Sample(NamedTuple):
    task: str
    input: str
    gold: str
    records: Any
    official: float


_TWEETS = [f"12216038373960208{n}" for n in range(10, 13)]
_CLAIMS = "topic_id\ttweet_id\ttweet_text\nT-1\t1\tone\nT-1\t2\ttwo\nT-2\t1\tthree\n"

SAMPLES = {
    "ct2020-claims": Sample(
        "ct2020-claims",
        "\ttweet_content\n1\tsome words\n02\tmore words\n",
        "1\t0\t394\t1\n1\t0\t394\t1\n02\t0\t670\t1\n",
        {"1": [Hit("12", 2.0), Hit("394", 1e-7)], "02": [Hit("670", -3.5)]},
        0.75,
    ),
    "ct2020-evidence": Sample(
        "ct2020-evidence",
        _CLAIMS,
        "T-1\t1\tT-1-0001-001\t1\nT-1\t2\tT-1-0001-001\t0\nT-2\t1\tT-2-0001-001\t1\n",
        {
            "T-1/1": [Hit("T-1-0001-001", 1.0)],
            "T-1/2": [Hit("T-1-0001-001", 0.3), Hit("T-1-0001-002", 0.1)],
            "T-2/1": [Hit("T-2-0001-001", 1e-7)],
        },
        0.2 / 3,
    ),
    "ct2020-verification": Sample(
        "ct2020-verification",
        _CLAIMS,
        "T-1\t1\tTRUE\nT-1\t2\tFALSE\nT-2\t1\tFALSE\n",
        [
            (Claim(f"{topic}/{tweet}", "", topic=topic), label, [])
            for topic, tweet, label in (
                ("T-1", "1", "TRUE"),
                ("T-1", "2", "TRUE"),
                ("T-2", "1", "FALSE"),
            )
        ],
        2 / 3,
    ),
    "ct2021-1a": Sample(
        "ct2021-1a",
        "topic_id\ttweet_id\ttweet_url\ttweet_text\tclaim\tcheck_worthiness\n"
        + "".join(
            f'covid-19\t{tweet}\tu\ta "text\t1\t{n % 2}\n' for n, tweet in enumerate(_TWEETS)
        ),
        "topic_id\ttweet_id\ttweet_url\ttweet_text\tclaim-worthiness\n"
        + "".join(f"covid-19\t{tweet}\tu\ta text\t{n % 2}\n" for n, tweet in enumerate(_TWEETS)),
        [
            ("covid-19", _TWEETS[0], 1e-30),
            ("covid-19", _TWEETS[1], -3.5),
            ("covid-19", _TWEETS[2], -1e20),
        ],
        0.5,
    ),
    "ct2021-1b": Sample(
        "ct2021-1b",
        "1\tA\tone\n2\tB\ttwo\n",
        "1\tA\tone\t0\n2\tB\ttwo\t1\n",
        [("debate", "2", 0.5), ("debate", "1", 7)],
        0.5,
    ),
    "ct2025-4b": Sample(
        "ct2025-4b",
        'post_id\ttweet_text\n1\t"two\nlines"\n02\tmore words\n',
        'post_id\ttweet_text\tcord_uid\n1\t"two\nlines"\tabcdefg1\n02\tmore words\tabcdefg2\n',
        {"1": [Hit("abcdefg0", 2.0), Hit("abcdefg1", 1.0)], "02": [Hit("abcdefg2", 1.0)]},
        0.75,
    ),
    "fever": Sample(
        "fever",
        '{"id": 1, "claim": "one"}\n{"id": 2, "claim": "two"}\n',
        '{"id": 2, "label": "NOT ENOUGH INFO", "evidence": [[[7, null, null, null]]]}\n'
        '{"id": 1, "label": "SUPPORTS", "evidence": [[[7, 8, "Page", 3]]]}\n',
        [(Claim("1", ""), "SUPPORTS", [("Page", 3)]), (Claim("2", ""), "REFUTES", [])],
        0.5,
    ),
    "source-retrieval": Sample(
        "source-retrieval",
        "post_id\ttweet_text\n1\tein Satz\n02\tune phrase\n",
        "post_id\ttweet_text\tcord_uid\n1\tein Satz\tA-1\n02\tune phrase\tB-2\n",
        {"1": [Hit("X", 2.0), Hit("A-1", 1.0)], "02": [Hit("B-2", 1.0)]},
        0.75,
    ),
}


def write_submission(of_task: Task, records: Any, path: Path, run_id: str = "team-run1") -> None:
    """Write a submission as the commands do."""
    if of_task.SUBMITS == "documents":
        answers = [(qid, best_documents(hits)) for qid, hits in records.items()]
        write_text(path, [of_task.HEADER, *of_task.lines(answers, run_id)])
    else:
        write = of_task.write if of_task.SUBMITS == "statements" else of_task.write_verdicts
        write(records, path, run_id)


@pytest.fixture(params=names())
def sample(request: pytest.FixtureRequest) -> Sample:
    if request.param in SAMPLES:
        return SAMPLES[request.param]
    own = importlib.import_module(f"tests.eval.tasks.test_{request.param.replace('-', '_')}")
    return Sample(request.param, *own.SAMPLE)


@pytest.fixture
def put(tmp_path: Path):
    def write(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write
